"""Jupyter notebooks (nbformat 2 to 4) as text, without outputs: scripts with their prose as comments, or Markdown."""

from typing import Any, Literal

import orjson

from corpusmill.errors import RecordError

Form = Literal["script", "markdown"]
COMMENTS = {"JavaScript": "//", "TypeScript": "//", "Java": "//", "Scala": "//", "Kotlin": "//", "C++": "//", "C": "//",
            "C#": "//", "F#": "//", "Go": "//", "Rust": "//", "Haskell": "--", "SQL": "--", "Lua": "--", "MATLAB": "%",
            "Prolog": "%"}  # fmt: skip


class NotANotebook(RecordError):
    """The file is not what Jupyter writes."""


def kernel_language(data: bytes) -> str:
    """The language of a notebook's code as its metadata call it; "python" where they say nothing."""
    book = _parsed(data)
    about = book.get("metadata")
    about = about if isinstance(about, dict) else {}
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        section = about.get(key)
        if isinstance(section, dict) and isinstance(section.get(name), str) and section[name]:
            return str(section[name])
    return "python"


def as_text(data: bytes, form: Form, language: str) -> str:
    """The cells of a notebook, two line ends apart.

    script     code as it is, with magics (`%timeit`, `!pip`) as comments, and Markdown in comments
    markdown   Markdown as it is, and code in fences with the name of the language

    Raises NotANotebook.
    """
    book = _parsed(data)
    sheets: Any = book.get("worksheets")
    cells: Any = book.get(
        "cells", [cell for sheet in sheets for cell in sheet.get("cells", ())] if _are(sheets) else None
    )
    if not _are(cells):
        raise NotANotebook("the notebook has no list of cells")
    comment = COMMENTS.get(language, "#")
    parts = [_cell(cell, form, comment, language) for cell in cells]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _are(cells: Any) -> bool:
    return isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells)


def _cell(cell: dict[str, Any], form: Form, comment: str, language: str) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    text = text.strip("\n")
    if cell.get("cell_type") == "code":
        if form == "script":
            return _without_magics(text, comment)
        longest = max((len(line) - len(line.lstrip("`")) for line in text.split("\n")), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}{language.lower()}\n{text}\n{fence}" if text.strip() else ""
    if form == "markdown":
        return text
    return "\n".join(f"{comment} {line}".rstrip() for line in text.split("\n")) if text.strip() else ""


def _without_magics(text: str, comment: str) -> str:
    if text.lstrip().startswith("%%"):  # a magic of the whole cell: what follows may be of another language
        return "\n".join(f"{comment} {line}".rstrip() for line in text.split("\n"))
    lines = text.split("\n")
    return "\n".join(f"{comment} {line}" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        book = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise NotANotebook(f"the notebook is not JSON: {error}") from error
    if not isinstance(book, dict):
        raise NotANotebook("the notebook is not a JSON object")
    return book
