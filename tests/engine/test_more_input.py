"""More input costs what it adds: units that do not depend on it are not done again."""

import json
import random
from pathlib import Path

import pytest

import corpusmill
from corpusmill.execute.serial import Serial

RECIPE = """
name: months
read:
  - jsonl: {{paths: "{folder}/*.jsonl"}}
steps:
  - clean/normalize
  - filter/gopher_quality: {{min_words: 3, min_stop_words: 0}}
  - dedup/exact
  - dedup/minhash
  - tokenize/bpe: {{tokenizer: gpt2}}
  - pack/concat: {{length: 64, remainder: drop}}
write:
  - jsonl: {{mb_per_file: 1}}
  - shards: {{tokens_per_shard: 1000000}}
"""
LETTERS = "abcdefghijklmnopqrst"
WORDS = ["".join(random.Random(i).choices(LETTERS, k=6)) for i in range(5000)]


def month(folder: Path, name: str, seed: int, megabytes: float = 4.5) -> None:
    """A file of documents that no other file has."""
    random_ = random.Random(seed)
    size = 0
    with (folder / name).open("w") as file:
        while size < megabytes * 1e6:
            line = json.dumps({"text": " ".join(random_.choices(WORDS, k=300)) + "."}) + "\n"
            size += len(line)
            file.write(line)


def units(folder: Path) -> dict[str, tuple[int, int]]:
    """Stage -> units that were done now, and all."""
    made = corpusmill.Recipe.parse(RECIPE.format(folder=folder))
    done = corpusmill.run(made, folder=folder / "run", executor=Serial())
    return {stage: (counts.done_now, counts.units) for stage, counts in done.units.items()}


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """What a run did, what it did after a file was added, and what a run from nothing writes."""
    folder = tmp_path_factory.mktemp("months")
    for number in range(5):
        month(folder, f"2024-{number:02d}.jsonl", number)
    first = units(folder)
    month(folder, "2024-05.jsonl", 5)
    return folder, first, units(folder)


def test_a_new_file_costs_its_own_units(grown):
    _, first, second = grown
    assert first["pass-1"] == (5, 5)
    assert second["pass-1"] == (1, 6)
    assert second["pass-2"] == (1, 6)
    assert second["tokens"] == (1, 6)
    assert second["exact-group"][0] == second["exact-group"][1]  # keys are grouped anew
    done, whole = second["shards"]
    assert done < whole  # the shards before the last are as they were
    done, whole = second["jsonl"]
    assert done < whole


def test_what_is_written_is_what_a_run_from_nothing_writes(grown, tmp_path):
    folder, _, _ = grown
    made = corpusmill.Recipe.parse(RECIPE.format(folder=folder))
    corpusmill.run(made, folder=tmp_path / "anew", executor=Serial())

    def output(run: Path) -> dict[str, bytes]:
        files = [path for path in (run / "output").rglob("*") if path.is_file()]
        return {path.relative_to(run).as_posix(): path.read_bytes() for path in files}

    assert output(folder / "run") == output(tmp_path / "anew")


def test_nothing_is_done_for_nothing_new(grown):
    folder, _, second = grown
    assert units(folder) == {stage: (0, whole) for stage, (_, whole) in second.items()}


def test_a_document_that_is_now_a_duplicate_is_dropped_where_it_is(tmp_path):
    """A copy of a kept document in a file that sorts before it: only the units that this concerns are written again."""
    for number in range(4):
        month(tmp_path, f"2024-{number:02d}.jsonl", number)
    units(tmp_path)
    lines = (tmp_path / "2024-02.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "2023-12.jsonl").write_text(lines[3])
    done = units(tmp_path)
    assert done["pass-1"] == (1, 5)
    assert done["pass-2"] == (2, 5)  # of the new file, and of the one that has the copy
    assert done["tokens"] == (2, 5)
