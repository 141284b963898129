"""A step for some sources does to their documents what it does in a run of these alone, and nothing to the others."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from corpusmill.engine.plan import inputs
from corpusmill.engine.plan.changes import changes
from corpusmill.engine.plan.lower import lower
from corpusmill.engine.work import sources
from corpusmill.execute.serial import Serial
from corpusmill.read import ReadCounts
from corpusmill.recipe import RunSettings
from corpusmill.report.index import export
from corpusmill.report.run_files import RunFiles
from corpusmill.schema import COUNTED, document_id
from corpusmill.write.shards import ShardsWriter

WORDS = "river stone winter garden the letter window market of silver morning that captain forest bridge".split()
NOTICE = "This notice stands at the end of very many of these documents, as a footer."
QUESTION = "which of these rivers is the longest one that flows to the northern sea"


def documents(source: str, seed: int) -> list[dict[str, Any]]:
    """Prose; short texts; copies, near copies, repeated lines and passages, within the source and across sources."""
    random = Random(seed)
    shared = Random(99)

    def prose(random: Random, words: int) -> str:
        return " ".join(random.choice(WORDS) for _ in range(words)) + "."

    everywhere = [prose(shared, 60) for _ in range(4)]
    own = [prose(random, 40 + number) for number in range(6)]
    texts = [
        *everywhere,
        *own,
        *own[:2],
        own[2] + " Again.",
        prose(random, 5),
        f"{prose(random, 30)}\n\n{NOTICE}",
        f"{prose(random, 30)}\n\n{NOTICE}",
        f"{prose(random, 60)} {everywhere[0]} {prose(random, 60)}",
        f"{prose(random, 10)} {QUESTION}",
        f"Write to ann.{source}@made.org or call +1 212 555 0199. {prose(random, 30)}",
        "Ä caf\u0065\u0301 ﬁne text \u00a0 with\u200bmarks. " + prose(random, 20),
    ]
    urls = [f"http://made.org/{number % 15}" for number in range(len(texts))]
    return [{"id": f"{source}-{n}", "text": text, "url": url} for n, (text, url) in enumerate(zip(texts, urls))]


CORPUS = {source: documents(source, seed) for seed, source in enumerate(("web", "wiki", "code"))}
TEXTS = {document_id(source, one["id"]): one["text"] for source, records in CORPUS.items() for one in records}


@dataclass(frozen=True, kw_only=True)
class Own:
    """A filter of one's own, that also changes the text."""

    needs: ClassVar[tuple[str, ...]] = ("stats",)

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        if any("ann.wiki" in text for text in docs["text"].to_pylist()):
            raise ValueError("not for wiki")
        text = pc.utf8_upper(docs["text"])
        changed = docs.set_column(docs.schema.get_field_index("text"), docs.schema.field("text"), text)
        return changed.append_column("seen", pa.array([True] * len(docs), pa.bool_()))

    def reasons(self, docs: pa.RecordBatch, signals: Mapping[str, pa.Array]) -> pa.Array:
        few = pc.less(signals["words"], pa.scalar(20, pa.int64()))
        return pc.if_else(few, pa.scalar("few"), pa.scalar(None, pa.string()))


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("benchmark") / "made.jsonl"
    path.write_text(json.dumps({"question": QUESTION, "answer": "Ob", "id": "1"}) + "\n")
    return path


def recipe(folder: Path, steps: Sequence[str], sources: Sequence[str] = tuple(CORPUS)) -> corpusmill.Recipe:
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["name: some", "read:"]
    for source in sources:
        path = folder / f"{source}.jsonl"
        if not path.exists():
            path.write_text("".join(json.dumps(record) + "\n" for record in CORPUS[source]))
        lines.append(f"  - jsonl: {{paths: {path}, source: {source}}}")
    return corpusmill.Recipe.parse("\n".join([*lines, "steps:", *(f"  - {step}" for step in steps)]))


def run(folder: Path, steps: Sequence[str], sources: Sequence[str] = tuple(CORPUS), name: str = "run") -> Path:
    made = recipe(folder, steps, sources)
    return corpusmill.run(made, folder=folder / name, executor=Serial()).folder


