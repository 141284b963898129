""".SHA256SUMS: the checksums of a folder's files, in the format of `sha256sum`, written after all files.

`sha256sum -c .SHA256SUMS` checks them without this package.

The name begins with a dot because these leave such files out: the shell and Python's glob (`*`), Hugging Face datasets
(`data_files`, `data_dir`), PyArrow and Spark (a folder). One with an underscore is left out by PyArrow and Spark alone.
DuckDB and fsspec leave out neither where a pattern is `*`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from corpusmill.storage import write_atomic

SUMS = ".SHA256SUMS"
EARLIER = ("_SHA256SUMS", "SHA256SUMS")  # what earlier versions called it
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path, digests: Mapping[str, str] | None = None) -> None:
    """Write the checksums of all files in a folder, sorted by name.

    digests   name -> SHA-256, for files that do not have to be read again
    """
    sums = dict(digests or {})
    lines = (f"{sums.get(name) or sha256(folder / name)}  {name}\n" for name in files_in(folder))
    write_atomic(str(folder / SUMS), "".join(lines).encode())


def sum_problems(folder: Path) -> Iterator[str]:
    """The differences from .SHA256SUMS: a sentence for each file that is missing, is not listed, or has changed."""
    path = sums_in(folder) or folder / SUMS
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        yield f"{path}: it is missing; it is written last, so the folder may not have been written or copied completely"
        return
    except UnicodeDecodeError:
        yield f"{path}: it is damaged"
        return
    listed: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if match := LINE.fullmatch(line):
            listed[match[2]] = match[1]
        else:
            yield f"{path}: line {number} is not a checksum and a name: it was changed or damaged"
    files = files_in(folder)
    for name in files:
        if name not in listed:
            yield f"{folder / name}: is not listed in {path.name}"
        elif (actual := sha256(folder / name)) != listed[name]:
            yield (
                f"{folder / name}: SHA-256 is {actual[:12]}…, was written as {listed[name][:12]}…: it was cut, "
                "changed or damaged"
            )
    for name in listed:
        if name not in files:
            yield f"{folder / name}: is listed in {path.name}, but it is not there"


def files_in(folder: Path) -> list[str]:
    """Names of all files below a folder except its checksums, with `/`, sorted."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if name not in (SUMS, *EARLIER))


def sums_in(folder: Path) -> Path | None:
    """The file with the checksums of a folder, of this version or an earlier one; None if there is none."""
    return next((folder / name for name in (SUMS, *EARLIER) if (folder / name).exists()), None)
