"""Conversion between the nodes of a recipe and the values of parameters, by the annotation of the parameter.

`form_of` reads an annotation, once; all else goes by its form. `convert` makes the value of a node, or reports exactly
what is wrong. `plain` goes back: the value as nothing but None, bool, int, float, str, list and dict. `words` says what
an annotation takes, and `recipe.json_schema` says the same to editors.

Supported: bool, int, float (takes whole numbers), str, None, Path, Literal, unions, nested dataclasses, lists and sets
of one type (tuple[X, ...], list, Sequence, frozenset …), tuples of fixed length, and mappings (dict, Mapping, and
tuple[tuple[str, X], ...], which stays hashable in a frozen step).
"""

import collections.abc
import dataclasses
import math
import re
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from corpusmill.errors import CorpusmillError, did_you_mean, raised
from corpusmill.recipe.tree import Items, KeyValue, Node, Position, Problems, Scalar, TableNode, read_scalar
from corpusmill.steps.verdict import NOT_LISTED, unlisted

COLLECTIONS: dict[Any, Any] = {
    list: list,
    set: frozenset,
    frozenset: frozenset,
    collections.abc.Sequence: tuple,
    collections.abc.Collection: tuple,
    collections.abc.Iterable: tuple,
    collections.abc.Set: frozenset,
}
MAPPINGS = (dict, collections.abc.Mapping)
BARE_COLLECTIONS: dict[Any, Any] = {  # annotations that do not say of what
    **{kind: kind[Any] for kind in COLLECTIONS},
    tuple: tuple[Any, ...],
    **{mapping: mapping[str, Any] for mapping in MAPPINGS},
}
COLUMN_WORDS = re.compile("^[a-z]+_(column|col|field|key|name)s?$")  # as in text_column, of other tools
SYNONYMS = {"content": "text", **dict.fromkeys(("path", "file", "files", "folder", "glob", "pattern"), "paths")}
Kind = Literal["any", "union", "literal", "record", "pairs", "fixed", "list", "mapping", "scalar"]


class Form(NamedTuple):
    """What an annotation takes.

    kind        "record" is a dataclass; "fixed" a tuple of fixed length; "pairs" a tuple[tuple[str, X], ...], which a
                recipe writes as a mapping
    parts       the annotations inside; of a literal its values; of pairs, of a pair and of X
    collection  what a list becomes
    """

    kind: Kind
    parts: tuple[Any, ...] = ()
    collection: Any = tuple


