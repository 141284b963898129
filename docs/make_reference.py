"""Write docs/reference from the code: python docs/make_reference.py

A page for each step, reader and writer, with an index of each kind, and one for the public API of Python. The pages are
committed, so that they can be read without running anything; a test fails when they are out of date.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # where `docs` is, if this runs as a script
import corpusmill
from corpusmill import loader, read, steps, write
from corpusmill.steps.describe import describe, summary
from docs.make_step_pages import WRITTEN, cell, exported, format_page, prose, step_page

FOLDER = Path(__file__).parent / "reference"
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
WIDE = 100  # characters of a signature on one line


def pages() -> dict[str, str]:
    """Path in docs/reference -> content, for every page."""
    return {
        **step_pages(),
        **format_pages("readers", "Readers", "Every format that a recipe reads, under `read:`.", read),
        **format_pages("writers", "Writers", "Every format that a recipe writes, under `write:`.", write),
        "api.md": api_page(),
    }


def step_pages() -> dict[str, str]:
    """One page a step, and one that lists them all."""
    about = """
    Every step that ships, with a page for each. `corpusmill steps NAME` prints the same in a terminal. All but
    `mix/sources`, `tokenize/…` and `pack/…` also take `only` or `except`: [the sources that they apply
    to](../guide/recipes.md#steps-for-some-sources). A parameter that is `null` by default is off.
    """
    parts = [WRITTEN, "# Steps", *prose(inspect.cleandoc(about))]
    folder = ""
    for name in steps.names():
        if name.partition("/")[0] != folder:
            folder = name.partition("/")[0]
            parts += [f"## {folder}", "| step | |\n|---|---|"]
        parts[-1] += f"\n| [{name}](steps/{name}.md) | {cell(describe(name).summary)} |"
    single = {f"steps/{name}.md": step_page(name) for name in steps.names()}
    return {"steps.md": "\n\n".join(parts) + "\n", **single}


def format_pages(folder: str, title: str, about: str, registry: Any) -> dict[str, str]:
    """One page a reader or writer, and one that lists them all."""
    rows = ["| format | |", "|---|---|"]
    for name in registry.names():
        doc = inspect.cleandoc(registry.find(name).__doc__ or "")
        rows.append(f"| [{name}]({folder}/{name}.md) | {cell(summary(doc))} |")
    index = "\n\n".join([WRITTEN, f"# {title}", about, "\n".join(rows)]) + "\n"
    single = {f"{folder}/{name}.md": format_page(name, registry) for name in registry.names()}
    return {f"{folder}.md": index, **single}


def api_page() -> str:
    about = """
    What `corpusmill.__all__` lists is public, and so are the steps, readers and writers of this reference: a change is
    noted in the changelog. Importing `corpusmill` costs next to nothing; each name is loaded when it is first used.
    """
    parts = [WRITTEN, "# Python API", *prose(inspect.cleandoc(about))]
    names = set(corpusmill.__all__) - {"__version__"}
    for name in sorted(names - PUBLIC.keys(), key=lambda name: (name.lower(), name)):
        parts += described(f"corpusmill.{name}", getattr(corpusmill, name), 2)
    for name in sorted(names & PUBLIC.keys()):
        module = getattr(corpusmill, name)
        doc = inspect.cleandoc(module.__doc__ or "")
        parts += [f"## corpusmill.{name}", f"```text\n{doc}\n```" if name == "errors" else prose(doc)[0]]
        for member in PUBLIC[name]:
            parts += described(f"corpusmill.{name}.{member}", getattr(module, member), 3)
    return "\n\n".join(parts) + "\n"


def described(name: str, thing: Any, level: int) -> Iterator[str]:
    """A function, a class with its public methods and properties, or a constant, under a heading of this level."""
    yield f"{'#' * level} {name}"
    if not isinstance(thing, type) and not inspect.isroutine(thing):
        yield f"`{thing!r}`"
        return
    yield f"```py\n{signature(thing)}\n```"
    yield from prose(inspect.getdoc(thing) or "")
    for member, value in vars(thing).items() if isinstance(thing, type) else ():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not member.startswith("_") and inspect.isfunction(function) and function.__doc__:
            called = member if isinstance(value, property) else " ".join(signature(function).split())
            first, *rest = prose(inspect.getdoc(function) or "")
            yield f"**`.{called}`** {first}"
            yield from rest


def signature(thing: Any) -> str:
    """How a function is called or an object made, from its source: the same text with every version of Python."""
    code = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    assert isinstance(code, ast.ClassDef | ast.FunctionDef)
    if isinstance(code, ast.FunctionDef):
        assert code.returns is not None
        returns = ast.unparse(code.returns).strip("'")  # quoted where a class is not there yet
        return call(code.name, arguments(code.args), f" -> {returns}")
    for part in code.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return call(code.name, arguments(part.args), "")
    fields = [ast.unparse(part) for part in code.body if isinstance(part, ast.AnnAssign)]
    fields = [field for field in fields if "init=False" not in field]
    by_name = any("kw_only=True" in ast.unparse(decorator) for decorator in code.decorator_list)
    return call(code.name, ["*", *fields] if by_name else fields, "")


def arguments(given: ast.arguments) -> list[str]:
    """Each as it is written, without self and cls."""
    defaults = [None] * (len(given.args) - len(given.defaults)) + given.defaults
    plain = [spelled(*pair) for pair in zip(given.args, defaults) if pair[0].arg not in ("self", "cls")]
    named = [spelled(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults)]
    return [*plain, *(["*"] if named else []), *named]


def spelled(arg: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(arg) + (f" = {ast.unparse(default)}" if default is not None else "")


def call(name: str, given: list[str], returns: str) -> str:
    """On one line if it fits, else with a line for each argument."""
    line = f"{name}({', '.join(given)}){returns}"
    return line if len(line) <= WIDE else f"{name}(\n    " + ",\n    ".join(given) + f",\n){returns}"


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


def main() -> None:
    made = pages()
    for old in FOLDER.rglob("*.md"):
        if old.relative_to(FOLDER).as_posix() not in made:
            old.unlink()
    for file, text in ({FOLDER / name: text for name, text in made.items()} | exports()).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    print(f"{len(made)} pages in {FOLDER}")


if __name__ == "__main__":
    main()
