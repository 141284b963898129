"""Of a run folder, what its commits name counts, and nothing else."""

import shutil

import pytest

from corpusmill.errors import InputError, ResumeError
from corpusmill.report import samples
from corpusmill.report.rule_counts import rule_counts
from corpusmill.report.run_files import RunFiles
from corpusmill.report.tables import RunTables
from made_run import COPIES, NEAR, made_run, unfinish

ALL = 10_000


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(made_run(), tmp_path / "run")


def ids(documents):
    return [document["id"] for document in documents]


def test_files_that_no_commit_names_do_not_count(copied, tables):
    for file in list(copied.glob("01-*/*/*.parquet")):
        shutil.copy(file, file.with_name("00000-orphan.parquet"))
    again = RunTables(copied)
    assert ids(samples.kept_documents(again, ALL)) == ids(samples.kept_documents(tables, ALL)) and rule_counts(
        again
    ) == rule_counts(tables)


def test_a_stage_that_the_recipe_no_longer_has_does_not_count(copied, tables):
    stage = next(copied.glob("stages/pass-1-*"))
    shutil.copytree(stage, copied / "stages" / "pass-1-00000000")
    assert rule_counts(RunTables(copied)) == rule_counts(tables)


def test_a_run_that_is_not_finished_has_documents_and_no_waterfall(copied):
    unfinish(copied, "shards")
    tables = RunTables(copied)
    assert len(samples.kept_documents(tables, ALL)) == 36
    with pytest.raises(ResumeError, match="not finished: shards has 0 of 1 units"):
        tables.files.waterfall()


def test_of_a_run_that_stopped_early_the_first_pass_can_be_seen(copied):
    for folder in copied.glob("stages/pass-2-*"):
        shutil.rmtree(folder)
    tables = RunTables(copied)
    assert len(samples.kept_documents(tables, ALL)) == 36 + COPIES + NEAR
    assert tables.files.unfinished() == "pass-2 has not begun"


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(InputError, match=r"not a run folder \(it has no run.json\)"):
        RunFiles(tmp_path)


def test_a_damaged_stage_is_refused(copied):
    file = next(copied.glob("stages/pass-1-*/dropped/*.parquet"))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ResumeError, match="has 100 bytes, its commit says"):
        RunFiles(copied)
