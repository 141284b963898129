"""What an earlier session left, and is damaged: it is found before it is read, and done again, to the same bytes."""

import json
import os
import shutil
import threading
import time
from collections import defaultdict

import pytest

import corpusmill
from corpusmill import storage
from corpusmill.cli.run import closing
from corpusmill.engine.drive import damage
from corpusmill.engine.drive.damage import CheckOutputs, Repairs
from corpusmill.engine.drive.listener import Silent
from corpusmill.engine.plan.lower import lower
from corpusmill.errors import ResumeError, StorageError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.execute.task import StageTask
from corpusmill.ops.finish import DamagedOutput
from corpusmill.recipe.model import Recipe
from corpusmill.steps.dedup import _sketches
from corpusmill.store.arrays import CAN_ADVISE
from corpusmill.store.run_folder import RunFolder
from made_run import made_corpus, made_run, write_corpus


class Notes(Silent):
    """Keeps what it is told; `on_verify` is called before outputs are read back."""

    def __init__(self, on_verify=None):
        self.lines = []
        self._on_verify = on_verify

    def note(self, message):
        self.lines.append(message)
        if message.startswith("verify") and self._on_verify:
            self._on_verify()

    @property
    def warnings(self):
        return [line for line in self.lines if line.startswith("warning: ")]


@pytest.fixture
def copied(tmp_path):
    """A finished run that may be damaged."""
    return shutil.copytree(made_run(), tmp_path / "run")


def again(folder, recipe=None, executor=None):
    notes = Notes()
    done = corpusmill.run(recipe or made_corpus(), folder=folder, executor=executor or Serial(), listener=notes)
    return done, notes.warnings


def output(folder):
    files = [path for path in (folder / "output").rglob("*") if path.is_file()]
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return found | {"waterfall.json": (folder / "waterfall.json").read_bytes()}


