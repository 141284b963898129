"""Domains that lose nearly all of their documents to near deduplication: a mirror, or pages of one template.

A unit of verdicts counts the domains of its documents; one unit adds these counts up, hash by hash, a few at a time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.corpus import (
    EMPTIED,
    EMPTIED_LEAST,
    Everything,
    KeyFiles,
    after,
    digest,
    dropped_documents,
    key_files,
)
from corpusmill.steps.dedup._verdicts import DuplicateVerdicts
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import within
from corpusmill.steps.verdict_tables import UnitRange
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.addresses import parse, site_keys, sites

SITE = "site"  # an array of the keys: of each document `addresses.site_keys`
MAX_DOMAINS = 20  # that are named
MAX_COUNTS = 1 << 20  # that are added up at a time
SITES = ("site", "came", "lost", "first")
Sites = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # see `write_sites`


def site_array(urls: pa.Array) -> dict[str, NDArray[np.uint64]]:
    # Of none there is nothing to parse: `corpusmill check` would load the kernels for it.
    return {SITE: site_keys(parse(urls)) if len(urls) else np.empty(0, np.uint64)}


@dataclass(frozen=True)
class NearVerdicts(DuplicateVerdicts):
    """And the output `sites`: see `write_sites`."""

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        write_sites(io, key_files(self.keys, io), inputs, self.write(inputs, io))


def write_sites(io: UnitIO, files: KeyFiles, units: UnitRange, dropped: NDArray[np.int64]) -> None:
    """Write `sites`: the domains of some units by hash, rising, how many of their documents reached the step, how many
    it drops, and the first of these.

    dropped   documents by number, rising
    """
    parts: list[Sites] = []
    for number in range(files.earlier + units.first, files.earlier + units.stop):
        start, end = files.starts[number : number + 2].tolist()
        site = io.arrays(files.keys[number], files.scattered).part(SITE, 0, end - start)
        reached = site != 0
        reached[dropped_documents(files, io, number)] = False
        rows = np.flatnonzero(reached)
        is_dropped = np.zeros(end - start, np.int64)
        is_dropped[within(dropped, start, end) - start] = 1
        # By file, so that memory grows with the number of domains, and not of documents.
        parts.append(_sum_by_site(site[rows], np.ones(len(rows), np.int64), is_dropped[rows], rows + start))
    columns = _join_sites(parts)
    io.write_arrays("sites", len(columns[0]), **dict(zip(SITES, columns)))


def _join_sites(parts: Iterable[Sequence[NDArray[Any]]]) -> Sites:
    none = np.empty(0, np.int64)
    return _sum_by_site(*(np.concatenate(column) for column in zip((none.astype(np.uint64), none, none, none), *parts)))


def _sum_by_site(
    site: NDArray[np.uint64], reached: NDArray[np.int64], lost: NDArray[np.int64], first: NDArray[np.int64]
) -> Sites:
    """Each site once. `first` is the smallest of those that lost any; where none did, it says nothing."""
    order = np.argsort(site, kind="stable")
    site, reached, lost = site[order], reached[order], lost[order]
    first = np.where(lost > 0, first[order], np.iinfo(np.int64).max)
    begins = np.flatnonzero(np.append(True, site[1:] != site[:-1])[: len(site)])
    if not len(begins):
        return site, reached, lost, first
    return (
        site[begins],
        np.add.reduceat(reached, begins),
        np.add.reduceat(lost, begins),
        np.minimum.reduceat(first, begins),
    )


def emptied_stage(keys: KeyStage, verdicts: str) -> Stage:
    def one_unit(upstream: Upstream) -> list[PlannedUnit]:
        docs = digest(upstream.results(keys.stage)["docs"])
        return [PlannedUnit(Everything(), (digest(upstream.results(verdicts)["sites"]), docs))]

    return Stage(f"{keys.label}-emptied", EmptiedDomains(keys, verdicts), after(keys, verdicts), one_unit)


@dataclass(frozen=True)
class EmptiedDomains:
    """The fact `emptied`: name of a domain -> [documents that reached the step, those that it dropped], of the domains
    that lost more than EMPTIED of them: of many the MAX_DOMAINS that lost most documents."""

    keys: KeyStage
    verdicts: str

    def run(self, inputs: Everything, io: UnitIO) -> None:
        results = io.results(self.verdicts)["sites"]
        paths = results.paths.to_pylist()
        rounds = int(results.rows.sum()) // MAX_COUNTS + 1
        edges = [(k << 64) // rounds for k in range(1, rounds)]  # hashes are evenly distributed
        begins = [0] * len(paths)
        none = np.empty(0, np.int64)
        best: Sites = none.astype(np.uint64), none, none, none
        for edge in (*edges, None):
            parts = []
            for i, path in enumerate(paths):
                arrays = io.arrays(path)
                site = arrays["site"]
                stop = len(site) if edge is None else int(np.searchsorted(site, np.uint64(edge)))
                parts.append([arrays[name][begins[i] : stop].copy() for name in SITES])
                begins[i] = stop
            new = _join_sites(parts)
            rows = np.flatnonzero((new[2] >= EMPTIED_LEAST) & (new[2] > EMPTIED * new[1]))
            merged = [np.concatenate([old, column[rows]]) for old, column in zip(best, new)]
            top = np.lexsort((merged[0], -merged[2]))[:MAX_DOMAINS]
            best = merged[0][top], merged[1][top], merged[2][top], merged[3][top]
        files = key_files(self.keys, io)
        _, reached, lost, first = best
        names = [_name(io, files, document) for document in first.tolist()]
        io.facts["emptied"] = {name: [int(reached[i]), int(lost[i])] for i, name in enumerate(names)}


def _name(io: UnitIO, files: KeyFiles, document: int) -> str:
    """The domain of a document, or its host where that has none."""
    file = int(np.searchsorted(files.starts, document, "right")) - 1
    row = document - int(files.starts[file])
    table = io.parquet(files.docs[file])
    for group in range(table.metadata.num_row_groups):
        rows = table.metadata.row_group(group).num_rows
        if row < rows:
            url = table.read_row_group(group, ["url"], use_threads=False)["url"].slice(row, 1).combine_chunks()
            addresses = parse(url)
            begin, end = addresses.spans[0, :2].tolist()
            return sites(addresses)[0].as_py() or bytes(addresses.data[begin:end]).decode("utf-8", "replace")
        row -= rows
    raise IndexError(document)
