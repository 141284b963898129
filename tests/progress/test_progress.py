"""What a person sees of a run while it is at work."""

import io
import json
import os
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import corpusmill
from corpusmill import progress
from corpusmill.display import setting
from corpusmill.engine.drive.meter import BeatListener, Meter, StageProgress
from corpusmill.errors import RecipeError
from corpusmill.execute import WorkerStatus, cpus, ignored
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.progress.bars import Bars, view
from corpusmill.progress.json_lines import JsonLines
from corpusmill.progress.lines import ProgressLines, line
from corpusmill.store.beats import Beat, Heart
from corpusmill.store.units import Unit
from corpusmill.store.work import Stage
from corpusmill.trackers import Together

HALFWAY = StageProgress(
    stage="minhash-shingles",
    number=5,
    stages=11,
    units=1234,
    units_done=617,
    working=3,
    workers=4,
    share=0.5,
    seconds=95.0,
    left=95.0,
    documents=123456,
    kept=61728,
    text=800_000_000,
    documents_per_second=12345.6,
    text_per_second=7_900_000.0,
    memory=1_200_000_000,
    overall=0.42,
    overall_left=3725.0,
)
STAGE = Stage("minhash-shingles", None, (), lambda upstream: [])


def drawn(what, width):
    file = io.StringIO()
    Console(file=file, width=width, force_terminal=True, color_system=None).print(what)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_bars_fit_into_the_terminal(width):
    lines = drawn(view(HALFWAY, width), width)
    assert max(map(len, lines)) <= width
    if width >= 60:
        assert lines[0].split()[0] == "run" and "42 %" in lines[0] and "stage 5 of 11" in lines[0]
        assert lines[1].startswith("minhash-shingles") and "617/1,234 units" in lines[1] and "1:35 left" in lines[1]
        said = " ".join(lines)
        for fact in ("12,346 documents/s", "7.9 MB/s of text", "50.0 % kept", "3 of 4 workers", "1.2 GB memory"):
            assert fact in said


def test_bars_leave_a_line_for_a_stage_and_nothing_else():
    file = io.StringIO()
    with Bars(Console(file=file, width=60, force_terminal=True, color_system=None)) as bars:
        bars.planned([STAGE])
        bars.stage(STAGE, 1234, 0)
        bars.beat(HALFWAY)
        bars.note("[bold] is no markup here")
        bars.beat(replace(HALFWAY, units_done=1234, working=0, share=1.0, left=0.0))
    text = file.getvalue()
    assert "[bold] is no markup here" in text
    assert "minhash-shingles: 1,234/1,234 units, 95.0 s, 123,456" in text
    assert text.endswith("\x1b[2K"), "the bars are gone"
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h"), "the cursor is back"


def test_a_line_says_what_bars_do():
    assert line(HALFWAY) == (
        "minhash-shingles: 617/1,234 units, 50 %, 95 s, 12,346 documents/s, 7.9 MB/s of text, 50.0 % kept, "
        "3 of 4 workers, 1.2 GB memory, 1:35 left; run: stage 5 of 11, about 42 %, 1:02:05 left"
    )


def test_stages_that_are_done_are_one_line():
    said: list[str] = []
    lines = ProgressLines(said.append, interval=0)
    for _ in range(3):
        lines.stage(STAGE, 6, 6)
        lines.beat(replace(HALFWAY, units=6, units_done=6))
    lines.stage(STAGE, 6, 2)
    assert said == ["3 stages already done", "minhash-shingles: 2 of 6 units already done"]


def test_the_end_of_a_stage_is_told_once():
    told: list[StageProgress] = []
    plan: Any = SimpleNamespace(stages=[STAGE], passes=[])
    meter, unit = Meter(plan, told.append), Unit(0, "key", None)
    meter.stage(0, [unit], [unit])
    meter.elsewhere("key")
    meter.pulse(WorkerStatus(1, [], None))  # of a worker that has nothing more to do
    assert [progress.units_done for progress in told] == [0, 1]


def test_json_is_an_object_a_line():
    said: list[str] = []
    with pytest.raises(RuntimeError), JsonLines(said.append) as shown:
        shown.planned([STAGE])
        shown.stage(STAGE, 6, 2)
        shown.beat(HALFWAY)
        shown.note("ä\n")
        raise RuntimeError
    events = [json.loads(line) for line in said]
    assert [event["event"] for event in events] == ["planned", "stage", "progress", "note", "end"]
    assert events[2] == {"event": "progress", **vars(HALFWAY)}
    assert events[3]["message"] == "ä\n" and not events[4]["completed"]


@pytest.mark.parametrize("mode", ["bar", 1.5])
def test_another_mode_is_refused(mode):
    with pytest.raises(RecipeError, match="Use one of: auto, bars, lines, json, off"):
        progress.display(mode)


