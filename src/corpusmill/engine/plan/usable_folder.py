"""Whether a run can be in a folder, and must not be because of what it reads."""

import os
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from corpusmill import storage
from corpusmill.display import is_command
from corpusmill.errors import RecipeError
from corpusmill.store import owned
from corpusmill.store.run_folder import INPUTS, RunFolder
from corpusmill.system import WINDOWS

# How files end that a run writes.
WRITTEN = (
    *(".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".arrays", ".bin", ".idx", ".html", ".mds"),
    *(".npy", ".csv.gz"),
)

DEEPEST = 170  # characters of the longest path below the folder of a run
MAX_PATH = 259  # characters of a path on Windows, unless its registry allows more


def refuse_if_unusable(run: RunFolder, inputs: Sequence[str], places: Sequence[str]) -> None:
    """Raises RecipeError if a run cannot be, or must not be, in this folder.

    inputs   the files that the run reads
    places   what the recipe names them by: files, folders, patterns

    Raises RefusedFolder if something else is in the folder.
    """
    if not run.is_local:
        run.refuse_if_not_its_own()
        return
    folder = run.path.resolve()
    elsewhere = (
        f"Name another folder, as in run.folder: runs/{folder.stem or 'new'}{', or with --folder' * is_command()}."
    )
    if folder.exists() and not folder.is_dir():
        raise RecipeError(f"run.folder: {run.place} is a file, not a folder. {elsewhere}")
    above = next(pattern for pattern in (folder, *folder.parents) if pattern.exists())
    if not above.is_dir():
        raise RecipeError(f"run.folder: {run.place} cannot be made: {above} is a file, not a folder. {elsewhere}")
    if not os.access(above, os.W_OK | os.X_OK):
        problem = "cannot be written to" if above == folder else f"cannot be made: {above} cannot be written to"
        raise RecipeError(f"run.folder: {run.place} {problem}. {elsewhere}")
    if above != folder:  # by trying: /proc and some network shares allow what they then refuse
        try:
            Path(tempfile.mkdtemp(prefix=storage.TEMPORARY, dir=above)).rmdir()
        except OSError as error:
            why = error.strerror or str(error)
            raise RecipeError(
                f"run.folder: {run.place} cannot be made: {above} takes no new folder ({why}). {elsewhere}"
            ) from error
    if WINDOWS and len(str(folder)) + DEEPEST > MAX_PATH and not _takes_long_paths(above):
        raise RecipeError(
            f"run.folder: {folder} has {len(str(folder))} characters, and paths of a run's files have up to {DEEPEST} "
            f"more, but Windows allows {MAX_PATH}. Set LongPathsEnabled in its registry, as Python's installer offers. "
            f"{elsewhere}"
        )
    read = {Path(storage.local_path(name)).parent: name for name in inputs if storage.is_local(name)}
    for holding, name in read.items():
        real = holding.resolve()
        if real.parent == folder / INPUTS and owned.ROWS.fullmatch(real.name):  # the run has written it itself
            continue
        if folder in (real, *real.parents):
            raise RecipeError(
                f"run.folder: {run.place} holds {name}, which this run reads: its files would be among its input, "
                f"and --restart would remove both. {elsewhere}"
            )
    for pattern in places:
        covered = _read_whole(storage.local_path(pattern)) if storage.is_local(pattern) else None
        if covered is not None and covered.resolve() in folder.parents:
            raise RecipeError(
                f"run.folder: {run.place} is inside what this run reads, {pattern}: what it writes would be input "
                f"of the next one. {elsewhere}"
            )
    run.refuse_if_not_its_own()


def _read_whole(pattern: str) -> Path | None:
    """The folder of which a pattern names files at any depth that a run writes, too; None if it names others."""
    if Path(pattern).is_dir():
        return Path(pattern)
    head, deep, tail = pattern.partition("**")
    last = tail.rpartition("/")[2]
    return Path(head or ".") if deep and any(fnmatchcase(f"0{suffix}", last or "*") for suffix in WRITTEN) else None


def _takes_long_paths(above: Path) -> bool:
    """Whether Windows makes paths of more than MAX_PATH characters, by trying."""
    with tempfile.TemporaryDirectory(prefix=storage.TEMPORARY, dir=above) as folder:
        try:
            Path(folder, "x" * (MAX_PATH // 2), "x" * (MAX_PATH // 2)).mkdir(parents=True)
        except OSError:
            return False
    return True
