"""The pages of the reference for single steps, readers and writers; docs/make_reference.py writes them."""

import contextlib
import dataclasses
import inspect
import re
import textwrap
import types
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from corpusmill import read, steps, write
from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe
from corpusmill.steps.describe import Parameter, describe, parameters
from corpusmill.steps.verdict import COMPARED
from docs import worked

DOCS = Path(__file__).parent
WRITTEN = "<!-- by docs/make_reference.py -->"
ALIGNED = re.compile(r"^ |\S {2,}\S", re.MULTILINE)  # a paragraph that is a table in plain text
# Beside the names of its parameters, a step may drop a document for one of these reasons.
MORE_REASONS = {
    "dedup/exact": "`exact_copy`",
    "dedup/minhash": "`near_copy`",
    "mix/buckets": "`down_sampled`: not drawn",
    "mix/rehydrate": "`down_sampled`: its weight is 0",
    "mix/sources": "`down_sampled`: not drawn",
    "dedup/url": "`url_copy`",
    "filter/top": "`keep`",
}
# Beginnings of paragraphs of docstrings whose content the list of parameters has; and sentences that steps.md has.
IN_PARAMETERS = ("    uppercase words", "    replacement   U+FFFD", "Source: ours\n")
ON_INDEX = re.compile(
    r"Every bound is a (?:value|share) that still passes; null switches its rule off\. ?"
    r"|Each bound still passes, and null switches its rule off\. ?"
    r"|`rules` names the (?:rules|parts) that are on(?:, with their defaults or the bounds given beside;|,) all others "
    r"are off\. ?"
    r"|(?<=[.] )A page without text is dropped as `empty`\. ?"
    r"|(?<=[.] )Documents without a page are passed through\. ?"
    r"|,? by `keep`: the \"first\" .*?Of equals the first is kept(?=\.)"
    r"|`keep` chooses which of two is kept: .*?Of equals the first is kept\. ?"
    r"|`name: \"train_\{:05d\}\"` names the files train_00000\.\S+ …; with `single_file` it needs no number\.$"
)
LONG = 200  # characters of a list of kinds, which the docstring has then
ENTRY = re.compile(r"(\w+(?:, \w+)*)(?: +(?=\S)|$)")  # of a paragraph that is a table: names, then what they mean


def step_page(name: str) -> str:
    """The page of one step: what it does, how it is written, parameters, reasons, a worked result, its guide."""
    info = describe(name)
    cls = find(name)
    meanings, details = split(info.doc, cls, as_written=name.endswith("/function"))
    compares = "*Compares all documents.* " if "CorpusStep" in info.kinds else ""
    parts = [WRITTEN, f"# {name}", compares + details[0], *usage(name), *details[1:]]
    shown = worked.table(name)
    if shown:
        parts += ["## Result", shown]
        parts += [packed_note(name)] if "lengths" in worked.examples()[name] else []
    parts += parameter_list(info.parameters, cls, meanings, steps)
    parts += reasons(name)
    title, path = guide_page(name)
    parts += [f"Guide: [{title}](../../../{path})"]
    return "\n\n".join(parts) + "\n"


def packed_note(name: str) -> str:
    lengths = ", ".join(map(str, worked.examples()[name]["lengths"]))
    return f"Documents a, b, c, d of {lengths} tokens, a letter for each, EOS included; dots are padding."


def split(doc: str, cls: type[Any], as_written: bool = False) -> tuple[dict[str, str], list[str]]:
    """A docstring as (parameter -> what it says of it, paragraphs in Markdown). A paragraph that is a table of
    parameters goes into the first."""
    names = {field.name for field in dataclasses.fields(cls)}
    meanings: dict[str, str] = {}
    paragraphs: list[str] = []
    for paragraph in (doc if as_written else as_in_recipe(doc)).split("\n\n"):
        entries = entries_of(paragraph) if ALIGNED.search(paragraph) else {}
        if entries and all(set(keys.split(", ")) <= names for keys in entries):
            meanings |= {key: text for keys, text in entries.items() for key in keys.split(", ")}
            if paragraphs and paragraphs[-1].endswith(":"):
                paragraphs[-1] = f"{paragraphs[-1][:-1]}, see the parameters."
        elif not f"{paragraph}\n".startswith(IN_PARAMETERS):
            paragraphs += [part for part in prose(paragraph) if part]
    return meanings, paragraphs


