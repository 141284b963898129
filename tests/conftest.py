"""What many tests make: a batch of documents; and a run of two sources."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

from corpusmill import run
from corpusmill.cli import main
from corpusmill.execute.serial import Serial
from corpusmill.schema import DOCUMENT, document_id

# They kill processes with the signals of POSIX.
collect_ignore = ["execute", "test_every_executor.py"] if os.name == "nt" else []

if os.name != "nt":
    from made_cluster import cluster

    __all__ = ["cluster"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in a suite that a script started in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # or no process of the tests could be interrupted

os.environ.pop("COLUMNS", None)  # of who runs the tests, in parallel or not: what is printed has the width of a file

# No deadline: the first call of a kernel may compile it, and machines are noisy. The same examples every time, so that
# a change fails by what it did; `pytest --hypothesis-profile search` draws new ones.
settings.register_profile("corpusmill", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("corpusmill")


# Files and folders are made for memory, where there is room: a disk takes half a millisecond for each, and there are some
# hundred thousand.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 3 << 30 and os.access(MEMORY, os.W_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# No test takes the power away, and to wait for the disk is most of the time of small runs. Processes that tests start do
# wait, as anybody's do.
os.fsync = lambda fd: None


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Archives hold the time at which they were made: they name no test, for every process knows the same ones."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


def docs(*texts: str | None, **columns: list[Any]) -> pa.RecordBatch:
    """A batch of documents with these texts: docs("one", "two", url=["http://a.org", None]).

    columns   any column of DOCUMENT, one value a document; the rest is made up: row i is record i of made.jsonl
    """
    rows = len(texts)
    made: dict[str, list[Any]] = {name: [None] * rows for name in DOCUMENT.names}
    made |= {
        "id": [document_id("made", f"made.jsonl:{i}") for i in range(rows)],
        "source": ["made"] * rows,
        "file": ["made.jsonl"] * rows,
        "position": list(range(rows)),
        "text": list(texts),
    }
    return pa.RecordBatch.from_pydict(made | columns, schema=DOCUMENT)


@pytest.fixture
def corpusmill(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Any, str, str]]:
    """The command line: corpusmill("run", recipe) returns its exit status, stdout and stderr, which is never a traceback."""

    def command(*words: object) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["corpusmill", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return end.value.code, out, err

    return command


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--write-golden", action="store_true", help="keep what the demo gives as what it must give")
    parser.addoption("--kills", type=int, default=6, help="how often runs are hit in the test of kills")
    parser.addoption("--executor", help="what carries out runs that are killed, or all; without it, processes")
    parser.addoption("--chaos-seed", type=int, default=20240229, help="of where and when, and in which order of ways")


WORDS = "river stone winter garden letter window market silver morning captain forest bridge candle harbour".split()


@pytest.fixture(scope="session")
def two_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run: 60 documents of `news` and 60 of `code`, which mix in the rows."""
    folder = tmp_path_factory.mktemp("two")
    for name in ("news", "code"):
        random = Random(name)
        texts = [" ".join(random.choices(WORDS, k=random.randint(2, 40))) for _ in range(60)]
        lines = [json.dumps({"text": text}) for text in texts]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    recipe = f"""
name: two
read:
  - jsonl: {{paths: {folder}/news.jsonl, source: news}}
  - jsonl: {{paths: {folder}/code.jsonl, source: code}}
steps:
  - tokenize/bpe: {{tokenizer: gpt2}}
  - pack/concat: {{length: 32}}
write: [shards]
"""
    (folder / "two.yaml").write_text(recipe, "utf-8")
    run(str(folder / "two.yaml"), folder=str(folder / "run"), executor=Serial())
    return folder / "run"


@pytest.fixture(scope="session", params=["s3", "gs", "az"])
def store_server(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A store in a process of its own, and before it a proxy that makes faults; see `store_server`."""
    pytest.importorskip("moto", reason="moto's server is not installed")
    from store_server import AZURITE, serving

    if request.param == "az" and not AZURITE:
        pytest.skip("Azurite is not installed: npm install azurite, and its azurite-blob on PATH")
    with serving(request.param) as proxy:
        yield proxy
