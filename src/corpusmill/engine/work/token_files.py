"""The token ids of a unit's documents, to be read: those of the pass that wrote their texts, without those of documents
that were dropped later."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.store.unit_io import Upstream

IDS = "ids"  # the output of a pass, see `token_ids`
Int64s = NDArray[np.int64]


def read_ids(files: Upstream, tokens: str, ids: str) -> tuple[NDArray[Any], Int64s]:
    """The ids of a unit of the stages `tokens` and `epochs`, and (documents,) how many of each.

    tokens   the path of its file
    ids      that of the ids that it is chosen from; the same path if it has its own
    """
    own = files.arrays(tokens)
    if tokens == ids:
        return own["ids"], own["lengths"]
    arrays = files.arrays(ids)
    if "chosen" not in own:
        return arrays["ids"], arrays["lengths"]
    return ids_of(arrays["ids"], arrays["lengths"], own["chosen"]), own["lengths"]


def ids_of(ids: NDArray[Any], lengths: Int64s, rows: Int64s) -> NDArray[Any]:
    """The ids of some documents.

    ids, lengths   of all documents: (tokens,) and (documents,)
    rows           which of them, rising
    """
    edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if len(rows) == 0:
        return ids[:0]
    first = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)  # of each run of neighbours, which is copied whole
    last = np.append(first[1:], len(rows)) - 1
    selected: NDArray[Any] = np.concatenate(
        [ids[begin:end] for begin, end in zip(edges[rows[first]].tolist(), edges[rows[last] + 1].tolist())]
    )
    return selected
