"""What a run no longer uses is listed with its size, and removed by one command; the run remains whole."""

import contextlib
import json
import re
import shutil
from pathlib import Path

import pytest

import corpusmill
from corpusmill import storage
from corpusmill.errors import RecipeError, RefusedFolder, ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.ops.unused import refuse_removed, remove_intermediate, remove_unused, unused
from corpusmill.report.run_files import RunFiles
from corpusmill.report.what_if import what_if
from corpusmill.store.run_folder import RunFolder
from made_run import made_corpus, made_run, unfinish

CHANGED = ["gopher_quality.min_words=10"]


@pytest.fixture
def run(tmp_path):
    """A run, and then the same with another threshold."""
    shutil.copytree(made_run(), tmp_path / "run", symlinks=True)
    folder = tmp_path / "run"
    corpusmill.run(made_corpus(), overrides=[f"steps.{each}" for each in CHANGED], folder=folder, executor=Serial())
    return RunFolder(str(folder))


def file_kinds(folder):
    """Each file without the attempt that wrote it."""
    return [
        re.sub(r"-[0-9a-f]{8,32}\.", ".", str(path.relative_to(folder))) for path in folder.rglob("*") if path.is_file()
    ]


def bytes_below(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def test_what_a_changed_threshold_leaves_is_listed_and_removed(run):
    entries = unused(run)
    assert [entry.stage for entry in entries if entry.whole] == ["pass-1"]
    assert {"minhash-verdicts", "pass-2", "shards"} <= {entry.stage for entry in entries if not entry.whole}
    before = bytes_below(run.path / "stages")
    assert remove_unused(run) == entries and unused(run) == [] == remove_unused(run)
    # Of a stage that is gone, its description goes as well.
    assert 0 <= before - bytes_below(run.path / "stages") - sum(entry.bytes for entry in entries) < 20_000
    again = corpusmill.run(RunFiles(run.path).recipe, folder=run.path, executor=Serial())
    assert not any(counts.done_now for counts in again.units.values())  # nothing was missing
    what_if(run.path, ["gopher_quality.min_words=40"])


def test_what_is_left_is_what_a_run_from_nothing_has(run, tmp_path):
    remove_unused(run)
    recipe = RunFiles(run.path).recipe
    other = corpusmill.run(recipe, folder=tmp_path / "other", executor=Serial()).folder
    names = [sorted(file_kinds(folder / "stages")) for folder in (run.path, other)]
    assert names[0] == names[1]


def test_killed_at_any_file_the_run_is_whole_and_the_same_call_completes_it(run, monkeypatch):
    removed = 0
    remove = storage.remove

    def killed(path):
        nonlocal removed
        removed += 1
        if removed % 3 == 0:
            raise KeyboardInterrupt
        remove(path)

    monkeypatch.setattr(storage, "remove", killed)
    while unused(run):
        with contextlib.suppress(KeyboardInterrupt):
            remove_unused(run)
        RunFiles(run).must_be_finished()
    assert removed > 9
    monkeypatch.undo()
    again = corpusmill.run(RunFiles(run.path).recipe, folder=run.path, executor=Serial())
    assert not any(counts.done_now for counts in again.units.values())


def test_what_was_removed_is_made_again_to_the_same_bytes(run):
    remove_unused(run)
    shutil.copytree(run.path / "output", run.path.parent / "other")
    corpusmill.run(made_corpus(), folder=run.path, executor=Serial())
    for path in (made_run() / "output").rglob("*.*"):
        assert (run.path / path.relative_to(made_run())).read_bytes() == path.read_bytes()


def test_of_a_run_that_is_not_finished_nothing_is_removed(run):
    unfinish(run.path, "pass-2")
    for call in (unused, remove_unused):
        with pytest.raises(ResumeError, match="the run is not finished: "):
            call(run)


def test_files_of_others_stay_and_are_named(run):
    place = run.path / "stages" / next(entry for entry in unused(run) if entry.whole).folder / "mine.txt"
    place.write_text("notes")
    with pytest.raises(RefusedFolder, match=r"mine\.txt"):
        remove_unused(run)
    assert place.exists() and unused(run)


def test_the_command_lists_then_removes(run, corpusmill):
    status, out, _ = corpusmill("remove", run.place, "--unused", "--dry-run")
    assert status == 0 and "would be removed" in out and "pass-1-" in out
    _, out, _ = corpusmill("remove", run.place, "--unused", "--dry-run", "--json")
    listed = json.loads(out)
    assert not listed["removed"] and len(listed["unused"]) == len(unused(run)) > 1
    status, out, _ = corpusmill("remove", run.place, "--unused")
    assert status == 0 and " removed: " in out
    status, out, _ = corpusmill("remove", run.place, "--unused")
    assert status == 0 and "uses all that its stages hold" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--unused", "in.jsonl"), "--unused removes what the run does not use, and takes no PATTERN"),
        (("--unused", "--workers", "2"), "--workers is for removing inputs, and --unused removes none"),
        ((), "nothing to remove: name inputs of the run, or give --unused"),
    ],
)
def test_what_makes_no_sense_together_is_refused(run, corpusmill, words, message):
    status, _, err = corpusmill("remove", run.place, *words)
    assert status == 2 and message in " ".join(err.split())


