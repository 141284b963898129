"""Write docs/reference from the code: python docs/make_reference.py

One page each for steps, readers and writers: what each does, its parameters, where it comes from. The pages are
committed, so that they can be read without running anything; a test says when they are out of date.
"""

import inspect
import re
from pathlib import Path
from typing import Any

from corpusmill import read, steps, write
from corpusmill.steps.describe import Parameter, describe, parameters

FOLDER = Path(__file__).parent / "reference"
WRITTEN = "<!-- Written by docs/make_reference.py from the code: edit the docstrings there. -->"
ALIGNED = re.compile(r"^ |\S {2,}\S", re.MULTILINE)  # a paragraph that is a table in plain text


def pages() -> dict[str, str]:
    """File name -> content of every page."""
    return {
        "steps.md": steps_page(),
        "readers.md": formats_page("Readers", read),
        "writers.md": formats_page("Writers", write),
    }


def steps_page() -> str:
    parts = [WRITTEN, "# Steps", "Every step that ships. `corpusmill steps NAME` says the same in a terminal."]
    for name in steps.names():
        info = describe(name)
        parts += [f"## {name}", f"*{', '.join(info.kinds)}*", *prose(info.doc), *table(info.parameters)]
    return "\n\n".join(parts) + "\n"


def formats_page(title: str, registry: Any) -> str:
    what = "reads" if registry is read else "writes"
    parts = [WRITTEN, f"# {title}", f"Every format that a recipe {what}, under `{what.removesuffix('s')}:`."]
    for name in registry.names():
        cls = registry.find(name)
        doc = inspect.cleandoc(cls.__doc__ or "")
        parts += [f"## {name}", *prose(doc), *suffixes(cls), *table(parameters(cls))]
    return "\n\n".join(parts) + "\n"


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


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
