"""The readers, steps and writers of a recipe as they are written: nodes of its tree, before they become values."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from corpusmill import read, steps, write
from corpusmill.errors import CorpusmillError, RenamedWarning
from corpusmill.recipe.renamed import renamed
from corpusmill.recipe.tree import Items, KeyValue, Node, Position, Problems, Scalar, TableNode
from corpusmill.recipe.values import describe_node

SECTIONS = {"read": (read, "reader"), "steps": (steps, "step"), "write": (write, "writer")}
OTHER_NAMES = {  # of sections, in recipes of other tools
    **dict.fromkeys(("input", "inputs", "source", "sources", "reader", "readers", "dataset", "datasets"), "read"),
    **dict.fromkeys(("filters", "pipeline", "processors", "process", "transforms"), "steps"),
    **dict.fromkeys(("output", "outputs", "writer", "writers"), "write"),
}
RECIPE_KEYS = ("name", "seed", *SECTIONS, "split", "stages", "canary", "run")


@dataclass(frozen=True)
class PartNode:
    """A reader, step or writer as written: its name, and the node after the name."""

    at: Position
    index: int
    name: str
    value: Node | None

    @property
    def not_a_mapping(self) -> str:
        """The message about what stands in place of its parameters."""
        assert self.value is not None
        return f"{self.name} takes a mapping of its parameters, got {describe_node(self.value)}"

    def source_entries(self) -> Mapping[str, KeyValue]:
        """The settings of a source; in the short form only its paths."""
        if isinstance(self.value, TableNode):
            return self.value.entries
        return {} if self.value is None else {"paths": KeyValue(self.value.at, self.value)}


def list_nodes(entry: KeyValue | None) -> tuple[Node, ...]:
    """The entries of a section. A single one needs no list."""
    if entry is None:
        return ()
    return entry.value.items if isinstance(entry.value, Items) else (entry.value,)


def read_part_nodes(tree: TableNode, section: str, problems: Problems) -> list[PartNode]:
    """Those entries of a section that are well-formed."""
    entry, kind = tree.entries.get(section), SECTIONS[section][1]
    if entry and isinstance(entry.value, Scalar) and entry.value.value is None:
        problems.add(entry.at, f'"{section}" is empty; name a {kind}, or remove it')
        return []
    nodes = list_nodes(entry)
    if entry and section == "read" and not nodes:
        problems.add(entry.at, '"read" is empty; name a reader and its paths')
    parts = (read_part_node(node, index, kind, problems) for index, node in enumerate(nodes))
    return [part for part in parts if part is not None]


def read_part_node(node: Node, index: int, kind: str, problems: Problems) -> PartNode | None:
    match node:
        case Scalar() if isinstance(node.value, str):
            return PartNode(node.at, index, node.text, None)
        case TableNode() if len(node.entries) == 1:
            (name, entry), *_ = node.entries.items()
            empty = isinstance(entry.value, Scalar) and entry.value.value is None
            return PartNode(entry.at, index, name, None if empty else entry.value)
        case TableNode() if len(node.entries) > 1:
            name, *others = node.entries
            problems.add(
                node.at,
                f"a {kind} is one name with its parameters, got {len(node.entries)} keys: {name}, {', '.join(others)}. "
                f"If {', '.join(others)} belong to {name}, indent them further; if not, begin each with a dash.",
            )
        case _:
            problems.add(node.at, f"a {kind} is a name, or a name with its parameters; got {describe_node(node)}")
    return None


def with_new_names(tree: TableNode, problems: Problems, recorded: bool = False) -> TableNode:
    """A recipe in which no name is an old one, see `renamed`. Of each a RenamedWarning, or a problem where it is gone.

    recorded   by a run: old names are known for good, and nothing is said of them
    """
    entries = _renamed_keys("recipe.", tree.entries, problems, recorded)
    if (run := entries.get("run")) and isinstance(run.value, TableNode):
        settings = _renamed_keys("run.", run.value.entries, problems, recorded)
        entries["run"] = replace(run, value=replace(run.value, entries=settings))
    for section, (_, kind) in SECTIONS.items():
        if entry := entries.get(section):
            parts = [_renamed_part(node, kind, problems, recorded) for node in list_nodes(entry)]
            value = replace(entry.value, items=tuple(parts)) if isinstance(entry.value, Items) else parts[0]
            entries[section] = replace(entry, value=value)
    return replace(tree, entries=entries)


def part_with_new_names(node: Node, section: str, problems: Problems) -> Node:
    """The same of one reader, step or writer."""
    return _renamed_part(node, SECTIONS[section][1], problems, False)


def _renamed_part(node: Node, kind: str, problems: Problems, recorded: bool) -> Node:
    if isinstance(node, Scalar):
        return replace(node, text=_new_name(f"{kind} ", node.text, node.at, problems, recorded))
    if not isinstance(node, TableNode) or len(node.entries) != 1:
        return node
    ((name, entry),) = _renamed_keys(f"{kind} ", node.entries, problems, recorded).items()
    if isinstance(entry.value, TableNode):
        parameters = _renamed_keys(f"{kind} {name}.", entry.value.entries, problems, recorded)
        entry = replace(entry, value=replace(entry.value, entries=parameters))
    return replace(node, entries={name: entry})


def _renamed_keys(of: str, entries: Mapping[str, KeyValue], problems: Problems, recorded: bool) -> dict[str, KeyValue]:
    keys: dict[str, KeyValue] = {}
    for name, entry in entries.items():
        key = _new_name(of, name, entry.at, problems, recorded)
        if key in keys or (key != name and key in entries):
            problems.add(entry.at, f"{name} and {key} are two names of one thing. Keep {key}")
        keys[key] = entry
    return keys


def _new_name(of: str, name: str, at: Position, problems: Problems, recorded: bool) -> str:
    entry = renamed(f"{of}{name}")
    if entry is None:
        return name
    if recorded:
        return entry.new
    advice = f"{entry.notice(of.partition(' ')[2] + name)}. Write {entry.new}"
    if entry.is_removed():
        problems.add(at, advice)
    else:
        warnings.warn(f"{at}: {advice}", RenamedWarning, stacklevel=2)
    return entry.new


def _is_path(name: str) -> bool:
    return any(mark in name for mark in "/\\*") or bool(read.readers_by_ending(name))


def reading(path: str) -> str:
    """How a recipe reads a path, by its ending."""
    shown = f"'{path}'" if path.startswith("*") or any(mark in path for mark in "[]{},# ") else path
    return f"read: {{{likely_reader(path)}: {shown}}}"


def likely_reader(path: str) -> str:
    return next(iter(read.readers_by_ending(path)), "jsonl")


def find_class(part: PartNode, section: str, problems: Problems) -> type[Any] | None:
    registry, kind = SECTIONS[section]
    module, colon, own = part.name.partition(":")
    if section == "read" and part.value is None and _is_path(part.name):
        problems.add(part.at, f'"{part.name}" is a path, not a reader; write {reading(part.name)}')
        return None
    if colon and not all(name.isidentifier() for name in (*module.split("."), own)):
        advice = "write a space after the colon" if "{" in own else "your own are written module:Class"
        problems.add(part.at, f'"{part.name}" is not the name of a {kind}; {advice}')
        return None
    try:
        cls: type[Any] = registry.find(part.name)
        return cls
    except CorpusmillError as error:
        problems.add(part.at, str(error))
        return None
