"""What `watch` says of a run, look by look."""

import json
from dataclasses import replace

import pytest

from corpusmill.cli.watch import QUIET_SECONDS, lines
from corpusmill.ops.watch import AT_WORK, DONE, WAITING, RunSnapshot, StageSnapshot, WorkerSnapshot
from made_run import made_run

STAGES = (
    StageSnapshot("pass-1", DONE, 8, 8),
    StageSnapshot("exact", AT_WORK, 10, 4, 2, 0),
    StageSnapshot("shards", WAITING),
)
WORKER = WorkerSnapshot("one", "node1", "working", "exact", 3, "2026-01-02T03:04:05Z")
LOOK = RunSnapshot(
    place="runs/x", name="x", finished=False, stages=STAGES, stage="exact", workers=(WORKER,), ended=0, share=0.425,
    documents_per_second=None, tokens_per_second=None, left=None, overall_left=None, quiet=0.0,
)  # fmt: skip


def test_a_look_has_the_run_its_stage_and_its_workers():
    assert lines(LOOK) == [
        "x: 1 of 3 stages done, about 42 %",
        "  exact: 4 of 10 units, 2 at work",
        "  worker    state  stage  processes          since (UTC)",
        "  one     working  exact          3  2026-01-02 03:04:05",
    ]


def test_speeds_and_times_are_said_if_they_are_known():
    look = replace(LOOK, documents_per_second=1234.5, tokens_per_second=10.0, left=61.0, overall_left=3600.0)
    head, stage = lines(look)[:2]
    assert head.endswith("about 42 %, 1:00:00 left")
    assert stage == "  exact: 4 of 10 units, 2 at work, 1,234 documents/s, 10 tokens/s, 1:01 left"


def test_a_unit_that_was_given_up_is_in_capitals():
    stages = (STAGES[0], replace(STAGES[1], failed=1), STAGES[2])
    assert "2 at work, 1 FAILED" in lines(replace(LOOK, stages=stages))[1]


def test_nobody_at_work_is_said_and_how_many_have_ended():
    assert lines(replace(LOOK, workers=()))[-1] == "  nobody is at work"
    assert lines(replace(LOOK, workers=(), ended=1))[-1] == "  nobody is at work; 1 worker ended"
    assert lines(replace(LOOK, workers=(), ended=2))[-1].endswith("2 workers ended")


def test_a_worker_that_failed_has_a_line_of_its_own():
    failed = replace(WORKER, state="ended", stage=None, processes=0, started=None, error="the store is full")
    shown = lines(replace(LOOK, workers=(WORKER, failed)))
    assert shown[-1] == "  one: the store is full"
    assert shown[-2].split() == ["one", "ended", "0"]


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        (None, "  all stages are done: outputs are published, verified and reported"),
        ("shards", "  shards: is being planned"),
    ],
)
def test_between_stages_it_says_what_is_done(stage, line):
    assert lines(replace(LOOK, stage=stage))[1] == line


@pytest.mark.parametrize(("seconds", "is_said"), [(0.0, False), (QUIET_SECONDS, False), (QUIET_SECONDS + 1, True)])
def test_a_run_in_which_nothing_changes_is_said_to_be_quiet(seconds, is_said):
    shown = lines(replace(LOOK, quiet=seconds))
    assert (shown[-1] == "  nothing has changed for 2:01") == is_said


def test_units_at_work_are_not_counted_where_no_worker_keeps_leases():
    stages = (STAGES[0], replace(STAGES[1], leased=0), STAGES[2])
    alone = replace(WORKER, worker="corpusmill run", stage=None)
    assert lines(replace(LOOK, stages=stages, workers=(alone,)))[1] == "  exact: 4 of 10 units"


def test_a_finished_run_is_one_line():
    stages = tuple(replace(stage, state=DONE) for stage in STAGES)
    assert lines(replace(LOOK, finished=True, stages=stages, stage=None)) == ["x: finished, 3 stages (runs/x)"]


def test_the_record_is_what_was_seen():
    record = LOOK.to_json()
    assert json.loads(json.dumps(record))["stages"][1]["leased"] == 2
    assert record["workers"][0]["worker"] == "one" and record["left"] is None


@pytest.mark.parametrize("words", [(), ("--once",), ("--every", "0.1")])
def test_a_finished_run_is_not_watched_on(corpusmill, words):
    status, out, _ = corpusmill("watch", made_run(), *words)
    assert status == 0 and out == f"made: finished, {len(STAGES_OF_MADE())} stages ({made_run()})\n"


def STAGES_OF_MADE() -> list[str]:
    return [path.name for path in (made_run() / "stages").iterdir() if path.is_dir()]


def test_json_is_an_object_a_line(corpusmill):
    out = corpusmill("watch", made_run(), "--json")[1]
    (record,) = map(json.loads, out.splitlines())
    assert record["finished"] and record["share"] == 1.0 and record["stage"] is None


@pytest.mark.parametrize("words", [("--every", "0"), ("--every", "soon"), ("--often",)])
def test_a_wrong_option_is_answered(corpusmill, words):
    status, out, err = corpusmill("watch", made_run(), *words)
    assert (status, out) == (2, "") and words[0] in err
