"""Without the extra `fast` a run gives the same bytes, slower, and says so in one line."""

import hashlib
import subprocess
import sys

import pytest

from made_run import made_corpus, made_run

pytest.importorskip("gigatoken")
BLOCKED = """
import sys
sys.modules.update(gigatoken=None, awkward=None)
sys.argv = ["corpusmill", *sys.argv[1:]]
from corpusmill.cli import main
main()
"""
SAID = (
    "gigatoken is not installed: the same token ids take up to a hundred times as long. pip install 'corpusmill[fast]'"
)


def command(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", BLOCKED, *map(str, words)], capture_output=True, text=True, check=False
    )


def digests(folder):
    files = sorted(path for path in (folder / "output").rglob("*") if path.is_file())
    return {path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_run_has_the_same_bytes_and_says_that_it_is_slow(tmp_path):
    done = command("run", made_corpus(), "--folder", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(SAID) == 1 and f"bpe: {SAID}" in done.stderr
    assert "Token ids are from tokenizers, the reference tokenizer itself, so nothing was compared." in done.stdout
    assert digests(tmp_path / "run") == digests(made_run())


def test_check_says_it_before(tmp_path):
    done = command("check", made_corpus(), "--folder", tmp_path / "run")
    assert done.returncode == 0 and SAID in done.stdout


def test_who_names_the_engine_is_told_what_is_missing(tmp_path):
    done = command("check", made_corpus(), "--folder", tmp_path / "run", "--set", "steps.bpe.engine=gigatoken")
    assert done.returncode == 2
    assert "tokenize/bpe needs gigatoken and awkward. Install: pip install 'corpusmill[fast]'" in done.stderr


def test_who_names_the_reference_is_told_nothing(tmp_path):
    done = command("check", made_corpus(), "--folder", tmp_path / "run", "--set", "steps.bpe.engine=tokenizers")
    assert done.returncode == 0 and "gigatoken" not in done.stdout + done.stderr
