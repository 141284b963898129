"""Inputs that are added to a run, month by month, and removed from it: the run becomes a collection.

A run knows its units by what they read, so a file more costs what it adds. What is kept here, collection.json, is what
the run's sources read now, beside the recipe that somebody wrote:

    sources   source -> its `paths`, `root` and `exclude`, of sources that were changed
    changes   in order: when (`at`), `verb` (add or remove), `source`, `paths` as given, and `files` that this concerned

The names of files stay as they were, and with them the ids of documents: where a path more or less would have changed
them, the folder that they are relative to becomes the source's `root`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

from corpusmill.engine.plan.inputs import files_of
from corpusmill.errors import InputError, RecipeError, StorageError, did_you_mean
from corpusmill.hidden import masked
from corpusmill.read import ChoosesFiles, readers_by_ending
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import name_of as name_of_part
from corpusmill.recipe.names import short_name
from corpusmill.recipe.parts import Source, home
from corpusmill.storage import FileInfo, has_ending, is_in, is_local, local_path, name_of, printable
from corpusmill.store.locks import only_driver
from corpusmill.store.run_folder import COLLECTION, RunFolder

MAX_PATHS_SHOWN = 3  # paths in a message
NO_PATHS: Mapping[str, Any] = {"paths": (), "root": "", "exclude": ()}
ADD, REMOVE = "add", "remove"


@dataclass(frozen=True)
class InputChange:
    """What is to be changed of the inputs of a run.

    recipe    that reads the inputs as they are to be
    verb      ADD or REMOVE
    paths     (source, path or pattern) that are added or removed
    files     (source, path) of the files that this concerns
    known     files that were given, and are in already
    altered   those of them whose content is not what the run has read
    bytes     of the files
    left_out  files that were given, and had been removed by patterns that were not
    """

    recipe: Recipe
    verb: str
    paths: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    known: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    bytes: int = 0
    left_out: tuple[str, ...] = ()


def added(recipe: Recipe, run: RunFolder, paths: Sequence[str], name: str | None = None) -> InputChange:
    """The inputs of a run, and more files, folders, patterns or URLs.

    recipe   of the run, see `as_collected`
    name     of the source that they are added to; None: the only one, or the only one whose reader takes such files

    A file that is in already is passed over. What was removed is added again by the same pattern.

    Raises InputError if a path names nothing, RecipeError if it is open which source is meant.
    """
    inputs = tuple(dict.fromkeys(map(home, paths)))
    source = _chosen(recipe, inputs, name)
    before = {entry["path"]: entry for entry in run.record()["inputs"].get(source.source, ())}
    exclude = tuple(pattern for pattern in source.exclude if pattern not in inputs)
    named_paths: list[str] = []
    was = {_resolved(file.path): file.path for file in files_of(source)}
    new: dict[str, FileInfo] = {}
    present: dict[str, FileInfo] = {}
    out: dict[str, None] = {}
    extra_paths: list[str] = []
    for path in inputs:
        all_files = files_of(replace(source, paths=(path,), root="", exclude=()))
        files = [file for file in all_files if not any(is_in(file.path, pattern) for pattern in exclude)]
        out |= {file.path: None for file in all_files if file not in files}
        if not files:
            pattern = next(pattern for pattern in exclude if is_in(all_files[0].path, pattern))
            raise InputError(
                f"{path}: was removed from this run as {pattern}. To have that again: "
                f"corpusmill add {quote(run.place)} {quote(pattern)}"
            )
        fresh = [file for file in files if _resolved(file.path) not in was]
        _must_fit(recipe, run, source, fresh, was.values())
        named_paths += [path] if fresh else []
        present |= {file.path: file for file in files if _resolved(file.path) in was}
        new |= {file.path: file for file in fresh}
        twice = any(was.get(_resolved(file.path), file.path) != file.path for file in files)
        if not any(is_in(file.path, old) for file in fresh for old in source.paths):  # else it was only excluded
            extra_paths += [file.path for file in fresh] if twice else [path] if fresh else []
        was |= {_resolved(file.path): file.path for file in fresh}
    changed = replace(source, paths=(*source.paths, *extra_paths), exclude=exclude)
    return InputChange(
        _with(recipe, _names_kept(source, changed, list(before.values()))),
        ADD,
        tuple((source.source, path) for path in named_paths),
        tuple((source.source, path) for path in new),
        tuple(present),
        tuple(path for path, file in present.items() if _is_altered(file, before.get(printable(path)))),
        sum(file.size for file in new.values()),
        tuple(out),
    )


def removed(recipe: Recipe, run: RunFolder, patterns: Sequence[str], name: str | None = None) -> InputChange:
    """The inputs of a run without those that a pattern names: by path, folder, wildcards, or as in the recipe.

    name   of the source from which they are removed; None: all

    Files need not exist any more. Raises InputError if a pattern names none, or if nothing would be left of a source.
    """
    patterns = tuple(dict.fromkeys(map(home, patterns)))
    record = run.record()["inputs"]
    sources = recipe.read if name is None else [_source_named(recipe, name)]
    read = [[entry["path"] for entry in record.get(source.source, ())] for source in sources]
    for pattern in patterns:
        if not any(
            pattern in source.paths or any(is_in(file, pattern) for file in files)
            for source, files in zip(sources, read)
        ):
            all_files = [file for files in read for file in files]
            raise InputError(
                f"{pattern}: no input of {run.place} is named by that{did_you_mean(pattern, all_files) or '.'} "
                f"`corpusmill add {quote(run.place)} --list` lists them."
            )
    removed_files: list[tuple[str, str, int]] = []
    for source, files in zip(sources, read):
        named_patterns = [pattern for pattern in patterns if pattern in source.paths]
        dropped = {file for file in files if any(is_in(file, pattern) for pattern in patterns)}
        if not dropped and not named_patterns:
            continue
        paths = [path for path in source.paths if path not in named_patterns and not _is_gone(path, files, dropped)]
        if not paths or (files and len(dropped) == len(files)):
            raise InputError(
                f"{source.source}: nothing would be left of this source. To do without it, take it out of the recipe: "
                f"corpusmill recipe {quote(run.place)} > all.yaml, and run that."
            )
        still = [file for file in dropped if any(is_in(file, path) for path in paths)]
        extra_patterns = [pattern for pattern in patterns if any(is_in(file, pattern) for file in still)]
        exclude = tuple(dict.fromkeys((*source.exclude, *extra_patterns)))
        changed = replace(source, paths=tuple(paths), exclude=exclude)
        entries = record.get(source.source, ())
        recipe = _with(recipe, _names_kept(source, changed, entries))
        removed_files += [(source.source, file["path"], file["bytes"]) for file in entries if file["path"] in dropped]
    return InputChange(
        recipe,
        REMOVE,
        tuple((source, pattern) for pattern in patterns for source in _sources_of(removed_files, pattern)),
        tuple((source, file) for source, file, _ in removed_files),
        bytes=sum(size for *_, size in removed_files),
    )


def keep(run: RunFolder, change: InputChange) -> None:
    """Record a change of the inputs, from which on the run reads them. Raises RefusedFolder while it is at work."""
    with only_driver(run):
        record = run.read(COLLECTION)
        concerned = dict.fromkeys(source for source, _ in (*change.paths, *change.files))
        for source in change.recipe.read:
            if source.source in concerned:
                record["sources"][source.source] = _state(source)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        for name in concerned:
            record["changes"].append(
                {
                    "at": at,
                    "verb": change.verb,
                    "source": name,
                    "paths": [printable(_shown(path)) for source, path in change.paths if source == name],
                    "files": [printable(path) for source, path in change.files if source == name],
                }
            )
        run.write(COLLECTION, record)


def as_collected(recipe: Recipe, run: RunFolder) -> Recipe:
    """The recipe that run.json has, with its sources as they were last changed: a run that was stopped before it began
    has not written them there."""
    record = run.read(COLLECTION)
    if not any(_undone(recipe, record)):
        return recipe
    for source in recipe.read:
        if state := record["sources"].get(source.source):
            addresses = {name_of(path): path for path in (*source.paths, *source.exclude)}  # with their secrets
            paths, exclude = ([addresses.get(name_of(p), p) for p in state[part]] for part in ("paths", "exclude"))
            recipe = _with(recipe, replace(source, **{**state, "paths": paths, "exclude": exclude}))
    return recipe


def refuse_to_drop(recipe: Recipe, run: RunFolder) -> None:
    """Raises InputError if a recipe does not read what was added to the run in this folder, or reads what was removed
    from it."""
    try:
        exists = run.exists()
    except StorageError:
        return  # what is wrong with the place is found, with all else that is wrong, before anything runs
    lost, back = _undone(recipe, run.read(COLLECTION)) if exists else ((), ())
    findings = [
        f"{finding} {', '.join(several[:MAX_PATHS_SHOWN])}"
        + (f" and {len(several) - MAX_PATHS_SHOWN} more" if several[MAX_PATHS_SHOWN:] else "")
        for finding, several in (("does not have what was added to it:", lost), ("has what was removed from it:", back))
        if several
    ]
    if findings:
        raise InputError(
            f"{run.place}: holds a collection, and this recipe {'; it '.join(findings)}. To go on with the collection: "
            f"corpusmill add {quote(run.place)}. To change its recipe: corpusmill recipe {quote(run.place)} > "
            f"all.yaml, and run that. To undo this: corpusmill {'remove' if lost else 'add'} {quote(run.place)} "
            f"{quote((*lost, *back)[0])}. To start again with only this recipe: --restart"
        )


def _undone(recipe: Recipe, record: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What was added that a recipe does not read, and what was removed that it reads."""
    reads = {source.source: _names(_state(source)) for source in recipe.read if isinstance(source, Source)}
    lost: dict[str, None] = {}
    back: dict[str, None] = {}
    for change in record["changes"]:
        recorded, has = _names(record["sources"].get(change["source"], NO_PATHS)), reads.get(change["source"], NO_PATHS)
        for path in map(name_of, (*change["paths"], *change["files"])):
            if change["verb"] == ADD and path in recorded["paths"] and path not in has["paths"]:
                lost[path] = None
            elif change["verb"] == REMOVE and (
                (path in recorded["exclude"] and path not in has["exclude"])
                or (path in has["paths"] and path not in recorded["paths"])
            ):
                back[path] = None
    return list(lost), list(back)


