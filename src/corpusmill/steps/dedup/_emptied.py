"""Domains that lose nearly all of their documents to near deduplication: a mirror, or pages of one template."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.facts import Facts
from corpusmill.steps.corpus import EMPTIED, EMPTIED_LEAST, KeyFiles, dropped_documents
from corpusmill.text.addresses import parse, site_keys, sites
from corpusmill.unit_io import UnitIO

SITE = "site"  # an array of the keys: of each document `addresses.site_keys`
MOST = 20  # domains that are named


def site_array(urls: pa.Array) -> dict[str, NDArray[np.uint64]]:
    # Of none there is nothing to parse: `corpusmill check` would load the kernels for it.
    return {SITE: site_keys(parse(urls)) if len(urls) else np.empty(0, np.uint64)}


def emptied(io: UnitIO, files: KeyFiles, dropped: NDArray[np.int64]) -> Facts:
    """name of a domain -> [documents that came to the step, those that it dropped], of the domains that lost more than
    EMPTIED of them: of many the MOST that lost most documents.

    dropped   documents of this run, rising. In memory are numbers of these, and of one file of keys
    """
    own = list(zip(files.keys, files.starts.tolist(), files.starts[1:].tolist()))[files.earlier :]
    lost = np.concatenate([np.empty(0, np.uint64), *(_sites(io, path, _part(dropped, a, b) - a) for path, a, b in own)])
    names, counts = np.unique(lost, return_counts=True)
    enough = (counts >= EMPTIED_LEAST) & (names != 0)
    names, counts = names[enough], counts[enough]
    if not len(names):
        return {}
    others = dropped_documents(files, io)
    came = np.zeros(len(names), np.int64)
    for path, start, end in own:
        here = np.delete(np.arange(end - start), _part(others, start, end) - start)
        found = _sites(io, path, here)
        at = np.searchsorted(names, found)
        at[at == len(names)] = 0
        came += np.bincount(at[names[at] == found], minlength=len(names))
    which = np.flatnonzero(counts > EMPTIED * came)
    which = which[np.lexsort((names[which], -counts[which]))][:MOST]
    first = dropped[[int(np.flatnonzero(lost == name)[0]) for name in names[which]]] if len(which) else dropped[:0]
    called = [_name(io, files, document) for document in first.tolist()]
    return {name: [int(came[i]), int(counts[i])] for name, i in zip(called, which)}


def _part(documents: NDArray[np.int64], start: int, end: int) -> NDArray[np.int64]:
    first, stop = np.searchsorted(documents, [start, end])
    return documents[first:stop]


def _sites(io: UnitIO, path: str, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    arrays = io.arrays(path)
    return np.asarray(arrays[SITE][rows])


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
