"""Write docs/reference from the code: python docs/make_reference.py

A page for each step, reader and writer, with an index of each kind, one for the public API of Python, and a table of
tokenizers in the guide. The pages are
committed, so that they can be read without running anything; a test fails when they are out of date.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # where `docs` is, if this runs as a script
import corpusmill
from corpusmill import loader, read, steps, write
from corpusmill.models.tokenizer_name import KNOWN
from corpusmill.steps.describe import describe, summary
from docs.make_step_pages import (
    WRITTEN,
    common_parameters,
    entries_of,
    escaped,
    exported,
    format_page,
    linked,
    prose,
    step_page,
)

FOLDER = Path(__file__).parent / "reference"
TABLE = re.compile(r"<!-- tokenizers -->\n.*?<!-- end -->", re.DOTALL)  # in a page of the guide
FIND = ("find", "names")
# What is public in the modules of `corpusmill.__all__`; of errors, all that their docstring lists.
PUBLIC = {
    "errors": (),
    "loader": tuple(loader.__all__),
    "read": FIND,
    "steps": FIND,
    "trackers": ("Metrics", "OpenMetrics", "Together", "numbers", "settings"),
    "write": FIND,
}
TYPES = {"str | os.PathLike[str]": "Path", "str | PathLike[str]": "Path", "Path_": "Path"}
ABOUT_API = """
What `corpusmill.__all__` lists is public, and so are the steps, readers and writers of this reference: changes are in
the changelog. Each name is loaded when it is first used. `Path` stands for `str | os.PathLike[str]`; arguments after
`*` are given by name; `int?` is `int | None`, and as an argument None by default.
"""
FURTHER = ("numbers", "batch_after", "stream", "has_batch")  # methods of TokenLoader, for adapters to trainers
ALIKE = dict.fromkeys(("steps", "write"), " `find` and `names` are as of `corpusmill.read`.")
ABOUT_READERS = """
Every format that a recipe reads, under `read:`. Records that cannot be read are dead letters: faults, which count
against `error_budget`, or expected ones. In Python `jsonl` is `corpusmill.read.JsonlReader`, and so on. [How to
read the pages](steps.md); the guide on [reading](../guide/reading.md).
""".strip()
ABOUT_WRITERS = """
Every format that a recipe writes, under `write:`. In Python `jsonl` is `corpusmill.write.JsonlWriter`, and so on.
[How to read the pages](steps.md); the guide on [formats](../guide/formats.md).
""".strip()
ABOUT_API = """
What `corpusmill.__all__` lists is public, and so are the steps, readers and writers of this reference: changes are in
the changelog. Each name is loaded when it is first used. `Path` stands for `str | os.PathLike[str]`; arguments after
`*` are given by name; `int?` is `int | None`, and as an argument None by default.
"""
ABOUT_STEPS = """
Every step that ships, with a page for each; `corpusmill steps NAME` prints the same in a terminal, with long
defaults in full.

**Parameters** are `name: default`, as a recipe writes them, or `name: type = default`. `int?` is an int or null,
and null by default; `[text]` is a list, `{name: number}` a mapping, both empty by default; of alternatives, `keep |
drop`, the first is the default. "On `signal`" is a bound: the document is dropped where that signal is above a
`max_…` or below a `min_…`. The bound itself passes; null, false and an empty list switch a rule off; the
parameter's name is the reason in the report. Of the others, `max_NAME` and `min_NAME` of a filter bound its signal
`NAME`. Where a step has `rules`, those named are on, with the bounds given or their defaults, and all others are
off.

