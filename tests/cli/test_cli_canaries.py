"""Planted strings on the command line: found again, verified."""

import json
import shutil
from pathlib import Path

import pytest

import corpusmill as package
from corpusmill.execute.serial import Serial
from corpusmill.recipe.model import Recipe
from made_run import made_corpus, made_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    recipe = Recipe.parse(made_corpus().read_text() + "canary: {made: 2, copies: [1, 4]}\n")
    return Path(package.run(recipe, folder=tmp_path_factory.mktemp("planted") / "run", executor=Serial()).folder)


def test_find_tells_each_string_its_copies_and_steps(corpusmill, run):
    status, out, _ = corpusmill("find", run, "--canaries", "--steps", "--batch", 2, "--workers", 1)
    assert status == 0 and "canary-1-4-2: 4 of 4 copies\n    The random number is " in out
    assert out.endswith("4 strings, 10 of 10 copies found\n") and "of training: " in out
    told = json.loads(corpusmill("find", run, "--canaries", "--steps", "--json", "--workers", 1)[1])["canaries"]
    for one in told:
        assert one["count"] == one["copies"] == len(one["planted"]) == len(one["found"]) and one["elsewhere"] == 0
        assert all(one["steps"][id] and one["offsets"][id] == 0 for id in one["found"])


def test_a_copy_that_is_missing_is_told_and_the_status_says_so(corpusmill, run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    record = json.loads((tmp_path / "run" / "canaries.json").read_text())
    record["canaries"][0]["copies"] = 3
    (tmp_path / "run" / "canaries.json").write_text(json.dumps(record))
    status, out, _ = corpusmill("find", tmp_path / "run", "--canaries", "--workers", 1)
    assert status == 1 and "canary-1-1-1: 1 of 3 copies" in out
    status, out, _ = corpusmill("verify", tmp_path / "run")
    assert status == 1 and "2 of 3 copies of canary-1-1-1 are not in the shards" in out


def test_verify_counts_them(corpusmill, run):
    status, out, _ = corpusmill("verify", run)
    assert status == 0 and out.endswith("canaries: 10 of 10 copies of 4 strings, verified\n")
    assert json.loads(corpusmill("verify", run, "--json")[1])["canaries"]["documents"] == 10


def test_a_run_without_canaries_says_so(corpusmill, tmp_path):
    shutil.copytree(made_run(), tmp_path / "run")
    status, _, err = corpusmill("find", tmp_path / "run", "--canaries", "--workers", 1)
    assert status != 0 and "the run has planted nothing: its recipe has no canary" in err
