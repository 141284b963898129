"""Is a file of these shards, or of others? A cheap look, where `Shards.check` reads all."""

import re

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards.layout import INDEX, PADDING, DocumentSpans
from corpusmill.shards.reader import Shards

Int64s = NDArray[np.int64]
ENDS_LOOKED_AT = 256  # documents of a shard whose ends are looked at
SHARD_FILE = re.compile(r".*\.(bin|idx)")


def check_belongs(shards: Shards) -> None:
    """Raises ShardError, naming the file, if the folder has a shard that the index does not list, or lacks one that it
    does; if spans have not their checksum; or if tokens are not those that the spans speak of: documents end with EOS.
    """
    index = shards.index
    listed = {name(entry.number) for entry in index.shards for name in (index.tokens_name, index.spans_name)}
    present = {path.name for path in shards.folder.iterdir() if SHARD_FILE.fullmatch(path.name)}
    for name in sorted(present - listed):
        raise ShardError(
            f"{shards.folder / name}: {INDEX} does not list it: it is of other shards. Remove it; to train on both, "
            "give the loader both folders."
        )
    for name in sorted(listed - present):
        raise ShardError(f"{shards.folder / name}: is missing, and {INDEX} lists it. Copy the shards again.")
    left_out = np.union1d(shards.forgotten, shards.erased)
    for number, entry in enumerate(index.shards):
        tokens, last = shards.mapped(number), _last_tokens(shards.runs(number), entry.tokens, left_out)
        last = last[:: max(1, len(last) // ENDS_LOOKED_AT)]
        wrong = last[tokens[last] != index.eos_id]
        if len(wrong):
            raise ShardError(
                f"{shards.folder / index.tokens_name(entry.number)}: token {int(wrong[0])} should end a document, and "
                f"is {int(tokens[wrong[0]])}, not {index.eos_id}: the file is of other shards, or "
                "damaged. Copy it again."
            )
        shards.release()


def _last_tokens(runs: DocumentSpans, size: int, left_out: Int64s) -> Int64s:
    """The last tokens of the documents that end in a shard for certain: all but its last one, and those left out."""
    order = np.lexsort((runs.offset, runs.document))
    document = runs.document[order]
    final = order[np.append(document[1:] != document[:-1], False)]  # the last piece of each document, but of the last
    final = final[(runs.document[final] != PADDING) & ~np.isin(runs.document[final], left_out)]
    ends: Int64s = np.append(runs.start[1:], size)[final] - 1
    return np.sort(ends)