WHY = {"dropped": ("dropped_by", "reasons"), "docs": ()}


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    """id -> all that was found out of the document, and its text at the end."""
    files = RunFiles(folder)
    found: dict[str, dict[str, Any]] = {}
    batches = [pq.read_table(path) for stage, _ in files.passes for path in files.outputs(stage, "signals")]
    for kind in ("dropped", "docs"):
        for number in range(len(files.passes)):
            batches += files.documents(kind, number, [*COUNTED.names, *WHY[kind]], 100)
    for row in (row for batch in batches for row in batch.to_pylist()):
        found[row["id"]] = found.get(row["id"], {}) | row
    # Which file a source is in differs between the runs that are compared.
    return {row["id"]: {name: value for name, value in row.items() if name != "file"} for row in found.values()}


def of_source(found: Mapping[str, dict[str, Any]], *sources: str) -> dict[str, dict[str, Any]]:
    return {name: row for name, row in found.items() if row["source"] in sources}


STEPS = {
    "clean/normalize": "",
    "annotate/script": "",
    "annotate/pii": "",
    "filter/gopher_quality": "min_words: 35, min_stop_words: 1",
    "filter/gopher_repetition": "",
    "filter/basic": "",
    "filter/keep_where": 'condition: "length(url) > 17"',
    "redact/pii": "",
    "decontaminate/ngrams": "benchmarks: BENCHMARK",
    "dedup/exact": "",
    "dedup/minhash": "ngram: 3, threshold: 0.6",
    "dedup/url": "keep: longest",
    "dedup/line": "",
    "dedup/paragraph": "",
    "dedup/substring": "min_tokens: 20",
    "test_some_sources:Own": "",
}


@pytest.mark.parametrize("name", STEPS)
def test_each_kind_of_step_does_what_it_does_in_a_run_of_its_sources_alone(tmp_path, benchmark, name):
    parameters = STEPS[name].replace("BENCHMARK", str(benchmark))
    mixed = run(tmp_path, [f"{name}: {{{parameters}{', ' * bool(parameters)}only: [web, code]}}"])
    alone = run(tmp_path, [f"{name}: {{{parameters}}}"], ["web", "code"], "alone")
    found = rows(mixed)
    assert of_source(found, "web", "code") == rows(alone)
    assert any(row["text"] != text(row) or row["reasons"] or has_signals(row) for row in rows(alone).values())
    for row in of_source(found, "wiki").values():
        assert row["text"] == text(row)
        assert row["dropped_by"] is None and row["reasons"] is None
        assert not has_signals(row)
    flow = RunFiles(mixed).waterfall()
    flow.check()
    (step,) = flow.rows
    assert step.passed_through == len(CORPUS["wiki"])
    assert step.sources["wiki"]["passed_through"] == step.sources["wiki"]["documents_out"] == len(CORPUS["wiki"])
    assert "passed_through" not in step.sources["web"]
    assert step.documents_in == step.documents_out + sum(step.reasons.values())


def text(row: Mapping[str, Any]) -> str:
    """As it was read."""
    return TEXTS[row["id"]]


def has_signals(row: Mapping[str, Any]) -> bool:
    return any(value is not None for name, value in row.items() if "." in name)


@pytest.mark.parametrize(
    "step", ["filter/top: {by: basic.digit_ratio, keep: 0.25", "filter/pareto: {by: basic.digit_ratio"]
)
def test_a_share_is_one_of_the_documents_of_its_sources(tmp_path, step):
    mixed = run(tmp_path, ["filter/basic", step + ", only: code}"])
    alone = run(tmp_path, ["filter/basic", step + "}"], ["code"], "alone")
    found = rows(mixed)
    assert of_source(found, "code") == rows(alone)
    if "top" in step:
        (*_, flow) = RunFiles(mixed).waterfall().rows
        entered = flow.documents_in - flow.passed_through
        assert flow.documents_out - flow.passed_through == entered // 4 > 0


def test_the_bound_of_a_share_is_a_value_of_its_sources(tmp_path):
    step = "filter/top: {by: basic.distinct_word_ratio, keep: 1"
    mixed = run(tmp_path, ["filter/basic", step + ", only: code}"])
    alone = run(tmp_path, ["filter/basic", step + "}"], ["code"], "alone")
    bounds = [RunFiles(folder).facts("top-cut")["bound"] for folder in (mixed, alone)]
    assert bounds[0] == bounds[1] > 0