**Sources**: all but `mix/sources`, `tokenize/…` and `pack/…` also take `only` or `except`, [the sources that they
apply to](../guide/recipes.md#steps-for-some-sources).

**Texts**: a step that changes texts drops as `empty` what leaves none. `extract/…` passes documents without a page
through.

## Which duplicate is kept

`keep` of `dedup/exact`, `dedup/minhash` and `dedup/url` is `first` (sources in recipe order, files by name,
documents by position), `longest`, `newest`, `oldest`, or a signal of an earlier step, of which the highest value is
kept: `quality.score`; with a minus sign, the lowest: `-perplexity.value`. Of equals the first is kept. A dropped
document records the id of the one that is kept (`duplicate_of`).
"""


def pages() -> dict[str, str]:
    """Path in docs/reference -> content, for every page."""
    return {
        **step_pages(),
        **format_pages("readers", "Readers", ABOUT_READERS, read),
        **format_pages("writers", "Writers", ABOUT_WRITERS, write),
        "api.md": api_page(),
    }


def step_pages() -> dict[str, str]:
    """One page a step, and one that lists them all."""
    parts = [WRITTEN, "# Steps", inspect.cleandoc(ABOUT_STEPS), "## Common parameters", common_parameters(steps)]
    folder = ""
    for name in steps.names():
        if name.partition("/")[0] != folder:
            folder = name.partition("/")[0]
            parts += [f"## {folder}", ""]
        parts[-1] += f"- [{name}](steps/{name}.md): {in_short(describe(name).summary)}\n"
    single = {f"steps/{name}.md": step_page(name) for name in steps.names()}
    return {"steps.md": "\n\n".join(part.strip() for part in parts) + "\n", **single}


def format_pages(folder: str, title: str, about: str, registry: Any) -> dict[str, str]:
    """One page a reader or writer, and one that lists them all."""
    rows = []
    for name in registry.names():
        doc = inspect.cleandoc(registry.find(name).__doc__ or "")
        rows.append(f"- [{name}]({folder}/{name}.md): {in_short(summary(doc))}")
    parts = [WRITTEN, f"# {title}", about, "\n".join(rows), "## Common parameters", common_parameters(registry)]
    single = {f"{folder}/{name}.md": format_page(name, registry) for name in registry.names()}
    return {f"{folder}.md": "\n\n".join(parts) + "\n", **single}


def in_short(sentence: str) -> str:
    """A summary up to its first colon or semicolon."""
    return escaped(re.split(r"[:;] |\.$", sentence)[0])


def api_page() -> str:
    parts = [WRITTEN, "# Python API", *prose(inspect.cleandoc(ABOUT_API))]
    names = set(corpusmill.__all__) - {"__version__"}
    for name in sorted(names - PUBLIC.keys(), key=lambda name: (name.lower(), name)):
        parts += described(f"corpusmill.{name}", getattr(corpusmill, name), 2)
    for name in sorted(names & PUBLIC.keys()):
        module = getattr(corpusmill, name)
        doc = inspect.cleandoc(module.__doc__ or "")
        parts += [
            f"## corpusmill.{name}",
            f"```text\n{doc}\n```" if name == "errors" else prose(doc)[0] + ALIKE.get(name, ""),
        ]
        for member in PUBLIC[name] if name not in ("steps", "write") else ():
            parts += described(f"corpusmill.{name}.{member}", getattr(module, member), 3)
    return "\n\n".join(parts) + "\n"


def described(name: str, thing: Any, level: int) -> Iterator[str]:
    """A function, a class with its public methods and properties, or a constant, under a heading of this level."""
    yield f"{'#' * level} {name}"
    if not isinstance(thing, type) and not inspect.isroutine(thing):
        yield f"`{thing!r}`"
        return
    yield from called(thing)
    for member, value in vars(thing).items() if isinstance(thing, type) else ():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not member.startswith("_") and member not in FURTHER and inspect.isfunction(function) and function.__doc__:
            first, *rest = called(function, bare=isinstance(value, property))
            yield f"**`.{member}`** {first}"
            yield from rest
    further = [f"`.{name}`" for name in FURTHER if name in vars(thing)]
    if further:
        yield f"For adapters to trainers: {', '.join(further)}."


def called(thing: Any, bare: bool = False) -> Iterator[str]:
    """How it is called, then its docstring; where that has a table of the arguments, they are a list in its place."""
    given, returns = signature(thing)
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    tables = [entries_of(paragraph) for paragraph in paragraphs]
    names = [re.split("[:=]", entry)[0].strip() for entry in given]
    table = next(
        (i for i, keys in enumerate(tables) if keys and {k for key in keys for k in key.split(", ")} <= set(names)),
        None,
    )
    if bare:
        yield from prose("\n\n".join(paragraphs))
        return
    if table is None:
        call = f"`({', '.join(given)}){f' -> {returns}' if returns else ''}`"
        first, *rest = prose("\n\n".join(paragraphs))
        yield f"{call} {first}"
        yield from rest
        return
    text = {k: text for key, text in tables[table].items() for k in key.split(", ")}
    for i, paragraph in enumerate(paragraphs):
        if i == table:
            lines: list[str] = []
            for entry, name in zip(given, names):
                said = text.get(name, "")
                if said and lines and lines[-1].endswith(f": {escaped(linked(said))}"):
                    lines[-1] = lines[-1].replace("`: ", f"`, `{entry}`: ", 1)
                else:
                    lines.append(listed(entry, said))
            yield "\n".join([*lines, *([f"- returns `{returns}`"] if returns not in ("", "None") else [])])
        else:
            yield from prose(paragraph)


def listed(entry: str, text: str) -> str:
    return f"- `{entry}`{': ' if text else ''}{escaped(linked(text))}"


def signature(thing: Any) -> tuple[list[str], str]:
    """(arguments, type that is returned) of a function or of the making of an object, from its source: the same text
    with every version of Python."""
    code = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    assert isinstance(code, ast.ClassDef | ast.FunctionDef)
    if isinstance(code, ast.FunctionDef):
        assert code.returns is not None
        return arguments(code.args), shorter(ast.unparse(code.returns).strip("'"))  # quoted where not there yet
    for part in code.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return arguments(part.args), ""
    fields = [ast.unparse(part) for part in code.body if isinstance(part, ast.AnnAssign)]
    fields = [shorter(field) for field in fields if "init=False" not in field]
    by_name = any("kw_only=True" in ast.unparse(decorator) for decorator in code.decorator_list)
    return ["*", *fields] if by_name else fields, ""


def shorter(code: str) -> str:
    """With the words of `ABOUT_API` for types, and what makes an empty default left out."""
    for long, short in TYPES.items():
        code = code.replace(long, short)
    code = re.sub(r" \| None( = None)?$", "?", code)
    code = re.sub(r": (?:bool|int|float|str) = ", "=", code)
    return re.sub(r" = field\(default_factory=(\w+)\)", lambda match: f" = {match[1]}()", code)


def arguments(given: ast.arguments) -> list[str]:
    """Each as it is written, without self and cls."""
    defaults = [None] * (len(given.args) - len(given.defaults)) + given.defaults
    plain = [spelled(*pair) for pair in zip(given.args, defaults) if pair[0].arg not in ("self", "cls")]
    named = [spelled(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults)]
    return [*plain, *(["*"] if named else []), *named]


def spelled(arg: ast.arg, default: ast.expr | None) -> str:
    return shorter(ast.unparse(arg) + (f" = {ast.unparse(default)}" if default is not None else ""))


def exports() -> dict[Path, str]:
    """Files of imports -> their content: what type checkers and editors know of names that are imported when they are
    first used."""
    return {Path(package.__path__[0]) / "_exported.py": imports(package) for package in (steps, read, write)}


def imports(package: Any) -> str:
    kind = {steps: "steps", read: "readers", write: "writers"}[package]
    lines = [f'"""The {kind} by their names in Python, for type checkers and editors alone.', ""]
    lines += ["Written by docs/make_reference.py.", '"""', ""]
    names = exported(package)
    for name, entry in sorted(names.items(), key=lambda item: item[1]):
        cls = package.find(entry).__name__
        alias = "" if cls == name else f" as {name}"
        lines.append(f"from {package.__name__}.{entry.replace('/', '.')} import {cls}{alias}")
    return "\n".join([*lines, "", "__all__ = [", *(f'    "{name}",' for name in sorted(names, key=in_all)), "]"]) + "\n"


def in_all(name: str) -> tuple[bool, str]:
    """The order of `__all__`: names in capitals are first."""
    return not name.isupper(), name


def guide() -> dict[Path, str]:
    """Pages of the guide -> content, with tables of the code in their places."""
    path = Path(__file__).parent / "guide" / "tokens.md"
    head = "| name | tokenizer of | repository |\n|---|---|---|"
    rows = [f"| `{name}` | {entry.of} | `{entry.repo}` |" for name, entry in KNOWN.items()]
    table = "\n".join([head, *rows])
    return {path: TABLE.sub(f"<!-- tokenizers -->\n\n{table}\n\n<!-- end -->", path.read_text("utf-8"))}


def main() -> None:
    made = pages()
    for old in FOLDER.rglob("*.md"):
        if old.relative_to(FOLDER).as_posix() not in made:
            old.unlink()
    for file, text in ({FOLDER / name: text for name, text in made.items()} | exports() | guide()).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    print(f"{len(made)} pages in {FOLDER}")


if __name__ == "__main__":
    main()
