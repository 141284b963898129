"""What a run has read, file by file: how large it is, when it was added, how many of its documents are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corpusmill.errors import CorpusmillError
from corpusmill.recipe.model import Recipe
from corpusmill.report.tables import RunTables
from corpusmill.storage import is_in, name_of
from corpusmill.store.run_folder import COLLECTION, RunFolder


@dataclass(frozen=True)
class Input:
    """A file that a run has read, or several of one path of its recipe.

    added   when it was added to the run, in UTC; None: it was in the recipe from the beginning, or a pattern of it
            found it later
    read    documents that came from it to the first step; None: not known yet
    kept    of those, that no step dropped; None: not known yet
    """

    source: str
    path: str
    files: int
    bytes: int
    added: str | None
    read: int | None
    kept: int | None


def inputs_of(location: str) -> list[Input]:
    """The files of a run, in its order. Raises InputError if there is no run."""
    run = RunFolder(location)
    record = run.record()
    added = {
        (change["source"], file): change["at"]
        for change in run.read(COLLECTION)["changes"]
        if change["verb"] == "add"
        for file in change["files"]
    }
    read_counts, kept_counts = _documents(run)
    inputs = []
    for source, files in record["inputs"].items():
        for file in files:
            where = (source, file["path"])
            counts = (None if many is None else many.get(where, 0) for many in (read_counts, kept_counts))
            inputs.append(Input(source, file["path"], 1, file["bytes"], added.get(where), *counts))
    return inputs


def by_path(location: str, files: Sequence[Input]) -> list[Input]:
    """The files together, by the paths of the recipe: each by the last one that names it."""
    run = RunFolder(location)
    paths = {
        source.source: tuple(map(name_of, source.paths))
        for source in Recipe.parse(run.record()["recipe"], location, recorded=True).read
    }
    grouped: dict[tuple[str, str, str | None], list[Input]] = {}
    for file in files:
        recipe_path = next((path for path in reversed(paths.get(file.source, ())) if is_in(file.path, path)), file.path)
        grouped.setdefault((file.source, recipe_path, file.added), []).append(file)
    return [
        replace(
            group[0],
            path=path,
            files=len(group),
            bytes=sum(file.bytes for file in group),
            read=_sum([file.read for file in group]),
            kept=_sum([file.kept for file in group]),
        )
        for (_, path, _), group in grouped.items()
    ]


def _sum(counts: Sequence[int | None]) -> int | None:
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if len(known_counts) == len(counts) else None


Counts = dict[tuple[str, str], int]


def _documents(run: RunFolder) -> tuple[Counts | None, Counts | None]:
    """(source, path of a file) -> documents that were read, and that are kept; None while that is not known."""
    try:
        tables = RunTables(run)
        if tables.files.unfinished():
            return None, None
    except CorpusmillError:
        return None, None
    last = len(tables.passes) - 1
    counts = []
    for number, where in ((0, ""), (last, "WHERE dropped_by IS NULL")):
        table = tables.table("signals", number)
        rows = tables.tuples(f"SELECT source, file, count(*) FROM ({table}) {where} GROUP BY source, file")
        counts.append({(source, file): count for source, file, count in rows})
    return counts[0], counts[1]
