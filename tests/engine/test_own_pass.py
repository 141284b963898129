"""A step that wants a pass of its own gets one, with as many workers as it says; what comes out is the same."""

import json
from dataclasses import dataclass

import pyarrow as pa
import pytest

import corpusmill
from corpusmill import Recipe, Source
from corpusmill.engine.plan.lower import lower
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import JsonlReader
from corpusmill.report.run_files import RunFiles
from corpusmill.steps.annotate.stats import Stats
from corpusmill.steps.clean.normalize import Normalize
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.keep_where import KeepWhere
from corpusmill.steps.filter.top import Top
from corpusmill.store.units import Resources


@dataclass(frozen=True, kw_only=True)
class Dear:
    """The length of a text, dearly bought."""

    own: bool = True

    @property
    def own_pass(self):
        return Resources(cpus=2, workers=1, keeps=True) if self.own else None

    def signals(self, docs):
        return {"score": pa.array([float(len(text)) for text in docs["text"].to_pylist()], pa.float64())}


RULES = GopherQuality(rules=("min_words",), min_words=3)
KEEP = KeepWhere(condition="dear.score > 20")


@pytest.fixture
def source(tmp_path):
    lines = [json.dumps({"text": "word " * (i % 9 + 1)}) for i in range(60)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return Source(JsonlReader(), str(tmp_path / "in.jsonl"))


def passes(source, *steps):
    return [list(info.labels) for info in lower(Recipe(read=[source], steps=list(steps))).passes]


def test_it_begins_a_pass_that_later_steps_join(source):
    assert passes(source, Normalize(), RULES, Dear(), KEEP) == [["normalize", "gopher_quality"], ["dear", "keep_where"]]
    assert passes(source, Dear()) == [[], ["dear"]]
    assert passes(source, Normalize(), Dear(own=False)) == [["normalize", "dear"]]


def test_corpus_steps_take_their_keys_from_it(source):
    top = Top(by="dear.score", keep=0.5)
    assert passes(source, RULES, Dear(), top, Stats()) == [["gopher_quality"], ["dear"], ["top", "stats"]]
    by_words = Top(by="gopher_quality.words", keep=0.9)
    assert passes(source, RULES, by_words, Dear()) == [["gopher_quality"], ["top"], ["dear"]]


def test_another_one_joins_it_unless_documents_are_dropped_between(source):
    assert passes(source, Dear(), Stats(), Dear()) == [[], ["dear", "stats", "dear_2"]]
    assert passes(source, Dear(), KEEP, Dear()) == [[], ["dear", "keep_where"], ["dear_2"]]


def test_the_pass_says_what_its_units_need(source):
    plan = lower(Recipe(read=[source], steps=[RULES, Dear(), KEEP]))
    needs = {stage.name: stage.needs for stage in plan.stages}
    assert needs["pass-1"] == Resources()
    assert needs["pass-2"] == Resources(cpus=2, workers=1, keeps=True)


def test_a_run_gives_what_it_gives_without_a_pass_of_its_own_and_its_workers_end_with_it(source, tmp_path):
    found = {}
    for name, own, executor in (
        ("plain", False, Serial()),
        ("serial", True, Serial()),
        ("workers", True, Processes(2)),
    ):
        recipe = Recipe(read=[source], steps=[RULES, Dear(own=own), KEEP, Top(by="dear.score", keep=0.5)])
        try:
            done = corpusmill.run(recipe, folder=tmp_path / name, executor=executor, progress=False)
            files = RunFiles(done.place)
            if isinstance(executor, Processes):
                again = Recipe(read=[source], steps=[RULES, Dear(), KEEP])  # its last stage is the pass of its own
                corpusmill.run(again, folder=tmp_path / "again", executor=executor, progress=False)
                assert not executor._workers
        finally:
            executor.close()
        batches = files.documents("docs", len(files.passes) - 1, ["id", "text"], 100)
        found[name] = [row for batch in batches for row in batch.to_pylist()]
        assert done.waterfall.documents_out == len(found[name]) > 5
    assert found["plain"] == found["serial"] == found["workers"]
