"""How the next attempt at a unit is made, by how the last ones ended: no process is started for it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from works import Number, Square

from corpusmill.execute.attempts import (
    CAREFUL_ROWS,
    ENDS_TO_QUARANTINE,
    KILLS_TO_QUARANTINE,
    MAX_PROBES,
    MAX_QUARANTINED,
    PROBE_PARTS,
    Attempts,
)
from corpusmill.execute.failures import KILLED, STEP_FAILED, Ended
from corpusmill.execute.task import StageTask
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.units import AttemptPosition, QuarantinedRecord, RetryPolicy, Unit

UNIT = Unit(0, "a" * 20, Number(1))
CRASH = Ended("it crashed", "", KILLED, "it crashed")
SIGKILL = replace(CRASH, is_kill=True)
ERROR = Ended("ValueError: cursed", "Traceback …", STEP_FAILED, "ValueError: cursed")
FILE_ERROR = Ended("OSError: gone", "Traceback …")  # says nothing about records


def position(first=0, last=99, **fields):
    return AttemptPosition(0, first, last, count=last - first + 1, step="filter", single=first == last, **fields)


@pytest.fixture
def task(tmp_path):
    run = RunFolder(str(tmp_path))
    run.make()
    return StageTask(run, "squares-0", Square())


def attempts(task, limit=3, **changes):
    return Attempts(replace(task, **changes), UNIT, limit)


def test_a_first_attempt_notes_nothing(task):
    assert attempts(task).care == RetryPolicy()


def test_after_as_many_ends_as_there_are_attempts_the_unit_fails(task):
    unit = attempts(task)
    for rows in (CAREFUL_ROWS[0], CAREFUL_ROWS[1]):
        assert unit.ended(FILE_ERROR, None) is None
        assert unit.failure is None and unit.care == RetryPolicy(rows=rows)
    unit.ended(FILE_ERROR, None)
    assert unit.failure and (unit.failure.error, unit.failure.traceback) == ("OSError: gone", "Traceback …")


def test_an_error_about_files_probes_no_records(task):
    unit = attempts(task)
    unit.ended(FILE_ERROR, position())
    assert unit.care.probe is None


def test_records_at_work_are_probed_in_ever_smaller_parts(task):
    unit = attempts(task)
    unit.ended(ERROR, position())
    assert unit.care.probe == position() and unit.care.rows == -(-100 // PROBE_PARTS)
    unit.ended(ERROR, position(14, 20))
    assert unit.care.probe == position(14, 20) and unit.care.rows == 1
    assert unit.failure is None


@pytest.mark.parametrize(("end", "times"), [(ERROR, ENDS_TO_QUARANTINE), (SIGKILL, KILLS_TO_QUARANTINE)])
def test_a_single_record_is_quarantined_when_it_has_ended_enough_attempts_alone(task, end, times):
    unit = attempts(task)
    unit.ended(end, position())
    quarantined = [unit.ended(end, position(7, 7)) for _ in range(times)]
    assert quarantined[:-1] == [None] * (times - 1)
    record = quarantined[-1]
    assert record == QuarantinedRecord(position(7, 7), end.kind, end.cause)
    assert unit.care == RetryPolicy((record,), CAREFUL_ROWS[0])
    assert task.run.stage(task.folder).aside_of(UNIT.key) == (record,)


def test_another_record_begins_a_count_of_its_own(task):
    unit = attempts(task)
    unit.ended(ERROR, position())
    assert unit.ended(ERROR, position(7, 7)) is None
    assert unit.ended(ERROR, position(8, 8)) is None
    assert unit.ended(ERROR, position(7, 7)) is None
    assert unit.ended(ERROR, position(7, 7))


def test_after_a_quarantined_record_the_attempts_are_counted_from_the_start(task):
    unit = attempts(task, limit=2)
    for number in range(5):
        unit.ended(ERROR, position())
        unit.ended(ERROR, position(number, number))
        assert unit.ended(ERROR, position(number, number)) and unit.failure is None
    assert [record.at.first for record in unit.care.aside] == list(range(5))


def test_records_that_do_no_harm_alone_leave_the_unit_to_its_attempts(task):
    unit = attempts(task, limit=2)
    unit.ended(ERROR, position())
    unit.probe_passed()
    assert unit.care == RetryPolicy(rows=CAREFUL_ROWS[0])
    unit.ended(ERROR, position())
    assert unit.failure and unit.failure.error.endswith(
        "; none of the records at work then, tried alone, ends its worker each time"
    )


def test_a_probe_that_ends_elsewhere_says_nothing_about_its_records(task):
    for at in (None, replace(position(), part=1), replace(position(), reading=True)):
        unit = attempts(task)
        unit.ended(ERROR, position())
        assert unit.ended(ERROR, at) is None
        assert unit.care == RetryPolicy(rows=CAREFUL_ROWS[0])


def test_what_earlier_calls_quarantined_stays_out(task):
    record = QuarantinedRecord(position(3, 3), KILLED, "it crashed")
    unit = attempts(task, aside={UNIT.key: (record,)})
    assert unit.care == RetryPolicy((record,))
    unit.ended(ERROR, None)
    assert unit.care == RetryPolicy((record,), CAREFUL_ROWS[0])


def test_there_is_an_end_to_quarantined_records(task):
    many = tuple(QuarantinedRecord(position(n, n), KILLED, "") for n in range(MAX_QUARANTINED))
    unit = attempts(task, limit=1, aside={UNIT.key: many})
    unit.ended(ERROR, position())
    assert unit.failure and f"{MAX_QUARANTINED} records of this unit were set aside" in unit.failure.error


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([CRASH, SIGKILL, ERROR, FILE_ERROR, None]),
            st.sampled_from([None, position(), position(5, 9), position(7, 7), position(8, 8, reading=True)]),
        ),
        min_size=MAX_PROBES * 4,
        max_size=MAX_PROBES * 4,
    )
)
def test_whatever_happens_a_unit_comes_to_an_end_or_loses_a_record(tmp_path_factory, ends):
    run = RunFolder(str(tmp_path_factory.mktemp("run")))
    run.make()
    unit = Attempts(StageTask(run, "squares-0", Square()), UNIT, 2)
    since = 0
    for end, at in ends:
        if unit.failure:
            break
        if end is None:
            if unit.care.probe is not None:
                unit.probe_passed()
            continue
        since = 0 if unit.ended(end, at) else since + 1
        assert since <= 2 * (MAX_PROBES + 2)
        assert unit.care.probe is None or unit.care.rows
