"""Write docs/reference from the code: python docs/make_reference.py

One page each for steps, readers and writers: what each does, its parameters, where it comes from; and one for the
public API of Python. The pages are committed, so that they can be read without running anything; a test fails when they
are out of date.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpusmill
from corpusmill import loader, read, registry, steps, write
from corpusmill.steps.describe import Parameter, describe, parameters

FOLDER = Path(__file__).parent / "reference"
FIND = ("find", "names")
WRITTEN = "<!-- Written by docs/make_reference.py from the code: edit the docstrings there. -->"
# What is public in the modules of `corpusmill.__all__`; of errors, all that their docstring lists.
PUBLIC = {"errors": (), "loader": tuple(loader.__all__), "read": FIND, "steps": FIND, "write": FIND}
WIDE = 100  # characters of a signature on one line
ALIGNED = re.compile(r"^ |\S {2,}\S", re.MULTILINE)  # a paragraph that is a table in plain text


def pages() -> dict[str, str]:
    """File name -> content of every page."""
    return {
        "steps.md": steps_page(),
        "readers.md": formats_page("Readers", read),
        "writers.md": formats_page("Writers", write),
        "api.md": api_page(),
    }


def steps_page() -> str:
    about = """
    Every step that ships. `corpusmill steps NAME` says the same in a terminal. Beside their parameters, all but
    `mix/sources`, `tokenize/…` and `pack/…` take `only` or `except`: [the sources that they are
    for](../guide/recipes.md#steps-for-some-sources).
    """
    parts = [WRITTEN, "# Steps", *prose(inspect.cleandoc(about))]
    python = {entry: name for name, entry in exported(steps).items()}
    for name in steps.names():
        info = describe(name)
        parts += [
            f"## {name}",
            f"*{', '.join(info.kinds)}* · `corpusmill.steps.{python[name]}`",
            *prose(info.doc),
            *table(info.parameters),
        ]
    return "\n\n".join(parts) + "\n"


def formats_page(title: str, package: Any) -> str:
    what = "reads" if package is read else "writes"
    parts = [WRITTEN, f"# {title}", f"Every format that a recipe {what}, under `{what.removesuffix('s')}:`."]
    python = {entry: name for name, entry in exported(package).items()}
    for name in package.names():
        cls = package.find(name)
        doc = inspect.cleandoc(cls.__doc__ or "")
        parts += [
            f"## {name}",
            f"`{package.__name__}.{python[name]}`",
            *prose(doc),
            *suffixes(cls),
            *table(parameters(cls)),
        ]
    return "\n\n".join(parts) + "\n"


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
    if not isinstance(thing, type) and not inspect.isfunction(thing):
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


def prose(doc: str) -> list[str]:
    """A docstring as Markdown: paragraphs, and what is laid out in columns as it stands."""
    parts = []
    for paragraph in doc.split("\n\n"):
        if ALIGNED.search(paragraph):
            parts.append(f"```text\n{paragraph.rstrip()}\n```")
        else:
            parts.append(escaped(" ".join(paragraph.split())))
    return parts


def suffixes(cls: type[Any]) -> list[str]:
    """The endings of files that a reader takes from a folder. Writers have none to choose."""
    endings = getattr(cls, "suffixes", None)
    return [f"From a folder it takes: {', '.join(f'`{e}`' for e in endings)}"] if isinstance(endings, tuple) else []


def table(listed: tuple[Parameter, ...]) -> list[str]:
    if not listed:
        return ["No parameters."]
    rows = ["| parameter | type | default | |", "|---|---|---|---|"]
    for p in listed:
        default = "must be given" if p.default is None else f"`{recipe_value(p.default)}`"
        rows.append(f"| `{p.name}` | {cell(p.type)} | {default} | {cell(p.note)} |")
    return ["\n".join(rows)]


def recipe_value(default: str) -> str:
    """A default as a recipe writes it.

    >>> recipe_value("None"), recipe_value("('en',)"), recipe_value("'gpt2'"), recipe_value("()")
    ('null', '[en]', 'gpt2', '[]')
    """
    if default in ("None", "True", "False"):
        return {"None": "null", "True": "true", "False": "false"}[default]
    if default.startswith("("):
        return "[" + default[1:-1].replace("'", "").rstrip(",") + "]"
    return default.strip("'")


def cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")


def escaped(text: str) -> str:
    """Angle brackets outside code are text, and no HTML."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "\\<") for part in parts)


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


def exported(package: Any) -> dict[str, str]:
    """The names by which Python imports what a package registers -> the names in a recipe."""
    suffix = {steps: "", read: "Reader", write: "Writer"}[package]
    return registry.exported(package.__name__, nested=package is steps, suffix=suffix)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for file, text in ({FOLDER / name: text for name, text in pages().items()} | exports()).items():
        file.write_text(text, "utf-8")
        print(file)


if __name__ == "__main__":
    main()
