"""Input and output compared: what is counted in passes, measured on samples, and left of duplicates."""

import json
import statistics
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.report.figures.remaining_duplicates import near_duplicates, remaining_duplicates
from corpusmill.report.figures.resources import resources
from corpusmill.report.figures.sampled import Share, draw, sampled
from corpusmill.report.figures.scores import scores
from corpusmill.report.figures.texts import texts
from corpusmill.report.page import page
from corpusmill.report.tables import RunTables
from corpusmill.text.fold import fold
from made_run import made_run, records


def strings(*values):
    return pa.array(values, pa.large_string())


GOOD = "The river ran past the old mill, and the miller watched it from his window every single morning of the year."
RUDE = "You are a stupid fucking idiot and an asshole."
INPUT = [
    GOOD,
    GOOD,
    f"<p>{GOOD}</p> It was early.",
    f"{GOOD} Write to jane.doe@host.example.org, or don't.",
    RUDE,
    f"Le moulin est au bord de la rivière, et le meunier la regarde.   {chr(0xFFFD)}",
    "if (a == b) { return c[d]; }",
]


def made(tmp_path, steps, values=INPUT):
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in values), "utf-8")
    recipe = f"read: [{{jsonl: {{paths: {tmp_path}/in.jsonl, source: web}}}}]\nsteps:\n{steps}write: [jsonl]\n"
    (tmp_path / "r.yaml").write_text(recipe)
    return RunTables(corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial()).folder)


def test_lengths_are_those_of_the_documents():
    found = texts(RunTables(made_run()))
    written = [record["text"] for record in records()]
    side = found["input"]
    assert side.documents == len(written) + 6  # those of the other file
    assert found["output"].documents == RunTables(made_run()).files.waterfall().documents_out
    for unit, size in (("characters", len), ("words", lambda text: len(text.split()))):
        one = side.lengths[unit]
        assert (one.least, one.most) == (min(map(size, written)), max(map(size, written)))
        assert one.mean == pytest.approx(one.total / side.documents)
        assert one.median == pytest.approx(statistics.median(map(size, written)), rel=0.09)
        assert sum(one.histogram) == side.documents
    assert found["output"].lengths["tokens"].total == RunTables(made_run()).files.waterfall().rows[-1].tokens_out


def test_damage_is_counted_on_both_sides(tmp_path):
    found = texts(made(tmp_path, "  - filter/code\n  - redact/pii\n"))
    assert found["input"].flags == {"markup": 1, "code": 1, "space": 1, "encoding": 1}
    assert found["output"].flags == {"markup": 1, "code": 0, "space": 1, "encoding": 1}
    assert found["output"].documents == len(INPUT) - 1


def test_a_sample_tells_languages_personal_data_and_toxicity(tmp_path):
    figure = sampled(made(tmp_path, "  - redact/pii: {kinds: [email]}\n  - filter/toxicity\n"))
    before, after = figure.toxicity["a word of the list"]
    assert (before.count, before.of, after.count, after.of) == (1, 7, 0, 6)
    before, after = figure.personal["email"]
    assert (before.count, after.count) == (1, 0) and figure.found == {"email": 1}
    assert figure.languages["fr"][0].count == figure.languages["fr"][1].count == 1
    assert not figure.languages["en"][0].sampled  # all of them were looked at


def test_the_sample_is_the_documents_with_the_smallest_ids(monkeypatch):
    monkeypatch.setattr("corpusmill.report.figures.sampled.SAMPLE_PER_SIDE", 5)
    tables = RunTables(made_run())
    sample = draw(tables)
    rows = tables.tuples(f"SELECT id, text FROM ({tables.texts('docs', 1)}) ORDER BY id LIMIT 5")
    assert sample.texts["output"].to_pylist() == [text for _, text in rows]
    assert len(sample.texts["input"]) == 5 and sample.documents["input"] == len(records()) + 6
    assert "n = 5 → 5" in page(tables)


