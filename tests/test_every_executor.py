"""A run depends on the recipe and the data, and on nothing else: the same bytes whatever carries it out. The demo is
compared with bytes that are kept; runs that are killed are those of a smaller recipe, which has a stage of every kind."""

import hashlib
import json
import os
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

import chaos
import corpusmill
from corpusmill import execute
from corpusmill.execute.processes import Processes
from corpusmill.execute.ray import Ray
from corpusmill.execute.serial import Serial
from corpusmill.recipe.shipped import shipped
from corpusmill.shards import open_shards
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.units import RetryPolicy

ROOT = Path(__file__).parent.parent
RECIPE = shipped("demo").path
CHAOS = Path(__file__).parent / "chaos.yaml"
GOLDEN = Path(__file__).parent / "golden" / "demo.json"
IN_PROC = pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
PRELOAD = ("corpusmill.engine.preload",)


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)  # paths in recipes are relative to the working directory


def output(folder):
    """Name -> SHA-256 of the content of everything that the run wrote for people."""
    files = sorted(path for path in (folder / "output").rglob("*") if path.is_file())
    found = {path.relative_to(folder).as_posix(): hashlib.sha256(content(path)).hexdigest() for path in files}
    return found | {"waterfall.json": hashlib.sha256((folder / "waterfall.json").read_bytes()).hexdigest()}


def content(path):
    """A file's bytes, unpacked: those of zstd differ between its versions."""
    if path.suffix != ".zst":
        return path.read_bytes()
    with path.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()


def kept_between_stages(folder):
    """Stage and output -> keys of units, and checksums of everything that stages left for each other."""
    return {
        (results.folder, name): (results.keys, files.checksums.to_pylist())
        for results in RunFolder(str(folder)).results().values()
        for name, files in results.outputs.items()
    }


def in_one_process(recipe, folder):
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        corpusmill.run(recipe, folder=folder, executor=Serial())
    finally:
        os.chdir(here)
    return folder


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo, carried out by one process in one go."""
    return in_one_process(RECIPE, tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The same of the smaller recipe."""
    return in_one_process(CHAOS, tmp_path_factory.mktemp("runs") / "small")


def test_the_demo_gives_the_golden_bytes(demo, request):
    """Parquet is left out: its bytes carry the version of the library that wrote them. So are checksums of files."""
    left_out = (".parquet", "SHA256SUMS")
    found = {name: digest for name, digest in output(demo).items() if not name.endswith(left_out)}
    index = json.loads((demo / "output" / "shards" / "index.json").read_text())
    for shard in index["shards"]:
        shard.pop("table_xxh3_128")
    found.pop("output/shards/index.json")
    found = {"index": index, "files": found, "waterfall": json.loads((demo / "waterfall.json").read_text())}
    if request.config.getoption("--write-golden"):
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert found["waterfall"] == golden["waterfall"]
    assert found == golden


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_any_number_of_workers_gives_the_same_bytes(demo, tmp_path, workers):
    corpusmill.run(RECIPE, folder=tmp_path / "run", executor=Processes(workers, preload=PRELOAD))
    assert kept_between_stages(tmp_path / "run") == kept_between_stages(demo)
    assert output(tmp_path / "run") == output(demo)


def test_a_cluster_of_two_nodes_gives_the_same_bytes(demo, cluster, tmp_path):
    corpusmill.run(RECIPE, folder=tmp_path / "run", executor=Ray(cluster.address, preload=PRELOAD))
    assert kept_between_stages(tmp_path / "run") == kept_between_stages(demo)
    assert output(tmp_path / "run") == output(demo)


def test_every_executor_is_tested_here():
    assert execute.EXECUTORS == ("processes", "ray", "serial")


@dataclass
class Careful:
    """Carries out units as attempts are made that follow others: 7 documents at a time."""

    places: int = 0

    @classmethod
    def start(cls, workers, preload):
        return cls()

    def check(self, checks):
        Serial().check(checks)

    def close(self):
        pass

    def run(self, task, units, on_commit, on_aside):
        for unit in units:
            on_commit(task.run_unit(unit, RetryPolicy(rows=7), self.count))
        return []

    def count(self, at):
        self.places += 1


def test_an_attempt_with_care_gives_the_same_bytes(demo, tmp_path):
    executor = Careful()
    corpusmill.run(RECIPE, folder=tmp_path / "run", executor=executor)
    assert executor.places > 100
    assert kept_between_stages(tmp_path / "run") == kept_between_stages(demo)
    assert output(tmp_path / "run") == output(demo)


@pytest.mark.parametrize("unit_mb", [2, 64])
def test_how_the_work_is_cut_does_not_change_the_shards(demo, tmp_path, unit_mb):
    corpusmill.run(RECIPE, overrides=[f"run.unit_mb={unit_mb}"], folder=tmp_path / "run", executor=Serial())
    found, want = output(tmp_path / "run"), output(demo)
    shards = [name for name in want if "shards" in name or "parquet_tokens" in name or name == "waterfall.json"]
    assert {name: found[name] for name in shards} == {name: want[name] for name in shards}


