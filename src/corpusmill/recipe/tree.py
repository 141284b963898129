"""The text of a recipe as a tree with line numbers.

PyYAML reads the grammar of YAML 1.1, but 1.1 reads the language code `no` as false, 0755 as 493, 1:30 as 90,
1e-3 as text and 2024-01-01 as a date. So its scalars are left as written, and `Scalar.value` reads them by the
core rules of YAML 1.2 (section 10.3.2). One departure: a whole number with leading zeros is text, because half of
all readers would take it for octal.
"""

import json
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import yaml

from corpusmill.errors import CorpusmillError, Problem, RecipeError, of_problems
from corpusmill.hidden import know_variable

Plain: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True)
class Position:
    """A place named in messages: a line of a file, or something without lines, such as a command-line option."""

    file: str
    line: int = 0  # from 1; 0 if there are no lines

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True)
class Scalar:
    """One value as written."""

    at: Position
    text: str
    bare: bool = True  # without quotes, so it may be a number, true, false or null
    untyped: bool = False  # a key, or the value of an environment variable: it may become any type

    @property
    def value(self) -> Plain:
        """Its value by the core rules of YAML 1.2."""
        return read_scalar(self.text) if self.bare else self.text


@dataclass(frozen=True)
class Items:
    at: Position
    items: tuple["Node", ...]


@dataclass(frozen=True)
class KeyValue:
    """A key's place and its value."""

    at: Position
    value: "Node"


@dataclass(frozen=True)
class TableNode:
    at: Position
    entries: dict[str, KeyValue]


Node: TypeAlias = Scalar | Items | TableNode


class Problems:
    """All problems of a recipe, so that they are reported together."""

    def __init__(self) -> None:
        self._problems: list[tuple[Position, str]] = []

    def add(self, at: Position, message: str) -> None:
        self._problems.append((at, message))

    def extend(self, problems: Sequence[Problem]) -> None:
        self._problems += [(Position(problem.file, problem.line), problem.message) for problem in problems]

    def __bool__(self) -> bool:
        return bool(self._problems)

    @property
    def all(self) -> list[Problem]:
        """In the order in which they were found."""
        return [Problem(message, at.file, at.line) for at, message in self._problems]

    def check(self) -> None:
        """Raises RecipeError if there are any problems, with a line for each of the first PROBLEMS_LISTED."""
        if self._problems:
            raise of_problems(self.all)


def wrong(at: Position, message: str) -> CorpusmillError:
    """The RecipeError of one problem."""
    return of_problems([Problem(message, at.file, at.line)])


WHOLE_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,99})")  # int() refuses thousands of digits
OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
WORD_VALUES: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


def read_scalar(text: str) -> Plain:
    """The value of a bare scalar.

    >>> [read_scalar(text) for text in ("no", "true", "1e-3", "12", "0o17", "0755", "1:30", "2024-01-01", "~")]
    ['no', True, 0.001, 12, 15, '0755', '1:30', '2024-01-01', None]
    """
    if text in WORD_VALUES:
        return WORD_VALUES[text]
    if WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if DECIMAL.fullmatch(text):
        return float(text)
    return text


def parse(text: str, file: str, problems: Problems, without: Collection[str] = ()) -> Node:
    """The tree of a recipe's text.

    without   keys of the recipe that are left out, with what is wrong in them

    Duplicate keys, variables that are not set and similar problems are added to `problems`. Raises RecipeError if the
    text is empty or not YAML.
    """
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is None:
            raise RecipeError(f'{file}: the recipe is empty. It needs at least "read", the sources to read.')
        if isinstance(root, yaml.MappingNode):
            root.value = [(key, value) for key, value in root.value if key.value not in without]
        return _Walk(file, problems).node(root)
    except yaml.YAMLError as error:
        raise RecipeError(_not_yaml(error, text, file)) from None
    except RecursionError:
        raise RecipeError(f"{file}: nested too deeply to be a recipe") from None


BARE = "bare"
MERGE_KEY = "<<"  # of YAML 1.1, which 1.2 has no more: taken all the same
TEXT, LIST, MAP = (f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))


class _Loader(yaml.BaseLoader):  # type: ignore[misc]  # PyYAML has no types
    """Tags a scalar without quotes as BARE, to distinguish it from one with quotes or an explicit !!str."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        return BARE if kind is yaml.ScalarNode and implicit[0] else super().resolve(kind, value, implicit)


class _Walk:
    """Turns PyYAML's nodes into ours, each once, however many aliases refer to it."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file = file
        self.problems = problems
        self.done: dict[int, Node | None] = {}  # None while it is being made

    def node(self, node: Any) -> Node:
        at = self.at(node)
        if id(node) in self.done:
            built = self.done[id(node)]
            if built is None:
                raise wrong(at, "this value contains itself, through its alias")
            return built
        self.done[id(node)] = None
        if node.tag not in (BARE, TEXT, LIST, MAP):
            self.problems.add(at, f'the tag "{node.tag}" has no meaning in a recipe; write the value without it')
        result: Node
        if isinstance(node, yaml.ScalarNode):
            result = expand(Scalar(at, node.value, bare=node.tag == BARE), self.problems)
        elif isinstance(node, yaml.SequenceNode):
            result = Items(at, tuple(self.node(item) for item in node.value))
        else:
            result = TableNode(at, self.entries(node))
        self.done[id(node)] = result
        return result

    def entries(self, node: Any) -> dict[str, KeyValue]:
        entries: dict[str, KeyValue] = {}
        merged: list[tuple[Position, Node]] = []
        for key, value in node.value:
            at = self.at(key)
            if not isinstance(key, yaml.ScalarNode):
                self.problems.add(at, "a key must be text, got a list or a mapping")
            elif key.value == MERGE_KEY and key.tag == BARE:
                merged.append((at, self.node(value)))
            elif key.value in entries:
                first = entries[key.value].at.line
                self.problems.add(at, f'"{key.value}" is written twice, first on line {first}; keep one of them')
            else:
                entries[key.value] = KeyValue(at, self.node(value))
        for at, others in merged:  # keys beside it win, and of several merged mappings the first
            for table in others.items if isinstance(others, Items) else (others,):
                if isinstance(table, TableNode):
                    entries = {**table.entries, **entries}
                else:
                    self.problems.add(at, "<< takes a mapping, or a list of mappings, as in <<: *defaults")
        return entries

    def at(self, node: Any) -> Position:
        return Position(self.file, node.start_mark.line + 1)


VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}|\$\{")


def expand(scalar: Scalar, problems: Problems) -> Scalar:
    """The scalar with `${NAME}` and `${NAME:-default}` replaced from the environment, and `$${` by a plain `${`.

    As in a shell, the default also replaces a variable that is set but empty.
    """
    if "${" not in scalar.text:
        return scalar

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if match[0] == "$${":
            return "${"
        if name is None:
            problems.add(
                scalar.at,
                f'"{scalar.text[match.start() : match.start() + 20]}" does not name a variable; '
                "write ${NAME}, ${NAME:-default}, or $${ for the characters themselves",
            )
            return match[0]
        setting = os.environ.get(name)
        know_variable(name, setting or "")
        if default is not None:
            return setting or default[2:]
        if setting is None:
            problems.add(
                scalar.at,
                f"the environment variable {name} is not set; set it, write a value in its place, or give a default: "
                f"${{{name}:-something}}",
            )
            return match[0]
        return setting

    return replace(scalar, text=VARIABLE.sub(value, scalar.text), untyped=True)


def escape(text: str) -> str:
    """The text that `expand` turns into `text`."""
    return text.replace("${", "$${")


NO_VALUE = "{!r:.80} cannot be written in a recipe; a value is text, a number, a list or a mapping"


def tree_of(value: Any, at: Position) -> Node:
    """A value of Python as a node, every part of it at one place. Raises RecipeError for what YAML has no value for."""
    match value:
        case Mapping():
            return TableNode(at, {str(key): KeyValue(at, tree_of(item, at)) for key, item in value.items()})
        case list() | tuple() | set() | frozenset():
            return Items(at, tuple(tree_of(item, at) for item in value))
        case str() | os.PathLike():
            return Scalar(at, os.fspath(value), bare=False)
        case None | bool() | int() | float():
            return Scalar(at, in_yaml(value))
    raise RecipeError(f"{at}: {NO_VALUE.format(value)}")


def in_yaml(value: Any) -> str:
    """A value of Python on one line of YAML, in which nothing is replaced from the environment.

    >>> in_yaml({"languages": ("en", "no"), "min_score": 0.5, "mark": None})
    '{"languages": ["en", "no"], "min_score": 0.5, "mark": null}'
    """
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case float() if value != value or value in (math.inf, -math.inf):  # noqa: PLR0124 - only NaN is not itself
            return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
        case int() | float():
            return repr(value)
        case str() | os.PathLike():
            return json.dumps(escape(os.fspath(value)), ensure_ascii=False)
        case Mapping():
            return f"{{{', '.join(f'{in_yaml(str(key))}: {in_yaml(item)}' for key, item in value.items())}}}"
        case list() | tuple() | set() | frozenset():
            return f"[{', '.join(map(in_yaml, value))}]"
    raise RecipeError(NO_VALUE.format(value))


def _not_yaml(error: Any, text: str, file: str) -> str:
    """The problem of a text that PyYAML cannot read, in one sentence."""
    lines = text.splitlines() or [""]
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML does not allow: the error knows its place in the text only
        position = getattr(error, "position", 0)
        return (
            f"{file}:{text.count(chr(10), 0, position) + 1}: {text[position : position + 1]!r} is not allowed in YAML"
        )
    line = lines[min(mark.line, len(lines) - 1)]
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return f"{file}:{mark.line + 1}: this line is indented with a tab; YAML needs spaces"
    problem = str(error.problem or error.context)
    if "single document" in str(error.context):
        problem = "a file holds one recipe, and a second begins here"
    advice = ""
    if "alias" in f"{error.context} {problem}":
        advice = '; text that begins with * needs quotes: "*.gz"'
    elif re.search(r"[\[{,].*\$\{", line):
        advice = '; inside [ ] or { } put quotes around "${NAME}"'
    elif "mapping values are not allowed" in problem:
        advice = "; a name that has parameters below it ends with a colon, and a text with a colon in it needs quotes"
    elif "expected <block end>" in problem:
        advice = "; indent this line as those that it belongs with"
    return f"{file}:{mark.line + 1}: not YAML: {problem}{advice}"
