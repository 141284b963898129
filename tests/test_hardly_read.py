"""`check` says of which pages extract/blocks takes hardly any text."""

import json

import pytest

from corpusmill.ops.checks import check

PARAGRAPH = "<p>The ferry has a timetable of its own, and the people who live on the island read it every morning.</p>"
LINK = '<li><a href="/{0}/{1}">item {1}</a></li>'


@pytest.fixture
def recipe(tmp_path):
    def write(links, articles, step="extract/blocks"):
        pages = []
        for number in range(links):
            items = "".join(LINK.format(number, item) for item in range(400))
            pages.append(f'<nav class="menu sidebar"><ul>{items}</ul></nav><article>{PARAGRAPH}</article>')
        pages += [f"<article><h1>Ferry {number}</h1>{PARAGRAPH * 10}</article>" for number in range(articles)]
        lines = [json.dumps({"page": f"<html><body>{page}</body></html>"}) for page in pages]
        (tmp_path / "pages.jsonl").write_text("\n".join(lines), "utf-8")
        path = tmp_path / "recipe.yaml"
        source = f"  - jsonl: {{paths: {tmp_path.as_posix()}/pages.jsonl, source: web, html: page}}\n"
        path.write_text(f"name: pages\nread:\n{source}steps:\n  - {step}\nwrite: [parquet]\n", "utf-8")
        return path

    return write


def test_pages_whose_text_is_left_out_are_counted(recipe):
    (warning,) = check(recipe(links=10, articles=30)).warnings
    assert warning.startswith(
        "extract/blocks takes hardly any text from 10 of 40 pages of source web in a sample of the input: less than 5% "
    )


@pytest.mark.parametrize(
    ("links", "articles", "step"),
    [
        (1, 39, "extract/blocks"),  # a few are navigation
        (10, 30, "extract/blocks: {favour: all}"),
        (10, 30, "extract/resiliparse"),
        (5, 5, "extract/blocks"),  # too few to tell
    ],
)
def test_nothing_is_said_of_others(recipe, links, articles, step):
    assert not any("hardly any text" in warning for warning in check(recipe(links, articles, step)).warnings)