def test_every_token_leads_to_its_document(demo):
    shards = open_shards(demo / "output" / "shards")
    assert shards.verify() == []
    place = shards.document_at(len(shards) // 2)
    assert shards.provenance(place.document)["source"] in ("pages", "wet", "extra")


def start(folder, workers):
    # A suite in the background of a shell ignores Ctrl-C, one under nohup SIGHUP, and what it starts would inherit that.
    before = {sent: signal.signal(sent, signal.default_int_handler) for sent in (signal.SIGINT, signal.SIGHUP)}
    try:
        return chaos.start(CHAOS, folder, workers)
    finally:
        for sent, handler in before.items():
            signal.signal(sent, handler)


@pytest.mark.parametrize("executor", chaos.EXECUTORS)
def test_killed_anywhere_it_goes_on_to_the_same_bytes(small, tmp_path, request, capsys, executor):
    """Workers, driver, fork server or all of them, in every stage and behind the last, with kill -9, TERM and Ctrl-C, and
    workers that share a run, stopped until others have taken over, up to six times in one run; no file, process or
    traceback is left. `make chaos` kills 200 times."""
    wanted, count = request.config.getoption("--executor"), request.config.getoption("--kills")
    if wanted not in (None, "all", executor):
        pytest.skip(f"--executor {wanted}")
    if wanted is None and executor != "processes":
        count = min(count, 1)  # others are for `make chaos`
    seen: dict[str, Any] = {}

    def check(folder):
        found = output(folder), chaos.files(folder)
        want = seen.setdefault("undisturbed", found)
        assert found[0] == want[0]
        assert found[1] == want[1]
        shutil.rmtree(folder)

    seed = request.config.getoption("--chaos-seed")
    table = chaos.many(seed, count, CHAOS, tmp_path, check, executor)
    assert seen["undisturbed"][0] == output(small)
    with capsys.disabled():
        print(f"\n{table}")


@IN_PROC
def test_only_a_worker_is_killed_and_the_run_goes_on(small, tmp_path):
    run = start(tmp_path / "run", 2)
    deadline = time.monotonic() + 60
    while not (victims := workers_of(run.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(victims[-1], signal.SIGKILL)
    _, message = run.communicate()
    assert run.returncode == 0, message
    assert output(tmp_path / "run") == output(small)


@IN_PROC
def test_who_is_asked_to_end_says_one_line_and_the_run_continues(small, tmp_path):
    """One run, three times: by Ctrl-C, by SIGTERM, and by a terminal that is closed."""

    def written():
        return sum(1 for kind in ("plans", "commits") for _ in tmp_path.glob(f"run/stages/*/{kind}/*"))

    asked = [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
    ]
    for sent, status, word in asked:
        before = written()
        run = start(tmp_path / "run", 2)
        deadline = time.monotonic() + 60
        while not (begun := written() > before) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert begun
        os.killpg(run.pid, sent)  # as a terminal does: to the driver, the fork server and the workers
        _, message = run.communicate()
        assert run.returncode == status, message
        assert f"{word}. What is committed is safe: run the same command again to continue." in message
        assert "Traceback" not in message
        assert workers_of(run.pid) == []
    run = start(tmp_path / "run", 2)
    _, message = run.communicate()
    assert run.returncode == 0, message
    assert output(tmp_path / "run") == output(small)


def workers_of(session):
    """The processes of a session but for the driver, the fork server and the resource tracker: newest last."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(process.name))
        except OSError:
            continue
    return sorted(found)[3:]


def test_a_changed_step_repeats_only_what_depends_on_it(tmp_path):
    def units(overrides=()):
        done = corpusmill.run(RECIPE, overrides=overrides, folder=tmp_path / "run", executor=Serial())
        return {stage: counts.done_now for stage, counts in done.units.items()}

    everything = units()
    assert all(everything.values())
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("stages/*/commits/*.json")}
    done = units(["steps.minhash.threshold=0.7", "steps.minhash.bands=16", "steps.minhash.rows=7"])
    again = {stage for stage, count in done.items() if count}
    assert "minhash-verdicts" in again and "shards" in again
    assert not again & {"pass-1", "exact-group", "exact-verdicts"}
    assert all(path.stat().st_mtime_ns == at for path, at in written.items())
    assert not any(units().values())  # and back again: everything is there already


def test_a_change_that_changes_nothing_stops_there(tmp_path):
    """Verdicts are made again with another threshold; no document is judged otherwise, so nothing else is done."""

    def units(threshold):
        overrides = [f"steps.minhash.threshold={threshold}"]
        done = corpusmill.run(RECIPE, overrides=overrides, folder=tmp_path / "run", executor=Serial())
        return {stage: counts.done_now for stage, counts in done.units.items() if counts.done_now}

    units(0.8)
    assert set(units(0.7999)) == {"minhash-group", "minhash-decide"}