@pytest.fixture
def lean(tmp_path):
    """A finished run that keeps its output."""
    corpusmill.run(made_corpus(), overrides=KEEPS_OUTPUT, folder=tmp_path / "lean", executor=Serial())
    return RunFolder(str(tmp_path / "lean"))


KEEPS_OUTPUT = ["run.keep=output"]


def outputs_of(folder):
    return {path.name: path.read_bytes() for path in Path(folder, "output").rglob("*") if path.is_file()}


def names_of_freed(run):
    return {path.parent.name for path in run.path.glob("stages/*/*/freed")}


def test_a_run_that_keeps_its_output_is_smaller_and_answers_all_questions(lean):
    whole = RunFolder(str(made_run()))
    assert names_of_freed(lean) == {"ids", "keys-exact", "keys-minhash", "shingles"}
    for output in ("ids", "keys-exact", "keys-minhash", "shingles"):
        files = [path for path in lean.path.glob(f"stages/*/{output}/*") if path.name != "freed"]
        assert not files and list(whole.path.glob(f"stages/*/{output}/*"))
    assert outputs_of(lean.path) == outputs_of(whole.path)
    assert what_if(lean.path, CHANGED).kept == what_if(whole.path, CHANGED).kept
    assert corpusmill.open(lean.path).dropped()


def test_the_same_again_makes_nothing_again(lean):
    again = corpusmill.run(made_corpus(), overrides=KEEPS_OUTPUT, folder=lean.path, executor=Serial())
    assert not any(counts.done_now for counts in again.units.values()) and not again.damaged


@pytest.mark.parametrize("overrides", [["run.keep=all"], ["steps.minhash.threshold=0.7"], ["steps.concat.length=256"]])
def test_what_a_change_reads_is_made_again(lean, tmp_path, overrides):
    """Without a word of damage, and with the bytes of a run from nothing."""
    again = corpusmill.run(made_corpus(), overrides=overrides, folder=lean.path, executor=Serial())
    assert any(counts.done_now for counts in again.units.values()) and not again.damaged
    still = names_of_freed(lean)
    assert still < {"ids", "keys-exact", "keys-minhash", "shingles"} and not (still and "run.keep=all" in overrides)
    other = corpusmill.run(made_corpus(), overrides=overrides, folder=tmp_path / "other", executor=Serial())
    assert outputs_of(lean.path) == outputs_of(other.folder)


def test_what_a_killed_removal_left_is_removed_by_the_next_run(lean, monkeypatch):
    corpusmill.run(made_corpus(), overrides=["run.keep=all"], folder=lean.path, executor=Serial())
    removed = storage.remove

    def dies(path):
        if len(names_of_freed(lean)) == 2:
            raise KeyboardInterrupt
        removed(path)

    monkeypatch.setattr(storage, "remove", dies)
    with pytest.raises(KeyboardInterrupt):
        remove_intermediate(lean)
    monkeypatch.undo()
    again = corpusmill.run(made_corpus(), overrides=KEEPS_OUTPUT, folder=lean.path, executor=Serial())
    assert not again.damaged and len(names_of_freed(lean)) == 4


def test_deduplication_against_it_says_what_it_lacks(lean):
    with pytest.raises(RecipeError, match=r"its keys were removed when it had finished \(run.keep: output\)"):
        corpusmill.run(made_corpus(), overrides=[f"steps.minhash.against={lean.path}"], folder=lean.path / "other")


def test_workers_that_share_a_run_are_told_what_it_lacks(lean):
    with pytest.raises(ResumeError, match=r"workers that share a run do not make them again.*--set run.keep=all"):
        refuse_removed(lean)
    corpusmill.run(made_corpus(), overrides=["run.keep=all"], folder=lean.path, executor=Serial())
    refuse_removed(lean)
