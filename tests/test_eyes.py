"""Precision and recall by eye: the draw, the files for a reader, the verdicts, the figures."""

import json
import sys

import pytest

from benchmarks.quality import eyes
from made_run import made_corpus


def test_verdicts_of_the_drawn_pages_give_precision_and_recall(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(eyes, "DRAWN", 12)
    monkeypatch.setattr(eyes, "BEGIN", 100)
    monkeypatch.setattr(eyes, "END", 20)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["eyes", *words])
        assert eyes.main() == 0
        return capsys.readouterr().out

    corpus = made_corpus()
    words = ["--recipe", str(corpus), "--out", str(tmp_path)]
    assert "12 of 12 pages have no mark yet; the next is" in call("--data", str(corpus.parent), *words)
    drawn = eyes.read_lines(tmp_path / "drawn.jsonl")
    texts = [(tmp_path / "pages" / eyes.name_of(page["page"])).read_text("utf-8") for page in drawn]
    assert len(texts) == 12 and all("kept" not in page for page in drawn)
    assert any(" characters …]\n" in text and len(text) < 400 for text in texts)
    verdicts = [{"page": page["page"], "mark": "keep"} for page in drawn]
    verdicts_file = tmp_path / "verdicts.jsonl"
    verdicts_file.write_text("".join(json.dumps(line) + "\n" for line in verdicts[:-1]), "utf-8")
    assert "1 of 12 pages have no mark yet" in call(*words)
    verdicts_file.write_text("".join(json.dumps(line) + "\n" for line in verdicts), "utf-8")
    printed = call(*words)
    assert "precision: 1.000, " in printed and "good but dropped by: " in printed
    head, *judged = eyes.read_lines(tmp_path / "judged.jsonl")
    assert (
        head["kept"] > 6 and head["dropped"] > 6 and sorted(line["kept"] for line in judged) == 6 * [False] + 6 * [True]
    )
    assert f"recall: {head['kept'] / (head['kept'] + head['dropped']):.3f}" in printed
    again = call("--judged", str(tmp_path / "judged.jsonl"))
    assert again == printed.partition("\nWhat was judged")[0]
    verdicts_file.write_text('{"page": 13, "mark": "keep"}\n', "utf-8")
    with pytest.raises(SystemExit, match=r'verdicts.jsonl:1: need "page", from 1 to 12, and "mark"'):
        call(*words)
