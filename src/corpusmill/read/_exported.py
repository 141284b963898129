"""The readers by their names in Python, for type checkers and editors alone.

Written by docs/make_reference.py.
"""

from corpusmill.read.arrow import Arrow as ArrowReader
from corpusmill.read.code import Code as CodeReader
from corpusmill.read.csv import Csv as CsvReader
from corpusmill.read.dolma import Dolma as DolmaReader
from corpusmill.read.epub import Epub as EpubReader
from corpusmill.read.html import Html as HtmlReader
from corpusmill.read.jsonl import Jsonl as JsonlReader
from corpusmill.read.latex import Latex as LatexReader
from corpusmill.read.mediawiki import Mediawiki as MediawikiReader
from corpusmill.read.parquet import Parquet as ParquetReader
from corpusmill.read.pdf import Pdf as PdfReader
from corpusmill.read.redpajama import Redpajama as RedpajamaReader
from corpusmill.read.stackexchange import Stackexchange as StackexchangeReader
from corpusmill.read.text import Text as TextReader
from corpusmill.read.warc import Warc as WarcReader
from corpusmill.read.wet import Wet as WetReader

__all__ = [
    "ArrowReader",
    "CodeReader",
    "CsvReader",
    "DolmaReader",
    "EpubReader",
    "HtmlReader",
    "JsonlReader",
    "LatexReader",
    "MediawikiReader",
    "ParquetReader",
    "PdfReader",
    "RedpajamaReader",
    "StackexchangeReader",
    "TextReader",
    "WarcReader",
    "WetReader",
]
