"""How far dropped documents are measured, whose text is stored, and how their tokens are counted change nothing of what
is kept; and what a run does not know it says."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from corpusmill.engine.work.dropped import EVERY_ID, EXAMPLES, SAMPLED, ChosenTexts
from corpusmill.engine.work.proportion import in_proportion
from corpusmill.errors import InputError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.recipe import Recipe
from corpusmill.recipe.parts import RunSettings
from corpusmill.recipe.shipped import shipped
from corpusmill.report import samples
from corpusmill.report.audit import audit
from corpusmill.report.audit.prompt import review_prompt
from corpusmill.report.diff import diff
from corpusmill.report.explain import explain
from corpusmill.report.page import page
from corpusmill.report.rule_counts import rule_counts
from corpusmill.report.tables import RunTables
from corpusmill.report.what_if import what_if

ROOT = Path(__file__).parents[2]
LESS = [("first", "sample"), ("first", "none"), ("none", "none")]
LATER = ("passed_through", "uncounted_in", "uncounted_out", "tokens_in", "tokens_out")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo with each of the settings."""
    place = tmp_path_factory.mktemp("runs")
    made = {}

    def carry_out(measured, texts):
        if (measured, texts) not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(ROOT)
                changes = [f"run.measure_dropped={measured}", f"run.dropped_text={texts}"]
                folder = place / f"{measured}-{texts}"
                corpusmill.run(shipped("demo").path, overrides=changes, folder=folder, executor=Serial())
                made[measured, texts] = folder
        return made[measured, texts]

    return carry_out


def stored(folder, kind, number):
    return pa.concat_tables(pq.read_table(path) for path in RunTables(folder).files.paths(kind, number))


def flow(folder):
    rows = json.loads((folder / "waterfall.json").read_text())["steps"]
    for row in rows:
        for part in (row, *row["sources"].values()):
            for name in LATER:
                part.pop(name, None)
    return rows


@pytest.mark.parametrize("measured, texts", LESS)
def test_what_is_kept_and_why_the_rest_is_dropped_do_not_change(demo, measured, texts):
    whole, less = demo("all", "all"), demo(measured, texts)
    for path in (whole / "output").rglob("*.*"):
        if path.is_file():
            assert (less / path.relative_to(whole)).read_bytes() == path.read_bytes(), path
    assert flow(less) == flow(whole)
    last = [json.loads((run / "waterfall.json").read_text())["steps"][-1] for run in (whole, less)]
    assert last[0] == last[1]
    for number in range(2):
        assert stored(less, "docs", number) == stored(whole, "docs", number)
        measures = [stored(run, "signals", number) for run in (whole, less)]
        assert measures[0].schema == measures[1].schema
        kept = [table.filter(pa.compute.is_null(table["dropped_by"])) for table in measures]
        assert kept[0] == kept[1]
        for name in ("id", "source", "file", "position", "url", "dropped_by"):
            assert measures[0][name] == measures[1][name]


def test_a_dropped_document_is_measured_up_to_the_step_that_drops_it(demo):
    tables = [RunTables(demo(measured, texts)) for measured, texts in [("all", "all"), *LESS[1:]]]
    labels = tables[0].passes[0][1]
    whole, first, none = (stored(one.folder, "signals", 0).to_pylist() for one in tables)
    dropped = [each for each in zip(whole, first, none) if each[0]["dropped_by"]]
    assert dropped
    for one, until, least in dropped:
        seen = labels[: labels.index(one["dropped_by"]) + 1]
        reasons = [why for why in one["reasons"].split(",") if why.partition(".")[0] in seen]
        assert until["reasons"] == least["reasons"] == ",".join(reasons)
        for name, value in one.items():
            if "." in name:
                assert until[name] == (value if name.partition(".")[0] in seen else None), name
                assert least[name] is None, name
    assert {row["dropped_by"] for row, _, _ in dropped} > {"language", "c4"}


