"""Conversion between the nodes of a recipe and the values of parameters, by the annotation of the parameter.

`convert` reads a node as the annotation says, or reports exactly what is wrong. `plain` goes back: the value as nothing
but None, bool, int, float, str, list and dict.

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
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from corpusmill.errors import CorpusmillError, did_you_mean, raised
from corpusmill.recipe.tree import Items, KeyValue, Node, Position, Problems, Scalar, TableNode, read_scalar
from corpusmill.steps.verdict import NOT_LISTED, unlisted

MANY: dict[Any, Any] = {
    list: list,
    set: frozenset,
    frozenset: frozenset,
    collections.abc.Sequence: tuple,
    collections.abc.Collection: tuple,
    collections.abc.Iterable: tuple,
    collections.abc.Set: frozenset,
}
MAPPINGS = (dict, collections.abc.Mapping)
UNNAMED: dict[Any, Any] = {  # annotations that do not say of what
    **{many: many[Any] for many in MANY},
    tuple: tuple[Any, ...],
    **{mapping: mapping[str, Any] for mapping in MAPPINGS},
}


class Mismatch(Exception):
    """A node does not fit an annotation. `inside` is the part of the value: `[2]`, `.low`, or "" for all of it.

    all   what does not fit, the first of it as `at`, `inside` and `message`: there is more where parts do not
    """

    def __init__(self, at: Position, message: str, inside: str = "", more: Sequence["Mismatch"] = ()) -> None:
        super().__init__(message)
        self.at, self.message, self.inside, self._more = at, message, inside, more

    @property
    def all(self) -> list["Mismatch"]:
        return [self, *(other for one in self._more for other in one.all)]

    def within(self, part: str) -> "Mismatch":
        return Mismatch(self.at, self.message, part + self.inside, [one.within(part) for one in self._more])


def parameters(cls: type[Any]) -> Mapping[str, Any]:
    """parameter -> annotation of a dataclass, in the order of its fields."""
    annotated: Any = cls
    return _parameters(annotated)


@cache  # a recipe may have 1,000 sources
def _parameters(cls: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def make(
    cls: type[Any],
    name: str,
    at: Position,
    given: Mapping[str, KeyValue],
    problems: Problems,
    others: tuple[str, ...] = (),
) -> Any | None:
    """`cls` with the parameters that the recipe gives; or None, with all problems added to `problems`.

    name     its name in the recipe, for messages
    at       the line of that name
    others   parameters beside those of the class, which are not in `given`: for messages
    """
    if not dataclasses.is_dataclass(cls):
        problems.add(at, f"{name} is not a dataclass; its parameters must be the fields of a frozen dataclass")
        return None
    if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        problems.add(at, f"{name} can be changed after it is made: write @dataclass(frozen=True) above its class")
        return None
    try:
        wanted = parameters(cls)
    except NameError as error:
        problems.add(at, f"{name}: the type of a parameter cannot be found: {error}; import it where the class is")
        return None
    values: dict[str, Any] = {}
    wrong: set[str] = set()
    for parameter, entry in given.items():
        if parameter not in wanted:
            known = (*others, *wanted)
            takes = f"It takes: {', '.join(known)}." if known else "It takes none."
            hint = did_you_mean(parameter, known) or "."
            problems.add(entry.at, f'{name} has no parameter "{parameter}"{hint} {takes}')
            wrong.add(parameter)
            continue
        try:
            values[parameter] = convert(entry.value, wanted[parameter])
        except Mismatch as error:
            for one in error.all:
                problems.add(one.at, f"{name}: {parameter}{one.inside} {one.message}")
            wrong.add(parameter)
    # The step itself cannot tell a value that is its default from one that is not given.
    for rule in unlisted(cls, values.get("rules"), values):
        problems.add(given[rule].at, f"{name}: {NOT_LISTED.format(rule)}")
        wrong.add(rule)
    for field in dataclasses.fields(cls):
        if field.name in wanted and field.name not in given and is_required(field):
            problems.add(at, f'{name} needs a value for "{field.name}": {words(wanted[field.name])}')
            wrong.add(field.name)
    return _of_class(cls, name, at, values, wrong, problems)


def _of_class(
    cls: type[Any], name: str, at: Position, values: dict[str, Any], wrong: set[str], problems: Problems
) -> Any | None:
    """`cls` with these values; None if some are `wrong` or it refuses them.

    A class refuses with one message at a time. The next is asked for by leaving out the parameters that the last one
    names, and reported if it names none that were left out: else it may be about a default that the user did not write.
    """
    refused = bool(wrong)
    left = {parameter: value for parameter, value in values.items() if parameter not in wrong}
    required = {field.name for field in dataclasses.fields(cls) if field.init and is_required(field)}
    while required <= left.keys():
        try:
            made = cls(**left)
        except Exception as error:
            if not isinstance(error, CorpusmillError | ValueError) and ":" not in name:
                raise  # of a class that ships, this is a bug
            message = _refusal(name, error)
        else:
            return None if refused else made
        refused = True
        if not any(_names(message, parameter) for parameter in wrong):
            problems.add(at, f"{name}: {message}")
        named = {parameter for parameter in left if _names(message, parameter)}
        if not named:
            break
        wrong = wrong | named
        left = {parameter: value for parameter, value in left.items() if parameter not in named}
    return None


def _refusal(name: str, error: Exception) -> str:
    if isinstance(error, CorpusmillError | ValueError):
        return str(error).removeprefix(f"{name}: ")
    return f"cannot be made: {raised(error)}"


def _names(message: str, parameter: str) -> bool:
    return re.search(rf"\b{re.escape(parameter)}\b", message) is not None


def is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def convert(node: Node, want: Any) -> Any:
    """The node as a value of the annotation `want`. Raises Mismatch if it does not fit."""
    origin, args = get_origin(want), get_args(want)
    if want is Any or want is object:
        return _anything(node)
    if origin in (Union, types.UnionType):
        return _one_of(node, want)
    if origin is Literal:
        return _literal(node, want)
    if isinstance(want, type) and dataclasses.is_dataclass(want):
        return _nested(node, want)
    if (element := pair_value(want)) is not None and isinstance(node, TableNode):
        return tuple((key, _part(entry.value, element, f".{key}")) for key, entry in node.entries.items())
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return tuple(_each(node, want, args[0]))
    if origin is tuple:
        if not isinstance(node, Items) or len(node.items) != len(args):
            raise _mismatch(node, want)
        return tuple(_part(item, arg, f"[{i}]") for i, (item, arg) in enumerate(zip(node.items, args)))
    if origin in MANY:
        return MANY[origin](_each(node, want, args[0]))
    if want in UNNAMED:
        return convert(node, UNNAMED[want])
    if origin in MAPPINGS:
        if not isinstance(node, TableNode):
            raise _mismatch(node, want)
        return {
            _part(Scalar(entry.at, key, untyped=True), args[0], f".{key}"): _part(entry.value, args[1], f".{key}")
            for key, entry in node.entries.items()
        }
    return _scalar(node, want)


def pair_value(want: Any) -> Any | None:
    """X of tuple[tuple[str, X], ...], the hashable way to annotate a mapping; None for any other annotation."""
    args: tuple[Any, ...] = get_args(want)
    if get_origin(want) is tuple and args[1:] == (Ellipsis,) and get_origin(args[0]) is tuple:
        pair = get_args(args[0])
        if len(pair) == 2 and pair[0] is str and pair[1:] != (Ellipsis,):
            return pair[1]
    return None


def _part(node: Node, want: Any, where: str) -> Any:
    try:
        return convert(node, want)
    except Mismatch as error:
        raise error.within(where) from None


def _each(node: Node, want: Any, element: Any) -> list[Any]:
    if not isinstance(node, Items):
        raise _mismatch(node, want)
    values, wrong = [], []
    for i, item in enumerate(node.items):
        try:
            values.append(convert(item, element))
        except Mismatch as error:
            wrong.append(error.within(f"[{i}]"))
    if wrong:
        raise Mismatch(wrong[0].at, wrong[0].message, wrong[0].inside, [*wrong[0].all[1:], *wrong[1:]])
    return values


def _scalar(node: Node, want: Any) -> Any:
    if isinstance(node, Scalar):
        value = node.value
        if want in (str, Path) and (isinstance(value, str) or node.untyped):
            return want(node.text)
        if node.untyped and isinstance(value, str):  # quotes around ${N} do not turn a number into text
            value = read_scalar(value)
        if want is float and isinstance(value, float) and math.isnan(value):
            raise _mismatch(node, want)
        if want is float and type(value) is int:
            return float(value)  # of at most 100 digits, see `read_scalar`
        if want is int and type(value) is int and _is_too_large(value):
            raise _mismatch(node, want)
        if type(value) is want or (value is None and want is None):
            return value
    raise _mismatch(node, want)


def _is_too_large(value: int) -> bool:
    """Whether a whole number is beyond 64 bits. Seeds are unsigned."""
    return not -(2**63) <= value < 2**64


def _one_of(node: Node, want: Any) -> Any:
    nearer: Mismatch | None = None
    for option in sorted(get_args(want), key=_breadth):
        try:
            return convert(node, option)
        except Mismatch as error:
            if error.inside:  # the outer form fits this option, so its message is about the actual mistake
                nearer = nearer or error
    raise nearer or _mismatch(node, want)


def _breadth(option: Any) -> int:
    """Narrow types come first: 5 is an int in `float | int`, and "auto" in `str | Literal["auto"]` is the literal."""
    order = (types.NoneType, bool, int, float)
    if get_origin(option) is Literal:
        return -1
    return order.index(option) if option in order else len(order)


def _literal(node: Node, want: Any) -> Any:
    options = get_args(want)
    if isinstance(node, Scalar):
        for option in options:
            if option == node.value and type(option) is type(node.value):
                return option
            if isinstance(option, str) and node.untyped and option == node.text:
                return option
        if isinstance(node.value, str):
            near = did_you_mean(node.value, [option for option in options if isinstance(option, str)])
            raise Mismatch(node.at, f"wants {words(want)}, got {found(node)}{near}")
    raise _mismatch(node, want)


def _nested(node: Node, want: type[Any]) -> Any:
    if not isinstance(node, TableNode):
        raise _mismatch(node, want)
    problems = Problems()
    made = make(want, want.__name__, node.at, node.entries, problems)
    if made is None:
        first, *more = [Mismatch(Position(one.file, one.line), f"is wrong: {one.message}") for one in problems.all]
        raise Mismatch(first.at, first.message, more=more)
    return made


def _anything(node: Node) -> Any:
    if isinstance(node, Scalar):
        return read_scalar(node.text) if node.untyped else node.value
    if isinstance(node, Items):
        return tuple(_anything(item) for item in node.items)
    return {key: _anything(entry.value) for key, entry in node.entries.items()}


def _mismatch(node: Node, want: Any) -> Mismatch:
    if isinstance(node, Scalar) and type(node.value) is int and _is_too_large(node.value):
        return Mismatch(node.at, f"wants {words(want)}, of at most 64 bits, got {found(node)}")
    return Mismatch(node.at, f"wants {words(want)}, got {found(node)}{_advice(node, want)}")


NAMES = {
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


def words(want: Any, many: bool = False) -> str:
    """The annotation in words.

    >>> words(tuple[str, ...]), words(float | None), words(tuple[tuple[int, ...], ...])
    ('a list of text', 'a number or null', 'a list of lists of whole numbers')
    """
    want = UNNAMED.get(want, want)
    origin, args = get_origin(want), get_args(want)
    if want in NAMES:
        return NAMES[want][many]
    if origin in (Union, types.UnionType):
        return " or ".join(words(option, many) for option in args)
    if origin is Literal:
        return f"one of {', '.join(_quoted(option) for option in args)}"
    if (value := pair_value(want)) is not None:
        return f"{'mappings' if many else 'a mapping'} of text to {words(value, many=True)}"
    if origin in MAPPINGS:
        return f"{'mappings' if many else 'a mapping'} of {words(args[0], many=True)} to {words(args[1], many=True)}"
    if origin is tuple and args[1:] != (Ellipsis,):
        return f"{'lists' if many else 'a list'} of {len(args)}: {', '.join(words(arg) for arg in args)}"
    if origin is tuple or origin in MANY:
        return f"{'lists' if many else 'a list'} of {words(args[0], many=True)}"
    if isinstance(want, type) and dataclasses.is_dataclass(want):
        return f"a mapping of {', '.join(parameters(want))}"
    return f"a value of the type {getattr(want, '__name__', want)}, which cannot be written in YAML"


def found(node: Node) -> str:
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


def _advice(node: Node, want: Any) -> str:
    """What to write instead, if that is clear."""
    if not isinstance(node, Scalar):
        return ""
    options = get_args(want) if get_origin(want) in (Union, types.UnionType) else (want,)
    value = node.value
    for option in options:
        if get_origin(option) in (tuple, *MANY) and len(get_args(option)) in (1, 2) and value is not None:
            element = get_args(option)[0]
            try:
                convert(node, element)
            except Mismatch:
                continue
            return f"; write [{node.text if node.bare else _quoted(node.text)}]"
        if option is str and value is not None:
            return f"; write {_quoted(node.text)}"
        if option is bool and str(value).lower() in ("yes", "on", "true", "no", "off", "false"):
            return f"; write {'true' if str(value).lower() in ('yes', 'on', 'true') else 'false'}"
        if option in (int, float) and (number := _number(node, option)) is not None:
            return f"; write {number}"
    return ""


def _number(node: Scalar, want: Any) -> str | None:
    """The number meant by "30", 0755, 1_000 or 1e6, as it should be written."""
    try:
        value = float(node.text.replace("_", ""))
    except ValueError:
        return None
    if not math.isfinite(value) or (want is int and not value.is_integer()):
        return None
    return str(int(value)) if value.is_integer() else repr(value)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def plain(value: Any, want: Any = Any) -> Any:
    """The value as None, bool, int, float, str, list and dict; equal values of one annotation give equal results.

    Numbers of a float parameter are floats, sets are sorted, mappings are sorted by key (their order has no meaning),
    but tuples of pairs keep their order.
    """
    args = get_args(want)
    if get_origin(want) in (Union, types.UnionType):
        want = _option_of(value, args)
        args = get_args(want)
    if isinstance(value, float) or (want is float and type(value) is int):
        return float(value) + 0.0  # -0.0 equals 0.0, so both are written as 0.0
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        wanted = parameters(type(value))
        return {name: plain(getattr(value, name), wanted[name]) for name in wanted}
    if isinstance(value, Mapping):
        of = args[1] if len(args) == 2 else Any
        return {str(plain(key)): plain(value[key], of) for key in sorted(value, key=str)}
    if isinstance(value, set | frozenset):
        return sorted((plain(item, args[0] if args else Any) for item in value), key=repr)
    if isinstance(value, tuple | list):
        if (element := pair_value(want)) is not None and len({key for key, _ in value}) == len(value):
            return {key: plain(item, element) for key, item in value}
        same = len(args) < 2 or args[1] is Ellipsis
        return [plain(item, (args[0] if same else args[i]) if args else Any) for i, item in enumerate(value)]
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be written in YAML")


def _option_of(value: Any, options: tuple[Any, ...]) -> Any:
    """The option of a union that a value belongs to."""
    if type(value) is int and int not in options and float in options:
        return float
    pairs = isinstance(value, tuple) and all(isinstance(item, tuple) and len(item) == 2 for item in value)
    for option in options:
        kind = get_origin(option) or option
        if isinstance(kind, type) and isinstance(value, kind) and (pairs or pair_value(option) is None):
            return option
    return Any
