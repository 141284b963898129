"""A unit that reads a file of each unit before it has few of them open at a time: there may be thousands."""

import json
import mmap
import weakref

import pytest

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.steps import corpus

FEW = 8
open_now: "weakref.WeakSet[Watched]" = weakref.WeakSet()
most = [0]


class Watched(mmap.mmap):
    def __new__(cls, *args, **named):
        made = super().__new__(cls, *args, **named)
        open_now.add(made)
        most[0] = max(most[0], len(open_now))
        return made


def line(document: int) -> str:
    about = f"The weather of town {document // 2} was mild, and its people went to the market by the old bridge. "
    return json.dumps({"id": f"d{document}", "text": about * 4 + f"\nNumber {document % 2} of the town.\nRead more.\n"})


@pytest.mark.parametrize(
    "step",
    [
        {"dedup/minhash": {}},
        {"dedup/line": {"max_count": 2}},
        {"dedup/substring": {}},
        {"dedup/exact": {}},
        {"filter/top": {"by": "stats.words", "keep": 0.5}},
    ],
    ids=lambda step: next(iter(step)),
)
def test_few_files_of_arrays_are_open_at_a_time(tmp_path, monkeypatch, step):
    for number in range(60):
        lines = [line(4 * number + i) for i in range(4)]
        (tmp_path / f"{number:02d}.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(corpus, "RECORDS", 8)
    monkeypatch.setattr(corpus, "SLICE", 0)
    recipe = {
        "read": {"jsonl": {"paths": [str(tmp_path / "*.jsonl")]}},
        "steps": [{"annotate/stats": {}}, step],
        "write": {"jsonl": {}},
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))
    monkeypatch.setattr("corpusmill.store.arrays.mmap.mmap", Watched)
    open_now.clear()
    most[0] = 0
    corpusmill.run(tmp_path / "recipe.yaml", folder=tmp_path / "run", executor=Serial())
    assert 0 < most[0] <= FEW