def entries_of(paragraph: str) -> dict[str, str]:
    """A table in plain text, as the names at the beginning of its lines -> the text beside and below them; {} if it is
    none."""
    entries: dict[str, str] = {}
    key = ""
    for line in textwrap.dedent(paragraph).splitlines():
        match = ENTRY.match(line)
        if match:
            key = match[1]
            entries[key] = line[match.end() :]
        elif not key or not line.startswith(" "):
            return {}
        else:
            entries[key] += f" {line.strip()}"
    return {key: text.strip() for key, text in entries.items()}


SETTINGS = {  # of readers that take more than paths
    "commoncrawl": "{crawl: CC-MAIN-2026-25, where: \"content_languages = 'isl'\", contact: you@example.org}",
}


def find(name: str) -> type[Any]:
    return steps.find(name)


def format_page(name: str, package: Any) -> str:
    """The page of a reader or writer."""
    cls = package.find(name)
    meanings, details = split(inspect.cleandoc(cls.__doc__ or ""), cls)
    reads = package is read
    shown = reading(name, SETTINGS.get(name) or f"data/*{cls.suffixes[0]}") if reads else writing(name)
    parts = [WRITTEN, f"# {name}", details[0], f"```yaml\n{shown}\n```"]
    parts += [*suffixes(cls), *details[1:]]
    return "\n\n".join([*parts, *parameter_list(parameters(cls), cls, meanings, package)]) + "\n"


def reading(name: str, settings: str) -> str:
    """The beginning of a recipe with this reader, and an extractor where it needs one."""
    return first_valid(
        "", [f"read:\n  {name}: {settings}{steps}" for steps in ("", "\nsteps:\n  - extract/resiliparse")]
    )


def writing(name: str) -> str:
    """The end of a recipe with this writer, with as many of the steps that make and pack tokens as it needs."""
    needed = ("", "steps:\n  - tokenize/bpe\n", "steps:\n  - tokenize/bpe\n  - pack/concat\n")
    return first_valid("read: {jsonl: docs.jsonl}\n", [f"{steps}write:\n  - {name}" for steps in needed])


def first_valid(before: str, recipes: list[str]) -> str:
    for shown in recipes:
        with contextlib.suppress(RecipeError):
            Recipe.parse(f"{before}{shown}\n")
            return shown
    raise AssertionError(f"none of these is a recipe: {recipes}")


def usage(name: str) -> Iterator[str]:
    """The step in a recipe and in Python."""
    if name not in worked.examples():
        yield f"```yaml\nsteps:\n  - {name}\n```"
        return
    for file, content in worked.examples()[name].get("file", {}).items():
        yield f"With this `{file}`:"
        yield f"```python\n# {file}\n{content}```" if file.endswith(".py") else f"```json\n{content}```"
    with worked.folder_with(worked.examples()[name].get("file", {})):
        step = worked.recipe_of(name).steps[-1]
    yield f"```yaml\n{worked.steps_yaml(name)}\n```"
    yield f"In Python: `{in_python(step)}`"


def in_python(step: Any) -> str:
    """The step as an object: its class, with the parameters that differ from their defaults."""
    cls = type(step)
    if cls in (steps.MapFunction, steps.FilterFunction):
        decorator = {"filter": "as_filter", "map": "as_map"}[cls.__module__.split(".")[-2]]
        module, function = step.function.split(":")
        return f"corpusmill.{decorator}({module}.{function})"
    given = ", ".join(
        f"{field.name}={getattr(step, field.name)!r}"
        for field in dataclasses.fields(step)
        if field.init and getattr(step, field.name) != field.default
    )
    called = {entry: python for python, entry in exported(steps).items()}[step_name(cls)]
    return f"corpusmill.steps.{called}({given})".replace("'", '"')


def parameter_list(listed: tuple[Parameter, ...], cls: type[Any], meanings: dict[str, str], package: Any) -> list[str]:
    """The parameters: what each takes, its default, and what it means; last those that mean the same in others."""
    if not listed:
        return ["No parameters."]
    lines, shared = [], []
    for p in listed:
        text = meaning(p, cls, meanings)
        code = shown_parameter(p, cls)
        if (p.name, text) in common(package):
            shared.append(code)
            continue
        required = "required" if p.default is None else ""
        text = "; ".join(part for part in (required, text) if part)
        kinds = in_words(get_type_hints(cls)[p.name]).strip("[]")
        if "[kind]" in code and text == p.note:
            text += f": {kinds.replace(' | ', ', ')}"
        lines.append(f"- {code}{': ' if text else ''}{text}")
    if shared:
        index = {steps: "../../steps.md", read: "../readers.md", write: "../writers.md"}[package]
        lines.append(f"- [common]({index}#common-parameters): {', '.join(shared)}")
    return ["## Parameters", "\n".join(lines)]


