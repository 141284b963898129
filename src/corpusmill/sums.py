"""SHA256SUMS: the checksums of a folder's files, in the form of `sha256sum`, written when all files are there.

`sha256sum -c SHA256SUMS` checks them without this package.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from corpusmill.storage import write_atomic

SUMS = "SHA256SUMS"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path, known: Mapping[str, str] | None = None) -> None:
    """Write the checksums of all files in a folder, sorted by name.

    known   name -> SHA-256, of files that need not be read again
    """
    found = dict(known or {})
    lines = (f"{found.get(name) or sha256(folder / name)}  {name}\n" for name in files_in(folder))
    write_atomic(str(folder / SUMS), "".join(lines).encode())


def sum_problems(folder: Path) -> Iterator[str]:
    """What differs from SHA256SUMS: a sentence for each file that is missing, one too many, or not what was written."""
    path = folder / SUMS
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        yield f"{path}: there is none, and it is written last: was the folder written and copied to its end?"
        return
    except UnicodeDecodeError:
        yield f"{path}: it is damaged"
        return
    promised: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if found := LINE.fullmatch(line):
            promised[found[2]] = found[1]
        else:
            yield f"{path}: line {number} is no checksum and name: it was changed or damaged"
    there = files_in(folder)
    for name in there:
        if name not in promised:
            yield f"{folder / name}: is not named in {SUMS}"
        elif (found_sum := sha256(folder / name)) != promised[name]:
            yield (
                f"{folder / name}: SHA-256 is {found_sum[:12]}…, was written as {promised[name][:12]}…: it was cut, "
                "changed or damaged"
            )
    for name in promised:
        if name not in there:
            yield f"{folder / name}: {SUMS} names it, and it is not there"


def files_in(folder: Path) -> list[str]:
    """Names of all files below a folder but SHA256SUMS, with `/`, sorted."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if name != SUMS)