def form_of(annotation: Any) -> Form:  # not cached: unions are equal in any order of their options
    annotation = BARE_COLLECTIONS.get(annotation, annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in (Any, object):
        return Form("any")
    if origin in (Union, types.UnionType):
        return Form("union", args)
    if origin is Literal:
        return Form("literal", args)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return Form("record")
    if origin is tuple and args[1:] == (Ellipsis,):
        pair = get_args(args[0]) if get_origin(args[0]) is tuple else ()
        if len(pair) == 2 and pair[0] is str and pair[1] is not Ellipsis:
            return Form("pairs", (args[0], pair[1]))
        return Form("list", args[:1])
    if origin is tuple:
        return Form("fixed", args)
    if origin in COLLECTIONS:
        return Form("list", args, COLLECTIONS[origin])
    return Form("mapping", args) if origin in MAPPINGS else Form("scalar")


class Mismatch(Exception):
    """A node does not fit an annotation. `inside` is the part of the value: `[2]`, `.low`, or "" for all of it.

    all   what does not fit, the first of it as `at`, `inside` and `message`: there is more where parts do not
    """

    def __init__(self, at: Position, message: str, inside: str = "", others: Sequence["Mismatch"] = ()) -> None:
        super().__init__(message)
        self.at, self.message, self.inside, self._others = at, message, inside, others

    @property
    def all(self) -> list["Mismatch"]:
        return [self, *(inner for mismatch in self._others for inner in mismatch.all)]

    def within(self, part: str) -> "Mismatch":
        others = [mismatch.within(part) for mismatch in self._others]
        return Mismatch(self.at, self.message, part + self.inside, others)

    def report(self, name: str, problems: Problems) -> None:
        for mismatch in self.all:
            problems.add(mismatch.at, f"{name}{mismatch.inside} {mismatch.message}")


def parameters(cls: type[Any]) -> Mapping[str, Any]:
    """parameter -> annotation of a dataclass, in the order of its fields."""
    annotated: Any = cls
    return _parameters(annotated)


@cache  # a recipe may have 1,000 sources
def _parameters(cls: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def make(
    cls: type[Any],
    name: str,
    at: Position,
    entries: Mapping[str, KeyValue],
    problems: Problems,
    others: tuple[str, ...] = (),
) -> Any | None:
    """`cls` with the parameters that the recipe sets; or None, with all problems added to `problems`.

    name     its name in the recipe, for messages
    at       the line of that name
    others   parameters beside those of the class, which are not in `entries`: for messages
    """
    if not dataclasses.is_dataclass(cls):
        problems.add(at, f"{name} is not a dataclass; its parameters must be the fields of a frozen dataclass")
        return None
    if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        problems.add(at, f"{name} is a dataclass that can be changed; write @dataclass(frozen=True) above its class")
        return None
    try:
        annotations = parameters(cls)
    except NameError as error:
        problems.add(at, f"{name}: the type of a parameter cannot be found: {error}; import it where the class is")
        return None
    values: dict[str, Any] = {}
    for parameter, entry in entries.items():
        if parameter not in annotations:
            available = (*others, *annotations)
            takes = f"It takes: {', '.join(available)}." if available else "It takes none."
            hint = did_you_mean(usual_name(parameter, available), available) or "."
            problems.add(entry.at, f'{name} has no parameter "{parameter}"{hint} {takes}')
            continue
        try:
            values[parameter] = convert(entry.value, annotations[parameter])
        except Mismatch as error:
            error.report(f"{name}: {parameter}", problems)
    wrong = entries.keys() - values.keys()
    # The step itself cannot tell a value that is its default from one that is not set.
    for rule in unlisted(cls, values.get("rules"), values):
        problems.add(entries[rule].at, f"{name}: {NOT_LISTED.format(rule)}")
        wrong.add(rule)
    for field in dataclasses.fields(cls):
        if field.name in annotations and field.name not in entries and is_required(field):
            problems.add(at, f'{name} needs a value for "{field.name}": {words(annotations[field.name])}')
            wrong.add(field.name)
    return _instantiate(cls, name, at, values, wrong, problems)


def usual_name(parameter: str, available: Collection[str]) -> str:
    """What a parameter of other tools is called here, by one of those that there are; else the name as it is.

    >>> usual_name("text_column", ["columns", "text"]), usual_name("content_field", ["text"])
    ('text', 'text')
    """
    stem = parameter.partition("_")[0] if COLUMN_WORDS.search(parameter) else parameter
    name = SYNONYMS.get(stem, stem)
    return name if name in available else parameter


def _instantiate(
    cls: type[Any], name: str, at: Position, values: dict[str, Any], wrong: set[str], problems: Problems
) -> Any | None:
    """`cls` with these values; None if some are `wrong` or it refuses them.

    A class refuses with one message at a time. The next is asked for by leaving out the parameters that the last one
    names, and reported if it names none that were left out: else it may be about a default that the user did not write.
    """
    refused = bool(wrong)
    values = {parameter: value for parameter, value in values.items() if parameter not in wrong}
    required = {field.name for field in dataclasses.fields(cls) if field.init and is_required(field)}
    while required <= values.keys():
        try:
            instance = cls(**values)
        except Exception as error:
            if isinstance(error, CorpusmillError | ValueError):
                message = str(error).removeprefix(f"{name}: ")
            elif ":" in name:
                message = f"cannot be made: {raised(error)}"
            else:
                raise  # of a class that ships, this is a bug
        else:
            return None if refused else instance
        refused = True
        if not any(_mentions(message, parameter) for parameter in wrong):
            problems.add(at, f"{name}: {message}")
        mentioned = {parameter for parameter in values if _mentions(message, parameter)}
        if not mentioned:
            break
        wrong = wrong | mentioned
        values = {parameter: value for parameter, value in values.items() if parameter not in mentioned}
    return None


def _mentions(message: str, parameter: str) -> bool:
    return re.search(rf"\b{re.escape(parameter)}\b", message) is not None


def convert_or_report(node: Node, annotation: Any, name: str, problems: Problems) -> Any:
    """The node as a value; None, with all problems added, if it does not fit. `name` says in messages what it is."""
    try:
        return convert(node, annotation)
    except Mismatch as error:
        error.report(name, problems)
        return None


def convert(node: Node, annotation: Any) -> Any:
    """The node as a value of the annotation. Raises Mismatch if it does not fit."""
    form = form_of(annotation)
    match form.kind, node:
        case "any", _:
            return _convert_freely(node)
        case "union", _:
            return _convert_union(node, annotation)
        case "literal", _:
            return _convert_literal(node, annotation)
        case "record", TableNode():
            return _convert_record(node, annotation)
        case "pairs", TableNode():
            return tuple(
                (key, _convert_part(entry.value, form.parts[1], f".{key}")) for key, entry in node.entries.items()
            )
        case "list" | "pairs", Items():
            return form.collection(_convert_items(node, form.parts[0]))
        case "fixed", Items() if len(node.items) == len(form.parts):
            return tuple(_convert_part(*pair, f"[{i}]") for i, pair in enumerate(zip(node.items, form.parts)))
        case "mapping", TableNode():
            keys, values = form.parts
            return {
                _convert_part(Scalar(entry.at, key, untyped=True), keys, f".{key}"): _convert_part(
                    entry.value, values, f".{key}"
                )
                for key, entry in node.entries.items()
            }
        case "scalar", Scalar():
            return _convert_scalar(node, annotation)
    raise _mismatch(node, annotation)


def _convert_part(node: Node, annotation: Any, inside: str) -> Any:
    try:
        return convert(node, annotation)
    except Mismatch as error:
        raise error.within(inside) from None


def _convert_items(node: Items, annotation: Any) -> list[Any]:
    values, wrong = [], []
    for i, item in enumerate(node.items):
        try:
            values.append(convert(item, annotation))
        except Mismatch as error:
            wrong.append(error.within(f"[{i}]"))
    if wrong:
        raise Mismatch(wrong[0].at, wrong[0].message, wrong[0].inside, [*wrong[0].all[1:], *wrong[1:]])
    return values


def _convert_scalar(node: Scalar, kind: Any) -> Any:
    value = node.value
    if kind in (str, Path) and (isinstance(value, str) or node.untyped):
        return kind(node.text)
    if node.untyped and isinstance(value, str):  # quotes around ${N} do not turn a number into text
        value = read_scalar(value)
    if kind is float and type(value) is int:
        return float(value)  # of at most 100 digits, see `read_scalar`
    wrong = math.isnan(value) if isinstance(value, float) else type(value) is int and _is_too_large(value)
    if wrong or not (type(value) is kind or (value is None and kind is None)):
        raise _mismatch(node, kind)
    return value


def _is_too_large(value: int) -> bool:
    """Whether a whole number is beyond 64 bits. Seeds are unsigned."""
    return not -(2**63) <= value < 2**64


def _convert_union(node: Node, annotation: Any) -> Any:
    nearer: Mismatch | None = None
    for option in sorted(form_of(annotation).parts, key=_breadth):
        try:
            return convert(node, option)
        except Mismatch as error:
            if error.inside:  # the outer form fits this option, so its message is about the actual mistake
                nearer = nearer or error
    raise nearer or _mismatch(node, annotation)


def _breadth(option: Any) -> int:
    """Narrow types come first: 5 is an int in `float | int`, and "auto" in `str | Literal["auto"]` is the literal."""
    order = (types.NoneType, bool, int, float)
    if form_of(option).kind == "literal":
        return -1
    return order.index(option) if option in order else len(order)


def _convert_literal(node: Node, annotation: Any) -> Any:
    options = form_of(annotation).parts
    if isinstance(node, Scalar):
        for option in options:
            if option == node.value and type(option) is type(node.value):
                return option
            if isinstance(option, str) and node.untyped and option == node.text:
                return option
        if isinstance(node.value, str):
            hint = did_you_mean(node.value, [option for option in options if isinstance(option, str)])
            raise Mismatch(node.at, f"must be {words(annotation)}, got {describe_node(node)}{hint}")
    raise _mismatch(node, annotation)


def _convert_record(node: TableNode, cls: type[Any]) -> Any:
    problems = Problems()
    record = make(cls, cls.__name__, node.at, node.entries, problems)
    if record is None:
        first, *others = [
            Mismatch(Position(problem.file, problem.line), f"is wrong: {problem.message}") for problem in problems.all
        ]
        raise Mismatch(first.at, first.message, others=others)
    return record


def _convert_freely(node: Node) -> Any:
    if isinstance(node, Scalar):
        return read_scalar(node.text) if node.untyped else node.value
    if isinstance(node, Items):
        return tuple(_convert_freely(item) for item in node.items)
    return {key: _convert_freely(entry.value) for key, entry in node.entries.items()}


def _mismatch(node: Node, annotation: Any) -> Mismatch:
    if isinstance(node, Scalar) and type(node.value) is int and _is_too_large(node.value):
        return Mismatch(node.at, f"must be {words(annotation)} of at most 64 bits, got {describe_node(node)}")
    return Mismatch(node.at, f"must be {words(annotation)}, got {describe_node(node)}{_advice(node, annotation)}")


MAX_DIGITS = 20  # of a number that an error proposes: 64 bits
TYPE_WORDS = {
    bool: ("true or false", "true or false"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "text"),
    Path: ("a path", "paths"),
    None: ("null", "nulls"),
    types.NoneType: ("null", "nulls"),
    Any: ("anything", "anything"),
    object: ("anything", "anything"),
}


def words(annotation: Any, many: bool = False) -> str:
    """The annotation in words.

    >>> words(tuple[str, ...]), words(float | None), words(tuple[tuple[int, ...], ...])
    ('a list of text', 'a number or null', 'a list of lists of whole numbers')
    """
    if annotation in TYPE_WORDS:
        return TYPE_WORDS[annotation][many]
    kind, parts, _ = form_of(annotation)
    match kind:
        case "union":
            return " or ".join(words(option, many) for option in parts)
        case "literal":
            return f"one of {', '.join(_quoted(option) for option in parts)}"
        case "record":
            return f"a mapping of {', '.join(parameters(annotation))}"
        case "pairs":
            return f"{'mappings' if many else 'a mapping'} of text to {words(parts[1], many=True)}"
        case "mapping":
            key, value = (words(part, many=True) for part in parts)
            return f"{'mappings' if many else 'a mapping'} of {key} to {value}"
        case "fixed":
            return f"{'lists' if many else 'a list'} of {len(parts)}: {', '.join(words(part) for part in parts)}"
        case "list":
            return f"{'lists' if many else 'a list'} of {words(parts[0], many=True)}"
    return f"a value of the type {getattr(annotation, '__name__', annotation)}, which cannot be written in YAML"


def describe_node(node: Node) -> str:
    """A node in words, for messages."""
    if isinstance(node, Items):
        return f"a list of {len(node.items)}" if node.items else "an empty list"
    if isinstance(node, TableNode):
        return f"a mapping with the keys {', '.join(node.entries)}" if node.entries else "an empty mapping"
    value = node.value
    if isinstance(value, str):
        return f'text "{node.text if len(node.text) <= 60 else node.text[:57] + "…"}"'
    if value is None:
        return "null"
    return node.text if isinstance(value, bool) else f"the number {node.text}"


def _advice(node: Node, annotation: Any) -> str:
    """What to write instead, if that is clear."""
    if not isinstance(node, Scalar) or node.value is None:
        return ""
    form, spelling = form_of(annotation), str(node.value).lower()
    for option in form.parts if form.kind == "union" else (annotation,):
        inner = form_of(option)
        if inner.kind == "list":
            try:
                convert(node, inner.parts[0])
            except Mismatch:
                continue
            return f"; write [{node.text if node.bare else _quoted(node.text)}]"
        if option is str:
            return f"; write {_quoted(node.text)}"
        if option is bool and spelling in ("yes", "on", "true", "no", "off", "false"):
            return f"; write {'true' if spelling in ('yes', 'on', 'true') else 'false'}"
        if option in (int, float) and (number := _number(node, option)) is not None and len(number) <= MAX_DIGITS:
            return f"; write {number}"
    return ""


def _number(node: Scalar, kind: Any) -> str | None:
    """The number meant by "30", 0755, 1_000 or 1e6, as it should be written."""
    try:
        value = float(node.text.replace("_", ""))
    except ValueError:
        return None
    if not math.isfinite(value) or (kind is int and not value.is_integer()):
        return None
    return str(int(value)) if value.is_integer() else repr(value)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def plain(value: Any, annotation: Any = Any) -> Any:
    """The value as None, bool, int, float, str, list and dict; equal values of one annotation give equal results.

    Numbers of a float parameter are floats, sets are sorted, mappings are sorted by key (their order has no meaning),
    but tuples of pairs keep their order.
    """
    kind, parts, _ = form_of(annotation)
    if kind == "union":
        annotation = _option_of(value, parts)
        kind, parts, _ = form_of(annotation)
    if isinstance(value, float) or (annotation is float and type(value) is int):
        return float(value) + 0.0  # -0.0 equals 0.0, so both are written as 0.0
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        annotations = parameters(type(value))
        return {name: plain(getattr(value, name), annotations[name]) for name in annotations}
    if isinstance(value, Mapping):
        inner = parts[1] if kind == "mapping" else Any
        return {str(plain(key)): plain(value[key], inner) for key in sorted(value, key=str)}
    if isinstance(value, set | frozenset):
        return sorted((plain(item, parts[0] if kind == "list" else Any) for item in value), key=repr)
    if isinstance(value, tuple | list):
        if kind == "pairs" and len({key for key, _ in value}) == len(value):
            return {key: plain(item, parts[1]) for key, item in value}
        if kind == "fixed":
            return [plain(item, part) for item, part in zip(value, parts, strict=True)]
        return [plain(item, parts[0] if kind in ("list", "pairs") else Any) for item in value]
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be written in YAML")


def _option_of(value: Any, options: tuple[Any, ...]) -> Any:
    """The option of a union that a value belongs to."""
    if type(value) is int and int not in options and float in options:
        return float
    pairs = isinstance(value, tuple) and all(isinstance(item, tuple) and len(item) == 2 for item in value)
    for option in options:
        kind = get_origin(option) or option
        if isinstance(kind, type) and isinstance(value, kind) and (pairs or form_of(option).kind != "pairs"):
            return option
    return Any
