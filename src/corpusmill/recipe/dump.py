"""A recipe as YAML that `load` reads back to the same recipe."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import yaml

from corpusmill.recipe.names import name_of, short_name
from corpusmill.recipe.parts import Source
from corpusmill.recipe.selection import Selection
from corpusmill.recipe.tree import BARE, LIST, MAP, TEXT, escape, read_scalar
from corpusmill.recipe.values import is_required, parameters, plain
from corpusmill.steps.verdict import switched_off

if TYPE_CHECKING:
    from corpusmill.recipe.model import Recipe


def dump(recipe: "Recipe") -> str:
    """The recipe in YAML. Parameters with their default value are left out."""
    settings = changed(recipe.run)
    sections: list[tuple[str, Any]] = []
    if recipe.name != "recipe":
        sections.append(("name", _node(recipe.name)))
    if recipe.seed:
        sections.append(("seed", _node(recipe.seed)))
    sections.append(("read", _block([_item(name_of(s.reader), _said_of_source(s)) for s in recipe.read])))
    if recipe.steps:
        said = (changed(step) | said_of(chosen) for step, chosen in zip(recipe.steps, recipe.selections))
        sections.append(("steps", _block([_item(name_of(step), one) for step, one in zip(recipe.steps, said)])))
    if recipe.write:
        sections.append(("write", _block([_item(name_of(writer), changed(writer)) for writer in recipe.write])))
    if settings:
        sections.append(("run", _block_map([(key, _node(value)) for key, value in settings.items()])))
    text = yaml.serialize(_block_map(sections), Dumper=_Dumper, allow_unicode=True, width=120)
    assert isinstance(text, str)
    return text


def changed(thing: Any) -> dict[str, Any]:
    """parameter -> plain value, of the parameters that differ from their default."""
    wanted = parameters(type(thing))
    implied = switched_off(thing)
    said: dict[str, Any] = {}
    for field in dataclasses.fields(thing):
        if field.name not in wanted or field.name in implied:
            continue
        value = plain(getattr(thing, field.name), wanted[field.name])
        if not is_required(field):
            default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
            # As text, because 1 equals True and 1.0 but is not the same setting.
            if repr(value) == repr(plain(default, wanted[field.name])):
                continue
        said[field.name] = value
    return said


def said_of(selection: Selection | None) -> dict[str, Any]:
    """What a recipe says of the sources of a step; nothing for all of them. One name needs no list."""
    said = selection.said if selection else {}
    return {word: names[0] if len(names) == 1 else names for word, names in said.items()}


def _said_of_source(source: Source) -> Any:
    """The settings of a source: its paths alone, if there are no others."""
    said: dict[str, Any] = {"paths": source.paths[0] if len(source.paths) == 1 else list(source.paths)}
    if source.source != short_name(name_of(source.reader)):
        said["source"] = source.source
    said |= {name: value for name in ("subset", "split") if (value := getattr(source, name))}
    said |= changed(source.reader)
    return said if len(said) > 1 else said["paths"]


def _item(name: str, said: Any) -> Any:
    return _block_map([(name, _node(said))]) if said else _node(name)


def _block(nodes: list[Any]) -> Any:
    return yaml.SequenceNode(LIST, nodes, flow_style=False)


def _block_map(pairs: list[tuple[str, Any]]) -> Any:
    return yaml.MappingNode(MAP, [(_text(key), node) for key, node in pairs], flow_style=False)


def _text(text: str) -> Any:
    # PyYAML writes some of Unicode's line breaks without quotes, and a reader folds them to a space.
    return yaml.ScalarNode(TEXT, text, style=None if text.isprintable() else '"')


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
