"""A recipe from YAML: strict, with all problems reported together, each with its line.

    text -> tree (`tree.parse`) -> with what it `extends` -> with settings of the command line (`override`)
         -> values (`load_parts`)

Values are checked one by one as they are made, then together (`order`).
"""

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from corpusmill.errors import AssetError, RecipeError, did_you_mean
from corpusmill.read import content_of
from corpusmill.recipe import shipped
from corpusmill.recipe.canaries import Canary, canaries
from corpusmill.recipe.extends import EXTENDS, extended
from corpusmill.recipe.names import short_name, source_names
from corpusmill.recipe.order import RecipePart, check_order, misplaced, position_of
from corpusmill.recipe.override import Overrides, override, settings
from corpusmill.recipe.part_nodes import (
    OTHER_NAMES,
    RECIPE_KEYS,
    SECTIONS,
    PartNode,
    find_class,
    list_nodes,
    part_with_new_names,
    read_part_node,
    read_part_nodes,
    with_new_names,
)
from corpusmill.recipe.parts import RunSettings, Sections, Source, check_name, check_seed, same_name
from corpusmill.recipe.selection import ForSources, Selection, applied
from corpusmill.recipe.split import Split
from corpusmill.recipe.stages import STAGE_PARTS
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.recipe.tree import KeyValue, Node, Position, Problems, Scalar, TableNode, tree_of
from corpusmill.recipe.tree import parse as parse_tree
from corpusmill.recipe.values import Mismatch, convert, convert_or_report, describe_node, make, usual_name
from corpusmill.steps import Pack, Tokenize
from corpusmill.storage import FileInfo

SOURCE_KEYS = ("paths", "source", "subset", "split", "root", "exclude")  # keys of a source that are not its reader's
SELECTION_KEYS = ("only", "except")  # every step takes them: the sources that it applies to
RECIPE_ENDINGS = (".yaml", ".yml", ".json", "")
T = TypeVar("T")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a recipe's file. Raises RecipeError if it cannot be read."""
    if Path(path).is_dir():
        raise RecipeError(f"{path}: this is a folder, not the file of a recipe.{_data_hint(Path(path))}")
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise RecipeError(f"{path}: there is no such file{_shipped_hint(Path(path))}") from None
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error
    if Path(path).suffix not in RECIPE_ENDINGS and (hint := _data_hint(Path(path))):
        raise RecipeError(f"{path}: this is data, not a recipe.{hint}")
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
    return f". A recipe of that name ships; to write it here: corpusmill new {quote(path.stem)}"


def _data_hint(path: Path) -> str:
    """What to do with a file of data, or a folder, that was named instead of a recipe; "" for other files."""
    if (path / "run.json").exists():
        return f" It holds a run, which its recipe resumes: corpusmill run RECIPE --folder {quote(str(path))}"
    reader = not path.is_dir() and content_of(FileInfo(str(path), path.name, 0, ""))[1]
    if not path.is_dir() and not reader:
        return ""
    return f" To write a recipe that reads it: corpusmill new minimal recipe.yaml --input {quote(str(path))}"


@dataclass
class LoadedParts:
    """A recipe as far as it is right.

    sections   those parts of it that are
    places     section -> the place of each of its parts in `sections`
    problems   what is wrong with the others, and with how the parts fit together
    """

    sections: Sections
    places: dict[str, list[Position]]
    problems: Problems


def parse(
    text: str, where: str = "<string>", overrides: Overrides = (), name: str = "recipe", recorded: bool = False
) -> Sections:
    """The recipe in a text.

    where       names the text in messages
    overrides   settings like "run.workers=4", see `override`; one, several, or a mapping {"run.workers": 4}
    name        the recipe's name if the text gives none
    recorded    by a run: names that earlier versions knew are known

    Raises RecipeError with a line for every problem, in the order of the file.
    """
    parts = read_parts(text, where, overrides, name, recorded)
    parts.problems.check()
    return parts.sections


def read_parts(
    text: str, where: str = "<string>", overrides: Overrides = (), name: str = "recipe", recorded: bool = False
) -> LoadedParts:
    """What is right and what is wrong with a recipe in a text. Arguments as of `parse`.

    Raises RecipeError if the text is no mapping in YAML.
    """
    problems = Problems()
    tree = extended(parse_tree(text, where, problems), problems, read_text)
    tree = with_new_names(tree, problems, recorded) if isinstance(tree, TableNode) else tree
    for setting in settings(overrides):
        try:
            tree = override(tree, setting, problems)
        except RecipeError as error:
            problems.extend(error.problems)
    if overrides and isinstance(tree, TableNode):
        tree = with_new_names(tree, problems)
    return load_parts(tree, name, problems)


