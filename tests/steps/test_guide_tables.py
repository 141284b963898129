"""The guide leads to every filter, and the notes of the reference are on parameters that there are."""

import re
from pathlib import Path

import pytest

from corpusmill import steps
from corpusmill.steps.describe import describe
from docs.make_step_pages import parameter_notes

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
# Filters that judge by a model, or by what others say, are on the page of that.
OTHER_PAGES = {
    "filter/function": "own-steps.md",
    "filter/language": "language.md",
    "filter/pareto": "quality.md",
    "filter/rights": "rights.md",
    "filter/top": "quality.md",
    "filter/toxicity": "toxicity.md",
}


def test_the_overview_of_rules_leads_to_every_filter():
    text = (GUIDE / "rules.md").read_text("utf-8")
    filters = {name for name in steps.names() if name.startswith("filter/")} | {"clean/refinedweb_lines"}
    expected = {name: OTHER_PAGES.get(name, f"#{name.replace('/', '')}") for name in filters}
    assert dict(re.findall(r"^\| \[(\w+/\w+)\]\((\S+)\)", text, re.MULTILINE)) == expected
    sections = set(re.findall(r"^## (\w+/\w+)$", text, re.MULTILINE))
    assert sections == filters - set(OTHER_PAGES)
    for name, page in OTHER_PAGES.items():
        assert name in (GUIDE / page).read_text("utf-8")


@pytest.mark.parametrize("name", sorted(parameter_notes()))
def test_a_note_explains_a_parameter_that_has_no_comment_in_the_code(name):
    unexplained = {parameter.name for parameter in describe(name).parameters if not parameter.note}
    assert set(parameter_notes()[name]) <= unexplained
