"""The pages of the reference for single steps, readers and writers; docs/make_reference.py writes them."""

import contextlib
import dataclasses
import inspect
import re
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from corpusmill import read, steps
from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe
from corpusmill.steps.describe import Parameter, describe, parameters
from corpusmill.steps.verdict import COMPARED
from docs import worked

DOCS = Path(__file__).parent
WRITTEN = "<!-- Written by docs/make_reference.py from the code: edit the docstrings there. -->"
ALIGNED = re.compile(r"^ |\S {2,}\S", re.MULTILINE)  # a paragraph that is a table in plain text
KINDS = {
    "Transform": "changes the text",
    "Annotate": "measures",
    "Filter": "drops documents",
    "CorpusStep": "compares all documents",
    "Tokenize": "makes tokens",
    "Pack": "packs tokens",
}
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
PACKED = "Each letter is a token of that document, its EOS included; dots are padding."
# What needs no comment beside it in every class that has it.
COMMON = {
    "mark": "only record duplicates in the signals; drop and change nothing",
    "spans": "also keep where each was found, as byte offsets",
    "rules": "only these rules are on; null: all that have a value",
    "split_at": "cut documents that are longer than a row at the end of one of these; null: anywhere",
    "text": "the column that holds the text; null: the first of text, content, body, raw_content, document",
    "id": "the column with the id; null: a hash of file and position",
    "url": "the column with the address; null: url, if there is one",
    "date": "the column with the date; null: date, if there is one",
    "kinds": "what to look for",
    "scripts": "those that get a signal of their own",
    "preset": "the name of a published mixture",
    "replacement": "the text that takes its place",
    "max_line_mb": "of a line, in megabytes; longer ones become dead letters",
    "document": "what a document is: the whole file, a paragraph, or an article as in WikiText",
    "separator": "the text between documents, instead of `document`",
    "gutenberg": "remove Project Gutenberg's header and footer",
    "charset": "of files without a byte order mark",
    "compression": "of the files",
    "format": "of the files",
    "keep_text": "also write the text",
    "rows_per_group": "documents per row group",
    "model": "the name of one that ships, or a path",
    "function": "`module:name`; the module must be importable where the command runs",
    "keep": "the duplicate that is kept: `first`, `longest`, `newest`, `oldest`, or a signal: its highest value",
}


def step_page(name: str) -> str:
    """The page of one step: what it does, how it is written, parameters, reasons, a worked result, its guide."""
    info = describe(name)
    first, *rest = prose(info.doc if name.endswith("/function") else as_in_recipe(info.doc))
    parts = [WRITTEN, f"# {name}", f"*{kinds_in_words(info.kinds)}*", first, *usage(name)]
    shown = worked.table(name)
    if shown:
        parts += ["## Result", f"What the recipe above does with {counted(name)}:", shown]
        parts += [PACKED] if "lengths" in worked.examples()[name] else []
    parts += ["## Details", *rest] if rest else []
    parts += ["## Parameters", *table(info.parameters, find(name))]
    parts += reasons(name)
    guides = guide_pages(name)
    if guides:
        parts.append("Guide: " + ", ".join(f"[{title}](../../../{path})" for title, path in guides))
    return "\n\n".join(parts) + "\n"


def find(name: str) -> type[Any]:
    return steps.find(name)


def format_page(name: str, package: Any) -> str:
    """The page of a reader or writer."""
    cls = package.find(name)
    first, *rest = prose(as_in_recipe(inspect.cleandoc(cls.__doc__ or "")))
    reads = package is read
    shown = reading(name, cls.suffixes[0]) if reads else writing(name)
    called = {entry: python for python, entry in exported(package).items()}[name]
    parts = [WRITTEN, f"# {name}", first, f"```yaml\n{shown}\n```", f"In Python: `{package.__name__}.{called}`"]
    parts += suffixes(cls)
    parts += ["## Details", *rest] if rest else []
    parts += ["## Parameters", *table(parameters(cls), cls)]
    guide = "../../guide/reading.md" if reads else "../../guide/formats.md"
    return "\n\n".join([*parts, f"Guide: [{'reading' if reads else 'formats'}]({guide})"]) + "\n"


