"""A few cases of `make fuzz`, the same each time: so that it runs, and finds nothing at its beginning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAPPED = {"read-arrow", "shards", "records"}  # targets that map files into memory


def fuzz(*words: object, **variables: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "fuzz", *map(str, words), "--jobs", "1", "--minutes", "60", "--seed", "7"],
        cwd=ROOT,
        env={**os.environ, **variables, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("targets", "cases"),
    [
        (
            [
                "read-jsonl",
                "read-csv",
                "read-text",
                "read-html",
                "read-warc",
                "read-wet",
                "read-wat",
                "decompress",
                "extract-blocks",
            ],
            25,
        ),
        (["read-arrow", "read-parquet"], 25),
        (["read-mediawiki", "read-stackexchange", "read-latex", "read-epub", "read-docx", "read-code"], 20),
        (["read-dolma", "read-redpajama"], 20),
        (["recipe", "keep_where", "loader"], 25),
        (["shards", "sql"], 12),
        (["records"], 3),
        (["models"], 60),
        (["frames", "payload-types", "dates"], 15),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)
def test_cases_with_fixed_seeds_do_not_fail(targets, cases, tmp_path):
    if os.name == "nt" and MAPPED.intersection(targets):
        pytest.skip("files that are mapped cannot be replaced on Windows")
    done = fuzz(*targets, "--cases", cases, "--failures", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "said"), [("raises", "ZeroDivisionError"), ("dies", "the process died"), ("grows", "MiB"), ("works", "")]
)
def test_an_input_that_fails_is_noticed_saved_and_can_be_done_again(target, said, tmp_path):
    if target == "grows" and not Path("/proc/self/clear_refs").exists():
        pytest.skip("the system cannot say how much a case took")
    done = fuzz(target, "--cases", 1, "--failures", tmp_path, FUZZ_MODULES="faulty")
    assert done.returncode == (1 if said else 0) and said in done.stdout, done.stdout + done.stderr
    saved = [path.parents[1] for path in tmp_path.glob("*/files/case")]
    assert [(path / "files" / "case").read_bytes() for path in saved] == ([b"input"] if said else [])
    for path in saved:
        again = fuzz("--replay", path, "--failures", tmp_path, FUZZ_MODULES="faulty")
        assert again.returncode == 1 and said in again.stdout, again.stdout + again.stderr
