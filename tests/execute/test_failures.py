"""How the end of an attempt is put into words, and what it says about records."""

import signal

import pytest

from corpusmill.errors import AssetError, InputError
from corpusmill.execute.failures import (
    KILLED,
    OUT_OF_MEMORY,
    READER_FAILED,
    STEP_FAILED,
    Ended,
    last_line,
    of_error,
    of_exit,
)
from corpusmill.store.units import AttemptPosition


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


def test_an_error_of_a_step_may_be_its_records():
    ended = of_error(raised(ValueError("cursed\nand more")))
    assert (ended.error, ended.kind, ended.cause) == ("ValueError: cursed", STEP_FAILED, "ValueError: cursed")
    assert "raise error" in ended.traceback and not ended.is_kill


@pytest.mark.parametrize("error", [OSError("gone"), InputError("no file"), AssetError("no model"), TimeoutError()])
def test_an_error_about_files_or_on_purpose_says_nothing_about_records(error):
    assert of_error(raised(error)).kind == ""


def test_memory_that_ran_out_may_be_a_record():
    ended = of_error(raised(MemoryError()))
    assert (ended.error, ended.kind) == ("MemoryError", OUT_OF_MEMORY)


@pytest.mark.parametrize(
    ("code", "error", "kind", "is_kill"),
    [
        (-signal.SIGSEGV, "exit status -11 (SIGSEGV: native code crashed)", KILLED, False),
        (
            -signal.SIGKILL,
            "(killed; often because memory ran out: try fewer workers, or a smaller unit_mb)",
            KILLED,
            True,
        ),
        (-signal.SIGTERM, "exit status -15 (SIGTERM)", "", False),
        (-signal.SIGINT, "exit status -2 (SIGINT)", "", False),
        (-250, "exit status -250 (signal 250)", KILLED, False),
        (3, "its worker died with exit status 3", KILLED, False),
        (0, "its worker died with exit status 0", KILLED, False),
        (None, "its worker died with exit status None", "", False),
    ],
)
def test_a_worker_that_ended(code, error, kind, is_kill):
    ended = of_exit(code)
    assert ended.error.endswith(error)
    assert (ended.kind, ended.is_kill, ended.traceback) == (kind, is_kill, "")


def test_the_advice_is_for_people_and_not_in_the_cause():
    ended = of_exit(-signal.SIGKILL)
    assert "unit_mb" in ended.error and "unit_mb" not in ended.cause


def test_a_step_that_fails_while_a_reader_works_is_the_reader():
    reading, judging = (AttemptPosition(0, 0, 9, reading=value) for value in (True, False))
    assert Ended("x", kind=STEP_FAILED).kind_at(reading) == READER_FAILED
    assert Ended("x", kind=STEP_FAILED).kind_at(judging) == STEP_FAILED
    assert Ended("x", kind=KILLED).kind_at(reading) == KILLED


def test_secrets_of_addresses_are_hidden():
    assert (
        last_line(ValueError("404: http://me:pass@host/a?token=abc")) == "ValueError: 404: http://***@host/a?token=***"
    )
    assert "abc" not in of_error(raised(ValueError("http://host/a?token=abc"))).traceback