def reading(name: str, suffix: str) -> str:
    """The beginning of a recipe with this reader, and an extractor where it needs one."""
    return first_valid(
        "", [f"read:\n  {name}: data/*{suffix}{steps}" for steps in ("", "\nsteps:\n  - extract/resiliparse")]
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


def kinds_in_words(kinds: tuple[str, ...]) -> str:
    words = " and ".join(KINDS[kind] for kind in kinds)
    return words[0].upper() + words[1:]


def counted(name: str) -> str:
    if "lengths" in worked.examples()[name]:
        return "documents of " + ", ".join(map(str, worked.examples()[name]["lengths"])) + " tokens, called a, b, c, d"
    number = len(worked.examples()[name]["documents"])
    return f"{ {1: 'one document', 2: 'two documents', 3: 'three documents', 4: 'four documents'}[number] }"


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
    yield "<!-- tabs -->"
    yield f"```yaml\n{worked.steps_yaml(name)}\n```\n\n```python\n{in_python(step)}\n```"


def in_python(step: Any) -> str:
    """The step as an object: its class, with the parameters that differ from their defaults."""
    cls = type(step)
    if cls in (steps.MapFunction, steps.FilterFunction):
        decorator = {"filter": "as_filter", "map": "as_map"}[cls.__module__.split(".")[-2]]
        module, function = step.function.split(":")
        return f"import corpusmill\nfrom {module} import {function}\n\ncorpusmill.{decorator}({function})"
    given = ", ".join(
        f"{field.name}={getattr(step, field.name)!r}"
        for field in dataclasses.fields(step)
        if field.init and getattr(step, field.name) != field.default
    )
    called = {entry: python for python, entry in exported(steps).items()}[step_name(cls)]
    return f"from corpusmill.steps import {called}\n\n{called}({given})".replace("'", '"')


def table(listed: tuple[Parameter, ...], cls: type[Any]) -> list[str]:
    """The parameters: what each takes, its default, and what it means."""
    if not listed:
        return ["No parameters."]
    hints = get_type_hints(cls)
    rows = ["| parameter | takes | default | |", "|---|---|---|---|"]
    for p in listed:
        default = "required" if p.default is None else f"`{recipe_value(p.default)}`"
        rows.append(f"| `{p.name}` | {cell(in_words(hints[p.name]))} | {default} | {cell(meaning(p, cls))} |")
    return ["\n".join(rows)]


def meaning(p: Parameter, cls: type[Any]) -> str:
    """The rule that it is the bound of, and the comment in the code, else that of docs/parameter_notes.yaml."""
    rule = next((r for r in class_rules(cls) if r.parameter == p.name), None)
    drops = f"drops where `{rule.signal}` is {COMPARED[rule.drops]} this" if rule else ""
    said = p.note or parameter_notes().get(step_name(cls), {}).get(p.name, "") or COMMON.get(p.name, "")
    return "; ".join(part for part in (drops, said) if part)


def class_rules(cls: type[Any]) -> tuple[Any, ...]:
    """The rules of a step, in the way of `steps.verdict.rules_of`, without having to make one."""
    return tuple(getattr(cls, "RULES", ())) if not isinstance(getattr(cls, "rules", None), property) else ()


def step_name(cls: type[Any]) -> str:
    return "/".join(cls.__module__.split(".")[-2:])


@cache
def parameter_notes() -> dict[str, dict[str, str]]:
    """Step -> parameter -> what it means, where no comment in the code says it."""
    notes: dict[str, dict[str, str]] = yaml.safe_load((DOCS / "parameter_notes.yaml").read_text("utf-8"))
    return notes


def guide_files() -> list[Path]:
    return sorted((DOCS / "guide").rglob("*.md"))


def reasons(name: str) -> list[str]:
    """Why the step drops documents, as the report and `explain` name it."""
    cls = find(name)
    named = [f"`{rule.parameter}`" for rule in class_rules(cls)]
    named += [MORE_REASONS[name]] if name in MORE_REASONS else []
    if "Transform" in describe(name).kinds:
        named.append("`empty`: no text is left")
    return ["## Reasons", ", ".join(named)] if named else []


def guide_pages(name: str) -> list[tuple[str, str]]:
    """(title, path) of the pages of the guide that say most about a step: three at most."""
    mentions = []
    for page in guide_files():
        text = page.read_text("utf-8")
        number = len(re.findall(rf"(?<![\w/]){re.escape(name)}\b", text))
        title = re.match(r"# (.+)", text)
        if title and number:
            section = "#" + name.replace("/", "") if f"\n## {name}\n" in text else ""
            mentions.append((not section, -number, title[1], page.relative_to(DOCS).as_posix() + section))
    return [(title, path) for *_, title, path in sorted(mentions)[:3]]


def exported(package: Any) -> dict[str, str]:
    """The names by which Python imports what a package registers -> the names in a recipe."""
    classes: dict[str, str] = package.REGISTRY.classes
    return classes


def in_words(hint: Any) -> str:
    """What a parameter takes, in the words of a recipe.

    >>> in_words(tuple[str, ...] | None), in_words(Literal["a", "b"]), in_words(tuple[tuple[str, float], ...])
    ('list of text or null', '`a` or `b`', 'NAME: number')
    """
    if hint is type(None):
        return "null"
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return either([f"`{arg}`" for arg in args])
    if origin in (Union, types.UnionType):
        return either([part for arg in args for part in [in_words(arg)]])
    if origin is tuple:
        return list_in_words(args)
    return {int: "whole number", float: "number", bool: "true or false", str: "text"}.get(hint, str(hint))


def list_in_words(args: tuple[Any, ...]) -> str:
    if len(args) == 2 and args[1] is not Ellipsis:
        return f"two values: {in_words(args[0])}, {in_words(args[1])}"
    if get_origin(args[0]) is tuple:
        key, item = get_args(args[0])
        return f"NAME: {in_words(item)}" if key is str else f"{in_words(key)}: {in_words(item)}"
    return f"list of {in_words(args[0])}"


def either(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} or {parts[-1]}" if len(parts) > 1 else parts[0]


def prose(doc: str) -> list[str]:
    """A docstring as Markdown: paragraphs, and what is laid out in columns as it stands."""
    parts = []
    for paragraph in doc.split("\n\n"):
        if ALIGNED.search(paragraph):
            parts.append(f"```\n{paragraph.rstrip()}\n```")  # not `text`: that is what the block above prints
        else:
            parts.append(linked(escaped(" ".join(paragraph.split()))))
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
    return [f"From a folder it takes: {', '.join(f'`{e}`' for e in endings)}"] if isinstance(endings, tuple) else []


def recipe_value(default: str) -> str:
    """A default as a recipe writes it.

    >>> recipe_value("None"), recipe_value("('en',)"), recipe_value("'gpt2'"), recipe_value("()")
    ('null', '[en]', 'gpt2', '[]')
    """
    if default in ("None", "True", "False"):
        return {"None": "null", "True": "true", "False": "false"}[default]
    if default.startswith("("):
        return "[" + default[1:-1].replace("'", "").rstrip(",") + "]"
    return default.strip("'") or '""'


def cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")


def escaped(text: str) -> str:
    """Angle brackets outside code are text, and no HTML."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "\\<") for part in parts)
