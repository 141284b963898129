"""Records that end the worker they come to are set aside, and the run goes on."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

import corpusmill as mill
from corpusmill.errors import BudgetError, UnitError
from corpusmill.execute.serial import Serial
from corpusmill.store.run_folder import RunFolder

HERE = Path(__file__).parent
DOCUMENTS = 40
ENDS = {3: "segfault", 11: "exit", 12: "kill", 30: "memory"}  # number of a document -> how it ends its worker
WORDS = {
    "segfault": ("killed_worker", "its worker died with exit status -11 (SIGSEGV: native code crashed)"),
    "exit": ("killed_worker", "its worker died with exit status 3"),
    "kill": ("killed_worker", "its worker died with exit status -9 (killed; often because memory ran out)"),
    "memory": ("out_of_memory", "memory ran out (MemoryError)"),
}


@pytest.fixture
def given(tmp_path):
    """given(ends) writes the documents, some of which end their worker, and returns the positions of these."""

    def write(ends):
        positions, at = [], 0
        with (tmp_path / "docs.jsonl").open("w", newline="\n") as file:
            for number in range(DOCUMENTS):
                mark = f" KILLER {ends[number]}" if number in ends else ""
                positions.append(at)
                at += file.write(json.dumps({"text": f"Document {number} of the town by the river.{mark}"}) + "\n")
        return [positions[number] for number in ends]

    return write


def recipe(folder, steps, reader="jsonl", file="docs.jsonl", budget="1.0"):
    listed = "".join(f"  - {step}\n" for step in steps)
    path = folder / "recipe.yaml"
    read = f"{reader}: {{paths: {folder / file}}}"
    path.write_text(f"read: {{{read}}}\nsteps:\n{listed}write: [jsonl]\nrun: {{error_budget: {budget}}}\n")
    return path


def serial(path, name="run"):
    return mill.run(path, folder=path.parent / name, executor=Serial())


def processes(path, workers, name="run"):
    """What is said by a command whose workers have all that they need in memory when they begin."""
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(path), "--workers", str(workers), "--folder"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    folder = path.parent / name
    run = subprocess.run([*command, str(folder)], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return folder, run.stdout + run.stderr


def letters(folder):
    files = sorted(folder.glob("stages/pass-*/dead/*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def lines(folder):
    packed = (file.read_bytes() for file in sorted(folder.glob("output/jsonl/*.zst")))
    return b"".join(zstandard.ZstdDecompressor().decompressobj().decompress(each) for each in packed).splitlines()


def files(folder):
    """What the run wrote and what its stages left for each other, by checksum."""
    results = RunFolder(str(folder)).results()
    left = {(name, o): each.checksums.to_pylist() for name, r in results.items() for o, each in r.outputs.items()}
    return left, (folder / "waterfall.json").read_bytes(), lines(folder)


@pytest.mark.parametrize(
    "before, behind",
    [([], []), (["dedup/exact"], []), (["killers:Extracts"], []), ([], ["killers:Extracts", "clean/normalize"])],
    ids=["the first pass", "a later pass", "behind an extraction", "before an extraction"],
)
def test_documents_that_end_their_worker_are_dead_letters_and_all_others_come_out(tmp_path, given, before, behind):
    positions = given(ENDS)
    path = recipe(tmp_path, [*before, "killers:Kills", *behind])
    folder, said = processes(path, 2)
    found = letters(folder)
    assert [(row["position"], row["kind"]) for row in found] == [
        (at, WORDS[how][0]) for at, how in zip(positions, ENDS.values())
    ]
    assert {(row["step"], row["expected"]) for row in found} == {("kills", False)}
    for row, how in zip(found, ENDS.values()):
        assert row["reason"] == f"{WORDS[how][1]}, each time that this document was tried alone"
    assert {row["id"] for row in found}.isdisjoint(json.loads(line)["id"] for line in lines(folder))
    assert len(lines(folder)) == DOCUMENTS - len(ENDS)
    assert f"set aside as killed_worker: {tmp_path / 'docs.jsonl'}:{positions[0]}, at kills: its worker died" in said
    assert not any(counts.done_now for counts in serial(path).units.values())
    if "dedup/exact" not in before:
        assert files(processes(path, 1, "alone")[0]) == files(folder)


def test_kills_in_a_row_that_are_not_the_documents_fault_lose_nothing(tmp_path, given):
    """Five workers are killed with kill -9 at the same document: in two attempts at the unit, and while records of it
    are tried, the last two times while it is tried alone."""
    given({7: "kill"})
    counter = tmp_path / "times"
    folder, _ = processes(recipe(tmp_path, [f"killers:Kills: {{times: 5, counter: {counter}}}"]), 2)
    assert counter.stat().st_size > 5
    assert not letters(folder) and len(lines(folder)) == DOCUMENTS


def test_documents_that_do_no_harm_alone_are_not_set_aside(tmp_path, given):
    given({7: "crowd"})
    with pytest.raises(UnitError, match="MemoryError; none of the records at work then, tried alone, ends its worker"):
        serial(recipe(tmp_path, ["killers:Kills"]))
    assert not list(tmp_path.glob("run/stages/*/aside/*"))


def test_lines_that_their_reader_does_not_survive(tmp_path, given):
    ends = {7: "segfault", 23: "raise"}
    positions = given(ends)
    folder, _ = processes(recipe(tmp_path, ["clean/normalize"], "killers:Reader"), 2)
    kinds = ["killed_worker", "reader_failed"]
    assert [(row["position"], row["kind"], row["step"]) for row in letters(folder)] == [
        (at, kind, "Reader") for at, kind in zip(positions, kinds)
    ]
    assert len(lines(folder)) == DOCUMENTS - 2


def test_of_a_file_that_cannot_be_cut_what_came_before_is_kept(tmp_path, given):
    given({7: "raise"})
    (tmp_path / "docs.jsonl.gz").write_bytes(gzip.compress((tmp_path / "docs.jsonl").read_bytes()))
    done = serial(recipe(tmp_path, ["clean/normalize"], "killers:Reader", "docs.jsonl.gz"))
    assert len(lines(done.folder)) == 7
    [letter] = letters(done.folder)
    assert "what follows in the range from 0 to the end of the file is lost" in letter["reason"]


@pytest.mark.parametrize("before", [[], ["dedup/exact"]], ids=["the first pass", "a later pass"])
def test_an_error_budget_ends_the_run_at_once_and_at_the_next_call(tmp_path, given, before):
    first, second = given({7: "memory", 23: "memory"})
    path = recipe(tmp_path, [*before, "killers:Kills"], budget="0")
    where = f"{tmp_path / 'docs.jsonl'}:{first}, at kills: memory ran out"
    with pytest.raises(BudgetError, match=f"processed: 1; run.error_budget allows 0. The last: {where}"):
        serial(path)
    with pytest.raises(BudgetError, match=f"processed: 2; .* allows 0. The last: .*:{second}, at"):
        serial(path)
    with pytest.raises(BudgetError, match=r"2 of 40 records could not be processed \(2 (out_of_memory|kills failed)\)"):
        serial(path)
    assert len(lines(serial(recipe(tmp_path, [*before, "killers:Kills"], budget="2")).folder)) == DOCUMENTS - 2


def test_what_was_set_aside_can_be_tried_again(tmp_path, given, corpusmill):
    given({7: "memory"})
    path = recipe(tmp_path, [f"killers:Kills: {{times: 6, counter: {tmp_path / 'times'}}}"])
    command = ("run", path, "--folder", tmp_path / "run", "--set", "run.executor=serial")
    status, out, err = corpusmill(*command)
    assert status == 0 and "out_of_memory" in out and "set aside as out_of_memory" in err
    (tmp_path / "times").write_text("x" * 6)
    again = corpusmill(*command, "--retry-aside", "--json")[1]
    assert json.loads(again)["read"]["jsonl"]["documents"] == DOCUMENTS
    assert "nothing is set aside here" in corpusmill(*command, "--retry-aside")[2]
