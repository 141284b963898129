"""What-if has exactly the counts of a run with the changes, and refuses what it cannot answer."""

import dataclasses
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import corpusmill
from corpusmill.errors import InputError, RecipeError, ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.report.run_files import RunFiles
from corpusmill.report.tables import RunTables
from corpusmill.report.what_if import ParameterChange, TextAmount, what_if
from corpusmill.steps.verdict import rules_of
from corpusmill.storage import checksum
from made_run import COPIES, NEAR, SHORT, made_run

ROOT = Path(__file__).parents[2]

# All filters over the demo's three sources, and whatever else changes the text between them.
RECIPE = """
read:
  - warc: {paths: demo://pages.warc.gz, source: pages}
  - jsonl: {paths: demo://extra.jsonl.gz, source: extra}
steps:
  - filter/url
  - extract/resiliparse
  - clean/normalize
  - filter/language: {languages: [en]}
  - filter/basic: {max_uppercase_word_ratio: 0.1}
  - filter/gopher_quality
  - filter/keep_where: {condition: bytes > 300 and language.label = 'en'}
  - filter/gopher_repetition
  - filter/c4
  - filter/fineweb
  - filter/code
  - redact/pii
  - tokenize/bpe
run: {unit_mb: 1}
"""
OTHERS = [
    ["language.languages=[en,de,fr]", "language.min_score=0.3"],
    ["language.min_scores=[[en,0.9]]", "c4.min_sentences=2"],
    ["keep_where.condition=bytes > 2000 or gopher_quality.stop_words > 7", "url.max_soft_words=0"],
    ["keep_where.condition=url.domain is not null and language.score > 0.9", "code.max_code_score=0.2"],
    ["c4.min_sentences=0"],  # what has no text left stays dropped
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run the recipe with settings; returns the folder."""
    place = tmp_path_factory.mktemp("runs")
    number = iter(range(100))

    def carry_out(settings):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(ROOT)
            recipe = Recipe.parse(RECIPE, overrides=[f"steps.{setting}" for setting in settings])
            return corpusmill.run(recipe, folder=place / str(next(number)), executor=Serial()).folder

    return carry_out


@pytest.fixture(scope="module")
def before(run):
    return run([])


def signal(folder, name):
    """All values of a signal."""
    paths = RunFiles(folder).paths("signals", 0)
    return pc.drop_null(pq.read_table(paths, columns=[name]).column(0)).to_pylist()


def other_thresholds(folder, seed):
    """A few rules of different steps, each with a bound that some documents are near, or switched off."""
    random = Random(seed)
    recipe = RunFiles(folder).recipe
    ruled = []
    for label, step in zip(labels(recipe.steps), recipe.steps):
        if rules := [rule for rule in rules_of(step) if getattr(step, rule.parameter) is not None]:
            ruled.append((label, step, rules))
    settings = []
    for label, step, rules in random.sample(ruled, 3):
        rule = random.choice(rules)
        whole = isinstance(getattr(step, rule.parameter), int) and not rule.parameter.endswith("word_length")
        value = random.choice([*random.sample(signal(folder, f"{label}.{rule.signal}"), 4), None])
        value = value if value is None else round(value) if whole else float(value)
        settings.append(f"{label}.{rule.parameter}={'null' if value is None else value}")
    return settings


def kept_by(tables, column):
    """group -> what is kept, counted in the signals of a run."""
    rows = tables.tuples(
        f"SELECT coalesce(\"{column}\", 'none'), count(*), sum(bytes), sum(tokens) "
        f"FROM ({tables.table('signals', 0)}) WHERE dropped_by IS NULL GROUP BY 1"
    )
    return {group: TextAmount(*map(int, amounts)) for group, *amounts in rows}


def nearly(tokens):
    """Tokens of texts that a later step changes are in proportion to their bytes."""
    return pytest.approx(tokens, rel=0.02, abs=20)


def assert_rows(answer, rows):
    """Rows of a waterfall are equal, the tokens of each nearly."""
    assert [without_tokens(row) for row in answer] == [without_tokens(row) for row in rows]
    for name in ("tokens_in", "tokens_out"):
        assert [getattr(row, name) for row in answer] == nearly([getattr(row, name) for row in rows])


def without_tokens(row):
    sources = {
        source: {name: n for name, n in flow.items() if "tokens" not in name} for source, flow in row.sources.items()
    }
    return replace(row, tokens_in=0, tokens_out=0, sources=sources)


@pytest.mark.parametrize("case", [*range(10), *OTHERS], ids=str)
def test_what_if_is_a_run_with_the_changes(run, before, case):
    settings = other_thresholds(before, case) if isinstance(case, int) else case
    answer = what_if(before, settings)
    after = RunTables(run(settings))
    assert answer.before == RunFiles(before).waterfall().rows
    assert_rows(answer.after, after.files.waterfall().rows)
    assert answer.before != answer.after  # the change is one that shows
    for groups, column in ((answer.sources, "source"), (answer.languages, "language.label")):
        for side, tables in enumerate((RunTables(before), after)):
            there = {name: both[side] for name, both in groups.items() if both[side].documents}
            counted = kept_by(tables, column)
            assert {name: replace(one, tokens=0) for name, one in there.items()} == {
                name: replace(one, tokens=0) for name, one in counted.items()
            }
            about = {name: one.tokens for name, one in counted.items()}
            assert {name: one.tokens for name, one in there.items()} == (about if side == 0 else nearly(about))
    whole = sum(kept_by(after, "source").values(), TextAmount())
    assert answer.kept[1] == replace(whole, tokens=nearly(whole.tokens))
    waterfall = {f"{row.step}.{rule}": n for row in after.files.waterfall().rows for rule, n in row.reasons.items()}
    assert {f"{row.step}.{rule}": n for row in answer.after for rule, n in row.reasons.items()} == waterfall
    # Which documents are newly kept and newly dropped, one by one.
    old, new = (
        {r["id"]: r["dropped_by"] for r in t.rows(f"SELECT * FROM ({t.table('signals', 0)})")}
        for t in (RunTables(before), after)
    )
    added, removed = ([i for i in old if bool(a[i]) > bool(b[i])] for a, b in ((old, new), (new, old)))
    assert sum(amount.documents for amount in answer.newly_kept.values()) == len(added)
    assert sum(amount.documents for amount in answer.newly_dropped.values()) == len(removed)
    assert {each.id for each in answer.border if each.newly == "kept"} <= set(added)
    assert {each.id for each in answer.border if each.newly == "dropped"} <= set(removed)


def test_the_languages_add_up_and_are_those_that_were_identified(before):
    answer = what_if(
        before, ["language.languages=[en,de]", "keep_where.condition=bytes > 0", "gopher_quality.min_stop_words=0"]
    )
    assert [name for name, (was, now) in answer.languages.items() if was != now] == ["de"]
    total = sum((now for _, now in answer.languages.values()), TextAmount())
    assert total == answer.kept[1] == sum((now for _, now in answer.sources.values()), TextAmount())


def test_nothing_changed_is_the_run_itself():
    answer = what_if(made_run(), ["gopher_quality.min_words=20"])
    assert answer.changes == () and answer.before == answer.after and not answer.border and not answer.open_steps
    assert answer.before == RunFiles(made_run()).waterfall().rows[:2]


def test_documents_at_the_border_are_the_nearest_to_the_threshold():
    answer = what_if(made_run(), ["steps.gopher_quality.min_words=9"], examples=2)
    assert answer.changes == (ParameterChange("gopher_quality", "min_words", 20, 9),)
    reasons = ["gopher_quality.min_words"] * 2
    assert [border.reason for border in answer.border] == reasons
    assert [border.values["content_words"] for border in answer.border] == [9, 10]
    assert {border.newly for border in answer.border} == {"kept"} and {b.threshold for b in answer.border} == {9.0}
    assert answer.newly_kept["gopher_quality.min_words"].documents == SHORT - 5  # of 4 to 15 words
    assert not what_if(made_run(), ["gopher_quality.min_words=9"], examples=0).border


def test_what_follows_a_pass_is_left_to_a_run_that_is_named():
    answer = what_if(made_run(), ["gopher_quality.min_words=9"])
    assert answer.stage == "pass-1" and answer.open_steps == ("exact", "minhash")
    assert answer.command.startswith("corpusmill run RECIPE --set steps.gopher_quality.min_words=9 --folder")
    assert RunFiles(made_run()).waterfall().rows[-1].documents_in == 36 + NEAR and COPIES


@pytest.mark.parametrize(
    "setting, said",
    [
        ("c4.terminal_punctuation=false", "changes the text.*run again with --set steps.c4.terminal_punctuation=false"),
        ("c4.terminal_punctuation=false", "Thresholds of c4 that can be tried without a run: min_sentences"),
        ("language.windows=2", "changes what is measured"),
        ("basic.min_tokens=30", "min_tokens was off, so basic.tokens was not measured"),
        ("url.soft_words=[buy]", "changes what is measured"),
        ("pii.kinds=[email]", "changes the text"),
        ("run.workers=3", "for run.workers=3, run again"),
    ],
)
def test_what_is_no_threshold_is_refused_with_the_way_out(before, setting, said):
    with pytest.raises((InputError, RecipeError), match=said):
        what_if(before, [setting])


@pytest.mark.parametrize("threshold", ["9223372036854775807", "9223372036854775808", "18446744073709551615"])
@pytest.mark.parametrize("rule", ["c4.min_sentences", "gopher_quality.min_stop_words"])
def test_a_bound_that_no_count_reaches_drops_all(before, rule, threshold):
    assert what_if(before, [f"{rule}={threshold}"]).after[-1].documents_out == 0


@pytest.mark.parametrize("text", ["1e308", "-1e308", "1e400", ".inf", ".nan", "inf", "9" * 30])
def test_a_bound_that_is_no_whole_number_is_refused_in_a_few_words(before, text):
    with pytest.raises(RecipeError, match="must be a whole number") as refused:
        what_if(before, [f"gopher_quality.min_words={text}"])
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "setting, said",
    [
        ("minhash.threshold=0.9", r"changes which documents are compared.*--set steps.minhash.threshold=0.9"),
        ("concat.length=128", "changes the tokens"),
    ],
)
def test_steps_that_see_more_than_a_batch_are_refused(setting, said):
    with pytest.raises(InputError, match=said):
        what_if(made_run(), [setting])


@pytest.mark.parametrize(
    "setting, said",
    [
        ("gofer_quality.min_words=3", 'did you mean "gopher_quality"'),
        ("gopher_quality.min_word=3", 'did you mean "min_words"'),
        ("gopher_quality.min_words=many", "min_words"),
        ("gopher_quality.min_words", "KEY=VALUE"),
    ],
)
def test_a_slip_is_answered_as_in_a_recipe(setting, said):
    with pytest.raises(RecipeError, match=said):
        what_if(made_run(), [setting])


def test_a_run_whose_verdicts_are_not_those_of_the_code_is_not_extrapolated(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    (path,) = folder.glob("stages/pass-1-*/signals/*.parquet")
    table = pq.read_table(path)
    words = pc.add(table["gopher_quality.content_words"], 100)
    at = table.schema.get_field_index("gopher_quality.content_words")
    pq.write_table(table.set_column(at, "gopher_quality.content_words", words.cast(pa.int64())), path)
    (results,) = folder.glob("stages/pass-1-*/results/*.parquet")
    record = pq.read_table(results)
    at = record.schema.get_field_index("signals:bytes")
    pq.write_table(record.set_column(at, "signals:bytes", pa.array([path.stat().st_size])), results)
    # The name of results ends with their checksum.
    results.rename(results.with_name(f"{results.name.partition('-')[0]}-{checksum(results)}.parquet"))
    with pytest.raises(InputError, match="gives another verdict than in the run"):
        what_if(folder, ["gopher_quality.min_words=9"])


def test_a_run_that_is_not_finished_says_what_is_missing(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    (folder / "waterfall.json").unlink()
    with pytest.raises(ResumeError, match=r"not finished.*Run its recipe again"):
        what_if(folder, ["gopher_quality.min_words=9"])


def test_the_result_is_a_value():
    assert dataclasses.replace(what_if(made_run(), ["gopher_quality.min_words=9"])) == what_if(
        made_run(), ["gopher_quality.min_words=9"]
    )