def test_duplicates_are_found_within_the_sources_and_none_elsewhere_is_kept_instead(tmp_path):
    """Of what is in all three sources, the first source of the recipe keeps one; here it does not take part."""
    found = rows(run(tmp_path, ["dedup/exact: {except: web}"]))
    everywhere = {source: document_id(source, f"{source}-0") for source in CORPUS}
    web, wiki, code = (found[everywhere[source]] for source in ("web", "wiki", "code"))
    assert web["dropped_by"] is None and web["exact.cluster_size"] is None
    assert wiki["dropped_by"] is None and wiki["exact.cluster_size"] == 2
    assert code["dropped_by"] == "exact" and code["exact.duplicate_of"] == everywhere["wiki"]


def test_a_step_may_stand_twice_with_other_parameters_for_other_sources(tmp_path):
    steps = [
        "filter/gopher_quality: {min_words: 50, min_stop_words: 1, only: [web, wiki]}",
        "filter/gopher_quality: {min_words: 20, min_stop_words: 0, only: code}",
        "dedup/minhash: {only: web}",
        "dedup/minhash: {except: web, threshold: 0.6}",
    ]
    folder = run(tmp_path, steps)
    files, found = RunFiles(folder), rows(folder)
    assert files.labels == ["gopher_quality", "gopher_quality_2", "minhash", "minhash_2"]
    assert files.only == {
        "gopher_quality": ("web", "wiki"),
        "gopher_quality_2": ("code",),
        "minhash": ("web",),
        "minhash_2": ("wiki", "code"),
    }
    files.waterfall().check()
    of_web = rows(run(tmp_path, [steps[0].replace(", only: [web, wiki]", "")], ["web"], "web"))
    for name, row in of_web.items():
        assert found[name] | measured(row) == found[name]
        assert (found[name]["dropped_by"] == "gopher_quality") == (row["dropped_by"] == "gopher_quality")
    of_code = rows(run(tmp_path, [steps[1].replace(", only: code", "")], ["code"], "code"))
    for name, row in of_code.items():
        second = {column.replace("quality.", "quality_2."): value for column, value in measured(row).items()}
        assert found[name] | second == found[name]
        assert (found[name]["dropped_by"] == "gopher_quality_2") == (row["dropped_by"] == "gopher_quality")


def measured(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if "." in name}


THREE = [
    "clean/normalize",
    "filter/gopher_quality: {min_words: 35, min_stop_words: 1, only: [web, wiki]}",
    "test_some_sources:Own: {only: code}",
    "redact/pii: {except: code}",
    "dedup/exact: {only: [web, code]}",
    "dedup/minhash: {ngram: 3, threshold: 0.6, only: web, keep: longest}",
    "dedup/line: {except: wiki}",
    "filter/gopher_repetition: {only: wiki}",
    "tokenize/bpe: {tokenizer: gpt2}",
    "pack/concat: {length: 64}",
]


def outputs(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in (folder / "output").rglob("*") if p.is_file()}


