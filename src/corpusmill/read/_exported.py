"""The readers by their names in Python, for type checkers and editors alone.

Written by docs/make_reference.py.
"""

from corpusmill.read.arrow import Arrow as ArrowReader
from corpusmill.read.csv import Csv as CsvReader
from corpusmill.read.html import Html as HtmlReader
from corpusmill.read.jsonl import Jsonl as JsonlReader
from corpusmill.read.parquet import Parquet as ParquetReader
from corpusmill.read.text import Text as TextReader
from corpusmill.read.warc import Warc as WarcReader
from corpusmill.read.wet import Wet as WetReader

__all__ = [
    "ArrowReader",
    "CsvReader",
    "HtmlReader",
    "JsonlReader",
    "ParquetReader",
    "TextReader",
    "WarcReader",
    "WetReader",
]