@pytest.mark.parametrize(
    ("terminal", "kind", "shown"),
    [(True, "xterm", "Bars"), (True, "dumb", "ProgressLines"), (False, "xterm", "ProgressLines")],
)
def test_what_is_shown_follows_from_where(monkeypatch, terminal, kind, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", kind)
    assert type(progress.display(True)).__name__ == shown


def test_a_heart_beats_twice_a_second_at_most():
    beats: list[Beat] = []
    heart = Heart(beats.append)
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        heart.add(1, 1)
        heart.at(1, 2)
    assert 1 <= len(beats) <= 2 and beats[0].documents == beats[0].kept > 1 and beats[0].share == 0.5
    assert Beat(5, 0).share == 0.0 and Beat(9, 3).share == 1.0


# ------------------------------------------------------------- beats of a run


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self):
        self.beats, self.notes, self.stages = [], [], []

    def compiling(self):
        pass

    def compiled(self, kernels, of):
        pass

    def planned(self, stages):
        self.stages = [stage.name for stage in stages]

    def stage(self, stage, units, done):
        pass

    def commit(self, stage, commit):
        pass

    def beat(self, progress):
        self.beats.append(progress)

    def note(self, message):
        self.notes.append(message)


class FourMethods:
    """A listener as they were before there were beats."""

    def __init__(self):
        self.commits, self.notes = 0, []

    def compiling(self):
        pass

    def stage(self, stage, units, done):
        pass

    def commit(self, stage, commit):
        self.commits += 1

    def note(self, message):
        self.notes.append(message)


@pytest.fixture(scope="module")
def slow_recipe(tmp_path_factory):
    """A recipe of one unit, 3000 documents in two batches, with a step that takes 1.2 s for each."""
    folder = tmp_path_factory.mktemp("slow")
    rows = "".join(json.dumps({"text": f"a river and the stone number {i}"}) + "\n" for i in range(3000))
    (folder / "in.jsonl").write_text(rows, "utf-8")
    (folder / "slow.yaml").write_text(
        f"name: slow\nread: {{jsonl: {folder}/in.jsonl}}\nsteps:\n  - slow_step:Waits\n  - dedup/exact\n"
        "write: [jsonl]\n",
        "utf-8",
    )
    (folder / "slow_step.py").write_text(
        "import time\nfrom dataclasses import dataclass\nimport pyarrow as pa\n\n\n"
        "@dataclass(frozen=True)\nclass Waits:\n    needs = ()\n\n    def reasons(self, docs, signals):\n"
        "        time.sleep(1.2 if len(docs) else 0)\n"
        "        return pa.array(['odd' if i % 3 == 0 else None for i in range(len(docs))], pa.string())\n",
        "utf-8",
    )
    return folder / "slow.yaml"


def commits(folder: Path):
    """Of every unit: its files by checksum, counts and notes."""
    found = {}
    for path in sorted(folder.glob("stages/*/commits/*.json")):
        record = json.loads(path.read_text("utf-8").splitlines()[0])
        record = record.get("record", record)
        outputs = {name: (output["rows"], output["checksum"]) for name, output in record["outputs"].items()}
        notes = {name: value for name, value in record["notes"].items() if not name.startswith("ms_in.")}
        found[f"{path.parent.parent.name}/{path.name}"] = outputs, record["facts"], notes
    return found


@pytest.mark.skipif(os.name == "nt", reason="workers find the step by the path of this process")
def test_beats_come_from_inside_a_unit_and_change_nothing(slow_recipe, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(slow_recipe.parent))
    serial, parallel, old = Heard(), Heard(), FourMethods()
    corpusmill.run(slow_recipe, folder=tmp_path / "serial", executor=Serial(), listener=serial)
    with closing(Processes(2)) as executor:
        corpusmill.run(slow_recipe, folder=tmp_path / "parallel", executor=executor, listener=parallel)
    corpusmill.run(slow_recipe, folder=tmp_path / "without", executor=Serial(), listener=old)
    for heard in (serial, parallel):
        assert isinstance(heard, BeatListener) and heard.stages[0] == "pass-1"
        inside = [beat for beat in heard.beats if beat.stage == "pass-1" and not beat.units_done and beat.documents]
        assert inside, "a beat from a unit that is not committed"
        assert 0 < inside[0].share < 1 and inside[0].working == 1 and inside[0].documents < 3000
        assert inside[0].kept and inside[0].text_per_second and 0 < inside[0].overall < 1
        last = [beat for beat in heard.beats if beat.stage == "pass-1"][-1]
        assert (last.documents, last.kept, last.share, last.units_done) == (3000, 2000 - 1, 1.0, 1)
        assert heard.beats[-1].overall == 1.0
        assert all(one.overall <= other.overall + 1e-9 for one, other in zip(heard.beats, heard.beats[1:]))
    if Path("/proc/self/statm").exists():
        assert parallel.beats[-1].memory > 1 << 20
    assert old.commits and not isinstance(old, BeatListener)
    assert len(commits(tmp_path / "serial")) >= 4
    assert commits(tmp_path / "serial") == commits(tmp_path / "parallel") == commits(tmp_path / "without")