def load_parts(tree: Node, name: str, problems: Problems) -> LoadedParts:
    """What is right and what is wrong with a recipe in a tree. Raises RecipeError if it is no mapping."""
    if not isinstance(tree, TableNode):
        problems.add(
            tree.at, f"a recipe is a mapping with the keys {', '.join(RECIPE_KEYS)}; got {describe_node(tree)}"
        )
        problems.check()
        raise AssertionError("unreachable: a problem was just added")
    for key, entry in tree.entries.items():
        if key not in RECIPE_KEYS:
            keys = (*RECIPE_KEYS, EXTENDS)
            hint = did_you_mean(OTHER_NAMES.get(key, key), keys) or "."
            problems.add(entry.at, f'a recipe has no key "{key}"{hint} It takes: {", ".join(keys)}.')
    if "read" not in tree.entries and not any(OTHER_NAMES.get(key) == "read" for key in tree.entries):
        problems.add(Position(tree.at.file), 'the recipe has no "read"; add one, as in: read: {jsonl: docs.jsonl}')
    name = _parse_setting(tree, "name", str, check_name, problems) or name
    seed = _parse_setting(tree, "seed", int, check_seed, problems) or 0
    settings = tree.entries.get("run")
    run = parse_run(settings.at, settings.value, problems) if settings else RunSettings()
    canary = _parse_canaries(tree, problems)
    split = parse_split(tree.entries["split"].value, problems) if "split" in tree.entries else None
    stages = [parse_stage_node(node, problems) for node in _stage_nodes(tree, problems)]
    nodes = {section: read_part_nodes(tree, section, problems) for section in SECTIONS}
    classes = {section: [find_class(node, section, problems) for node in nodes[section]] for section in SECTIONS}
    built: dict[str, list[Any]] = {"read": _parse_sources(nodes["read"], classes["read"], problems)}
    selections = [_parse_selection(node, problems) for node in nodes["steps"]]
    for section in ("steps", "write"):
        built[section] = [
            None if cls is None else _build(node, cls, section, problems)
            for node, cls in zip(nodes[section], classes[section])
        ]
    right = {section: [part for part in parts if part is not None] for section, parts in built.items()}
    places = {
        section: [node.at for node, part in zip(nodes[section], parts) if part is not None]
        for section, parts in built.items()
    }
    chosen = [selection for selection, step in zip(selections, built["steps"]) if step is not None]
    training = [stage for stage in stages if stage]
    sections = Sections(name, seed, right["read"], right["steps"], right["write"], run, chosen, canary, training, split)
    names = [source.source for source in right["read"]]
    if problems:
        applies: dict[str, list[Any]] = {section: [None] * len(nodes[section]) for section in SECTIONS}
        applies["steps"] = [applied(selection, source_names(right["read"], right["steps"])) for selection in selections]
        if len(names) == len(nodes["read"]):
            applies["read"] = [(source,) for source in names]
        parts = [
            RecipePart(section, node.index, node.name, cls, sources)
            for section in SECTIONS
            for node, cls, sources in zip(nodes[section], classes[section], applies[section])
        ]
        for part, message in misplaced(parts):
            problems.add(position_of(tree, part), f"{part.name} {message}")
    else:
        try:
            check_order(sections, tree)
        except RecipeError as error:
            problems.extend(error.problems)
        try:
            canaries(canary, seed, names)
        except RecipeError as error:
            problems.add(tree.entries["canary"].at, str(error))
    return LoadedParts(sections, places, problems)


def _parse_setting(
    tree: TableNode, key: str, kind: type[T], check: Callable[[T], None], problems: Problems
) -> T | None:
    """A top-level setting that is one value; None if it is missing or wrong."""
    if key not in tree.entries:
        return None
    node = tree.entries[key].value
    try:
        value: T = convert(node, kind)
        check(value)
        return value
    except Mismatch as error:
        error.report(key, problems)
    except RecipeError as error:
        problems.add(node.at, f"{key}: {error}")
    return None


def parse_run(at: Position, node: Node, problems: Problems) -> RunSettings:
    """The settings of a run. Where some are wrong: of a run with the same folder, if that one is right."""
    if not isinstance(node, TableNode):
        problems.add(node.at, f"run must be a mapping of settings, got {describe_node(node)}")
        return RunSettings()
    run = make(RunSettings, "run", at, node.entries, problems)
    if run is None:
        folder = {key: value for key, value in node.entries.items() if key == "folder"}
        run = make(RunSettings, "run", at, folder, Problems())
    return run or RunSettings()


