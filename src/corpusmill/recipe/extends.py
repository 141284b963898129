"""Recipes that build on others: `extends:` in a recipe, and what it changes of the one that it names.

    extends: fineweb
    read: {jsonl: docs/*.jsonl}            # in place of what that one reads
    steps:
      gopher_quality: {min_words: 30}      # a parameter of this step; its others are as they were
      c4: null                             # without this step
      after minhash: redact/pii            # and one more
    write: [shards, parquet]               # a list is in place of all

Carried out on trees, so all that is wrong has its line, in whichever file.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.recipe import shipped
from corpusmill.recipe.names import short_name
from corpusmill.recipe.override import labels_of_tree, set_in_part
from corpusmill.recipe.part_nodes import RECIPE_KEYS, SECTIONS, list_nodes
from corpusmill.recipe.tree import Items, KeyValue, Node, Problems, Scalar, TableNode, wrong
from corpusmill.recipe.tree import parse as parse_tree
from corpusmill.recipe.values import describe_node

EXTENDS = "extends"
CHANGED = ("steps", "write")  # sections that a mapping changes, and a list replaces
MERGED = ("run", "split")  # settings that are changed one by one
ENDINGS = (".yaml", ".yml")
PLACES = {"before ": 0, "after ": 1}  # of what is added, beside a step: how far behind it


def extended(
    tree: Node,
    problems: Problems,
    read: Callable[[Path], str],
    within: Sequence[Path] = (),
    without: Collection[str] = (),
) -> Node:
    """The tree of a recipe with all that it has from others; as it is, if it names none.

    read     gives the text of a file
    within   the files that extend this one, and so on
    without  keys that one of these replaces: what is wrong in them is nobody's concern

    Changes that cannot be are added to `problems`. Raises RecipeError if the other recipe is not there or is no recipe,
    and if recipes extend each other in a circle.
    """
    if not isinstance(tree, TableNode) or EXTENDS not in tree.entries:
        return tree
    own = {key: entry for key, entry in tree.entries.items() if key != EXTENDS}
    path = _file_named(tree.entries[EXTENDS])
    here = Path(tree.at.file).resolve()
    chain = (*within, here)
    if path.resolve() in chain:
        circle = " → ".join(step.name for step in (*chain[chain.index(path.resolve()) :], path))
        raise wrong(tree.entries[EXTENDS].at, f"extends: these recipes extend each other: {circle}")
    replaced = {*without} | {
        key for key, entry in own.items() if key not in MERGED and not _is_changes(key, entry.value)
    }
    try:
        text = read(path)
    except RecipeError as error:
        raise wrong(tree.entries[EXTENDS].at, f"extends: {error}") from None
    base = extended(parse_tree(text, str(path), problems, replaced), problems, read, chain, replaced)
    if not isinstance(base, TableNode):
        raise wrong(base.at, f"a recipe that is extended is a mapping, got {describe_node(base)}")
    entries = {key: entry for key, entry in base.entries.items() if key != "name"}
    for key, entry in own.items():
        if key in MERGED and key in entries and isinstance(entry.value, TableNode):
            settings = entries[key].value
            before = settings.entries if isinstance(settings, TableNode) else {}
            entries[key] = KeyValue(entry.at, TableNode(entry.value.at, {**before, **entry.value.entries}))
        elif _is_null(entry.value):
            entries.pop(key, None)
        elif _is_changes(key, entry.value):
            assert isinstance(entry.value, TableNode)
            entries[key] = _changed(base, key, entry.value, path, problems)
        else:
            entries[key] = entry
    return TableNode(tree.at, entries)


def base_of(text: str, file: str) -> str | None:
    """What the recipe in a text extends, as it is written there; None: nothing."""
    tree = parse_tree(text, file, Problems(), RECIPE_KEYS)
    entry = tree.entries.get(EXTENDS) if isinstance(tree, TableNode) else None
    return entry.value.text if entry and isinstance(entry.value, Scalar) else None


def _file_named(entry: KeyValue) -> Path:
    """The file of the recipe that is extended: one that ships, by its name, or one beside this one."""
    node = entry.value
    if not isinstance(node, Scalar) or not node.text:
        names = ", ".join(shipped.names())
        raise wrong(entry.at, f"extends names one recipe, a file or one that ships: {names}; got {describe_node(node)}")
    if "/" in node.text or node.text.endswith(ENDINGS):
        return Path(node.at.file).parent / Path(node.text).expanduser()
    try:
        return shipped.shipped(node.text).path
    except RecipeError as error:
        raise wrong(node.at, f"extends: {error} A file is named with its ending: {node.text}.yaml") from None


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _is_changes(key: str, node: Node) -> bool:
    """Whether a section says what changes, by label, and not what it is."""
    return key in CHANGED and isinstance(node, TableNode)


def _changed(base: TableNode, section: str, changes: TableNode, path: Path, problems: Problems) -> KeyValue:
    """A section of the recipe that is extended, with changes by label."""
    labels, kind = labels_of_tree(base, section), SECTIONS[section][1]
    entry = base.entries.get(section)
    nodes: list[Node | None] = list(list_nodes(entry))
    added: dict[int, list[Node]] = {}  # in front of which of these
    for key, change in changes.entries.items():
        place = next((place for place in PLACES if key.startswith(place)), "")
        label = key.removeprefix(place).strip()
        label = label if label in labels else short_name(label)
        if label not in labels:
            hint = did_you_mean(label, labels) or "."
            there = f"It has: {', '.join(labels)}" if labels else "It has none"
            problems.add(
                change.at,
                f'{path.name}, which this recipe extends, has no {kind} "{label}"{hint} {there}. To add one: '
                f"`after {next(reversed(labels), 'LABEL')}: {kind.upper()}`; in place of all: a list",
            )
        elif place:
            added.setdefault(labels[label] + PLACES[place], []).extend(list_nodes(change))
        elif _is_null(change.value):
            nodes[labels[label]] = None
        elif isinstance(change.value, TableNode):
            node = nodes[labels[label]]
            assert node is not None  # a key is there once
            for name, setting in change.value.entries.items():
                node = set_in_part(node, section, [name], setting.value, setting.at)
            nodes[labels[label]] = node
        else:
            got = describe_node(change.value)
            problems.add(change.at, f"{key}: a change is a mapping of parameters, or null to leave it out; got {got}")
    result: list[Node] = []
    for number in range(len(nodes) + 1):
        result += added.get(number, [])
        node = nodes[number] if number < len(nodes) else None
        result += [node] if node is not None else []
    at = entry.at if entry else changes.at
    return KeyValue(at, Items(at, tuple(result)))
