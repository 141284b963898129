"""The tables of the guide say what the code does."""

import dataclasses
import re
from pathlib import Path

import pytest

from corpusmill import steps
from corpusmill.steps import find
from corpusmill.steps.describe import describe
from corpusmill.steps.verdict import rules_of

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
RULES = sorted((GUIDE / "rules").glob("*.md"))
PAGES = [GUIDE / "cleaning.md", GUIDE / "personal-data.md", *RULES]
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \|(.*)\|$", re.MULTILINE)
# A heading, or the first words of a line, that name a step.
STEP = re.compile(r"^(?:##? |\*\*)?`?(\w+/\w+)(?:`(?:\*\*)? .*|$)", re.MULTILINE)
SAID = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}


def tables(page: Path) -> list[tuple[str, dict[str, tuple[str, list[str]]]]]:
    """(step, parameter -> (default, the other cells)) for each step of a page that has a table of parameters."""
    _, *parts = STEP.split(page.read_text("utf-8"))
    of_page = []
    for name, text in zip(parts[::2], parts[1::2]):
        if "\n| parameter |" in text:
            table = text.partition("\n| parameter |")[2].partition("\n\n")[0] + "\n"
            rows = {p: (default, [c.strip() for c in rest.split("|")]) for p, default, rest in ROW.findall(table)}
            of_page.append((name, rows))
    return of_page


OF_MODELS = {
    "filter/function": "own-steps.md",
    "filter/language": "language.md",
    "filter/pareto": "quality.md",
    "filter/rights": "rights.md",
    "filter/top": "quality.md",
    "filter/toxicity": "toxicity.md",
}
TABLES = [table for page in PAGES for table in tables(page)]
OF_RULES = [table for page in RULES for table in tables(page)]


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
        *(name for name, _ in OF_RULES),
        "clean/html",
        "clean/normalize",
        "redact/pii",
        "redact/names",
    }


def test_every_filter_has_a_page_and_the_overview_leads_there():
    """Those that judge by a model, or by what others say, have the page of that."""
    pages = {*(f"rules/{name.partition('/')[2]}.md" for name, _ in OF_RULES), *OF_MODELS.values()}
    wanted = {name for name in steps.names() if name.startswith("filter/")} | {"clean/refinedweb_lines"}
    assert {name for name, _ in OF_RULES} == wanted - set(OF_MODELS)
    assert len(OF_RULES) == len(RULES)
    linked = dict(re.findall(r"^\| \[(\w+/\w+)\]\((\S+)\)", (GUIDE / "rules.md").read_text("utf-8"), re.MULTILINE))
    assert set(linked) == wanted and set(linked.values()) == pages
    assert all(path == OF_MODELS.get(name, f"rules/{name.partition('/')[2]}.md") for name, path in linked.items())


@pytest.mark.parametrize(("name", "table"), TABLES, ids=[name for name, _ in TABLES])
def test_a_table_lists_every_parameter_with_its_default(name, table):
    defaults = {parameter: default.replace("\\|", "|") for parameter, (default, _) in table.items()}
    assert defaults == {field.name: shown(field.default) for field in dataclasses.fields(find(name))}


@pytest.mark.parametrize(("name", "table"), OF_RULES, ids=[name for name, _ in OF_RULES])
def test_a_table_names_the_signal_of_each_rule_and_where_it_comes_from(name, table):
    rules = {rule.parameter: f"`{rule.signal}` {SAID[rule.drops]}" for rule in rules_of(find(name))}
    drops = {parameter: cells[0] for parameter, (_, cells) in table.items()}
    assert {parameter: said for parameter, said in drops.items() if parameter in rules} == rules
    assert not [
        said for parameter, said in drops.items() if parameter not in rules and said.endswith(tuple(SAID.values()))
    ]
    for parameter, (_, cells) in table.items():
        assert len(cells) == 3 and (cells[2] or parameter == "tokenizer"), f"{parameter}: say where it comes from"


@pytest.mark.parametrize("page", RULES, ids=[page.stem for page in RULES])
def test_a_page_says_how_it_counts_how_to_choose_and_whom_it_follows(page):
    text = page.read_text("utf-8")
    heading, name = text.split("\n", 1)[0].split()
    assert heading == "#" and name.endswith(f"/{page.stem}")
    assert text.startswith(f"# {name}\n\n```yaml\n") and "\n## Choosing\n" in text
    if papers := re.findall(r"arXiv:(\d{4}\.\d{5})", describe(name).source):
        assert papers[0] in text or describe(name).source.startswith("ours")