def shown_parameter(p: Parameter, cls: type[Any]) -> str:
    kind = in_words(get_type_hints(cls)[p.name])
    code = f"{p.name}: {written(kind if len(kind) < LONG else '[kind]', p.default)}"
    return f"``{code}``" if "`" in code else f"`{code}`"


@cache
def common(package: Any) -> tuple[tuple[str, str], ...]:
    """(parameter, what it means), of those that mean the same in three steps or formats."""
    counted: Counter[tuple[str, str]] = Counter()
    for name in package.names():
        cls = package.find(name)
        meanings, _ = split(inspect.cleandoc(cls.__doc__ or ""), cls)
        counted.update((p.name, text) for p in parameters(cls) if (text := meaning(p, cls, meanings)))
    return tuple(sorted(pair for pair, number in counted.items() if number >= 3))


def common_parameters(package: Any) -> str:
    """What these mean, for the page that lists the steps or formats."""
    return "\n".join(f"- `{name}`: {text.removeprefix('or ')}" for name, text in common(package))


def written(kind: str, default: str | None) -> str:
    """What a parameter takes, and its default where that is neither null nor empty; the default alone where it shows
    what is taken.

    >>> written("bool", "True"), written("int?", "5"), written("int?", "None"), written("a | b", "'b'")
    ('true', 'int? = 5', 'int?', 'b | a')
    """
    value = "" if default is None else recipe_value(default)
    if value in ("", '""', "[]") or (value == "null" and kind.endswith("?")):
        return kind
    if value == "null" and kind.endswith(" | null"):
        return f"null | {kind.removesuffix(' | null')}"
    if " | " in kind and not kind.startswith(("[", "{")):
        kinds = kind.split(" | ")
        return (
            " | ".join([value, *(other for other in kinds if other != value)])
            if value in kinds
            else f"{kind} = {value}"
        )
    return value if kind in ("bool", "int", "number", "text", "[text]") else f"{kind} = {value}"


def meaning(p: Parameter, cls: type[Any], meanings: dict[str, str]) -> str:
    """What the docstring, parameter_notes.yaml or the comment in the code says, after the signal that a rule compares
    with it."""
    rule = next((r for r in class_rules(cls) if r.parameter == p.name), None)
    compared = ""
    if rule:
        usual = {"max": ">", "min": "<"}.get(p.name[:3]) == rule.drops
        named = usual and p.name[4:] == rule.signal
        compared = (
            ""
            if named
            else f"on `{rule.signal}`"
            if usual
            else f"drops where `{rule.signal}` is {COMPARED[rule.drops]} this"
        )
    own = parameter_notes().get(step_name(cls), {}).get(p.name)
    text = meanings.get(p.name) or own or p.note or all_notes()["common"].get(p.name, "")
    return ": ".join(part for part in (compared, escaped(linked(text))) if part)


@cache
def parameter_notes() -> dict[str, dict[str, str]]:
    """Step -> parameter -> what it means, where no comment in the code says it."""
    return {name: notes for name, notes in all_notes().items() if name != "common"}


@cache
def all_notes() -> dict[str, dict[str, str]]:
    notes: dict[str, dict[str, str]] = yaml.safe_load((DOCS / "parameter_notes.yaml").read_text("utf-8"))
    return notes


def class_rules(cls: type[Any]) -> tuple[Any, ...]:
    """The rules of a step, in the way of `steps.verdict.rules_of`, without having to make one."""
    return tuple(getattr(cls, "RULES", ())) if not isinstance(getattr(cls, "rules", None), property) else ()


def step_name(cls: type[Any]) -> str:
    return "/".join(cls.__module__.split(".")[-2:])


def guide_files() -> list[Path]:
    return sorted((DOCS / "guide").rglob("*.md"))


def reasons(name: str) -> list[str]:
    """Why the step drops documents, where no bound says it, as the report and `explain` name it."""
    return [f"Reason: {MORE_REASONS[name]}"] if name in MORE_REASONS else []


def guide_page(name: str) -> tuple[str, str]:
    """(title, path) of the page of the guide that has a section for a step, or names it most often."""
    mentions = []
    for page in guide_files():
        text = page.read_text("utf-8")
        number = len(re.findall(rf"(?<![\w/]){re.escape(name)}\b", text))
        title = re.match(r"# (.+)", text)
        if title and number:
            section = "#" + name.replace("/", "") if f"\n## {name}\n" in text else ""
            mentions.append((not section, -number, title[1], page.relative_to(DOCS).as_posix() + section))
    return min(mentions)[2:]


