"""Settings of the command line: `--set KEY=VALUE` replaces one value in the tree of a recipe, before it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from corpusmill.errors import did_you_mean
from corpusmill.recipe.names import labels_of_names, short_name
from corpusmill.recipe.part_nodes import (
    RECIPE_KEYS,
    SECTIONS,
    find_class,
    list_nodes,
    read_part_node,
    read_part_nodes,
)
from corpusmill.recipe.parts import RunSettings
from corpusmill.recipe.tree import Items, KeyValue, Node, Position, Problems, Scalar, TableNode, expand, in_yaml, wrong
from corpusmill.recipe.tree import parse as parse_tree
from corpusmill.recipe.values import describe_node

Overrides = str | Sequence[str] | Mapping[str, Any]


def settings(overrides: Overrides) -> list[str]:
    """Each as `override` takes it. Values of a mapping are not read again: "007" stays a string.

    >>> settings("run.workers=4"), settings({"run.workers": 4, "name": "on"})
    (['run.workers=4'], ['run.workers=4', 'name="on"'])
    """
    if isinstance(overrides, str):
        return [overrides]
    if isinstance(overrides, Mapping):
        return [f"{key}={in_yaml(value)}" for key, value in overrides.items()]
    return list(overrides)


def override(tree: Node, setting: str, problems: Problems) -> Node:
    """The tree with one setting replaced or added.

    setting    "KEY=VALUE". The key is `name`, `seed`, `run.PARAMETER`, `split.PARAMETER`, `steps.LABEL.PARAMETER` (also
               without `steps.`), `write.LABEL.PARAMETER`, `read.SOURCE.PARAMETER` or `stages.NAME.PARAMETER`, with the
               labels of `labels` and the names of sources and stages; deeper parts of a parameter follow after more
               dots. The value is read as in a recipe; if it begins with [, {, " or ' it is YAML, otherwise plain text,
               so *.gz needs no quotes

    Raises RecipeError if there is nothing of that key. A wrong parameter or value is found later, as if it were written
    in the recipe, with `--set SETTING` as its place.
    """
    at = Position(f"--set {setting}")
    key, equals, text = setting.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise wrong(at, "a setting is KEY=VALUE, as in run.workers=4 or steps.gopher_quality.min_words=30")
    value = _parse_value(text.strip(), at, problems)
    if not isinstance(tree, TableNode):
        raise wrong(tree.at, f"a recipe is a mapping with the keys {', '.join(RECIPE_KEYS)}; got {describe_node(tree)}")
    if path[0] not in RECIPE_KEYS and path[0] in (step_labels := labels_of_tree(tree, "steps")):
        path = ["steps", *path]
    top, *inner = path
    if top not in RECIPE_KEYS and not inner and (owners := _owners(tree, top)):
        written = " or ".join(f"{owner}.{top}={text.strip()}" for owner in owners)
        raise wrong(at, f"say whose {top} this is: {written}")
    if top not in RECIPE_KEYS:
        hint = did_you_mean(top, [*RECIPE_KEYS, *step_labels]) or "."
        own = f". Its steps: {', '.join(step_labels)}" if step_labels else ""
        raise wrong(at, f'a recipe has no key "{top}"{hint} It takes: {", ".join(RECIPE_KEYS)}{own}.')
    if top not in SECTIONS and (top != "stages" or not inner):
        if (top == "run") != bool(inner) and top != "split":
            form = "run.PARAMETER, as in run.workers=4" if top == "run" else f"{top} alone"
            raise wrong(at, f"the key must be {form}")
        return _set_value(tree, path, value, at)
    labels = labels_of_tree(tree, top)
    if len(inner) < 2:
        raise wrong(at, f"the key must be {top}.NAME.PARAMETER, as in {_example(top, labels)}")
    label = inner[0]
    if label not in labels:
        kind = {"read": "source", "stages": "stage"}.get(top) or SECTIONS[top][1]
        available = f"It has: {', '.join(labels)}." if labels else "It has none."
        raise wrong(at, f'the recipe has no {kind} "{label}"{did_you_mean(label, labels) or "."} {available}')
    section, index = tree.entries[top], labels[label]
    nodes = list(list_nodes(section))
    nodes[index] = set_in_part(nodes[index], top, inner[1:], value, at)
    return replace(tree, entries={**tree.entries, top: KeyValue(section.at, Items(section.value.at, tuple(nodes)))})


def _owners(tree: TableNode, parameter: str) -> list[str]:
    """The labels of the steps that have a parameter; `run` too."""
    problems = Problems()
    parts = read_part_nodes(tree, "steps", problems)
    classes = [RunSettings, *(find_class(part, "steps", problems) for part in parts)]
    labels = ["run", *labels_of_names(part.name for part in parts)]
    return [label for label, cls in zip(labels, classes) if parameter in getattr(cls, "__dataclass_fields__", ())]


def _parse_value(text: str, at: Position, problems: Problems) -> Node:
    if text[:1] not in ("[", "{", '"', "'"):
        return expand(Scalar(at, text), problems)
    return _moved(parse_tree(text, at.file, problems), at)


def _moved(node: Node, at: Position) -> Node:
    """The node, with every part of it at one place."""
    match node:
        case Scalar():
            return replace(node, at=at)
        case Items():
            return Items(at, tuple(_moved(item, at) for item in node.items))
        case TableNode():
            return TableNode(at, {key: KeyValue(at, _moved(entry.value, at)) for key, entry in node.entries.items()})


def labels_of_tree(tree: TableNode, section: str) -> dict[str, int]:
    """label -> index, of the well-formed entries of a section; the label of a source or a stage is its name."""
    if section == "stages":
        nodes = enumerate(list_nodes(tree.entries.get(section)))
        names = ((_text(node.entries.get("name")), index) for index, node in nodes if isinstance(node, TableNode))
        return {name: index for name, index in names if name is not None}
    parts = read_part_nodes(tree, section, Problems())
    if section == "read":
        labels = [_text(part.source_entries().get("source")) or short_name(part.name) for part in parts]
    else:
        labels = labels_of_names(part.name for part in parts)
    return {label: part.index for label, part in zip(labels, parts)}


def _text(entry: KeyValue | None) -> str | None:
    return entry.value.text if entry and isinstance(entry.value, Scalar) else None


def _example(section: str, labels: Mapping[str, int]) -> str:
    if section == "stages":
        return f"stages.{next(iter(labels), 'pretrain')}.batch=64"
    return f"{section}.{next(iter(labels), 'name')}.{'paths' if section == 'read' else 'parameter'}=value"


def _set_value(table: TableNode, path: Sequence[str], value: Node, at: Position) -> TableNode:
    """The table with the value at the end of a path of keys."""
    key, inner = path[0], path[1:]
    if inner:
        inside = table.entries[key].value if key in table.entries else TableNode(at, {})
        if isinstance(inside, Scalar) and inside.value is None:
            inside = TableNode(at, {})
        if not isinstance(inside, TableNode):
            raise wrong(at, f'"{key}" is {describe_node(inside)}, which has no "{inner[0]}" inside; set all of it')
        value = _set_value(inside, inner, value, at)
    return replace(table, entries={**table.entries, key: KeyValue(at, value)})


def set_in_part(node: Node, section: str, path: Sequence[str], value: Node, at: Position) -> TableNode:
    """A stage, or a reader, step or writer in whatever form it was written, with a parameter set."""
    if section == "stages":
        assert isinstance(node, TableNode)  # `_labels` has read its name
        return _set_value(node, path, value, at)
    part = read_part_node(node, 0, "", Problems())
    assert part is not None  # likewise
    if section != "read" and part.value is not None and not isinstance(part.value, TableNode):
        raise wrong(part.value.at, part.not_a_mapping)
    entries = TableNode(part.at, dict(part.source_entries()))
    return TableNode(node.at, {part.name: KeyValue(part.at, _set_value(entries, path, value, at))})
