"""Answers are kept as they arrive: the first one counts, torn and damaged records are none."""

import multiprocessing
import os
from hashlib import blake2b
from pathlib import Path

import pytest

from corpusmill.errors import ModelServerError
from corpusmill.inference.answer_log import INDEX, LOG, AnswerLog
from corpusmill.inference.questions import Answer


def key(number: int) -> bytes:
    return blake2b(str(number).encode(), digest_size=16).digest()


def filled(folder: Path, count: int = 20) -> AnswerLog:
    log = AnswerLog(folder)
    for number in range(count):
        log.add(key(number), "m", Answer(f"answer {number}", prompt_tokens=2, answer_tokens=3))
    return log


def test_what_was_written_is_read_by_others_and_later(tmp_path):
    early = AnswerLog(tmp_path)
    filled(tmp_path)
    later = AnswerLog(tmp_path)
    assert [later.get(key(number)).text for number in range(20)] == [f"answer {number}" for number in range(20)]
    assert later.get(key(20)) is None
    assert later.spent("m") == (20, 40, 60) and later.spent("other") == (0, 0, 0)
    early.add(key(99), "m", Answer("last"))
    assert early.get(key(3)).text == "answer 3"  # taken up with its own


def test_the_first_answer_is_the_answer(tmp_path):
    log, other = AnswerLog(tmp_path), AnswerLog(tmp_path)
    assert log.add(key(1), "m", Answer("first")).text == "first"
    assert other.add(key(1), "m", Answer("second")).text == "first"
    assert len(AnswerLog(tmp_path)) == 1


@pytest.mark.parametrize("lost", range(1, 60, 7))
def test_a_torn_record_is_cut_off_and_the_others_stay(tmp_path, lost):
    filled(tmp_path)
    path = tmp_path / LOG
    os.truncate(path, path.stat().st_size - lost)
    log = AnswerLog(tmp_path)
    assert log.get(key(19)) is None and log.get(key(18)).text == "answer 18"
    log.add(key(19), "m", Answer("again"))
    log = AnswerLog(tmp_path)
    assert log.get(key(19)).text == "again" and len(log) == 20


@pytest.mark.parametrize("size", [0, 1, 27, 28, 29, 100])
def test_an_index_that_is_behind_is_made_up_from_the_log(tmp_path, size):
    filled(tmp_path)
    os.truncate(tmp_path / INDEX, size)
    AnswerLog(tmp_path)
    log = AnswerLog(tmp_path)
    assert [log.get(key(number)).text for number in range(20)] == [f"answer {number}" for number in range(20)]
    assert log.spent("m") == (20, 40, 60)


def test_a_damaged_answer_is_none_and_another_takes_its_place(tmp_path):
    filled(tmp_path)
    data = bytearray((tmp_path / LOG).read_bytes())
    at = data.index(b"answer 7")
    data[at] ^= 1
    (tmp_path / LOG).write_bytes(data)
    log = AnswerLog(tmp_path)
    assert log.get(key(7)) is None
    log.add(key(7), "m", Answer("anew"))
    assert AnswerLog(tmp_path).get(key(7)).text == "anew"


def test_a_model_of_another_name_is_not_mixed_in(tmp_path):
    AnswerLog(tmp_path).add(key(1), "m", Answer("one", served_by="m-2026-01"))
    with pytest.raises(ModelServerError, match=r'now answers as "m-2026-09".* of "m-2026-01"'):
        AnswerLog(tmp_path).add(key(2), "m", Answer("two", served_by="m-2026-09"))


def write(folder: Path, worker: int) -> None:
    log = AnswerLog(folder)
    for number in range(200):
        log.add(key(number), "m", Answer(f"{worker}"))


def test_processes_that_write_side_by_side_agree(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write, args=(tmp_path, worker)) for worker in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(AnswerLog(tmp_path)) == 200