def exported(package: Any) -> dict[str, str]:
    """The names by which Python imports what a package registers -> the names in a recipe."""
    classes: dict[str, str] = package.REGISTRY.classes
    return classes


def in_words(hint: Any) -> str:
    """What a parameter takes, in the words of a recipe.

    >>> in_words(tuple[str, ...] | None), in_words(Literal["a", "b"]), in_words(tuple[tuple[str, float], ...])
    ('[text]?', 'a | b', '{name: number}')
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(map(str, args))
    if origin in (Union, types.UnionType):
        parts = [in_words(arg) for arg in args if arg is not type(None)]
        optional = type(None) in args
        if len(parts) == 1 and " | " not in parts[0]:
            return f"{parts[0]}?" if optional else parts[0]
        return " | ".join([*parts, *(["null"] if optional else [])])
    if origin is tuple:
        return list_in_words(args)
    if dataclasses.is_dataclass(hint):
        return f"{{{', '.join(field.name for field in dataclasses.fields(hint))}}}"
    return {int: "int", float: "number", bool: "bool", str: "text"}.get(hint, str(hint))


def list_in_words(args: tuple[Any, ...]) -> str:
    if len(args) == 2 and args[1] is not Ellipsis:
        return f"[{in_words(args[0])}, {in_words(args[1])}]"
    if get_origin(args[0]) is tuple:
        key, item = get_args(args[0])
        return f"{{{'name' if key is str else in_words(key)}: {in_words(item)}}}"
    return f"[{in_words(args[0])}]"


def prose(doc: str) -> list[str]:
    """A docstring as Markdown: paragraphs, and what is laid out in columns as it stands."""
    parts = []
    for paragraph in doc.split("\n\n"):
        if ALIGNED.search(paragraph):
            parts.append(f"```\n{paragraph.rstrip()}\n```")  # not `text`: that is what the block above prints
        else:
            parts.append(linked(escaped(ON_INDEX.sub("", " ".join(paragraph.split())).strip())))
    return parts


def as_in_recipe(doc: str) -> str:
    """A docstring in the words of YAML.

    >>> as_in_recipe("None switches it off; with `spans=True` also the places")
    'null switches it off; with `spans: true` also the places'
    """
    doc = re.sub(r"=(?=(?:True|False|None)\b)", ": ", doc)
    return re.sub(r"\b(None|True|False)\b", lambda match: {"None": "null"}.get(match[1], match[1].lower()), doc)


def linked(text: str) -> str:
    """Numbers of arXiv as links."""
    return re.sub(r"(?<!\[)arXiv:(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def suffixes(cls: type[Any]) -> list[str]:
    """The endings of files that a reader takes from a folder. Writers have none to choose."""
    endings = getattr(cls, "suffixes", None)
    if not isinstance(endings, tuple) or not endings:
        return []
    plain = [e for e in endings if not any(e.startswith(f"{shorter}.") for shorter in endings)]
    packed = dict.fromkeys(e.removeprefix(plain[0]) for e in endings if e.startswith(f"{plain[0]}."))
    if packed and {f"{e}{end}" for e in plain for end in ("", *packed)} == set(endings):
        ends = ", ".join(f"`{end}`" for end in packed)
        return [f"From a folder it takes {', '.join(f'`{e}`' for e in plain)}, and these with {ends} after them."]
    return [f"From a folder it takes {', '.join(f'`{e}`' for e in endings)}."]


def recipe_value(default: str) -> str:
    """A default as a recipe writes it.

    >>> recipe_value("None"), recipe_value("('en',)"), recipe_value("'gpt2'"), recipe_value("()")
    ('null', '[en]', 'gpt2', '[]')
    """
    if default in ("None", "True", "False"):
        return {"None": "null", "True": "true", "False": "false"}[default]
    if default.startswith("("):
        parts = default[1:-1].replace("'", "").rstrip(",").split(", ")
        shown = [*parts[:8], f"… {len(parts)} in all"] if len(parts) > 12 and "(" not in default[1:] else parts
        return f"[{', '.join(shown)}]"
    return default.strip("'") or '""'


def cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")


def escaped(text: str) -> str:
    """Angle brackets outside code are text, and no HTML."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "\\<") for part in parts)
