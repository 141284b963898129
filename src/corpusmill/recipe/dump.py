"""A recipe as YAML that `load` reads back to the same recipe."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import yaml

from corpusmill.recipe.names import name_of, short_name
from corpusmill.recipe.parts import RecipeParts, Source
from corpusmill.recipe.selection import Selection
from corpusmill.recipe.stages import stage_entry
from corpusmill.recipe.tree import BARE, LIST, MAP, TEXT, escape, read_scalar
from corpusmill.recipe.values import is_required, parameters, plain
from corpusmill.steps.verdict import switched_off
from corpusmill.write.shards import ShardsWriter


def dump(recipe: RecipeParts, resolved: bool = False, shown: Callable[[str], str] | None = None) -> str:
    """The recipe in YAML.

    resolved   with the value of every parameter, except those of rules that a step's `rules` switches off; otherwise
               without those that are the default
    shown      is applied to every text, in which `${` is written as `$${`: to hide what must not be shown
    """
    values = all_values if resolved else changed
    item = partial(_item, flow=not resolved)
    sections: list[tuple[str, Any]] = []
    if resolved or recipe.name != "recipe":
        sections.append(("name", _node(recipe.name)))
    if resolved or recipe.seed:
        sections.append(("seed", _node(recipe.seed)))
    sections.append(("read", _block([item(name_of(s.reader), _source_entry(s, resolved)) for s in recipe.read])))
    if recipe.steps:
        entries = (values(step) | selection_entry(chosen) for step, chosen in zip(recipe.steps, recipe.selections))
        sections.append(("steps", _block([item(name_of(step), entry) for step, entry in zip(recipe.steps, entries)])))
    if recipe.write:
        sections.append(("write", _block([item(name_of(writer), values(writer)) for writer in recipe.write])))
    if recipe.split:
        sections.append(("split", _node(values(recipe.split))))
    if recipe.stages:
        step_entry = partial(_step_entry, values)
        sections.append(("stages", _block([_node(stage_entry(stage, step_entry)) for stage in recipe.stages])))
    if recipe.canary:
        sections.append(("canary", _block([_node(changed(canary)) for canary in recipe.canary])))
    if settings := values(recipe.run):
        sections.append(("run", _block_map([(key, _node(value)) for key, value in settings.items()])))
    root = _block_map(sections)
    if shown:
        _apply_to_texts(root, shown)
    text = yaml.serialize(root, Dumper=_Dumper, allow_unicode=True, width=120)
    assert isinstance(text, str)
    return text


def all_values(part: Any) -> dict[str, Any]:
    """parameter -> plain value, of all parameters but those of rules that are off because `rules` does not name
    them."""
    annotations = parameters(type(part))
    implied = switched_off(part)
    return {name: plain(getattr(part, name), want) for name, want in annotations.items() if name not in implied}


def changed(part: Any) -> dict[str, Any]:
    """parameter -> plain value, of the parameters that differ from their default."""
    annotations = parameters(type(part))
    fields = {field.name: field for field in dataclasses.fields(part)}
    # As text, because 1 equals True and 1.0 but is not the same setting.
    return {
        name: value
        for name, value in all_values(part).items()
        if is_required(fields[name]) or repr(value) != repr(plain(_default(fields[name]), annotations[name]))
    }


def _default(parameter: "dataclasses.Field[Any]") -> Any:
    return parameter.default if parameter.default_factory is dataclasses.MISSING else parameter.default_factory()


def selection_entry(selection: Selection | None) -> dict[str, Any]:
    """What a recipe says of the sources of a step; nothing for all of them. One name needs no list."""
    entry = selection.to_plain() if selection else {}
    return {key: names[0] if len(names) == 1 else names for key, names in entry.items()}


def _step_entry(values: Callable[[Any], dict[str, Any]], part: Any) -> Any:
    """A step, or the parameters of the writer of shards."""
    entry = values(part)
    if isinstance(part, ShardsWriter):
        return entry
    return {name_of(part): entry} if entry else name_of(part)


def _source_entry(source: Source, resolved: bool) -> Any:
    """The settings of a source: its paths alone, if there are no others. The hub decides on a subset or split that is
    not given."""
    entry: dict[str, Any] = {"paths": source.paths[0] if len(source.paths) == 1 else list(source.paths)}
    if resolved or source.source != short_name(name_of(source.reader)):
        entry["source"] = source.source
    entry |= {name: value for name in ("subset", "split", "root") if (value := getattr(source, name))}
    if source.exclude:
        entry["exclude"] = source.exclude[0] if len(source.exclude) == 1 else list(source.exclude)
    entry |= all_values(source.reader) if resolved else changed(source.reader)
    return entry if len(entry) > 1 else entry["paths"]


def _item(name: str, setting: Any, flow: bool) -> Any:
    """A reader, step or writer: in one line, or with a line for each parameter."""
    if not setting:
        return _node(name)
    inside = _node(setting) if flow else _block_map([(key, _node(value)) for key, value in setting.items()])
    return _block_map([(name, inside)])


def _block(nodes: list[Any]) -> Any:
    return yaml.SequenceNode(LIST, nodes, flow_style=False)


def _block_map(pairs: list[tuple[str, Any]]) -> Any:
    return yaml.MappingNode(MAP, [(_text(key), node) for key, node in pairs], flow_style=False)


def _apply_to_texts(node: Any, shown: Callable[[str], str]) -> None:
    """Apply a function to every text in a tree."""
    if isinstance(node, yaml.ScalarNode):
        if node.tag == TEXT:
            node.value = shown(node.value)
            node.style = _style(node.value)
        return
    for part in node.value:
        for child in part if isinstance(node, yaml.MappingNode) else (part,):
            _apply_to_texts(child, shown)


def _text(text: str) -> Any:
    return yaml.ScalarNode(TEXT, text, style=_style(text))


def _style(text: str) -> str | None:
    # PyYAML writes some of Unicode's line breaks without quotes, and a reader folds them to a space.
    return None if text.isprintable() else '"'


def _node(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = [(_text(key), _node(item)) for key, item in value.items()]
        return yaml.MappingNode(MAP, pairs, flow_style=True)
    if isinstance(value, list):
        return yaml.SequenceNode(LIST, [_node(item) for item in value], flow_style=True)
    if isinstance(value, str):
        return _text(escape(value))
    if value is None or isinstance(value, bool):
        return yaml.ScalarNode(BARE, {None: "null", True: "true", False: "false"}[value])
    if isinstance(value, float) and math.isinf(value):
        return yaml.ScalarNode(BARE, ".inf" if value > 0 else "-.inf")
    return yaml.ScalarNode(BARE, repr(value))


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML has no types
    """Omits quotes only where readers of YAML 1.1 and of 1.2 both see text; indents lists."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)
        if kind is not yaml.ScalarNode or not implicit[0]:
            return tag
        return TEXT if tag == TEXT and isinstance(read_scalar(value), str) else BARE