def test_intervals_are_wilsons():
    low, high = Share(1, 10).interval
    assert (round(low, 4), round(high, 4)) == (0.0179, 0.4042)
    assert Share(0, 10).interval[0] == 0 and Share(10, 10).interval[1] == pytest.approx(1)
    assert Share(1, 10, sampled=False).interval == (0.1, 0.1)


def test_a_score_shows_its_bounds(tmp_path):
    steps = "  - annotate/quality\n  - filter/keep_where: {condition: quality.score > 0.001 and bytes > 10}\n"
    tables = made(tmp_path, f"{steps}  - filter/top: {{keep: 0.5}}\n")
    (score,) = scores(tables)
    assert (score.step, score.name, score.documents["input"]) == ("quality", "score", 7)
    values = [row[0] for row in tables.tuples(f'SELECT "quality.score" FROM ({tables.table("signals", 0)})')]
    assert score.median["input"] == pytest.approx(statistics.median(values))
    assert score.mean["input"] == pytest.approx(statistics.mean(values))
    assert dict(score.bounds)["keep_where"] == 0.001
    assert dict(score.bounds)["top"] == min(sorted(values)[-score.documents["output"] :])
    assert sum(score.histogram.counts["input"]) == 7
    assert sum(score.histogram.counts["output"]) == score.documents["output"] == tables.files.waterfall().documents_out


def test_duplicates_that_are_left_are_found(tmp_path):
    figure = remaining_duplicates(tables := made(tmp_path, "  - clean/normalize\n"), draw(tables))
    assert (figure.documents, figure.compared, figure.exact) == (7, 7, 1)
    assert figure.near.count >= 1
    deduped = tmp_path / "again"
    deduped.mkdir()
    assert remaining_duplicates(made(deduped, "  - dedup/exact\n"), None).exact == 0


sentences = st.lists(st.sampled_from("the mill stood by a river and nobody knew why it did".split()), max_size=30)


def slow_near(values):
    found: list[bool] = []
    apart: list[set[tuple[str, ...]]] = []
    for text in values:
        words = text.split()
        grams = {tuple(words[i : i + 5]) for i in range(max(len(words) - 4, 1))} if words else set()
        alike = bool(grams) and any(len(grams & other) / len(grams | other) >= 0.8 for other in apart)
        found.append(alike)
        if grams and not alike:
            apart.append(grams)
    return found


@settings(max_examples=50, deadline=None)
@given(st.lists(sentences.map(" ".join), max_size=12).map(lambda v: v + [f"{text} river" for text in v[::2]]))
def test_near_duplicates_are_those_of_all_pairs(values):
    assert near_duplicates(strings(*values)).tolist() == slow_near(fold(strings(*values)).to_pylist())


def test_what_a_stage_took_is_kept():
    first, *others = resources(RunTables(made_run()))
    assert first.stage == "pass-1" and first.documents == len(records()) + 6 and first.seconds > 0
    assert first.memory is None or first.memory > 1 << 20
    last_pass = next(one for one in others if one.stage == "tokens")
    assert last_pass.documents == RunTables(made_run()).files.waterfall().documents_out
    assert first.documents_per_second == pytest.approx(first.documents / first.seconds)


def test_a_run_of_an_earlier_version_has_a_page_without_them(monkeypatch):
    tables = RunTables(made_run())
    for name, results in tables.files.stages.items():
        facts = {key: value for key, value in results.facts.items() if key != "texts"}
        notes = {key: value for key, value in results.notes.items() if not key.startswith("texts_")}
        tables.files.stages[name] = replace(results, facts=facts, notes=notes)
    monkeypatch.setattr("corpusmill.report.figures.remaining_duplicates.HASH", "a column that it did not write")
    assert texts(tables) is None and remaining_duplicates(tables, None) is None
    words = page(tables)
    assert "Integrity" not in words and "Duplicates left" not in words and "Toxicity" in words