@given(unit=st.integers(3000, 30_000), rows_read=st.integers(1, 40), rows_kept=st.integers(1, 40))
@settings(max_examples=4, derandomize=True)
def test_how_batches_and_units_mix_the_sources_makes_no_difference(three, unit, rows_read, rows_kept):
    folder, expected, signals = three
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=folder) as place:
        patch.setattr(inputs, "unit_bytes", lambda found, unit_mb: unit)
        patch.setattr(sources, "ReadCounts", partial(ReadCounts, batch_rows=rows_read))
        patch.setattr(sources, "ROWS", rows_kept)
        made = replace(recipe(folder, THREE), write=[ShardsWriter()])
        done = corpusmill.run(made, folder=Path(place) / "run", executor=Serial())
        assert outputs(done.folder) == expected
        assert rows(done.folder) == signals


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A run of three sources, each with its own steps: the folder, what it writes, and what it found out."""
    folder = tmp_path_factory.mktemp("three")
    made = replace(recipe(folder, THREE), write=[ShardsWriter()])
    done = corpusmill.run(made, folder=folder / "run", executor=Serial())
    return folder, outputs(done.folder), rows(done.folder)


def test_what_adds_up_for_each_source_and_step(three):
    folder, _, found = three
    flow = RunFiles(folder / "run").waterfall()
    flow.check()
    came = {source: len(CORPUS[source]) for source in CORPUS}
    for row in flow.rows:
        only = RunFiles(folder / "run").only.get(row.step, tuple(CORPUS))
        for source, step in row.sources.items():
            assert step["documents_in"] == came[source]
            assert step.get("passed_through", 0) == (0 if source in only else step["documents_in"])
            came[source] = step["documents_out"]
        assert row.passed_through == sum(step.get("passed_through", 0) for step in row.sources.values())
    assert sum(came.values()) == sum(row["dropped_by"] is None for row in found.values()) == flow.documents_out
    # The text that Own cannot process is one of wiki, which Own does not see.
    assert not any(row.failed for row in flow.rows)


def test_a_document_that_fails_later_has_passed_what_is_not_for_it(tmp_path):
    made = recipe(tmp_path, ["filter/gopher_quality: {only: web}", "test_some_sources:Own: {only: wiki}"])
    done = corpusmill.run(replace(made, run=RunSettings(error_budget=5)), folder=tmp_path / "run", executor=Serial())
    done.waterfall.check()
    first, second = done.waterfall.rows
    assert first.sources["wiki"]["passed_through"] == first.sources["wiki"]["documents_out"] == len(CORPUS["wiki"])
    assert second.failed == 1
    assert second.sources["wiki"]["documents_in"] == len(CORPUS["wiki"])


def test_a_change_of_the_sources_repeats_what_depends_on_it(tmp_path):
    def done(steps: Sequence[str]) -> dict[str, int]:
        made = recipe(tmp_path, steps)
        units = corpusmill.run(made, folder=tmp_path / "run", executor=Serial()).units
        return {stage: counts.done_now for stage, counts in units.items()}

    before = ["filter/basic", "dedup/exact", "filter/gopher_quality: {min_words: 35, only: [web, wiki]}"]
    after = [*before[:-1], "filter/gopher_quality: {min_words: 35, only: [web, code]}"]
    done(before)
    files = RunFiles(tmp_path / "run")
    assert done([*before[:-1], "filter/gopher_quality: {min_words: 35, except: code}"])["pass-2"] == 0
    plan = lower(recipe(tmp_path, after))
    assert [str(change) for change in changes(files.folder, plan)] == [
        "pass-2 is made again: gopher_quality.only was ['web', 'wiki'], is ['web', 'code']"
    ]
    assert done(after) == {"pass-1": 0, "exact-group": 0, "exact-names": 0, "exact-verdicts": 0, "pass-2": 1}
    assert rows(tmp_path / "run") == rows(run(tmp_path, after, name="anew"))
    exact = ["filter/basic", "dedup/exact: {only: web}", before[-1]]
    assert "exact.only was None, is ['web']" in str(changes(files.folder, lower(recipe(tmp_path, exact)))[0])
    assert done(exact)["pass-1"] == 1  # which makes the keys
    assert rows(tmp_path / "run") == rows(run(tmp_path, exact, name="anew-2"))


def test_what_all_sources_are_named_for_is_done_as_if_none_were(tmp_path):
    plain, named = (recipe(tmp_path, [step]) for step in ("filter/basic", 'filter/basic: {only: ["w*", code]}'))
    prints = [lower(made).identity("pass-1").fingerprint for made in (plain, named)]
    assert prints[0] == prints[1]
    assert lower(named).passes[0].only == {}


def test_earlier_runs_and_indexes_of_some_sources_can_be_compared_with(tmp_path):
    """Their keys are of the documents that the step was for."""
    first = run(tmp_path, ["dedup/exact: {only: wiki}"], name="first")
    export(first, tmp_path / "index")
    for place in (first, tmp_path / "index"):
        again = rows(run(tmp_path, [f"dedup/exact: {{against: {place}, only: [web, wiki]}}"], name=f"to-{place.name}"))
        dropped = {row["id"] for row in again.values() if row["reasons"] == "exact.against"}
        kept = {text(row) for row in of_source(rows(first), "wiki").values() if row["dropped_by"] is None}
        assert dropped == {row["id"] for row in of_source(again, "web", "wiki").values() if text(row) in kept}
