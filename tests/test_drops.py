"""Wrong removals of near-duplicates: what is drawn, what a page shows, the rules, the verdicts, the figures."""

import json
import sys
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality import drops
from benchmarks.quality.drops import agreement, by_rules, passages, shown, surviving
from benchmarks.quality.eyes import read_lines
from made_run import prose


@pytest.fixture(scope="module")
def documents():
    random = Random(3)
    texts = [prose(random, 120) for _ in range(12)]
    return {"first": texts, "second": [f"{text} Again and again." for text in texts[:8]]}


def test_verdicts_of_the_pages_give_shares_of_wrong_removals(tmp_path, monkeypatch, capsys, documents):
    monkeypatch.setattr(drops, "sets", lambda data: iter(documents.items()))
    monkeypatch.setattr(drops, "READ", 5)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["drops", *map(str, words)])
        assert drops.main() == 0
        return capsys.readouterr().out

    out = call("--data", tmp_path, "--out", tmp_path / "out")
    assert "5 pages have no mark yet; the next is" in out
    head, *pairs = read_lines(tmp_path / "out" / "drawn.jsonl")
    assert head.pop("settings") == {
        "threshold: 0.9": {"removed": 8, "wrong": 0},
        "keep: longest": {"removed": 8, "wrong": 0},
        "rule: contained": {"removed": 0, "wrong": 0},
        "rule: contained, keep: longest": {"removed": 8, "wrong": 0},
    }
    assert [pair["also"] for pair in pairs] == [["threshold: 0.9"]] * 8  # the longer one is kept otherwise
    assert head.pop("lost") == {"words": 8 * 123, "in_cluster": 8 * 3, "anywhere": 8 * 3}
    assert head == {
        "documents": {"first": 12, "second": 8},
        "equal": 0,
        "removed": {kind: {"first": 0, "second": 8} for kind in ("verified", "unverified")},
    }
    assert [pair["kinds"] for pair in pairs] == [["verified", "unverified"]] * 8
    assert [pair["rules"] for pair in pairs] == [[]] * 8 and {pair["set"] for pair in pairs} == {"second"}
    page = (tmp_path / "out" / "pages" / "001.txt").read_text("utf-8")
    assert "[[Again and again]]" in page and "verified" not in page
    verdicts = tmp_path / "out" / "verdicts.jsonl"
    marks = ["wrong", "right", "right", "right", "unsure"]
    verdicts.write_text(
        "".join(
            json.dumps({"page": n, "mark": mark} | ({"why": "other"} if mark == "wrong" else {})) + "\n"
            for n, mark in enumerate(marks, 1)
        )
    )
    out = call("--out", tmp_path / "out")
    assert "| dedup/minhash | 8 | reader | 4 | 0.250 | 0.046 to 0.699 | – | 1 of 4 |" in out
    assert "| by shared bands alone | 8 | rules | 8 | 0.000 | 0.000 to 0.324 | – | 0 of 8 |" in out
    assert "| threshold: 0.9 | 8 | 0.000 | 4 | 1 |" in out and "| rule: contained | 0 | 0.000 | 0 | 0 |" in out
    assert "Both judges, 4 pairs (1 unsure): the same verdict on 0.750, kappa 0.00." in out
    judged = tmp_path / "out" / "judged.jsonl"
    assert call("--judged", judged) == out.partition("\nWhat was judged")[0] and "again" not in judged.read_text()


def test_a_verdict_that_is_none_is_refused(tmp_path):
    (tmp_path / "verdicts.jsonl").write_text('{"page": 1, "mark": "keep"}\n')
    with pytest.raises(SystemExit, match=r"verdicts.jsonl:1: need \"page\", from 1 to 2, \"mark\", wrong, right"):
        drops.verdicts(tmp_path / "verdicts.jsonl", 2)


def test_of_each_set_equally_many_are_drawn_or_all():
    sets = [[(0, k) for k in range(9)], [(1, 0), (1, 1)], [(2, k) for k in range(5)]]
    drawn = drops.first_of(sets, 10)
    assert sorted(drawn) == [*((0, k) for k in range(4)), (1, 0), (1, 1), *((2, k) for k in range(4))]
    assert sorted(drops.first_of(sets, 100)) == sorted(pair for own in sets for pair in own)


WORDS = [f"word{k}" for k in range(60)]


@pytest.mark.parametrize(
    ("own", "rules"),
    [
        ("", []),
        ("one more sentence of few words", []),
        (" ".join(f"new{k}" for k in range(19)), ["share"]),
        (" ".join(f"new{k}" for k in range(20)), ["passage", "share"]),
        ("Berlin and Oslo", []),
        ("Berlin and Oslo in 1987", ["facts"]),
    ],
)
def test_the_rules_look_at_what_the_removed_text_has_alone(own, rules):
    kept = " ".join(WORDS)
    assert by_rules(f"{kept} {own}", kept) == rules


@given(st.lists(st.sampled_from("ab3"), max_size=12), st.lists(st.sampled_from("ab3"), max_size=12))
def test_a_word_survives_in_a_run_of_five(own, other):
    n = max(min(5, len(own)), 1)
    joined = "".join(other)
    starts = [i for i in range(len(own) - n + 1) if "".join(own[i : i + n]) in joined]
    alive = [any(i <= word < i + n for i in starts) for word in range(len(own))]
    assert surviving(own, other) == alive
    found = passages(alive)
    assert [word for begin, end in found for word in range(begin, end)] == [i for i, a in enumerate(alive) if not a]
    assert all(a[1] < b[0] for a, b in pairwise(found))


def test_a_page_shows_passages_with_words_around_them_and_cuts_long_ones(monkeypatch):
    monkeypatch.setattr(drops, "SHOWN", 20)
    kept = " ".join(WORDS)
    page = shown(" ".join([*WORDS[:30], "here", *WORDS[30:], "x" * 50]), kept)
    assert "== removed: 62 words, 2 of them in this one alone" in page
    assert "… word24 word25 word26 word27 word28 word29 [[here]] word30 word31" in page
    assert f"[[{'x' * 16} …(50 characters)]]" in page


def test_agreement_beyond_chance():
    assert agreement([(True, True), (False, False)]) == "1.000, kappa 1.00"
    assert agreement([(True, False), (False, True)]) == "0.000, kappa -1.00"
    assert agreement([(False, False)]) == "1.000"


def test_the_committed_verdicts_give_the_published_tables(monkeypatch, capsys):
    folder = Path(drops.__file__).parents[1]
    monkeypatch.setattr(sys, "argv", ["drops", "--judged", str(folder / "quality" / "drops.jsonl")])
    assert drops.main() == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    published = (folder / "RESULTS.md").read_text("utf-8")
    assert len(rows) == 13 and not [line for line in rows if line not in published]
