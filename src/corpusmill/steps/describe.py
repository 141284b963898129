"""The description of a step and its parameters, read from its code, so that help and docs always match what runs."""

import ast
import dataclasses
import inspect
import io
import json
import re
import textwrap
import tokenize
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from corpusmill import steps
from corpusmill.steps import find


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One setting of a step."""

    name: str
    type: str  # as in code: "int | None"
    default: str | None  # None: it must be given
    note: str  # the comment beside it in the code, often a unit; may be empty


@dataclasses.dataclass(frozen=True)
class StepInfo:
    """One step, for help and docs."""

    name: str  # as a recipe writes it
    kinds: tuple[str, ...]  # the protocols of `corpusmill.steps` that it fulfils
    summary: str  # first sentence of its docstring
    parameters: tuple[Parameter, ...]
    source: str  # the paper or program that it follows; empty if there is none
    doc: str  # the whole docstring


def describe(name: str) -> StepInfo:
    """The description of the step with this name in recipes.

    Raises RecipeError if there is none, as `corpusmill.steps.find` does.

    >>> info = describe("filter/gopher_quality")
    >>> info.kinds, info.parameters[0]
    (('Annotate', 'Filter'), Parameter(name='min_words', type='int | None', default='50', note=''))
    """
    step = find(name)
    doc = inspect.cleandoc(step.__doc__ or "")
    return StepInfo(name, kinds(step), summary(doc), parameters(step), source(doc), doc)


def kinds(step: type[Any]) -> tuple[str, ...]:
    """The names of the step protocols whose members a class has, in the order of `corpusmill.steps`."""
    return tuple(
        protocol.__name__
        for protocol in steps.KINDS
        if all(hasattr(step, member) for member in vars(protocol) if not member.startswith("_"))
    )


def summary(doc: str) -> str:
    """The first sentence of a docstring, on one line.

    >>> summary("Drop what is short. Keep the rest.")
    'Drop what is short.'
    """
    paragraph = " ".join(doc.split("\n\n", 1)[0].split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph, maxsplit=1)[0]


def source(doc: str) -> str:
    """The text after "Source:" in a docstring, up to the end of the paragraph, on one line; else its arXiv numbers.

    >>> source("Drop it.\\n\\nSource: Someone 2020,\\narXiv:2001.00001\\n\\nMore.")
    'Someone 2020, arXiv:2001.00001'
    """
    if match := re.search(r"^Source: (.+?)(?:\n\n|\Z)", doc, re.MULTILINE | re.DOTALL):
        return " ".join(match[1].split())
    return ", ".join(dict.fromkeys(f"arXiv:{number}" for number in re.findall(r"arXiv[: ](\d{4}\.\d{4,5})", doc)))


def parameters(step: type[Any]) -> tuple[Parameter, ...]:
    """The fields of a step, in order."""
    hints, comments = get_type_hints(step), notes(step)
    return tuple(
        Parameter(field.name, spell(hints[field.name]), default(field), comments.get(field.name, ""))
        for field in dataclasses.fields(step)
    )


def spell(hint: Any) -> str:
    """A type as in code, aliases resolved.

    >>> spell(tuple[str, ...] | None), spell(Literal["a", "b"])
    ('tuple[str, ...] | None', '"a" | "b"')
    """
    if hint is type(None) or hint is Ellipsis:
        return "None" if hint is type(None) else "..."
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(json.dumps(arg) for arg in args)
    if origin in (Union, UnionType):
        return " | ".join(spell(arg) for arg in args)
    name = getattr(origin or hint, "__name__", str(hint))
    return f"{name}[{', '.join(spell(arg) for arg in args)}]" if args else name


def default(field: dataclasses.Field[Any]) -> str | None:
    """The default of a field as Python writes it."""
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return None


def notes(step: type[Any]) -> dict[str, str]:
    """field -> the comment on its line in the code; fields without a comment are left out."""
    sources = [cls for cls in reversed(step.__mro__) if dataclasses.is_dataclass(cls)]
    return {field: note for cls in sources for field, note in _notes(cls).items()}


def _notes(cls: type[Any]) -> dict[str, str]:
    """As `notes`, for the fields in the body of one class."""
    code = textwrap.dedent(inspect.getsource(cls))
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT and token.line.strip() != token.string
    }
    body = ast.parse(code).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        line.target.id: comments[line.lineno]
        for line in body.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.lineno in comments
    }
