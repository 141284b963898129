"""The training-shard format: flat token files that nanoGPT maps, and beside them which document each token is from.

FORMAT.md is the contract. `open_shards` reads a folder, with NumPy alone. `plan` and `pack` lay shards out, `writer`
writes them.
"""

from corpusmill.shards.reader import Place, Shards, open_shards

open = open_shards  # `shards.open(path)`

__all__ = ["Place", "Shards", "open", "open_shards"]
