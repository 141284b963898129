"""The writers by their names in Python, for type checkers and editors alone.

Written by docs/make_reference.py.
"""

from corpusmill.write.dclm import Dclm as DclmWriter
from corpusmill.write.dolma import Dolma as DolmaWriter
from corpusmill.write.jsonl import Jsonl as JsonlWriter
from corpusmill.write.litdata import Litdata as LitdataWriter
from corpusmill.write.mds import Mds as MdsWriter
from corpusmill.write.megatron import Megatron as MegatronWriter
from corpusmill.write.olmo import Olmo as OlmoWriter
from corpusmill.write.parquet import Parquet as ParquetWriter
from corpusmill.write.parquet_tokens import ParquetTokens as ParquetTokensWriter
from corpusmill.write.redpajama import Redpajama as RedpajamaWriter
from corpusmill.write.shards import Shards as ShardsWriter
from corpusmill.write.tokenized import Tokenized as TokenizedWriter

__all__ = [
    "DclmWriter",
    "DolmaWriter",
    "JsonlWriter",
    "LitdataWriter",
    "MdsWriter",
    "MegatronWriter",
    "OlmoWriter",
    "ParquetTokensWriter",
    "ParquetWriter",
    "RedpajamaWriter",
    "ShardsWriter",
    "TokenizedWriter",
]
