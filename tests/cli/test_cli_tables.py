"""The waterfall in a terminal."""

from itertools import pairwise

import pytest

from corpusmill.cli.tables import in_words, print_waterfall
from corpusmill.report.waterfall import Waterfall, WaterfallRow

REASONS = {f"max_duplicate_{n}_gram_characters": 1000 - n for n in range(9)}
SOURCES = {"web": {"bytes_in": 19_000_000}}  # of compressed files
LOST = {"skipped": {"warc_request": 1000}, "expected": {}, "dead": {"bad_json": 7}}


def flow(tokens):
    row = WaterfallRow("gopher_repetition", 10_000, 1_036, 4_900_000, 900_000, tokens, tokens // 9, 0, REASONS, SOURCES)
    return Waterfall({"web": {"records": 12_000, "documents": 10_000, "bytes": 5_000_000, **LOST}}, (row,))


@pytest.mark.parametrize("columns, used", [(80, 80), (100, 100), (300, 120)])
def test_reasons_fill_the_lines_below_their_step(capsys, monkeypatch, columns, used):
    monkeypatch.setenv("COLUMNS", str(columns))
    print_waterfall(flow(tokens=90_000))
    head, read, lost, step, *reasons = capsys.readouterr().out.splitlines()
    assert " ".join(head.split()) == "step documents in out kept of input bytes out tokens out"
    assert " ".join(read.split()) == "read web 12,000 10,000 83.3 % 19.0 MB"
    assert lost == "    5.0 MB of input files · not an HTML response 1,000 · bad_json 7"
    assert step.split()[:7] == ["gopher_repetition", "10,000", "1,036", "10.4", "%", "10.4", "%"]
    assert all(line.startswith(("    max_", "    3,974")) and len(line) <= used for line in reasons)
    # No line is broken before it has to be: the next reason would not have fitted.
    for line, after in pairwise(reasons):
        assert len(line) + len(" max_duplicate_0_gram_characters 999 ·") > used, after
    said = " ".join(line.strip() for line in reasons)
    assert said.startswith("max_duplicate_0_gram_characters 1,000 · max_duplicate_1_gram_characters 999 ·")
    assert said.endswith(f"{sum(1000 - n for n in range(5, 9)):,} for 4 other reasons")


@pytest.mark.parametrize(
    ("skipped", "said"),
    [
        ({"warc_request": 3, "warc_warcinfo": 1}, {"not an HTML response": 4}),
        ({"warc_warcinfo": 1}, {"file header": 1}),
        ({"blank": 2}, {"blank piece": 2}),
        ({"blank_line": 2}, {"blank line": 2}),
        ({"not_sampled": 2}, {"not in the sample": 2}),
        ({}, {}),
    ],
)
def test_what_is_no_document_is_called_by_what_it_is(skipped, said):
    assert in_words(skipped) == said


def test_without_tokens_their_column_is_empty(capsys):
    print_waterfall(flow(tokens=0))
    assert capsys.readouterr().out.splitlines()[3].endswith("900.0 kB")