def test_verdicts_of_corpus_steps_are_saved_in_any_case(demo):
    for measured, texts in LESS:
        tables = RunTables(demo(measured, texts))
        dropped = tables.rows(f"SELECT * FROM ({tables.table('signals', 1)}) WHERE dropped_by IS NOT NULL")
        assert dropped and all(row[f"{row['dropped_by']}.duplicate_of"] for row in dropped)


@pytest.mark.parametrize("measured, texts", LESS)
def test_everything_that_looks_at_a_run_says_what_it_does_not_know(demo, measured, texts):
    folder = demo(measured, texts)
    tables = RunTables(folder)
    html = page(tables)
    assert "not counted" in html and "(run.measure_dropped)" in html
    assert ("(run.dropped_text: none)" in html) == (texts == "none")
    assert all(count.alone is None for rule, count in rule_counts(tables).items() if rule.startswith("language"))
    for document in samples.dropped_documents(tables, "language", 3):
        (history,) = explain(folder, document["id"])
        verdicts = {step.step: step.verdict for step in history.steps if step.stage == "pass-1"}
        assert (verdicts["url"], verdicts["language"], verdicts["c4"]) == ("passes", "drops", "not measured")
        assert history.steps[3].reasons and history.bytes and history.tokens is None
        assert (history.text is None) == (texts == "none") == (document["text"] is None)
    assert "text not stored; it was read from" in review_prompt(folder, audit(folder)) or texts != "none"
    assert not diff(demo("all", "all"), folder).moved


def test_stricter_thresholds_can_be_tried_where_only_the_first_step_measured(demo):
    strict = ["language.min_score=0.99", "gopher_quality.min_words=100"]
    whole, first = what_if(demo("all", "all"), strict), what_if(demo("first", "none"), strict)
    for one, other in zip(whole.after, first.after):
        assert (one.documents_out, one.bytes_out, one.reasons) == (other.documents_out, other.bytes_out, other.reasons)
    assert whole.newly_dropped and whole.newly_dropped.keys() == first.newly_dropped.keys()
    assert what_if(demo("first", "none"), []).before == RunTables(demo("first", "none")).files.waterfall().rows[:9]
    loose = "only up to the step that dropped them.*gopher_quality would pass documents.*run.measure_dropped=all"
    with pytest.raises(InputError, match=loose):
        what_if(demo("first", "none"), ["gopher_quality.min_words=30"])
    with pytest.raises(InputError, match="saved no signals of dropped documents"):
        what_if(demo("none", "none"), strict)


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(RecipeError, match="measure_dropped is one of all, first, none, got last"):
        RunSettings(measure_dropped="last")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="dropped_text"):
        Recipe.parse("read: {jsonl: a.jsonl}\nrun: {dropped_text: some}\n")


ids = st.lists(st.integers(0, 2**32 - 1).map(lambda n: f"{n:08x}" + "0" * 24), max_size=60)


@settings(max_examples=200, deadline=None)
@given(names=ids, cuts=st.sets(st.integers(0, 60)), which=st.sampled_from(["all", "sample", "none"]))
def test_which_texts_are_stored_does_not_depend_on_batches(names, cuts, which):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corpusmill.engine.work.dropped.SAMPLED", 5)
        patch.setattr("corpusmill.engine.work.dropped.EXAMPLES", 2)
        reasons = ["a.b,c.d" if name[0] in "0123456789" else "c.d" for name in names]
        chosen = ChosenTexts(which)
        edges = [0, *sorted(cut for cut in cuts if cut < len(names)), len(names)]
        parts = [
            chosen.choose(pa.array(names[i:j], pa.string()), pa.array(reasons[i:j], pa.string())).tolist()
            for i, j in pairwise(edges)
        ]
    found = [one for part in parts for one in part]
    below = chosen.notes.get("texts_below", EVERY_ID)
    assert found == slow_choice(names, reasons, which, below)
    if which == "sample":
        assert sum(name < below for name in names) <= 5 and (below == EVERY_ID or len(names) > 5)