def _chosen(recipe: Recipe, paths: Sequence[str], name: str | None) -> Source:
    if name is not None:
        return _source_named(recipe, name)
    if len(recipe.read) == 1:
        return _source_named(recipe, recipe.read[0].source)
    fitting = [source for source in recipe.read if _takes(source, paths)]
    if len(fitting) == 1:
        return _source_named(recipe, fitting[0].source)
    names = ", ".join(source.source for source in (fitting or recipe.read))
    raise RecipeError(
        f"{', '.join(paths[:MAX_PATHS_SHOWN])}: {'several sources' if fitting else 'no source'} of the recipe can read "
        f"such files. Name the source to add them to with --source: {names}"
    )


def _must_fit(recipe: Recipe, run: RunFolder, source: Source, files: list[FileInfo], known: Collection[str]) -> None:
    """Raises InputError for a file whose ending is one of another reader, unless the source has such files already."""
    suffixes = source.reader.suffixes if isinstance(source.reader, ChoosesFiles) else ()
    for file in files if suffixes else ():
        if file.is_folder or has_ending(file.path, suffixes) or not (others := readers_by_ending(file.path)):
            continue
        if any(readers_by_ending(path) == others for path in known):
            continue
        fitting = [each.source for each in recipe.read if short_name(name_of_part(each.reader)) in others]
        advice = (
            f"Add it with --source {fitting[0]}."
            if fitting
            else (
                f"Write a source with that reader into its recipe: corpusmill recipe {quote(run.place)} > all.yaml, "
                "and run that."
            )
        )
        raise InputError(
            f"{file.path}: the source {source.source} is read by `{short_name(name_of_part(source.reader))}`, and this "
            f"ending is one that `{others[0]}` reads. {advice}"
        )


