"""The comparison of dedup steps counts what each found, and what two of them both found."""

import json
from pathlib import Path

import pytest

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.report.figures.duplicates import dedup_steps
from corpusmill.report.tables import RunTables

LONG = "It was the river that brought us here, and the river will take us home when the summer is over and done with."
MENU = "Read our notice on the use of this site and of what it keeps."


def records():
    """Two equal documents, one that has another word, two that share a line and nothing else, one alone."""
    texts = [
        f"{LONG}\nAnd so it did, for all of us, in the end of that long year which nobody of us will ever forget.",
        f"{LONG}\nAnd so it did, for all of us, in the end of that long year which nobody of us will ever forgive.",
        f"{MENU}\nA stone lay in the garden, and nobody knew whose it was or why it had been put there at all.",
        f"{MENU}\nThe captain looked at the harbour for a while, then went below to write another letter home.",
        "Winter came late, and with it the market, the candles, the long evenings in the kitchen of the inn.",
    ]
    return [{"text": text, "url": f"http://a.org/{i}"} for i, text in enumerate([texts[0], *texts])]


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    def by_step(mark):
        folder = tmp_path_factory.mktemp("run")
        (folder / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records()), "utf-8")
        steps = "".join(f"  - dedup/{step}: {{mark: {mark}}}\n" for step in ("exact", "minhash", "line")).replace(
            "minhash: {", "minhash: {threshold: 0.5, bands: 40, rows: 2, "
        )
        recipe = folder / "recipe.yaml"
        recipe.write_text(f"read: {{jsonl: {folder}/in.jsonl}}\nsteps:\n{steps}write: [jsonl]\n", "utf-8")
        done = corpusmill.run(recipe, folder=folder / "run", executor=Serial())
        return {one.step: one for one in dedup_steps(RunTables(Path(done.folder)))}

    return {mark: by_step(mark) for mark in ("true", "false")}


def test_steps_that_mark_show_their_overlap(steps):
    marked = steps["true"]
    assert {step: (one.documents_in, one.documents, one.dropped) for step, one in marked.items()} == {
        "exact": (6, 1, 0),
        "minhash": (6, 2, 0),
        "line": (6, 3, 0),  # both lines of the copy, the first of its variant, the shared line
    }
    assert marked["exact"].both == {"minhash": 1, "line": 1}
    assert marked["minhash"].both == {"exact": 1, "line": 2}
    assert marked["line"].both == {"exact": 1, "minhash": 2}
    assert marked["exact"].bytes == len(records()[1]["text"])
    assert marked["line"].bytes == len(records()[1]["text"]) - 1 + len(LONG) + len(MENU)


def test_what_one_step_drops_never_reaches_the_next(steps):
    dropped = steps["false"]
    assert {step: (one.documents_in, one.documents, one.dropped) for step, one in dropped.items()} == {
        "exact": (6, 1, 1),
        "minhash": (5, 1, 1),
        "line": (4, 1, 0),
    }
    assert all(not any(one.both.values()) for one in dropped.values())
