"""The fault table: python -m benchmarks.store, with tests/ on PYTHONPATH.

Each row is a fault that a proxy makes before a store on this machine: moto's S3 server, or Azurite. Of each, first one
commit is made, and what it says compared with what is true; then the recipe of `make chaos` runs into the bucket, and
its output is compared with that of a run on a local disk: documents that are lost, documents that are there twice, and
every byte.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

import corpusmill
import store_server as faults
from benchmarks.store import chaos
from corpusmill import storage
from corpusmill.errors import CorpusmillError
from corpusmill.execute.serial import Serial
from corpusmill.storage import objects
from store_server import Fault, Proxy, Request, environment, is_conditional, refuse, refuse_after

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "tests" / "chaos.yaml"
MINE, OTHER = b'{"attempt": "mine"}', b'{"attempt": "of another"}'
TRIES = 4  # calls of `run` until it must be through
JSONL = "output/jsonl/"


@dataclass(frozen=True)
class Row:
    """A fault: what it does to one commit, and whether this attempt has then won; what it does to a whole run."""

    name: str
    one: Sequence[Callable[[], Fault]] = ()
    wins: bool = True
    run: Sequence[Callable[[], Fault]] = ()
    how: str = "one driver"


def _every(every: int, action: faults.Action, match: faults.Match = is_conditional) -> Callable[[], Fault]:
    return lambda: Fault(action, match, every=every)


def _once(action: faults.Action) -> Callable[[], Fault]:
    return lambda: Fault(action, is_conditional, times=1)


def _writes(request: Request) -> bool:
    return request.kind in ("put", "copy")


def _reads(request: Request) -> bool:
    return request.kind == "get"


def _lists(request: Request) -> bool:
    return request.kind == "list"


def _all(request: Request) -> bool:
    return True


LATE = faults.late(0.05)
CONFLICT = "ConditionalRequestConflict"
ROWS = (
    Row("none"),
    Row("412, another was first", [_once(faults.write_first(OTHER))], wins=False, how="two drivers at once"),
    Row("409, nothing stored", [_once(refuse(409, CONFLICT))], run=[_every(2, refuse(409, CONFLICT))]),
    Row("409, but stored", [_once(refuse_after(409, CONFLICT))], run=[_every(2, refuse_after(409, CONFLICT))]),
    Row("stored, answer lost", [_once(faults.lose_answer)], run=[_every(3, faults.lose_answer, _writes)]),
    Row("503 SlowDown", [_once(refuse(503, "SlowDown"))], run=[_every(5, refuse(503, "SlowDown"), _all)]),
    Row(
        "500 after storing",
        [_once(refuse_after(500, "InternalError"))],
        run=[_every(3, refuse_after(500, "InternalError"), _writes)],
    ),
    Row("request cut", [_once(faults.cut)], run=[_every(4, faults.cut, _writes)]),
    Row("answer cut", [_every(2, faults.cut_answer, _reads)], run=[_every(4, faults.cut_answer, _reads)]),
    Row(
        "listing without the newest key",
        [_every(1, faults.forget_newest, _lists)],
        run=[_every(1, faults.behind(1.0), _lists)],
    ),
    Row("half an upload, driver killed", how="killed in a part, then again"),
    Row("50 ms a request", [_every(1, LATE, _all)], run=[_every(1, LATE, _all)]),
)


@dataclass(frozen=True)
class Whole:
    """What a run left: name -> SHA-256 of all output, and how often a document is in it."""

    files: dict[str, str]
    documents: Counter[str]


def read(place: str) -> Whole:
    """What a run has written for people."""
    files, documents = {}, Counter[str]()
    for info in sorted(_names(storage.join(place, "output"))):
        content = storage.read_bytes(storage.join(place, info))
        files[info] = hashlib.sha256(content).hexdigest()
        if info.startswith(JSONL) and info.endswith(".jsonl.zst"):
            with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as lines:
                documents.update(json.loads(line)["id"] for line in lines.read().splitlines())
    files["waterfall.json"] = hashlib.sha256(storage.read_bytes(storage.join(place, "waterfall.json"))).hexdigest()
    return Whole(files, documents)


def _names(folder: str) -> list[str]:
    if not storage.is_local(folder):
        return [f"output/{name}" for name in storage.list_tree(folder)]
    return [f"output/{path.relative_to(folder).as_posix()}" for path in Path(folder).rglob("*") if path.is_file()]


def one_commit(proxy: Proxy, row: Row, number: int) -> tuple[str, str]:
    """What one commit should say, and what it says: of the call, and of what is then there."""
    proxy.faults[:] = [make() for make in row.one]
    path = f"{proxy.root}/one/{number}/commits/1.json"
    won = storage.create_once(path, MINE)
    there = storage.read_bytes(path)
    proxy.faults.clear()
    said = {(True, MINE): "won", (False, OTHER): "lost"}.get((won, there), f"WRONG: {won}, {there!r}")
    return "won" if row.wins else "lost", said


def whole_run(proxy: Proxy, row: Row, place: str) -> int:
    """Run the recipe under a fault; returns how many calls it took."""
    if row.how == "two drivers at once":
        drivers = [_driver(place), _driver(place)]
        ended = [driver.wait() for driver in drivers]
        return 2 if not any(ended) else 2 + _until_through(place)
    if row.how.startswith("killed"):
        killed = _driver(place, "--parts")
        proxy.faults.append(Fault(_kill(killed), lambda request: request.kind == "part", times=1))
        killed.wait()
        proxy.faults.clear()
        storage.remove_unfinished(place, older_s=0)
        if proxy.scheme == "s3" and (left := _uploads(proxy)):  # Azure lists no parts, and forgets them in a week
            raise SystemExit(f"{left} uploads are left")
        return 1 + _until_through(place)
    proxy.faults[:] = [make() for make in row.run]
    return _until_through(place)


def _until_through(place: str) -> int:
    for tries in range(1, TRIES):
        try:
            corpusmill.run(str(RECIPE), folder=place, executor=Serial(), progress=False)
            return tries
        except CorpusmillError as error:
            print(f"    (call {tries}: {error})", file=sys.stderr)
    corpusmill.run(str(RECIPE), folder=place, executor=Serial(), progress=False)
    return TRIES


def _driver(place: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.store", "--run", place, *options]
    cache = {"CORPUSMILL_NODE_CACHE": tempfile.mkdtemp(dir=os.environ["CORPUSMILL_NODE_CACHE"])}
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | cache, stdout=subprocess.DEVNULL)


def _kill(driver: subprocess.Popen[bytes]) -> faults.Action:
    def action(request: Request, ask: Callable[[Request], faults.Answer]) -> None:
        driver.send_signal(signal.SIGKILL)

    return action


def _uploads(proxy: Proxy) -> int:
    import boto3

    s3 = boto3.client("s3", endpoint_url=proxy.endpoint)
    return len(s3.list_multipart_uploads(Bucket=faults.BUCKET).get("Uploads", []))


def commits(place: str) -> int:
    return sum("/commits/" in name for name in storage.list_tree(place))


def table(rows: Sequence[Row], scheme: str) -> bool:
    """Print it, row by row; whether all is as it must be."""
    sound = True
    with tempfile.TemporaryDirectory() as folder, faults.serving(scheme) as proxy:
        os.environ |= environment(proxy.endpoint) | {"CORPUSMILL_NODE_CACHE": str(Path(folder, "cache"))}
        Path(folder, "cache").mkdir()
        corpusmill.run(str(RECIPE), folder=str(Path(folder, "warm")), executor=Serial(), progress=False)
        local = str(Path(folder, "local"))
        began = time.monotonic()
        corpusmill.run(str(RECIPE), folder=local, executor=Serial(), progress=False)
        alone = time.monotonic() - began
        wanted = read(local)
        assert wanted.documents
        print(f"local run: {alone:.1f} s, {sum(wanted.documents.values())} documents, {len(wanted.files)} files\n")
        print("| fault | commit: expected | found | documents lost | doubled | output | calls | requests a unit | "
              "MB sent | received | seconds to local |")  # fmt: skip
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        for number, row in enumerate(rows):
            expected, found = one_commit(proxy, row, number)
            place = f"{proxy.root}/runs/{number}"
            proxy.reset()
            began = time.monotonic()
            calls = whole_run(proxy, row, place)
            seconds = time.monotonic() - began
            requests, sent, received = sum(proxy.counts.values()), proxy.sent, proxy.received
            proxy.faults.clear()
            units = commits(place)
            there = read(place)
            lost = (wanted.documents - there.documents).total()
            doubled = (there.documents - wanted.documents).total()
            same = there.files == wanted.files
            sound &= same and not lost and not doubled and expected == found
            print(
                f"| {row.name} | {expected} | {found} | {lost} | {doubled} | {'the same' if same else 'DIFFERS'} | "
                f"{calls} | {requests / units:.1f} | {sent / 1e6:.1f} | {received / 1e6:.1f} | {seconds / alone:.2f} |",
                flush=True,
            )
            storage.remove_tree(place)
    return sound


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", metavar="PLACE", help="only run the recipe there")
    parser.add_argument("--parts", action="store_true", help="send every file in parts")
    parser.add_argument("--store", choices=faults.COMMANDS, default="s3", help="az: Azurite, which must be installed")
    parser.add_argument("--only", metavar="WORD", default="", help="rows whose names have this in them")
    parser.add_argument("--kills", type=int, default=0, help="instead, runs that lose their processes or their store")
    parser.add_argument("--seed", type=int, default=20240229)
    given = parser.parse_args()
    if given.kills:
        raise SystemExit(not chaos.many(given.kills, given.seed, given.store))
    if given.run:
        if given.parts:
            objects.MAX_SINGLE_PUT = 0
        corpusmill.run(str(RECIPE), folder=given.run, executor=Serial(), progress=False)
    elif not table([row for row in ROWS if given.only in row.name], given.store):
        raise SystemExit("a row is not as it must be")


if __name__ == "__main__":
    main()
