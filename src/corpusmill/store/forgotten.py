"""The record of the documents that a run must leave out from now on."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill import storage
from corpusmill.errors import ResumeError, other_format
from corpusmill.store.run_folder import FORGOTTEN, RunFolder

RECORD, VERSION = "corpusmill-run-forgotten", 1


@dataclass(frozen=True)
class Forgotten:
    """Documents by their ids, their exact URLs, and the domains of these with all below."""

    ids: frozenset[str] = frozenset()
    urls: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    def __or__(self, other: "Forgotten") -> "Forgotten":
        return Forgotten(self.ids | other.ids, self.urls | other.urls, self.domains | other.domains)

    def among(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """(documents,) which of a batch with `id` and `url` these are."""
        is_forgotten = is_in(batch["id"], self.ids) | is_in(batch["url"], self.urls)
        if self.domains:
            lower = pc.utf8_lower(batch["url"])
            for domain in sorted(self.domains):
                for row in pc.indices_nonzero(pc.fill_null(pc.match_substring(lower, domain), False)).to_pylist():
                    host = host_of(batch["url"][row].as_py())
                    is_forgotten[row] |= host == domain or host.endswith(f".{domain}")
        return is_forgotten

    def to_bytes(self) -> bytes:
        lists = {"ids": sorted(self.ids), "urls": sorted(self.urls), "domains": sorted(self.domains)}
        record = {"format": RECORD, "version": VERSION, **lists, "sha256": _sum(lists)}
        return (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()


def write(run: RunFolder, documents: Forgotten) -> None:
    storage.write_atomic(run.name_of(FORGOTTEN), documents.to_bytes())


def read(run: RunFolder) -> Forgotten | None:
    """What a run must leave out; None: nothing. Raises ResumeError if the record is damaged."""
    name = run.name_of(FORGOTTEN)
    if not storage.exists(name):
        return None
    try:
        record = json.loads(storage.read_bytes(name))
        if record["format"] == RECORD and record["version"] != VERSION:
            raise ResumeError(other_format(run.name_of(FORGOTTEN), record["version"], VERSION))
        lists = {name: record[name] for name in ("ids", "urls", "domains")}
        if record["format"] == RECORD and record["version"] == VERSION and record["sha256"] == _sum(lists):
            return Forgotten(*map(frozenset, lists.values()))
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ResumeError(
        f"{run.name_of('forgotten.json')}: is not as it was written. It says which documents this run must leave "
        f"out, so nothing is done without it. Put it back from a copy; the files in {run.name_of('forget')} say what "
        "was asked for."
    )


def host_of(url: str) -> str:
    """The host of a URL in lower case, without a dot at its end; empty if there is none.

    >>> host_of("https://News.Example.org.:8080/a"), host_of("example.org/a"), host_of("http://[")
    ('news.example.org', 'example.org', '')
    """
    try:
        return (urlsplit(url if "//" in url else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_in(column: pa.Array, names: Collection[str]) -> NDArray[np.bool_]:
    """(rows,) which values of a column of strings are among these."""
    value_set = pa.array(sorted(names), column.type)
    return np.asarray(
        pc.fill_null(pc.is_in(column, value_set=value_set), False).to_numpy(zero_copy_only=False), np.bool_
    )


def _sum(lists: dict[str, list[str]]) -> str:
    return hashlib.sha256(json.dumps(lists, sort_keys=True).encode()).hexdigest()
