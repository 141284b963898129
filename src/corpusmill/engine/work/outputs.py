"""Outputs under lasting names: what works of writers share when a run is published."""

import hashlib
import json
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from corpusmill.store.output import OutputFolder
from corpusmill.store.sums import SUMS
from corpusmill.store.units import Results
from corpusmill.write import Indexed, file_name


@runtime_checkable
class ChecksLibrary(Protocol):
    """A writer that needs a library which may not be installed."""

    def check(self) -> None: ...


def check_writer(writer: object) -> None:
    """Raises MissingExtraError if a writer's library is not installed."""
    if isinstance(writer, ChecksLibrary):
        writer.check()


def publish_files(
    output: OutputFolder, folder: str, results: Results, files: Mapping[str, str], writer: object = None
) -> None:
    """Outputs under lasting names, which the writer may choose; the writer's index over all of them if it makes one;
    and their checksums.

    files   output -> the suffix of its files
    """
    link_all(output, folder, results, files, writer)
    sums = {
        file_name(writer, unit, suffix): digest
        for suffix in files.values()
        for unit, digest in enumerate(results.notes.get(f"sha256{suffix}", ()))
    }
    if isinstance(writer, Indexed):
        (suffix,) = files.values()
        entries = {
            file_name(writer, unit, suffix): json.loads(entry)
            for unit, entry in enumerate(results.notes.get("entry", ()))
        }
        for name, content in writer.index(entries).items():
            output.write(folder, name, content)
            sums[name] = hashlib.sha256(content).hexdigest()
    lines = (f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    output.write(folder, SUMS, "".join(lines).encode())


def link_all(
    output: OutputFolder, folder: str, results: Results, files: Mapping[str, str], writer: object = None
) -> None:
    output.make_folder(folder)
    for name, suffix in files.items():
        for unit in range(len(results)):
            output.publish(results[name].path(unit), folder, file_name(writer, unit, suffix))
