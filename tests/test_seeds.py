"""docs/seeds.md names lines of recipes that can be written, and its pages show what their recipes print."""

import importlib.util
import re
from pathlib import Path

import pytest

from corpusmill import steps, write
from corpusmill.recipe import Recipe

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "seeds").glob("*.md"))
LINE = re.compile(r"`((?:[a-z]+/)?[a-z_0-9]+: \{[^`]*\})`")


def lines():
    """The lines of recipes in the tables, as (line, page)."""
    for page in [ROOT / "docs" / "seeds.md", *PAGES]:
        for line in dict.fromkeys(LINE.findall(page.read_text("utf-8").replace("\\|", "|"))):
            if "…" not in line:
                yield pytest.param(line, id=f"{page.stem} {line[:60]}")


def recipe_with(line):
    """A recipe with a line of a table, and with what it needs around it."""
    name = line.partition(":")[0]
    if name == "run":
        return f"read: {{jsonl: docs.jsonl}}\n{line}\n"
    if name in steps.names():
        sources = ("web", "synthetic") if name.startswith("mix/") else ("web", "wet", "github", "synthetic")
        page = "html" if name.startswith("extract/") else "jsonl"
        read = "".join(f"- {page if one == 'web' else 'jsonl'}: {{paths: {one}, source: {one}}}\n" for one in sources)
        before = {
            "filter/top": "- annotate/quality: {model: own.quality}",
            "filter/keep_where": "- annotate/perplexity",
        }
        around = "- tokenize/bpe"
        return (
            f"read:\n{read}steps:\n{before.get(name, '')}\n{around if name.startswith('pack/') else ''}\n- {line}\n"
            f"{around if name.startswith('mix/') else ''}\n"
        )
    if name in write.names() and "paths" not in line and "html" not in line and "gutenberg" not in line:
        pack = "- pack/concat" if name == "parquet_tokens" else ""
        return f"read: {{jsonl: docs.jsonl}}\nsteps:\n- annotate/stats\n- tokenize/bpe\n{pack}\nwrite:\n- {line}\n"
    reader = line if "paths" in line else line.replace("{", "{paths: docs.jsonl, ", 1)
    return f"read:\n- {reader}\n{'steps: [extract/resiliparse]' if 'html' in line else ''}\n"


@pytest.mark.parametrize("line", [line for line in lines() if "preset" not in line.id and "meta-llama" not in line.id])
def test_a_line_of_a_table_can_be_written_in_a_recipe(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wiki.lm").write_bytes((ROOT / "tests" / "data" / "river.ngram").read_bytes())
    for name in ("domains.txt", "words.txt"):
        (tmp_path / name).write_text("word\n", "utf-8")
    (tmp_path / "questions.jsonl").write_text('{"id": "1", "question": "what", "answer": "that"}\n', "utf-8")
    if "quality" in line:
        line = line.replace("quality.score", "toxicity.score")
    assert Recipe.parse(recipe_with(line).replace("- annotate/quality: {model: own.quality}", "- annotate/toxicity"))


def the_funnels():
    spec = importlib.util.spec_from_file_location("make_funnels", ROOT / "docs" / "make_funnels.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_page_shows_the_funnel_of_its_recipe(page, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("INPUT", raising=False)
    assert the_funnels().with_funnel(page, tmp_path / "run") == page.read_text("utf-8"), "run docs/make_funnels.py"
