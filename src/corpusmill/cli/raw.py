"""Files without a recipe, for verbs that ask a run: `peek data.jsonl`, `stats data.parquet`."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Readers that take the place of each other, by the endings of files: those that give text, and those that give pages.
TEXT_READERS = ("jsonl", "parquet", "arrow", "csv", "text", "wet", "wat")
PAGE_READERS = ("warc", "html")
RECIPES = (".yaml", ".yml")
ANY_NUMBER = 1 << 60  # of records that cannot be read: they are a part of what is asked


def fitting(names: Sequence[str], readers: Sequence[str]) -> list[str]:
    """Those of the readers that read one of these files, by their endings."""
    from corpusmill.read import REGISTRY
    from corpusmill.storage import has_ending

    return [reader for reader in readers if any(has_ending(name, REGISTRY.find(reader).suffixes) for name in names)]


@contextmanager
def run_of(place: str, limit: int | None = None) -> Iterator[str]:
    """The folder of a run. Of a file, a pattern, or a folder of files that are no run: of a run that reads these,
    extracts text where they are pages, and does nothing else; it is removed in the end.

    limit   documents to read at most; None: all
    """
    reader = _reader_of(place)
    if reader is None:
        yield place
        return
    from corpusmill import read
    from corpusmill.execute.serial import Serial
    from corpusmill.ops.runs import run
    from corpusmill.recipe.model import Recipe
    from corpusmill.recipe.parts import RunSettings

    pages = getattr(read.find(reader), "gives", None)
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
        recipe = Recipe(
            name="files",
            read={reader: place},
            steps=[pages.extractor] if pages else [],
            run=RunSettings(limit=limit, error_budget=ANY_NUMBER),
        )
        done = run(
            recipe, folder=Path(folder) / "run", executor=Serial() if limit else None, progress=not limit and "auto"
        )
        yield done.place


def _reader_of(place: str) -> str | None:
    """What reads files in this place; None of a run, and where nothing is known to.

    Raises InputError for a file that is no recipe and has no known ending.
    """
    from corpusmill.errors import InputError
    from corpusmill.storage import has_ending

    if Path(place).is_dir():
        with os.scandir(place) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
        if "run.json" in names:
            return None
    else:
        names = [place]
    reader = next(iter(fitting(names, (*TEXT_READERS, *PAGE_READERS))), None)
    if reader is None and Path(place).is_file() and not has_ending(place, RECIPES):
        raise InputError(
            f"{place}: the ending of its name is not one of data. Unpack it if it is an archive; else name its reader "
            f"in a recipe, as in read: {{jsonl: {place}}}, and check that."
        )
    return reader
