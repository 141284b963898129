"""The steps by their names in Python, for type checkers and editors alone.

Written by docs/make_reference.py.
"""

from corpusmill.steps.annotate.bucket import Bucket
from corpusmill.steps.annotate.classifier import Classifier
from corpusmill.steps.annotate.embedding import Embedding
from corpusmill.steps.annotate.language import AnnotateLanguage
from corpusmill.steps.annotate.licence import Licence
from corpusmill.steps.annotate.metadata import Metadata
from corpusmill.steps.annotate.model import Model
from corpusmill.steps.annotate.perplexity import Perplexity
from corpusmill.steps.annotate.pii import AnnotatePii
from corpusmill.steps.annotate.quality import Quality
from corpusmill.steps.annotate.rights import AnnotateRights
from corpusmill.steps.annotate.script import Script
from corpusmill.steps.annotate.stats import Stats
from corpusmill.steps.annotate.toxicity import AnnotateToxicity
from corpusmill.steps.clean.html import Html
from corpusmill.steps.clean.mojibake import Mojibake
from corpusmill.steps.clean.normalize import Normalize
from corpusmill.steps.clean.refinedweb_lines import RefinedwebLines
from corpusmill.steps.clean.replace import Replace
from corpusmill.steps.clean.spans import Spans
from corpusmill.steps.clean.urls import Urls
from corpusmill.steps.decontaminate.ngrams import Ngrams
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.line import Line
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.dedup.paragraph import Paragraph
from corpusmill.steps.dedup.substring import Substring
from corpusmill.steps.dedup.url import DedupUrl
from corpusmill.steps.extract.blocks import Blocks
from corpusmill.steps.extract.latex import Latex
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.steps.extract.trafilatura import Trafilatura
from corpusmill.steps.extract.wikitext import Wikitext
from corpusmill.steps.filter.basic import Basic
from corpusmill.steps.filter.broken_text import BrokenText
from corpusmill.steps.filter.c4 import C4
from corpusmill.steps.filter.code import Code
from corpusmill.steps.filter.fineweb import Fineweb
from corpusmill.steps.filter.fineweb2 import Fineweb2
from corpusmill.steps.filter.function import FilterFunction
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.gopher_repetition import GopherRepetition
from corpusmill.steps.filter.keep_where import KeepWhere
from corpusmill.steps.filter.language import FilterLanguage
from corpusmill.steps.filter.lines import Lines
from corpusmill.steps.filter.pareto import Pareto
from corpusmill.steps.filter.patterns import Patterns
from corpusmill.steps.filter.periodic import Periodic
from corpusmill.steps.filter.questionable import Questionable
from corpusmill.steps.filter.rights import FilterRights
from corpusmill.steps.filter.top import Top
from corpusmill.steps.filter.toxicity import FilterToxicity
from corpusmill.steps.filter.url import FilterUrl
from corpusmill.steps.generate.rewrite import Rewrite
from corpusmill.steps.map.function import MapFunction
from corpusmill.steps.mix.buckets import MixBuckets
from corpusmill.steps.mix.rehydrate import Rehydrate
from corpusmill.steps.mix.sources import Sources
from corpusmill.steps.pack.best_fit import BestFit
from corpusmill.steps.pack.buckets import PackBuckets
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.pack.one_per_row import OnePerRow
from corpusmill.steps.redact.names import Names
from corpusmill.steps.redact.pii import RedactPii
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.steps.tokenize.bytes import Bytes

__all__ = [
    "C4",
    "AnnotateLanguage",
    "AnnotatePii",
    "AnnotateRights",
    "AnnotateToxicity",
    "Basic",
    "BestFit",
    "Blocks",
    "Bpe",
    "BrokenText",
    "Bucket",
    "Bytes",
    "Classifier",
    "Code",
    "Concat",
    "DedupUrl",
    "Embedding",
    "Exact",
    "FilterFunction",
    "FilterLanguage",
    "FilterRights",
    "FilterToxicity",
    "FilterUrl",
    "Fineweb",
    "Fineweb2",
    "GopherQuality",
    "GopherRepetition",
    "Html",
    "KeepWhere",
    "Latex",
    "Licence",
    "Line",
    "Lines",
    "MapFunction",
    "Metadata",
    "Minhash",
    "MixBuckets",
    "Model",
    "Mojibake",
    "Names",
    "Ngrams",
    "Normalize",
    "OnePerRow",
    "PackBuckets",
    "Paragraph",
    "Pareto",
    "Patterns",
    "Periodic",
    "Perplexity",
    "Quality",
    "Questionable",
    "RedactPii",
    "RefinedwebLines",
    "Rehydrate",
    "Replace",
    "Resiliparse",
    "Rewrite",
    "Script",
    "Sources",
    "Spans",
    "Stats",
    "Substring",
    "Top",
    "Trafilatura",
    "Urls",
    "Wikitext",
]
