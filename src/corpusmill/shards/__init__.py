"""The training-shard format: flat token files that nanoGPT maps, and beside them which document each token is from.

FORMAT.md is the contract.

    layout        names of files, the index, the spans of a shard
    entries       the index in a form that is mapped, not parsed: `index.entries`
    files         the files of a folder, mapped
    reader        a folder of shards as one array of tokens; `open_shards`
    foreign       is a file of these shards, or of others?
    documents     the documents of finished shards, one after the other
    forgotten     documents to leave out: a list that readers mask, and their tokens erased
    loss          which tokens have no loss, by a rule of the index
    sample        texts that tell tokenizers apart: their ids are in the index
    token_range   a range of tokens, for writers of other formats
    verify        checks all that FORMAT.md promises
    plan          which documents each shard holds
    pack          the tokens of one shard in rows
    writer        writes shards, their tables and the index

Reading needs NumPy alone, so that a training loop can do it; only the tables of documents need pyarrow.
"""

from corpusmill.shards.reader import Shards, TokenOrigin, open_shards

open = open_shards  # `shards.open(path)`

__all__ = ["Shards", "TokenOrigin", "open", "open_shards"]