class Lacks(Serial):
    """A cluster in which a node is missing for a while, at the checks and in each stage."""

    def check(self, checks):
        self._say("node with a processor")
        super().check(checks)

    def run(self, task, units, on_commit, on_aside=ignored):
        for missing in ("node with a GPU", "node with a GPU", "", "node with a GPU", ""):
            self._say(missing)
        return super().run(task, units, on_commit, on_aside)

    def _say(self, missing):
        assert self.on_pulse is not None
        self.on_pulse(WorkerStatus(1, [], waits_for=missing))


@pytest.mark.parametrize(
    "listener", [FourMethods(), Heard(), Together(FourMethods())], ids=lambda one: type(one).__name__
)
def test_every_listener_is_told_what_a_cluster_lacks_once_as_long_as_it_does(tmp_path, listener):
    (tmp_path / "in.jsonl").write_text('{"text": "a river"}\n', "utf-8")
    recipe = tmp_path / "r.yaml"
    recipe.write_text(f"read: {{jsonl: {tmp_path}/in.jsonl}}\nwrite: [jsonl]\n", "utf-8")
    executor = Lacks()
    corpusmill.run(recipe, folder=tmp_path / "run", executor=executor, listener=listener)
    (hears,) = getattr(listener, "listeners", [listener])
    waits = "no unit can run: the cluster has no node with a {}. Waiting for one; Ctrl-C ends this"
    said = [note for note in hears.notes if note.startswith("no unit can run")]
    assert said == [waits.format("processor"), *[waits.format("GPU")] * 4]  # of two stages
    assert executor.on_pulse is None  # nobody listens any more


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_a_terminal_shows_documents_of_a_unit_that_is_not_done(slow_recipe, tmp_path):
    import pty

    here, there = pty.openpty()
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(slow_recipe), "--folder", str(tmp_path / "run")]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "60", "PYTHONPATH": os.pathsep.join(sys.path)}
    running = subprocess.Popen(
        command, stderr=there, stdout=subprocess.DEVNULL, env=environment, cwd=slow_recipe.parent
    )
    os.close(there)
    shown = b""
    while True:
        try:
            shown += os.read(here, 1 << 16)
        except OSError:  # the terminal is closed
            break
    os.close(here)
    assert running.wait() == 0
    text = shown.decode()
    drawn_while_at_work = [screen for screen in text.split("stage 1 of ") if "0/1 units" in screen]
    assert any("documents/s" in screen and "kept" in screen for screen in drawn_while_at_work)
    assert "pass-1: 1/1 units" in text and "Traceback" not in text


# ------------------------------------------------------------- workers that have nothing to do


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (10, ", too small for more"),
        (40_000, " of at most 8 MB of text. For smaller ones: {}"),
    ],
)
def test_workers_without_work_are_named_with_the_setting_that_helps(tmp_path, lines, why):
    (tmp_path / "in.jsonl").write_text(f'{{"text": "{"stone and river " * 4}"}}\n' * lines, "utf-8")
    recipe = tmp_path / "few.yaml"
    recipe.write_text(f"read: {{jsonl: {tmp_path}/in.jsonl}}\nrun: {{executor: serial}}\n", "utf-8")
    heard = Heard()
    corpusmill.run(recipe, folder=tmp_path / "run", workers=999, listener=heard)
    asked, few = (note for note in heard.notes if "workers" in note)
    assert asked.startswith("999 workers were asked for, and this process may use ")
    helps = setting("run.unit_mb", 1)  # an option only where a test has called the command line before
    assert few == f"1 of 999 workers have work in the first pass: the input is 1 unit{why.format(helps)}"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu.max": "damaged"}, None),
        ({}, None),
    ],
)
def test_the_limit_of_a_container_is_read(tmp_path, files, quota):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpus.cgroup_quota(tmp_path) == quota


def test_a_finished_run_says_so_and_starts_no_worker(two_sources, monkeypatch):
    heard = Heard()
    monkeypatch.setattr(Serial, "run", None)
    monkeypatch.setattr(Processes, "__init__", None)
    report = (two_sources / "report.html").stat().st_mtime_ns
    done = corpusmill.run(two_sources.parent / "two.yaml", folder=two_sources, listener=heard)
    assert any(note.startswith("nothing to do: ") for note in heard.notes)
    assert not any(counts.done_now for counts in done.units.values())
    assert (two_sources / "report.html").stat().st_mtime_ns == report