def _parse_canaries(tree: TableNode, problems: Problems) -> list[Canary]:
    """What is planted."""
    parsed = []
    for node in list_nodes(tree.entries.get("canary")):
        if isinstance(node, TableNode):
            parsed.append(make(Canary, "canary", node.at, node.entries, problems))
        else:
            example = "canary: {made: 10, copies: 100}"
            problems.add(node.at, f"canary is a mapping, as in: {example}; got {describe_node(node)}")
    return [canary for canary in parsed if canary is not None]


def parse_split(node: Node, problems: Problems) -> Split | None:
    """What is kept back for validation; None where it is wrong, with all problems added."""
    if isinstance(node, TableNode):
        return make(Split, "split", node.at, node.entries, problems)
    problems.add(node.at, f"split is a mapping, as in: split: {{validation: 0.01}}; got {describe_node(node)}")
    return None


def _stage_nodes(tree: TableNode, problems: Problems) -> list[TableNode]:
    """The stages of training, as they are written."""
    nodes = []
    for node in list_nodes(tree.entries.get("stages")):
        if isinstance(node, TableNode):
            nodes.append(node)
        else:
            example = "stages: [{name: pretrain, tokens: 2B, batch: 256}]"
            problems.add(node.at, f"a stage is a mapping, as in {example}; got {describe_node(node)}")
    return nodes


def parse_stage_node(node: TableNode, problems: Problems) -> TrainingStage | None:
    """A stage of training; None where it is wrong, with all problems added."""
    parts: dict[str, Any] = {}
    for key in (key for key in STAGE_PARTS if key in node.entries):
        entry = node.entries[key]
        if key == "shards":
            part: PartNode | None = PartNode(entry.at, 0, "shards", entry.value)
        else:
            part = read_part_node(entry.value, 0, "step", problems)
        section, kind = {"shards": ("write", object), "tokenize": ("steps", Tokenize), "pack": ("steps", Pack)}[key]
        parts[key] = _find_and_build(part, section, problems) if part else None
        if part and parts[key] is not None and not isinstance(parts[key], kind):
            problems.add(entry.at, f'{key} of a stage is a step {key}/…, got "{part.name}"')
            parts[key] = None
    others = {key: entry for key, entry in node.entries.items() if key not in STAGE_PARTS}
    before = len(problems.all)
    label = others["name"].value if "name" in others else None
    name = f'stage "{label.text:.100}"' if isinstance(label, Scalar) and label.text else "a stage"
    stage = make(TrainingStage, name, node.at, others, problems)
    if stage is None or None in parts.values() or len(problems.all) > before:
        return None
    try:
        complete: TrainingStage = replace(stage, **parts)
        return complete
    except RecipeError as error:
        problems.add(node.at, f"{name}: {error}")
        return None


def _parse_sources(nodes: list[PartNode], classes: list[type[Any] | None], problems: Problems) -> list[Source | None]:
    """The sources; None for each that is wrong."""
    sources: list[Source | None] = []
    labels: set[str] = set()
    for node, cls in zip(nodes, classes):
        entries = dict(node.source_entries())
        own = {key: entries.pop(key) for key in SOURCE_KEYS if key in entries}
        texts: dict[str, str] = {}
        lists: dict[str, tuple[str, ...] | None] = {}
        for key, entry in own.items():
            if key in ("paths", "exclude"):
                lists[key] = _texts(entry, f"{node.name}: {key}", problems)
            else:
                texts[key] = convert_or_report(entry.value, str, f"{node.name}: {key}", problems) or ""
        label = texts.pop("source", "") or short_name(node.name)
        if label in labels:
            problems.add(own["source"].at if "source" in own else node.at, f"{node.name}: {same_name(label)}")
        labels.add(label)
        if "paths" not in own and cls is not None and hasattr(cls, "location"):
            lists["paths"] = (cls.location,)
        elif (
            "paths" not in own
            and (cls or node.value is not None)
            and not any(_means_paths(key, cls) for key in entries)
        ):
            problems.add(node.at, f"{node.name} needs paths, as in: {node.name}: {{paths: data/*}}")
        reader = None if cls is None else make(cls, node.name, node.at, entries, problems, SOURCE_KEYS)
        sources.append(None)
        if reader is not None and (paths := lists.get("paths")) is not None:
            try:
                sources[-1] = Source(reader, paths, label, **texts, exclude=lists.get("exclude") or ())
            except (RecipeError, AssetError) as error:
                problems.add(node.at, f"{node.name}: {error}")
    return sources