def slow_choice(names, reasons, which, last):
    """The definition, document by document."""
    seen: dict[str, int] = {}
    stored: list[int] = []
    below, chosen = 16**8, []
    for name, reason in zip(names, reasons):
        first = reason.partition(",")[0]
        seen[first] = seen.get(first, 0) + 1
        chosen.append(seen[first] <= 2 or int(name[:8], 16) < below)
        if int(name[:8], 16) < below:
            stored.append(int(name[:8], 16))
        while len(stored) > 5:
            below //= 2
            stored = [number for number in stored if number < below]
    if which == "sample":
        assert last == (EVERY_ID if below == 16**8 else f"{below:08x}" if below else "")
        return chosen
    return [which == "all"] * len(names)


def test_a_large_unit_stores_examples_of_each_reason_and_a_random_sample():
    random = np.random.default_rng(3)
    names = pa.array([bytes(random.bytes(16)).hex() for _ in range(40_000)])
    rare = np.zeros(40_000, bool)
    rare[-20:] = True
    chosen = ChosenTexts("sample")
    found = chosen.choose(names, pa.array(np.where(rare, "a.rare", "b.usual").tolist()))
    assert SAMPLED / 4 < sum(name < chosen.notes["texts_below"] for name in names.to_pylist()) <= SAMPLED
    assert found[rare].sum() >= EXAMPLES and found.sum() < 0.1 * len(names)
    assert all(found[at] for at, name in enumerate(names.to_pylist()) if name < chosen.notes["texts_below"])


numbers = st.integers(0, 2**31 - 1)


@given(st.lists(st.tuples(numbers, numbers, numbers.filter(bool)), min_size=1, max_size=20))
def test_tokens_are_in_proportion_to_bytes(rows):
    tokens, size, of = np.array(rows, np.int64).T
    halved = [(2 * t * s + o) // (2 * o) for t, s, o in rows]
    assert in_proportion(tokens, np.minimum(size, of), of).tolist() == [
        (2 * t * min(s, o) + o) // (2 * o) for t, s, o in rows
    ]
    assert halved and in_proportion(tokens, of, of).tolist() == tokens.tolist()


STEPS = """
  - filter/basic: {rules: [min_words], min_words: 4}
  - clean/urls: {replacement: ""}
  - filter/gopher_quality: {rules: [min_words], min_words: 6}
  - tokenize/bpe: {tokenizer: gpt2}
"""


def test_tokens_of_a_step_are_those_of_the_text_at_the_step(tmp_path):
    texts = [
        "too short",
        "The mill of anna stood here, by the river, for years.",
        "See https://mill.example/a/long/way for many more good words now",
        "only four https://mill.example words left",
    ]
    documents = tmp_path / "docs.jsonl"
    documents.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    recipe = Recipe.parse(f"read: {{jsonl: {documents}}}\nsteps:{STEPS}write: [jsonl]\n")
    rows = {row.step: row for row in corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial()).waterfall.rows}
    tables = RunTables(tmp_path / "run")
    (path,) = tables.files.paths("signals", 0)
    count = load("gpt2").count
    signals = pq.read_table(path)
    (kept,) = tables.files.paths("docs", 0)
    (dropped,) = tables.files.paths("dropped", 0)
    last = {row["id"]: row["text"] for path in (kept, dropped) for row in pq.read_table(path).to_pylist()}
    counted = count(pa.array([last[name] for name in signals["id"].to_pylist()], pa.large_string())).tolist()
    assert signals["tokens"].to_pylist() == counted
    assert signals["dropped_by"].to_pylist() == ["basic", None, None, "gopher_quality"]
    sizes = [
        [len(text.encode()) for text in each] for each in (texts, [last[name] for name in signals["id"].to_pylist()])
    ]
    came = [round(counted[i] * sizes[0][i] / sizes[1][i]) for i in range(4)]
    assert rows["basic"].tokens_in == sum(came) and rows["basic"].tokens_out == sum(came) - counted[0]
    assert rows["urls"].tokens_out == rows["gopher_quality"].tokens_in == sum(counted[1:])
    assert rows["gopher_quality"].tokens_out == counted[1] + counted[2]
