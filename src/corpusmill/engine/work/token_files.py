"""The token ids of a unit's documents, to be read: those of the pass that wrote their texts, without those of documents
that were dropped later."""

from typing import Any

import numpy as np
import pyarrow as pa
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
    lists = pa.LargeListArray.from_arrays(pa.array(edges), pa.array(np.asarray(ids)))
    selected: NDArray[Any] = lists.take(pa.array(rows)).flatten().to_numpy()
    return selected
