"""What in a folder is a run's own: a run replaces and removes nothing else.

    .corpusmill    in the folder of every run, made before anything else is; only in a folder that was empty
    written.json   the files that the run has written for others: its output, the card, what is pushed. Those of the
                   output are in it before they are there

What the layout of `run_folder` names is the run's own below such a folder. In the output, and at the top, where others
put files of their own, it is only what written.json names.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from corpusmill import storage
from corpusmill.errors import RefusedFolder, ResumeError, other_format

MARKER, WRITTEN = ".corpusmill", "written.json"
VERSION = 1  # of all that is in a run's folder but what has a number of its own; run.json says it, too
MARK = {"format": "corpusmill-run-folder", "version": VERSION}
FORMAT = "corpusmill-written"
SHOWN = 20  # names in a message
ROWS = re.compile(r".+-[0-9a-f]{32}")  # a folder of documents that were in memory
# Folder of a run -> the names of what is in it.
INSIDE = {
    "stages": re.compile(r".+-[0-9a-f]{8}"),
    "inputs": ROWS,
    "forget": re.compile(r"\d+\.json"),
    "find": re.compile(r"stages(\.json)?|\.lock"),
    "answers": re.compile(r"answers\.log|answers\.index|models\.(json|new)|lock"),
    "workers": re.compile(r".+\.json"),
    "leases": re.compile(r".+\.json"),
}


def is_marked(location: str) -> bool:
    """Whether a folder was made by a run, or taken by one when it was empty. Raises ResumeError if its format is one
    that this version does not know."""
    name = storage.join(location, MARKER)
    if not storage.size_of(name):
        return False
    try:
        record = json.loads(storage.read_bytes(name))
    except ValueError:
        return False
    if not isinstance(record, dict) or record.get("format") != MARK["format"]:
        return False
    refuse_unknown(name, record.get("version"))
    return True


def refuse_unknown(name: str, version: object, wrote: str | None = None) -> None:
    """Raises ResumeError unless this version knows the format of a run's folder, as a file of it says."""
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ResumeError(other_format(name, version, VERSION, wrote))


def mark(location: str) -> None:
    """Make a folder, unless it is there, and mark it as a run's."""
    storage.make_dir(location)
    storage.create_once(storage.join(location, MARKER), (json.dumps(MARK) + "\n").encode())


def written_files(location: str) -> dict[str, str | None]:
    """Relative name -> SHA-256 where it is known, of what the run has written for others. None where the record is
    damaged or missing: what it does not name is nobody's to remove."""
    name = storage.join(location, WRITTEN)
    try:
        record = json.loads(storage.read_bytes(name)) if storage.exists(name) else {}
        files = record["files"] if record.get("format") == FORMAT else {}
    except (ValueError, KeyError, AttributeError):
        return {}
    return dict(files) if isinstance(files, dict) else {}


def note_written(location: str, below: str, files: Mapping[str, str | None]) -> None:
    """Record the files that the run has, or is about to have, in one of its folders, in place of what was there before.

    below   the folder, "" for the run's own
    files   relative to the run's folder
    """
    before = written_files(location)
    others = {name: digest for name, digest in before.items() if _folder(name) != below}
    after = dict(sorted((others | dict(files)).items()))
    if after != before:
        record = {"format": FORMAT, "version": 1, "files": after}
        storage.write_atomic(storage.join(location, WRITTEN), (json.dumps(record, indent=1) + "\n").encode())


def strangers(location: str, layout: Iterable[str], folders: Iterable[str]) -> list[str]:
    """The names of files and folders below a run's folder that are not its own, sorted.

    layout    what a run has at the top of its folder
    folders   those of them that are folders, and are looked into
    """
    own, top = written_files(location), set(layout)
    foreign = []
    for name in names_in(location):
        if name in own:
            if not _is_as_written(storage.join(location, name), own[name]):
                foreign.append(name)
        elif name not in top:
            foreign.append(name)
    for folder in folders:
        if storage.is_local(location) and Path(storage.local_path(location), folder).is_symlink():
            foreign.append(folder)  # where it leads to is another place
        elif folder in INSIDE:
            names = names_in(storage.join(location, folder))
            foreign += [f"{folder}/{name}" for name in names if not INSIDE[folder].fullmatch(name)]
        else:
            foreign += [name for name in files_below(location, folder) if name not in own]
    return sorted(foreign)


def names_in(location: str) -> list[str]:
    """The names in a folder. Of a remote one without its folders that hold nothing, which some stores go on to list."""
    names = storage.list_dir(location)
    if storage.is_local(location):
        return names
    files = storage.list_sizes(location)
    return [name for name in names if name in files or storage.list_tree(storage.join(location, name))]


def files_below(location: str, folder: str) -> list[str]:
    """All files and links below one of the folders of a run, relative to the run, but for unfinished ones."""
    if not storage.is_local(location):
        return [f"{folder}/{name}" for name in storage.list_tree(storage.join(location, folder))]
    root = Path(storage.local_path(location))
    paths = []
    for above, folders, names in os.walk(root / folder):
        folders[:] = [name for name in folders if storage.TEMPORARY not in name]
        links = [name for name in folders if Path(above, name).is_symlink()]
        paths += [Path(above, name).relative_to(root).as_posix() for name in (*names, *links)]
    return [name for name in paths if not name.rpartition("/")[2].startswith(storage.TEMPORARY)]


def remove_written(location: str, below: str, keep: Iterable[str] = ()) -> None:
    """Remove what written.json names in one of the run's folders, and the folders that are empty then."""
    keep_names = set(keep)
    removed = [name for name in written_files(location) if _folder(name) == below and name not in keep_names]
    storage.remove_files([storage.join(location, name) for name in removed])
    if not storage.is_local(location):
        return
    root = Path(storage.local_path(location))
    above = {folder for name in removed for folder in Path(name).parents if folder != Path()}
    for folder in sorted(above, key=lambda path: -len(path.parts)):
        if (root / folder).is_dir() and not any((root / folder).iterdir()):
            (root / folder).rmdir()


def refuse(location: str, foreign: list[str], why: str) -> None:
    """Raises RefusedFolder if there is anything that is not the run's own."""
    if foreign:
        others = f" and {len(foreign) - SHOWN} more" if len(foreign) > SHOWN else ""
        raise RefusedFolder(f"{location}: {why}: {', '.join(foreign[:SHOWN])}{others}")


def _is_as_written(name: str, digest: str | None) -> bool:
    return digest is None or hashlib.sha256(storage.read_bytes(name)).hexdigest() == digest


def _folder(name: str) -> str:
    """The run's folder that a file is in, "" at the top."""
    return name.partition("/")[0] if "/" in name else ""