def flip(path):
    """One bit in the middle; another file, for outputs have the same content under two names."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.unlink()
    path.write_bytes(content)


def stage(folder, name):
    (place,) = folder.glob(f"stages/{name}-????????")
    return place


def files_of(folder, name, kind):
    return sorted((stage(folder, name) / kind).iterdir())


def undo(folder, *names):
    """As if the run was killed before these stages."""
    for name in names:
        shutil.rmtree(stage(folder, name))
    shutil.rmtree(folder / "output")


@pytest.mark.parametrize(
    ("name", "kind", "follows"),
    [
        ("pass-1", "docs", "shards"),
        ("pass-1", "signals", "shards"),
        ("pass-1", "dropped", "shards"),
        ("pass-1", "keys-minhash", "minhash-group"),
        ("minhash-verdicts", "slices", "pass-2"),
        ("tokens", "tokens", "shards"),
    ],
)
def test_a_flipped_bit_is_found_and_the_unit_done_again(copied, name, kind, follows):
    undo(copied, follows)
    (damaged, *_) = files_of(copied, name, kind)
    flip(damaged)
    done, warnings = again(copied)
    assert output(copied) == output(made_run())
    (warning,) = warnings
    assert str(damaged) in warning and f"of {name} is done again" in warning and "XXH3-128 is" in warning
    assert done.units[name].done_now == 1 and done.units[follows].done_now >= 1
    assert json.loads((copied / "run.json").read_text())["damaged"] == list(done.damaged)
    assert not again(copied)[1], "what was done again is sound"


def test_all_files_of_all_stages_flipped_at_once(copied):
    """By workers; what was set aside is kept, and what was damaged is not."""
    undo(copied, "shards")
    everything = [path for kind in copied.glob("stages/*/*/") for path in kind.iterdir() if kind.name != "plans"]
    for path in everything:
        flip(path)
    done, warnings = again(copied, executor=Processes(2, preload=("corpusmill.engine.preload",)))
    assert output(copied) == output(made_run())
    assert all(counts.done_now == counts.units for counts in done.units.values()) and warnings
    assert len(list(stage(copied, "pass-1").glob("damaged/*"))) == 2
    assert not any(path.exists() for path in everything if path.parent.name not in ("commits", "results"))


@pytest.mark.parametrize(("memory", "forgotten"), [(1 << 40, False), (1, True)])
def test_what_memory_cannot_hold_does_not_stay_in_it_once_it_is_compared(copied, monkeypatch, memory, forgotten):
    undo(copied, "shards")
    (damaged, *_) = files_of(copied, "tokens", "tokens")
    flip(damaged)
    compared: dict[str, bool] = {}
    checksum = storage.checksum

    def spied(path, once=False):
        compared.setdefault(str(path), once)
        return checksum(path, once)

    monkeypatch.setattr(storage, "checksum", spied)
    monkeypatch.setattr("corpusmill.store.run_folder.memory", lambda: memory)
    _, warnings = again(copied)
    assert output(copied) == output(made_run()) and len(warnings) == 1
    assert compared[str(damaged)] is forgotten


@pytest.fixture
def compared(monkeypatch):
    """What is compared, in order, as (stage, output, what is kept in the page cache); and stages where they begin."""
    seen = []
    check = CheckOutputs.run_unit

    def spied(self, unit, *more):
        seen.append((unit.inputs.stage, unit.inputs.output, unit.inputs.keep))
        return check(self, unit, *more)

    monkeypatch.setattr(CheckOutputs, "run_unit", spied)
    monkeypatch.setattr(Notes, "stage", lambda self, stage, units, done: seen.append(stage.name))
    return seen


def test_an_output_is_compared_once_and_for_the_first_stage_that_reads_it(copied, compared):
    names = [path.name.rpartition("-")[0] for path in copied.glob("stages/*")]
    undo(copied, *(name for name in names if name not in ("pass-1", "exact-group", "exact-names", "exact-verdicts")))
    again(copied)
    known = [output for _, output, _ in (part for part in compared if isinstance(part, tuple) and part[0] == "pass-1")]
    assert len(known) == len(set(known)) and {"docs", "keys-minhash", "signals"} < set(known)
    at = {part[1] if part[0] == "pass-1" else part: number for number, part in enumerate(compared)}
    assert at["exact-verdicts"] < at["keys-minhash"] < at["minhash-group"]
    assert at["minhash-links"] < at["docs"] < at["minhash-shingles"]
    assert compared.index("minhash-shingles") < len(compared) - 1


def test_while_a_stage_is_at_work_the_system_reads_what_is_compared_for_the_next(copied, compared, monkeypatch):
    """If memory holds it, and the next stage was not begun: then it may have nothing to do."""
    wanted = {}
    reading_ahead = Repairs.reading_ahead

    def spied(self, results, reads):
        stage = [name for name in compared if isinstance(name, str)][-1]
        wanted[stage] = [(part.stage, part.output) for part in self._parts_to_check(results, reads)]
        return reading_ahead(self, results, reads)

    monkeypatch.setattr(Repairs, "reading_ahead", spied)
    names = [path.name.rpartition("-")[0] for path in copied.glob("stages/*")]
    later = [name for name in names if name not in ("pass-1", "exact-group", "exact-names", "exact-verdicts")]
    undo(copied, *later)
    again(copied)
    assert wanted["minhash-group"] == []  # the stage of links reads keys, which were compared just before
    assert wanted["minhash-links"] == [("pass-1", "docs")]
    undo(copied, "minhash-links", "minhash-decide")
    compared.clear()
    again(copied)
    assert wanted["minhash-links"] == [] and "minhash-decide" in wanted  # the stage of n-grams was begun


@pytest.mark.skipif(not CAN_ADVISE, reason="the system takes no advice")
@pytest.mark.parametrize("times", [4, 1])
def test_what_is_read_ahead_is_what_memory_holds(copied, monkeypatch, times):
    run = RunFolder(str(copied))
    results = {"pass-1": run.results()["pass-1"]}
    files = {path.stat().st_ino for path in files_of(copied, "pass-1", "docs")}
    size = sum(path.stat().st_size for path in files_of(copied, "pass-1", "docs"))
    monkeypatch.setattr("corpusmill.store.run_folder.memory", lambda: times * size)
    asked = set()
    monkeypatch.setattr(os, "posix_fadvise", lambda file, *advice: asked.add((os.fstat(file).st_ino, advice)))
    repairs = Repairs(run, lambda message: None)
    begun = set(threading.enumerate())
    with repairs.reading_ahead(results, {"pass-1": {"docs": ()}}):
        deadline = time.monotonic() + 30
        while times == 4 and len(asked) < len(files) and time.monotonic() < deadline:
            time.sleep(0.001)
    assert asked == {(file, (0, 0, os.POSIX_FADV_WILLNEED)) for file in files if times == 4}
    assert set(threading.enumerate()) <= begun


READ = ("offsets", "records", "keys", "row", "rank", _sketches.SKETCH_HASH)


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize(("times", "keep"), [(4, "all"), (1.9, "all"), (0.9, READ), (0, "nothing")])
def test_of_more_than_memory_holds_what_is_read_next_is_kept_in_the_page_cache(
    copied, compared, monkeypatch, times, keep, damaged
):
    monkeypatch.setattr(_sketches, "MANY_PARTITIONS", 1)
    again(copied)
    undo(copied, "minhash-shared")
    compared.clear()
    size = sum(path.stat().st_size for path in files_of(copied, "pass-1", "keys-minhash"))
    others = sum(
        path.stat().st_size for name in ("verdicts", "slices") for path in files_of(copied, "exact-verdicts", name)
    )
    monkeypatch.setattr("corpusmill.store.run_folder.memory", lambda: int(times * (size + others)))
    monkeypatch.setattr(damage, "HELD", 1.0)
    if damaged:  # it is no file of arrays any more: what it is of them cannot be told
        (path, *_) = files_of(copied, "pass-1", "keys-minhash")
        path.write_bytes(b"?" + path.read_bytes()[1:])
    _, warnings = again(copied)
    assert output(copied) == output(made_run()) and len(warnings) == damaged
    assert ("pass-1", "keys-minhash", keep) in compared


@pytest.mark.parametrize("many", [1, 32])
def test_units_read_no_output_but_those_that_their_stage_says(tmp_path, monkeypatch, many):
    """What they do not say is not compared before."""
    monkeypatch.setattr(_sketches, "MANY_PARTITIONS", many)
    read: dict[str, set[str]] = defaultdict(set)
    file, run_unit = RunFolder.file, StageTask.run_unit
    now: list[str] = []

    def spied(self, path):
        if now:
            read[now[-1]].add(str(path))
        return file(self, path)

    def named(self, *arguments):
        now.append(self.folder.rpartition("-")[0])
        try:
            return run_unit(self, *arguments)
        finally:
            now.pop()

    monkeypatch.setattr(RunFolder, "file", spied)
    monkeypatch.setattr(StageTask, "run_unit", named)
    recipe = write_corpus(tmp_path)
    again(tmp_path / "run", recipe)
    stages = {stage.name: stage for stage in lower(Recipe.load(recipe)).stages}
    assert sum(bool(stage.reads) for stage in stages.values()) == (6 if many == 1 else 4)
    for name, stage in stages.items():
        for before, outputs in stage.reads.items():
            found = {path.split("/")[2] for path in read[name] if path.split("/")[1].startswith(f"{before}-")}
            assert found <= set(outputs), name


@pytest.mark.parametrize("kind", ["rows.bin", "rows.idx", "documents"])
def test_a_damaged_output_is_found_when_it_is_verified(copied, kind):
    flip(files_of(copied, "shards", kind)[0])
    done, warnings = again(copied)
    assert output(copied) == output(made_run()) and len(warnings) == 1
    assert {name for name, counts in done.units.items() if counts.done_now} == {"shards"}


def cut(path):
    os.truncate(path, path.stat().st_size - 1)


def missing(path):
    path.unlink()


def folder_instead(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [cut, missing, folder_instead])
def test_a_file_that_is_not_there_as_it_was_is_written_again(copied, harm):
    harm(files_of(copied, "pass-1", "docs")[0])
    done, (warning,) = again(copied)
    assert output(copied) == output(made_run()) and "its commit says" in warning
    assert {name for name, counts in done.units.items() if counts.done_now} == {"pass-1"}


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "getuid") or os.getuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read_is_written_again(copied):
    undo(copied, "shards")
    files_of(copied, "tokens", "tokens")[0].chmod(0)
    _, (warning,) = again(copied)
    assert output(copied) == output(made_run()) and "Permission denied" in warning


def test_a_complete_run_reads_no_file_of_a_stage_that_nobody_reads(copied):
    """Only by their sizes would these be noticed."""
    for kind in ("keys-exact", "keys-minhash", "ids"):
        flip(files_of(copied, "pass-1", kind)[0])
    done, warnings = again(copied)
    assert not warnings and not any(counts.done_now for counts in done.units.values())


def test_damage_that_only_the_report_meets_is_repaired(copied):
    (signals, *_) = files_of(copied, "pass-1", "signals")
    content = signals.read_bytes()
    signals.unlink()
    signals.write_bytes(content[:4] + bytes(len(content) - 8) + content[-4:])
    _, (warning,) = again(copied)
    assert str(signals) in warning and output(copied) == output(made_run())
    assert signals.name not in [path.name for path in files_of(copied, "pass-1", "signals")]


def test_input_that_changed_unnoticed_is_told_of_when_its_unit_is_done_again(tmp_path):
    """Of the same size and date; then the run goes on with what is there now."""
    recipe = write_corpus(tmp_path)
    again(tmp_path / "run", recipe)
    changed = tmp_path / "extra.jsonl"
    before = changed.stat()
    changed.write_text(changed.read_text().replace("river", "rover"))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not again(tmp_path / "run", recipe)[1], "nobody has looked"
    for path in files_of(tmp_path / "run", "pass-1", "docs"):
        path.unlink()
    with pytest.raises(ResumeError, match=r"is not what it was: .* changed with the same size and date"):
        again(tmp_path / "run", recipe)
    again(tmp_path / "run", recipe)
    fresh, _ = again(tmp_path / "fresh", recipe)
    assert output(tmp_path / "run") == output(fresh.folder)


def test_records_of_the_run_that_are_damaged_are_named(copied):
    for name in ("run.json", "stages.json", "waterfall.json"):
        before = (copied / name).read_bytes()
        for content in (b"", b"{", b"7", b'[{"stage": 1}]', b"\xff\xfe"):
            (copied / name).write_bytes(content)
            (error,) = RunFolder(str(copied)).damaged_records()
            assert name in str(error) and "Run the recipe again in this folder" in str(error)
        (copied / name).write_bytes(before)


def test_a_run_whose_records_are_damaged_goes_on(copied):
    names = ["run.json", "stages.json", "waterfall.json"]
    for name in names:
        (copied / name).write_bytes((copied / name).read_bytes()[:-20])
    done, warnings = again(copied)
    assert [name in line for name, line in zip(names, warnings)] == [True] * 3
    assert not any(counts.done_now for counts in done.units.values()) and output(copied) == output(made_run())


def test_an_output_that_is_damaged_as_it_is_written_is_named(tmp_path):
    """The run says which folder is damaged, and fails; the next one makes it again."""
    recipe, folder = write_corpus(tmp_path), tmp_path / "run"

    def harm():
        with next((folder / "output/shards").glob("*.bin")).open("r+b") as file:
            file.write(b"\xff\xff")

    with pytest.raises(DamagedOutput, match=r"cannot be read back.*\.bin: XXH3-128") as failed:
        corpusmill.run(recipe, folder=folder, executor=Serial(), listener=Notes(harm))
    (checked,) = failed.value.run.checked
    assert (
        checked.problems and "DAMAGED: " in closing(failed.value.run) and "(verified" not in closing(failed.value.run)
    )
    done, (warning,) = again(folder, recipe)
    assert "rows.bin" in warning and "(verified: XXH3-128, token ids, documents)" in closing(done)


@pytest.mark.skipif(os.name == "nt", reason="limits of processes are of POSIX")
def test_a_limit_of_the_size_of_files_is_said_and_the_run_goes_on(tmp_path):
    import resource

    recipe = write_corpus(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        with pytest.raises(StorageError, match=r"larger than this process may write \(ulimit -f\)"):
            again(tmp_path / "run", recipe)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    again(tmp_path / "run", recipe)
    fresh, _ = again(tmp_path / "fresh", recipe)
    assert output(tmp_path / "run") == output(fresh.folder)


def test_a_folder_that_is_removed_while_it_is_written_to(tmp_path):
    class Removes(Notes):
        def commit(self, stage, commit):
            shutil.rmtree(tmp_path / "run", ignore_errors=True)

    with pytest.raises(ResumeError, match="run: the folder was removed, moved or renamed while the run was at work"):
        corpusmill.run(write_corpus(tmp_path), folder=tmp_path / "run", executor=Serial(), listener=Removes())


def test_a_run_that_was_copied_or_moved_is_complete_where_it_is(copied):
    done, warnings = again(shutil.move(copied, copied.parent / "moved"))
    assert not warnings and not any(counts.done_now for counts in done.units.values())
