"""A recipe from YAML: strict, with all problems reported together, each with its line."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from corpusmill import read, steps, write
from corpusmill.errors import AssetError, CorpusmillError, RecipeError, did_you_mean
from corpusmill.recipe import shipped
from corpusmill.recipe.canaries import Canary, canaries
from corpusmill.recipe.names import labels_of_names, short_name
from corpusmill.recipe.order import RecipePart, check_order, misplaced, place
from corpusmill.recipe.parts import RunSettings, Sections, Source, check_name, check_seed, same_name
from corpusmill.recipe.selection import ForSources, Selection, applied
from corpusmill.recipe.stages import PARTS
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.recipe.tree import (
    Items,
    KeyValue,
    Node,
    Position,
    Problems,
    Scalar,
    TableNode,
    expand,
    in_yaml,
    tree_of,
    wrong,
)
from corpusmill.recipe.tree import parse as parse_tree
from corpusmill.recipe.values import Mismatch, convert, found, make
from corpusmill.steps import Pack, Tokenize

SECTIONS = {"read": (read, "reader"), "steps": (steps, "step"), "write": (write, "writer")}
SOURCE = ("paths", "source", "subset", "split", "root", "exclude")  # keys of a source that are not its reader's
KEYS = ("name", "seed", *SECTIONS, "stages", "canary", "run")
OF_SOURCES = ("only", "except")  # every step takes them: the sources that it applies to
T = TypeVar("T")
Overrides = str | Sequence[str] | Mapping[str, Any]


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a recipe's file. Raises RecipeError if it cannot be read."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise RecipeError(f"{path}: there is no such file{_shipped_hint(Path(path))}") from None
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecipeError(
            f"{path}:{line}: byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        ) from None


def _shipped_hint(path: Path) -> str:
    """What to do if a file that does not exist has the name of a recipe that ships."""
    if path.stem not in shipped.names():
        return ""
    return f". A recipe of that name ships; to write it here: corpusmill new {path.stem}"


def parse(text: str, where: str = "<string>", overrides: Overrides = (), name: str = "recipe") -> Sections:
    """The recipe in a text.

    where       names the text in messages
    overrides   settings like "run.workers=4", see `override`; one, several, or a mapping {"run.workers": 4}
    name        the recipe's name if the text gives none

    Raises RecipeError with a line for every problem, in the order of the file.
    """
    return checked(read_parts(text, where, overrides, name))


def _changed(text: str, where: str, overrides: Overrides, problems: Problems) -> Node:
    """The tree of a text with settings applied. Raises RecipeError if there is none; adds to `problems` all else."""
    tree = parse_tree(text, where, problems)
    for setting in settings(overrides):
        try:
            tree = override(tree, setting, problems)
        except RecipeError as error:
            problems.extend(error.problems)
    return tree


@dataclass
class LoadedParts:
    """A recipe as far as it is right.

    sections   those parts of it that are
    places     section -> the place of each of its parts in `sections`
    problems   what is wrong with the others, and with how the parts fit together
    tree       of the text
    """

    sections: Sections
    places: dict[str, list[Position]]
    problems: Problems
    tree: Node


def read_parts(text: str, where: str = "<string>", overrides: Overrides = (), name: str = "recipe") -> LoadedParts:
    """What is right and what is wrong with a recipe in a text. Arguments as of `parse`.

    Raises RecipeError if the text is no mapping in YAML.
    """
    problems = Problems()
    return parts_of(_changed(text, where, overrides, problems), name, problems)


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


def build(tree: Node, name: str = "recipe", problems: Problems | None = None) -> Sections:
    """The parts of a recipe in a tree. Raises RecipeError with all problems, those already in `problems` first."""
    return checked(parts_of(tree, name, Problems() if problems is None else problems))


def checked(parts: LoadedParts) -> Sections:
    """The recipe. Raises RecipeError with all problems."""
    parts.problems.check()
    return parts.sections


def parts_of(tree: Node, name: str, problems: Problems) -> LoadedParts:
    """What is right and what is wrong with a recipe in a tree. Raises RecipeError if it is no mapping."""
    if not isinstance(tree, TableNode):
        problems.add(tree.at, f"a recipe is a mapping with the keys {', '.join(KEYS)}; got {found(tree)}")
        problems.check()
        raise AssertionError("unreachable: a problem was just added")
    for key, entry in tree.entries.items():
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or "."
            problems.add(entry.at, f'a recipe has no key "{key}"{hint} It takes: {", ".join(KEYS)}.')
    if "read" not in tree.entries:
        problems.add(Position(tree.at.file), 'the recipe has no "read"; add one, as in: read: {jsonl: docs.jsonl}')
    name = _checked(tree, "name", str, check_name, problems) or name
    seed = _checked(tree, "seed", int, check_seed, problems) or 0
    run = RunSettings()
    if "run" in tree.entries:
        run = _run(tree.entries["run"], problems) or _folder_alone(tree.entries["run"])
    canary = _canaries(tree, problems)
    nodes = _stage_nodes(tree, problems)
    training = [stage_of(node, problems) for node in nodes]
    written = {section: _things(tree, section, problems) for section in SECTIONS}
    classes = {section: [_find(thing, section, problems) for thing in things] for section, things in written.items()}
    made: dict[str, list[Any]] = {"read": _sources(written["read"], classes["read"], problems)}
    selections = [_selection(thing, problems) for thing in written["steps"]]
    for section in ("steps", "write"):
        made[section] = [
            None
            if cls is None
            else make(cls, thing.name, thing.at, _parameters(thing, cls, section, problems), problems)
            for thing, cls in zip(written[section], classes[section])
        ]
    right = {section: [part for part in parts if part is not None] for section, parts in made.items()}
    places = {
        section: [thing.at for thing, part in zip(written[section], parts) if part is not None]
        for section, parts in made.items()
    }
    chosen = [selection for selection, step in zip(selections, made["steps"]) if step is not None]
    sections = Sections(
        name, seed, right["read"], right["steps"], right["write"], run, chosen, canary, [one for one in training if one]
    )
    if problems:
        names = [source.source for source in right["read"]]
        applies = {
            "read": [(source,) for source in names] if len(names) == len(written["read"]) else None,
            "steps": [applied(selection, names) for selection in selections],
        }
        parts = [
            RecipePart(section, thing.index, thing.name, cls, some)
            for section, things in written.items()
            for thing, cls, some in zip(things, classes[section], applies.get(section) or [None] * len(things))
        ]
        for part, message in misplaced(parts):
            problems.add(place(tree, part), f"{part.name} {message}")
    else:
        try:
            check_order(sections, tree)
        except RecipeError as error:
            problems.extend(error.problems)
        try:
            canaries(canary, seed, [source.source for source in right["read"]])
        except RecipeError as error:
            problems.add(tree.entries["canary"].at, str(error))
    return LoadedParts(sections, places, problems, tree)


def _canaries(tree: TableNode, problems: Problems) -> list[Canary]:
    """What is planted. A single entry needs no list."""
    if "canary" not in tree.entries:
        return []
    entry = tree.entries["canary"]
    nodes = entry.value.items if isinstance(entry.value, Items) else (entry.value,)
    made = []
    for node in nodes:
        if isinstance(node, TableNode):
            made.append(make(Canary, "canary", node.at, node.entries, problems))
        else:
            problems.add(node.at, f"canary is a mapping, as in: canary: {{made: 10, copies: 100}}; got {found(node)}")
    return [one for one in made if one is not None]


def _stage_nodes(tree: TableNode, problems: Problems) -> Sequence[Node]:
    """The stages of training, as they are written. A single one needs no list."""
    if "stages" not in tree.entries:
        return ()
    value = tree.entries["stages"].value
    nodes = value.items if isinstance(value, Items) else (value,)
    for node in nodes:
        if not isinstance(node, TableNode):
            example = "stages: [{name: pretrain, tokens: 2B, batch: 256}]"
            problems.add(node.at, f"a stage is a mapping, as in {example}; got {found(node)}")
    return [node for node in nodes if isinstance(node, TableNode)]


def stage_of(node: Node, problems: Problems) -> TrainingStage | None:
    """A stage of training; None where it is wrong, with all problems added."""
    assert isinstance(node, TableNode)
    made: dict[str, Any] = {}
    wrong = False
    for key in (key for key in PARTS if key in node.entries):
        entry = node.entries[key]
        section, kind = ("write", Pack) if key == "shards" else ("steps", Tokenize if key == "tokenize" else Pack)
        if key == "shards":
            thing: Thing | None = Thing(entry.at, 0, "shards", entry.value)
        else:
            thing = _thing(entry.value, 0, "step", problems)
        cls = _find(thing, section, problems) if thing else None
        one = None
        if thing and cls:
            one = make(cls, thing.name, thing.at, _parameters(thing, cls, section, problems), problems)
        if one is not None and key != "shards" and not isinstance(one, kind):
            problems.add(entry.at, f'{key} of a stage is a step {key}/…, got "{thing.name if thing else ""}"')
            one = None
        wrong = wrong or one is None
        made[key] = one
    rest = {key: entry for key, entry in node.entries.items() if key not in PARTS}
    before = len(problems.all)
    said = rest["name"].value if "name" in rest else None
    name = f'stage "{said.text:.100}"' if isinstance(said, Scalar) and said.text else "a stage"
    stage = make(TrainingStage, name, node.at, rest, problems)
    if stage is None or wrong or len(problems.all) > before:
        return None
    try:
        whole: TrainingStage = replace(stage, **made)
        return whole
    except RecipeError as error:
        problems.add(node.at, f"{name}: {error}")
        return None


def stage(written: Any, where: str, problems: Problems) -> TrainingStage | None:
    """A stage of training as a recipe writes it, in Python; its steps may be values. None where it is wrong."""
    made = {key for key in PARTS if dataclasses.is_dataclass(written.get(key))}
    node = tree_of({key: value for key, value in written.items() if key not in made}, Position(where))
    one = stage_of(node, problems)
    return replace(one, **{key: written[key] for key in made}) if one else None


def _folder_alone(entry: KeyValue) -> RunSettings:
    """Settings of which only the folder is as it was written, where that one is right."""
    folder = entry.value.entries.get("folder") if isinstance(entry.value, TableNode) else None
    given = make(RunSettings, "run", entry.at, {"folder": folder} if folder else {}, Problems())
    return given if isinstance(given, RunSettings) else RunSettings()


def step(written: Any, where: str, problems: Problems) -> Any:
    """A step as a recipe writes it, in Python: "filter/language", {"filter/language": {"languages": ["en"]}}.

    where   its place, for messages

    Returns the step, or one `for_sources`; None where it is wrong, with all `problems` added.
    """
    made = _made("steps", written, where, problems)
    if made is None:
        return None
    thing, cls = made
    selection = _selection(thing, problems)
    one = make(cls, thing.name, thing.at, _parameters(thing, cls, "steps", problems), problems)
    return ForSources(one, selection) if selection else one


def writer(written: Any, where: str, problems: Problems) -> Any:
    """A writer likewise: "jsonl", {"shards": {"tokens_per_shard": 1000}}. None where it is wrong."""
    made = _made("write", written, where, problems)
    if made is None:
        return None
    thing, cls = made
    return make(cls, thing.name, thing.at, _parameters(thing, cls, "write", problems), problems)


def source(written: Any, where: str, problems: Problems) -> Source | None:
    """A source likewise: {"jsonl": "docs/*.jsonl"}, {"parquet": {"paths": "*.parquet", "text": "body"}}."""
    made = _made("read", written, where, problems)
    sources = _sources([made[0]], [made[1]], problems) if made else []
    return sources[0] if sources else None


def _made(section: str, written: Any, where: str, problems: Problems) -> "tuple[Thing, type[Any]] | None":
    thing = _thing(tree_of(written, Position(where)), 0, SECTIONS[section][1], problems)
    cls = _find(thing, section, problems) if thing else None
    return (thing, cls) if thing and cls else None


def _checked(tree: TableNode, key: str, want: type[T], check: Callable[[T], None], problems: Problems) -> T | None:
    """A top-level setting that is one value; None if it is missing or wrong."""
    if key not in tree.entries:
        return None
    node = tree.entries[key].value
    try:
        value: T = convert(node, want)
        check(value)
        return value
    except Mismatch as error:
        problems.add(error.at, f"{key} {error.message}")
    except RecipeError as error:
        problems.add(node.at, f"{key}: {error}")
    return None


def _run(entry: KeyValue, problems: Problems) -> RunSettings | None:
    if not isinstance(entry.value, TableNode):
        problems.add(entry.value.at, f"run wants a mapping of settings, got {found(entry.value)}")
        return None
    return make(RunSettings, "run", entry.at, entry.value.entries, problems)


@dataclass(frozen=True)
class Thing:
    """A reader, step or writer as written: its name, and the node after the name."""

    at: Position
    index: int
    name: str
    said: Node | None


def _things(tree: TableNode, section: str, problems: Problems) -> list[Thing]:
    """The entries of a section. A single entry needs no list."""
    if section not in tree.entries:
        return []
    node = tree.entries[section].value
    if isinstance(node, Scalar) and node.value is None:
        problems.add(tree.entries[section].at, f'"{section}" is empty; name a {SECTIONS[section][1]}, or leave it out')
        return []
    nodes = node.items if isinstance(node, Items) else (node,)
    if section == "read" and not nodes:
        problems.add(tree.entries[section].at, '"read" is empty; name a reader and its paths')
    things = [_thing(item, index, SECTIONS[section][1], problems) for index, item in enumerate(nodes)]
    return [thing for thing in things if thing is not None]


def _thing(node: Node, index: int, kind: str, problems: Problems) -> Thing | None:
    match node:
        case Scalar() if isinstance(node.value, str):
            return Thing(node.at, index, node.text, None)
        case TableNode() if len(node.entries) == 1:
            (name, entry), *_ = node.entries.items()
            empty = isinstance(entry.value, Scalar) and entry.value.value is None
            return Thing(entry.at, index, name, None if empty else entry.value)
        case TableNode() if len(node.entries) > 1:
            name, *others = node.entries
            problems.add(
                node.at,
                f"a {kind} is one name with its parameters, got {len(node.entries)} keys: {name}, {', '.join(others)}. "
                f"If {', '.join(others)} belong to {name}, indent them further; if not, begin each with a dash.",
            )
        case _:
            problems.add(node.at, f"a {kind} is a name, or a name with its parameters; got {found(node)}")
    return None


def _find(thing: Thing, section: str, problems: Problems) -> type[Any] | None:
    registry, kind = SECTIONS[section]
    module, colon, own = thing.name.partition(":")
    if colon and not all(part.isidentifier() for part in (*module.split("."), own)):
        problems.add(thing.at, f'"{thing.name}" is not the name of a {kind}; your own are written module:Class')
        return None
    try:
        cls: type[Any] = registry.find(thing.name)
        return cls
    except CorpusmillError as error:
        problems.add(thing.at, str(error))
        return None


def _selection(thing: Thing, problems: Problems) -> Selection | None:
    """The sources that a step is for, by its `only` or `except`; None for all."""
    said = thing.said.entries if isinstance(thing.said, TableNode) else {}
    given: dict[str, tuple[str, ...]] = {}
    for word in (word for word in OF_SOURCES if word in said):
        try:
            names: str | tuple[str, ...] | None = convert(said[word].value, str | tuple[str, ...] | None)
        except Mismatch as error:
            for one in error.all:
                problems.add(one.at, f"{thing.name}: {word}{one.inside} {one.message}")
            continue
        if names is not None:
            given[word] = (names,) if isinstance(names, str) else names
    if not given:
        return None
    try:
        return Selection(given.get("only", ()), given.get("except", ()))
    except RecipeError as error:
        problems.add(thing.at, f"{thing.name} {error}")
        return None


def _parameters(thing: Thing, cls: type[Any], section: str, problems: Problems) -> Mapping[str, KeyValue]:
    if isinstance(thing.said, TableNode):
        reserved = OF_SOURCES if section == "steps" else ()
        return {key: entry for key, entry in thing.said.entries.items() if key not in reserved}
    if isinstance(thing.said, Scalar) and (main := getattr(cls, "main_parameter", None)):
        return {main: KeyValue(thing.said.at, thing.said)}
    if thing.said is not None:
        problems.add(thing.said.at, f"{thing.name} wants a mapping of its parameters, got {found(thing.said)}")
    return {}


def _sources(things: list[Thing], classes: list[type[Any] | None], problems: Problems) -> list[Source | None]:
    """The sources; None for each that is wrong."""
    sources: list[Source | None] = []
    taken: set[str] = set()
    for thing, cls in zip(things, classes):
        said = dict(_source_entries(thing))
        own: dict[str, KeyValue] = {key: said.pop(key) for key in SOURCE if key in said}
        label = short_name(thing.name)
        try:
            if "source" in own:
                label = convert(own["source"].value, str) or label
        except Mismatch as error:
            problems.add(error.at, f"{thing.name}: source {error.message}")
        if label in taken:
            problems.add(own["source"].at if "source" in own else thing.at, f"{thing.name}: {same_name(label)}")
        taken.add(label)
        paths = _paths(thing, own, problems)
        reader = None if cls is None else make(cls, thing.name, thing.at, said, problems, SOURCE)
        part = {key: _word(thing, key, own[key], problems) for key in ("subset", "split", "root") if key in own}
        exclude = _several(thing, "exclude", own["exclude"], problems) if "exclude" in own else ()
        sources.append(None)
        if reader is not None and paths is not None:
            try:
                sources[-1] = Source(reader, paths, label, **part, exclude=exclude or ())
            except (RecipeError, AssetError) as error:
                problems.add(thing.at, f"{thing.name}: {error}")
    return sources


def _source_entries(thing: Thing) -> Mapping[str, KeyValue]:
    """The settings of a source; in the short form only its paths."""
    if isinstance(thing.said, TableNode):
        return thing.said.entries
    return {} if thing.said is None else {"paths": KeyValue(thing.said.at, thing.said)}


def _word(thing: Thing, key: str, entry: KeyValue, problems: Problems) -> str:
    try:
        return str(convert(entry.value, str))
    except Mismatch as error:
        problems.add(error.at, f"{thing.name}: {key} {error.message}")
        return ""


def _paths(thing: Thing, own: Mapping[str, KeyValue], problems: Problems) -> tuple[str, ...] | None:
    if "paths" not in own:
        problems.add(thing.at, f"{thing.name} needs paths, as in: {thing.name}: {{paths: data/*}}")
        return None
    return _several(thing, "paths", own["paths"], problems)


def _several(thing: Thing, key: str, entry: KeyValue, problems: Problems) -> tuple[str, ...] | None:
    """A text, or a list of texts."""
    try:
        said: str | tuple[str, ...] = convert(entry.value, str | tuple[str, ...])
    except Mismatch as error:
        for one in error.all:
            problems.add(one.at, f"{thing.name}: {key}{one.inside} {one.message}")
        return None
    return (said,) if isinstance(said, str) else said


def override(tree: Node, setting: str, problems: Problems | None = None) -> Node:
    """The tree with one setting replaced or added, as `--set` does.

    setting    "KEY=VALUE". The key is `name`, `seed`, `run.PARAMETER`, `steps.LABEL.PARAMETER` (also without
               `steps.`), `write.LABEL.PARAMETER`, `read.SOURCE.PARAMETER` or `stages.NAME.PARAMETER`, with the labels
               of `labels` and the names of sources and stages; deeper parts of a parameter follow after more dots. The
               value is read as in a recipe; if it begins with [, {, " or ' it is YAML, otherwise plain text, so *.gz
               needs no quotes

    Raises RecipeError if there is nothing of that key. A wrong parameter or value is reported by `build`, as if it were
    written in the recipe, with `--set SETTING` as its place.
    """
    at = Position(f"--set {setting}")
    key, equals, text = setting.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise wrong(at, "a setting is KEY=VALUE, as in run.workers=4 or steps.gopher_quality.min_words=30")
    own = Problems()
    value = _value(text.strip(), at, own)
    if problems is None:
        own.check()
    else:
        problems.extend(own.all)
    if not isinstance(tree, TableNode):
        raise wrong(tree.at, f"a recipe is a mapping with the keys {', '.join(KEYS)}; got {found(tree)}")
    if path[0] not in KEYS and path[0] in (steps_of := _labels(tree, "steps")):
        path = ["steps", *path]
    top, rest = path[0], path[1:]
    if top not in KEYS:
        near = did_you_mean(top, [*KEYS, *steps_of]) or "."
        has = f". Its steps: {', '.join(steps_of)}" if steps_of else ""
        raise wrong(at, f'a recipe has no key "{top}"{near} It takes: {", ".join(KEYS)}{has}.')
    if top == "stages" and rest:
        return _put_in_stage(tree, rest, value, at)
    if top not in SECTIONS:
        if (top == "run") != bool(rest):
            wants = "run.PARAMETER, as in run.workers=4" if top == "run" else f"{top} alone"
            raise wrong(at, f"the key must be {wants}")
        return _put(tree, path, value, at)
    if len(rest) < 2:
        raise wrong(at, f"the key must be {top}.NAME.PARAMETER, as in {_example(tree, top)}")
    label, parameter = rest[0], rest[1:]
    known = _labels(tree, top)
    if label not in known:
        what = "source" if top == "read" else SECTIONS[top][1]
        has = f"It has: {', '.join(known)}." if known else "It has none."
        raise wrong(at, f'the recipe has no {what} "{label}"{did_you_mean(label, known) or "."} {has}')
    section = tree.entries[top]
    items = section.value.items if isinstance(section.value, Items) else (section.value,)
    index = known[label]
    changed = _put_in_thing(items[index], top, parameter, value, at)
    listed = Items(section.value.at, (*items[:index], changed, *items[index + 1 :]))
    return replace(tree, entries={**tree.entries, top: KeyValue(section.at, listed)})


def _value(text: str, at: Position, problems: Problems) -> Node:
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


def _labels(tree: TableNode, section: str) -> dict[str, int]:
    """label -> index, of the well-formed entries of a section; the label of a source is its name."""
    if section not in tree.entries:
        return {}
    things = _things(tree, section, Problems())
    labels = labels_of_names(thing.name for thing in things)
    if section == "read":
        entries = [_source_entries(thing).get("source") for thing in things]
        named = [entry.value.text if entry and isinstance(entry.value, Scalar) else "" for entry in entries]
        labels = [name or short_name(thing.name) for name, thing in zip(named, things)]
    return {label: thing.index for label, thing in zip(labels, things)}


def _example(tree: TableNode, section: str) -> str:
    label = next(iter(_labels(tree, section)), "name")
    return f"{section}.{label}.{'paths' if section == 'read' else 'parameter'}=value"


def _put(table: TableNode, path: Sequence[str], value: Node, at: Position) -> TableNode:
    """The table with the value at the end of a path of keys."""
    key, rest = path[0], path[1:]
    if rest:
        inside = table.entries[key].value if key in table.entries else TableNode(at, {})
        if isinstance(inside, Scalar) and inside.value is None:
            inside = TableNode(at, {})
        if not isinstance(inside, TableNode):
            raise wrong(at, f'"{key}" is {found(inside)}, which has no "{rest[0]}" inside; set all of it')
        value = _put(inside, rest, value, at)
    return replace(table, entries={**table.entries, key: KeyValue(at, value)})


def _put_in_stage(tree: TableNode, path: Sequence[str], value: Node, at: Position) -> TableNode:
    """The recipe with a parameter of a stage of training set."""
    entry = tree.entries.get("stages")
    nodes = () if entry is None else entry.value.items if isinstance(entry.value, Items) else (entry.value,)
    named = {
        name.value.text: index
        for index, node in enumerate(nodes)
        if isinstance(node, TableNode) and (name := node.entries.get("name")) and isinstance(name.value, Scalar)
    }
    if len(path) < 2:
        raise wrong(at, f"the key must be stages.NAME.PARAMETER, as in stages.{next(iter(named), 'pretrain')}.batch=64")
    if entry is None or path[0] not in named:
        has = f"It has: {', '.join(named)}." if named else "It has none."
        raise wrong(at, f'the recipe has no stage "{path[0]}"{did_you_mean(path[0], named) or "."} {has}')
    index = named[path[0]]
    stage = nodes[index]
    assert isinstance(stage, TableNode)
    listed = Items(entry.value.at, (*nodes[:index], _put(stage, path[1:], value, at), *nodes[index + 1 :]))
    return replace(tree, entries={**tree.entries, "stages": KeyValue(entry.at, listed)})


def _put_in_thing(node: Node, section: str, path: Sequence[str], value: Node, at: Position) -> TableNode:
    """A reader, step or writer with a parameter set, in whatever form it was written."""
    thing = _thing(node, 0, "", Problems())
    assert thing is not None  # `_labels` has read its name
    said = TableNode(thing.at, dict(_source_entries(thing)))
    if section != "read" and thing.said is not None and not isinstance(thing.said, TableNode):
        raise wrong(thing.said.at, f"{thing.name} wants a mapping of its parameters, got {found(thing.said)}")
    return TableNode(node.at, {thing.name: KeyValue(thing.at, _put(said, path, value, at))})
