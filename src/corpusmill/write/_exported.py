"""The writers by their names in Python, for type checkers and editors alone.

Written by docs/make_reference.py.
"""

from corpusmill.write.dclm import DclmWriter
from corpusmill.write.dolma import DolmaWriter
from corpusmill.write.jsonl import JsonlWriter
from corpusmill.write.litdata import LitdataWriter
from corpusmill.write.mds import MdsWriter
from corpusmill.write.megatron import MegatronWriter
from corpusmill.write.olmo import OlmoWriter
from corpusmill.write.parquet import ParquetWriter
from corpusmill.write.parquet_tokens import ParquetTokensWriter
from corpusmill.write.redpajama import RedpajamaWriter
from corpusmill.write.shards import ShardsWriter
from corpusmill.write.tokenized import TokenizedWriter

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