def _source_named(recipe: Recipe, name: str) -> Source:
    names = [source.source for source in recipe.read]
    for source in recipe.read:
        if source.source == name:
            assert isinstance(source, Source)  # a run has none in memory: they are written into its folder
            return source
    raise RecipeError(
        f'--source: the recipe has no source "{name}"{did_you_mean(name, names) or "."} It has: {", ".join(names)}.'
    )


def _takes(source: Source, paths: Sequence[str]) -> bool:
    suffixes = source.reader.suffixes if isinstance(source.reader, ChoosesFiles) else ()
    try:
        files = files_of(replace(source, paths=tuple(paths), root="", exclude=()))
    except InputError:
        return False
    return all(has_ending(file.path, suffixes) for file in files) if suffixes else True


def _with(recipe: Recipe, changed: Source) -> Recipe:
    return replace(recipe, read=[changed if source.source == changed.source else source for source in recipe.read])


def _state(source: Source) -> dict[str, Any]:
    paths, exclude = (list(map(_shown, names)) for names in (source.paths, source.exclude))
    return {"paths": paths, "root": name_of(source.root), "exclude": exclude}


def _shown(path: str) -> str:
    return path if is_local(path) else masked(path)


def _names(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a source reads, by names that are the same with another signature."""
    return {part: list(map(name_of, state[part])) for part in ("paths", "exclude")}


def _names_kept(source: Source, changed: Source, entries: Sequence[Mapping[str, Any]]) -> Source:
    """The changed source with a `root`, if its files would have other names without it.

    entries   the files that the run has read of it
    """
    if source.root:
        return changed
    names = {entry["path"]: entry["name"] for entry in entries if "name" in entry}
    names = names or {printable(file.path): printable(file.name) for file in files_of(source)}
    now = {printable(file.path): printable(file.name) for file in files_of(changed)}
    moved = next((path for path, name in names.items() if now.get(path, name) != name), None)
    if moved is None or not moved.endswith(names[moved]):
        return changed
    root = moved[: -len(names[moved])]
    if not root.endswith("://"):
        root = root.rstrip("/") or ("/" if moved.startswith("/") else ".")
    return replace(changed, root=root)


def _is_gone(path: str, files: Sequence[str], dropped: set[str]) -> bool:
    """Whether all files that a path of a source names are dropped; not of one that names none."""
    inside = [file for file in files if is_in(file, path)]
    return bool(inside) and dropped.issuperset(inside)


def _sources_of(removed_files: Sequence[tuple[str, str, int]], pattern: str) -> Iterator[str]:
    yield from dict.fromkeys(source for source, file, _ in removed_files if is_in(file, pattern) or file == pattern)


def _is_altered(file: FileInfo, entry: Mapping[str, Any] | None) -> bool:
    return entry is not None and (entry["bytes"], entry["fingerprint"]) != (file.size, file.fingerprint)


def _resolved(path: str) -> str:
    """What two names of one file have in common."""
    return str(Path(local_path(path)).resolve()) if is_local(path) and "://" not in path else path
