"""Records of a stage that are not as they were written are refused with the name of their file."""

import json
import pickle
from pathlib import Path

import pytest
from works import Number, Square

from corpusmill.execute.serial import Serial
from corpusmill.execute.task import StageTask
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from corpusmill.store.run_records import DamagedRecord
from corpusmill.store.units import Unit

UNITS = [Unit(value - 1, f"{value:020x}", Number(value)) for value in (1, 2, 3)]
KEYS = [unit.key for unit in UNITS]


@pytest.fixture
def folder(tmp_path):
    """A stage whose units are done, with its plan and results."""
    run = RunFolder(str(tmp_path))
    run.make()
    Serial().run(StageTask(run, "squares-0", Square()), UNITS, lambda commit: None)
    stage = run.stage("squares-0")
    stage.finish(stage.plan(UNITS), stage.collect(KEYS), KEYS)
    return stage


def path_of(folder, kind):
    return sorted((Path(folder.place) / folder.name / kind).iterdir())[0]


def other_unit(content):
    return content.replace(KEYS[0].encode(), KEYS[1].encode())


@pytest.mark.parametrize(
    "harm",
    [
        lambda content: b"",
        lambda content: content[:-10],
        lambda content: b"[]",
        lambda content: b"null",
        lambda content: b"{}",
        lambda content: json.dumps({**json.loads(content), "seconds": 1}).encode(),
        lambda content: content.replace(b'"sum":1', b'"sum":5'),
        other_unit,
        lambda content: content + b" ",
    ],
)
def test_a_commit_that_changed_in_any_way_does_not_count(folder, harm):
    path = path_of(folder, "commits")
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(DamagedRecord, match=rf"{path.name}: it is no sound commit .* Run the recipe again"):
        folder.collect(KEYS)
    damaged: list[DamagedRecord] = []
    assert list(folder.collect(KEYS, damaged.append).units) == KEYS[1:]
    assert [error.name for error in damaged] == [str(path)]
    folder.put_away(str(path))
    assert list(folder.collect(KEYS).units) == KEYS[1:] and folder.earlier() == {}


def test_the_commit_of_another_unit_does_not_count(folder):
    first, second = sorted((Path(folder.place) / folder.name / "commits").iterdir())[:2]
    first.write_bytes(second.read_bytes())
    with pytest.raises(DamagedRecord, match=f"it is the commit of another unit, {KEYS[1]}"):
        folder.committed(KEYS[0])


@pytest.mark.parametrize("kind", ["commits", "plans", "results"])
def test_a_record_that_is_a_folder_is_damaged(folder, kind):
    path = path_of(folder, kind)
    path.unlink()
    path.mkdir()
    with pytest.raises(DamagedRecord, match="is a folder, not a file"):
        folder.committed(KEYS[0]), folder.plan(UNITS), folder.results(folder.plan(UNITS))
    folder.put_away(str(path))
    assert not path.exists()


@pytest.mark.parametrize("kind", ["plans", "results"])
@pytest.mark.parametrize("harm", [lambda content: b"", lambda content: content[:-9], lambda content: b"PAR1" * 9])
def test_plans_and_results_that_changed_do_not_count(folder, kind, harm):
    path = path_of(folder, kind)
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(DamagedRecord, match=path.name):
        folder.results(folder.plan(UNITS))
    folder.put_away(str(path))
    folder.finish(folder.plan(UNITS), folder.collect(KEYS), KEYS)
    assert folder.results(folder.plan(UNITS)).keys == tuple(KEYS)


def test_no_bit_of_results_can_change_unnoticed(folder):
    path = path_of(folder, "results")
    content = path.read_bytes()
    for at in range(0, len(content), 37):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(DamagedRecord):
            folder.results(folder.plan(UNITS))


def test_a_plan_that_was_changed_is_not_the_one_of_its_name(folder):
    other = RunFolder(str(Path(folder.place) / "other"))
    other.stage("squares-0").plan(UNITS[:2])
    path = path_of(folder, "plans")
    path.write_bytes(path_of(other.stage("squares-0"), "plans").read_bytes())
    with pytest.raises(DamagedRecord, match="does not match the checksum in its name"):
        folder.plan(UNITS)


def test_units_are_forgotten_with_the_results_that_hold_them(folder):
    plans = [folder.plan(UNITS), folder.plan(UNITS[1:])]
    folder.finish(plans[1], folder.collect(KEYS[1:]), KEYS[1:])
    before = folder.committed(KEYS[0])
    folder.forget_units(KEYS[:1])
    assert folder.results(plans[0]) is None and len(folder.results(plans[1])) == 2
    assert list(folder.collect(KEYS).units) == KEYS[1:] and folder.earlier() == {KEYS[0]: before}


def test_such_an_error_reaches_the_driver(folder):
    error = DamagedRecord("a/b.json", "not valid JSON")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_record_that_is_nested_without_end_is_damaged(folder):
    (Path(folder.place) / "stages.json").write_text("[" * 100_000, "utf-8")
    with pytest.raises(DamagedRecord, match="not valid JSON"):
        RunFolder(folder.place).read(STAGES_RECORD)
