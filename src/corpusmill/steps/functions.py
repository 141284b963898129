"""Plain functions as steps: a function that is given one document after the other, found by `module:name`."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from corpusmill.assets.registry import imported
from corpusmill.errors import RecipeError

S = TypeVar("S", bound="OfFunction")
COLUMNS = ("id", "source", "file", "position", "url", "date", "text", "metadata")


class Document:
    """A document as a function sees it: `document.text` or `document["text"]`.

    id, source, file, position, url, date   as in `corpusmill.schema.DOCUMENT`; url and date are None where unknown
    text                                    its text; "" of a page that has not been extracted
    metadata                                the other columns of the input, as a dict
    """

    def __init__(self, row: dict[str, Any]) -> None:
        self.id: str = row["id"]
        self.source: str = row["source"]
        self.file: str = row["file"]
        self.position: int = row["position"]
        self.url: str | None = row["url"]
        self.date: str | None = row["date"]
        self.text: str = row["text"] or ""
        self._metadata: str | None = row["metadata"]

    @cached_property
    def metadata(self) -> dict[str, Any]:
        return json.loads(self._metadata) if self._metadata else {}

    def __getitem__(self, name: str) -> Any:
        if name not in COLUMNS:
            raise KeyError(f'a document has no "{name}"; it has {", ".join(COLUMNS)}')
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"<Document {self.id}: {self.text[:60]!r}{'…' if len(self.text) > 60 else ''}>"


@dataclass(frozen=True, kw_only=True)
class OfFunction:
    """What steps share that call a function.

    function   `module:name` of a function that is given a `Document`; the module must be importable where the command
               is run
    """

    function: str

    main_parameter = "function"

    def __post_init__(self) -> None:
        find(self.function)  # it must be there

    @cached_property
    def _call(self) -> Callable[[Document], Any]:
        return find(self.function)

    @property
    def is_importable(self) -> bool:
        """Whether other processes can import the function by its name: no lambda, no function inside another one, none
        of a notebook or a prompt."""
        module, _, name = self.function.partition(":")
        return "<" not in name and (module != "__main__" or hasattr(sys.modules["__main__"], "__file__"))

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function}  # a worker imports the function, and what decorated it may be this step

    def __call__(self, document: Document) -> Any:
        """The function itself, so that what is decorated can still be called."""
        return self._call(document)

    @property
    def code(self) -> tuple[Any, ...]:
        return (self._call,)

    @property
    def name(self) -> str:
        """The function's own."""
        return self.function.rpartition(":")[2].rpartition(".")[2].strip("<>")

    def answers(self, docs: pa.RecordBatch) -> Iterator[tuple[Document, Any]]:
        """Each document with what the function returns for it."""
        for row in docs.select(COLUMNS).to_pylist():
            document = Document(row)
            yield document, self._call(document)


def find(name: str) -> Callable[[Document], Any]:
    """The function called `module:name`. Raises RecipeError if there is none."""
    module, colon, path = name.partition(":")
    if "<" in path:
        raise RecipeError(f'"{name}" can be called only in the program that defined it: it has no name in a module')
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        written = "module:name" if colon or "." not in name else ":".join(name.rsplit(".", 1))
        raise RecipeError(f'"{name}" is not the name of a function; it is written {written}')
    attribute = imported("function", name)
    if isinstance(attribute, OfFunction):
        return attribute._call
    if isinstance(attribute, type) or not callable(attribute):
        raise RecipeError(f'"{name}" is not a function, but {_kind(attribute)}')
    return attribute  # type: ignore[no-any-return]


def step_of(step: type[S], function: Callable[[Document], Any]) -> S:
    """A step that calls a function, which need not be bound to its name yet: so this can decorate it."""
    instance = step.__new__(step)
    vars(instance).update(function=import_name(function), _call=function)
    return instance


def import_name(function: Callable[..., Any]) -> str:
    """`module:name` of a function; of a lambda `module:<lambda>`, by which nothing can be found. Raises RecipeError of
    what is no function."""
    if not isinstance(function, FunctionType):
        raise RecipeError(
            f"{_kind(function)} cannot be a step: it has no source, so that a run could not tell when it changes. "
            "Give a function, `def` or lambda, that calls it."
        )
    return f"{function.__module__}:{function.__qualname__}"


def reason(answer: Any, name: str) -> str | None:
    """Why a document is dropped, by what a function said of it; None keeps it."""
    if isinstance(answer, bool | np.bool_):
        return None if answer else name
    if isinstance(answer, str) and answer and "," not in answer:
        return answer
    raise RecipeError(
        f"{name} must return True to keep a document, False to drop it, or the reason to drop it, a string without "
        f"commas; it returned {answer!r:.80}"
    )


def _kind(value: Any) -> str:
    return "a class" if isinstance(value, type) else f"a value of the type {type(value).__name__}"
