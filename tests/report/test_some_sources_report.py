"""What a run with steps for some sources says of itself."""

import json
import shlex
from pathlib import Path

import pytest

import corpusmill as mill
from corpusmill.errors import InputError
from corpusmill.execute.serial import Serial
from corpusmill.report.diff import diff
from corpusmill.report.explain import explain
from corpusmill.report.figures.languages import languages
from corpusmill.report.figures.reasons import reasons
from corpusmill.report.histograms import signals
from corpusmill.report.tables import RunTables
from corpusmill.report.views import sql
from corpusmill.report.what_if import what_if
from made_run import made_corpus

FILTERED = 51  # documents of web; extra has 6

STEPS = """
steps:
  - clean/normalize: {{only: extra}}
  - filter/gopher_quality: {{min_words: 20, min_stop_words: 1, only: web}}
  - annotate/language: {{except: web}}
  - redact/pii: {{only: web}}
  - filter/keep_where: {{condition: "gopher_quality.content_words > 60", only: web}}
  - filter/gopher_quality: {{min_words: 30, min_stop_words: 1, only: extra}}
  - dedup/exact: {{only: web}}
  - dedup/line: {{only: extra}}
  - filter/gopher_repetition: {{only: extra}}
run: {{executor: serial, error_budget: 5}}
"""


def recipe() -> str:
    folder = made_corpus().parent
    read = "".join(f"  - jsonl: {{paths: {folder}/{name}.jsonl, source: {name}}}\n" for name in ("web", "extra"))
    return f"name: some\nread:\n{read}{STEPS.format()}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return done(tmp_path_factory.mktemp("some"))


def done(folder: Path, *settings: str) -> Path:
    made = mill.Recipe.parse(recipe(), overrides=settings)
    return mill.run(made, folder=folder / "run", executor=Serial()).folder


def first(folder: Path, source: str) -> str:
    ((name,),) = sql(RunTables(folder), f"SELECT min(id) FROM documents WHERE source = '{source}'").rows
    return str(name)


def test_explain_says_which_steps_are_not_for_a_document(folder, corpusmill):
    (history,) = explain(folder, first(folder, "extra"))
    verdicts = {step.step: step.verdict for step in history.steps}
    assert [label for label, verdict in verdicts.items() if verdict == "not applied"] == [
        *("gopher_quality", "pii", "keep_where", "exact")
    ]
    assert next(step.signals for step in history.steps if step.step == "gopher_quality") is None
    _, out, _ = corpusmill("explain", folder, history.id)
    assert "  gopher_quality     not applied: source extra\n" in out
    assert "  gopher_quality_2   passes\n    pass  min_words: content_words 90, dropped below 30" in out
    (other,) = explain(folder, first(folder, "web"))
    assert other.steps[0].verdict == "not applied" and other.steps[1].verdict != "not applied"


@pytest.mark.parametrize(
    "setting",
    [
        "gopher_quality.min_words=88",
        "gopher_quality.max_mean_word_length=5.5",
        "keep_where.condition=gopher_quality.content_words > 90 AND bytes > 400",
        "gopher_quality_2.min_words=91",
        "gopher_repetition.max_top_2_gram_chars=0.01",
    ],
)
def test_what_if_counts_documents_of_these_sources_alone(folder, tmp_path, setting):
    answer = what_if(folder, [setting])
    passes = RunTables(folder).files
    at = [row.step for row in passes.waterfall().rows].index(answer.before[0].step)
    assert answer.before == passes.waterfall().rows[at : at + len(answer.before)]
    after = RunTables(done(tmp_path, f"steps.{setting}")).files.waterfall()
    assert answer.after == after.rows[at : at + len(answer.after)]
    judged = passes.only[setting.partition(".")[0]]
    assert {border.source for border in answer.border} <= set(judged)
    assert answer.before != answer.after
    assert shlex.split(answer.command)[-2:] == ["--folder", f"{folder}-what-if"]


def test_what_if_refuses_other_sources(folder):
    with pytest.raises(InputError) as error:
        what_if(folder, ["gopher_quality.only=extra"])
    assert str(error.value).startswith(
        "gopher_quality.only changes which documents are measured, so saved signals cannot answer it: run again with "
        "--set steps.gopher_quality.only=extra."
    )


def test_diff_names_the_change_of_sources(folder, tmp_path):
    changed = done(tmp_path, "steps.gopher_quality_2.only=web")
    found = {difference.what: (difference.before, difference.after) for difference in diff(folder, changed).differences}
    assert found == {"steps.gopher_quality_2.only": (["extra"], ["web"])}


def test_figures_are_of_the_documents_that_a_step_is_for(folder):
    tables = RunTables(folder)
    flow = {row.step: row for row in tables.files.waterfall().rows}
    values = signals(tables)["gopher_quality.min_words"]
    assert values.total == FILTERED == flow["gopher_quality"].documents_in - flow["gopher_quality"].passed_through
    steps = {step.step: step for step in reasons(tables, 1)}
    assert steps["gopher_quality"].documents_in == FILTERED
    (figure,) = languages(tables)
    assert sum(one.kept + one.dropped for one in figure.languages) == 6


def test_signals_of_a_step_are_null_where_it_is_not_for_the_source(folder):
    query = """
        SELECT source, count(gopher_quality.content_words), count(normalize.bytes_before), count(pii.emails),
               count(exact.cluster_size), count(line.repeats), count(line.bytes_before), count(*)
        FROM documents GROUP BY 1 ORDER BY 1
    """
    extra, web = sql(RunTables(folder), query).rows
    assert extra == ("extra", 0, 6, 0, 0, 6, 6, 6)
    assert web[:3] == ("web", FILTERED, 0) and web[3] == FILTERED and web[4] > 0 and web[5:7] == (0, 0)


def test_the_flow_shows_what_passed_by(folder, corpusmill):
    _, out, _ = corpusmill("report", folder)
    head, *rows = (" ".join(line.split()) for line in out.splitlines())
    assert head == "step documents in not applied out kept of input bytes out"
    assert any(row.startswith(f"gopher_quality {FILTERED + 6} 6 ") for row in rows)
    _, out, _ = corpusmill("report", folder, "--json")
    step = json.loads(out)["steps"][1]
    assert step["passed_through"] == step["sources"]["extra"]["passed_through"] == 6
    page = (folder / "report.html").read_text()
    assert "<th>not applied</th>" in page.replace(' scope="col"', "").replace(' class="number"', "")


def test_check_shows_for_which_sources_a_step_is(tmp_path, corpusmill):
    path = tmp_path / "some.yaml"
    path.write_text(recipe())
    _, out, _ = corpusmill("check", path)
    assert "pass-1: normalize [only extra] → gopher_quality [only web] → language [except web] → " in out
    assert "pass-2: exact [only web] → line [only extra] → gopher_repetition [only extra]" in out
    _, out, _ = corpusmill("check", path, "--json")
    assert json.loads(out)["only"]["language"] == "except web"
