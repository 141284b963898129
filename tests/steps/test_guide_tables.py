"""The tables of the guide say what the code does."""

import dataclasses
import re
from pathlib import Path

import pytest

from corpusmill.steps import find

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \|", re.MULTILINE)
STEP = re.compile(
    r"^(?:## |\*\*)?`?(\w+/\w+)(?:`(?:\*\*)? .*|$)", re.MULTILINE
)  # a heading, or the first words of a line


def tables(page: str) -> list[tuple[str, dict[str, str]]]:
    """(step, parameter -> default) for each step of a page that has a table behind its name."""
    _, *parts = STEP.split((GUIDE / page).read_text("utf-8"))
    return [(name, dict(rows)) for name, text in zip(parts[::2], parts[1::2]) if (rows := ROW.findall(text))]


TABLES = [table for page in ("rules.md", "cleaning.md", "personal-data.md") for table in tables(page)]


def shown(value: object) -> str:
    """A default as the guide writes it."""
    if value is dataclasses.MISSING:
        return "must be given"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"`{value}`" if str(value).startswith("<") else str(value)


def test_the_guide_has_a_table_for_each_family():
    assert {name for name, _ in TABLES} == {
        "filter/gopher_quality",
        "filter/gopher_repetition",
        "filter/c4",
        "filter/fineweb",
        "filter/basic",
        "filter/code",
        "filter/keep_where",
        "filter/url",
        "clean/refinedweb_lines",
        "clean/normalize",
        "redact/pii",
    }


@pytest.mark.parametrize(("name", "table"), TABLES, ids=[name for name, _ in TABLES])
def test_a_table_lists_every_parameter_with_its_default(name, table):
    assert table == {field.name: shown(field.default) for field in dataclasses.fields(find(name))}
