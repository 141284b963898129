"""The readers by their names in Python, for type checkers and editors alone.

Written by docs/make_reference.py.
"""

from corpusmill.read.arrow import ArrowReader
from corpusmill.read.code import CodeReader
from corpusmill.read.commoncrawl import CommoncrawlReader
from corpusmill.read.csv import CsvReader
from corpusmill.read.docx import DocxReader
from corpusmill.read.dolma import DolmaReader
from corpusmill.read.epub import EpubReader
from corpusmill.read.html import HtmlReader
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.latex import LatexReader
from corpusmill.read.mediawiki import MediawikiReader
from corpusmill.read.parquet import ParquetReader
from corpusmill.read.pdf import PdfReader
from corpusmill.read.redpajama import RedpajamaReader
from corpusmill.read.stackexchange import StackexchangeReader
from corpusmill.read.text import TextReader
from corpusmill.read.warc import WarcReader
from corpusmill.read.wat import WatReader
from corpusmill.read.wet import WetReader

__all__ = [
    "ArrowReader",
    "CodeReader",
    "CommoncrawlReader",
    "CsvReader",
    "DocxReader",
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
    "WatReader",
    "WetReader",
]