def _means_paths(key: str, reader: type[Any] | None) -> bool:
    """Whether a key of a source means `paths`, and the reader has no such parameter, which is said then."""
    own = getattr(reader, "__dataclass_fields__", ())
    return key not in own and usual_name(key, ("paths",)) == "paths"


def _texts(entry: KeyValue, name: str, problems: Problems) -> tuple[str, ...] | None:
    """A text, or a list of texts; None if it is wrong, or null."""
    value: str | tuple[str, ...] | None = convert_or_report(entry.value, str | tuple[str, ...], name, problems)
    return (value,) if isinstance(value, str) else value


def _parse_selection(node: PartNode, problems: Problems) -> Selection | None:
    """The sources that a step is for, by its `only` or `except`; None for all."""
    entries = node.value.entries if isinstance(node.value, TableNode) else {}
    chosen: dict[str, str | tuple[str, ...]] = {}
    for key in (key for key in SELECTION_KEYS if key in entries):
        names = convert_or_report(entries[key].value, str | tuple[str, ...] | None, f"{node.name}: {key}", problems)
        if names is not None:
            chosen[key] = names
    if not chosen:
        return None
    try:
        return Selection(chosen.get("only", ()), chosen.get("except", ()))
    except RecipeError as error:
        problems.add(node.at, f"{node.name} {error}")
        return None


def _find_and_build(node: PartNode, section: str, problems: Problems) -> Any:
    """A step or writer; None where it is wrong."""
    cls = find_class(node, section, problems)
    return None if cls is None else _build(node, cls, section, problems)


def _build(node: PartNode, cls: type[Any], section: str, problems: Problems) -> Any:
    return make(cls, node.name, node.at, _parameters(node, cls, section, problems), problems)


def _parameters(node: PartNode, cls: type[Any], section: str, problems: Problems) -> Mapping[str, KeyValue]:
    if isinstance(node.value, TableNode):
        reserved = SELECTION_KEYS if section == "steps" else ()
        return {key: entry for key, entry in node.value.entries.items() if key not in reserved}
    if isinstance(node.value, Scalar) and (main := getattr(cls, "main_parameter", None)):
        return {main: KeyValue(node.value.at, node.value)}
    if node.value is not None:
        problems.add(node.value.at, node.not_a_mapping)
    return {}


def parse_step(value: Any, where: str, problems: Problems) -> Any:
    """A step as a recipe writes it, in Python: "filter/language", {"filter/language": {"languages": ["en"]}}.

    where   its place, for messages

    Returns the step, or one `for_sources`; None where it is wrong, with all `problems` added.
    """
    node = _part_node_of("steps", value, where, problems)
    if node is None or (cls := find_class(node, "steps", problems)) is None:
        return None
    selection = _parse_selection(node, problems)
    step = _build(node, cls, "steps", problems)
    return ForSources(step, selection) if selection else step


def parse_writer(value: Any, where: str, problems: Problems) -> Any:
    """A writer likewise: "jsonl", {"shards": {"tokens_per_shard": 1000}}. None where it is wrong."""
    node = _part_node_of("write", value, where, problems)
    return _find_and_build(node, "write", problems) if node else None


def parse_source(value: Any, where: str, problems: Problems) -> Source | None:
    """A source likewise: {"jsonl": "docs/*.jsonl"}, {"parquet": {"paths": "*.parquet", "text": "body"}}."""
    node = _part_node_of("read", value, where, problems)
    if node is None or (cls := find_class(node, "read", problems)) is None:
        return None
    return _parse_sources([node], [cls], problems)[0]


def parse_stage(value: Mapping[str, Any], where: str, problems: Problems) -> TrainingStage | None:
    """A stage of training as a recipe writes it, in Python; its steps may be values. None where it is wrong."""
    instances = {key: value[key] for key in STAGE_PARTS if dataclasses.is_dataclass(value.get(key))}
    node = tree_of({key: entry for key, entry in value.items() if key not in instances}, Position(where))
    assert isinstance(node, TableNode)
    stage = parse_stage_node(node, problems)
    return replace(stage, **instances) if stage else None


def _part_node_of(section: str, value: Any, where: str, problems: Problems) -> PartNode | None:
    node = part_with_new_names(tree_of(value, Position(where)), section, problems)
    return read_part_node(node, 0, SECTIONS[section][1], problems)
