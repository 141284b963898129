"""Lines and paragraphs that repeat across the corpus are cut out: as plain Python would, however the work is cut."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.execute.processes import Processes
from corpusmill.report.figures.repeated import most_repeated
from corpusmill.report.run_files import RunFiles
from corpusmill.report.tables import RunTables
from corpusmill.steps.dedup import _repeats
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.line import Line
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.dedup.paragraph import Paragraph
from corpusmill.text.fold import fold
from dedup_runs import NAMES, Found, dedup, recipe
from slow_pieces import slow_pieces, slow_without


def outcome(found, label):
    """name -> (text that is left, or why the document went; its signals), for all documents."""
    tables = RunFiles(found.folder)
    batches = tables.documents("docs", len(tables.passes) - 1, ["url", "text"], 100)
    texts = {row["url"]: row["text"] for batch in batches for row in batch.to_pylist()}
    measured = {
        name: tuple(row[f"{label}.{signal}"] for signal in ("repeats", "repeated_bytes", "repeated_share"))
        for name, row in found.rows.items()
    }
    return {name: (texts.get(name, row["reasons"]), measured[name]) for name, row in found.rows.items()}


def repeated(found, label):
    rows = most_repeated(RunTables(found.folder), 100)[label]
    return [(row["text"], row["occurrences"], row["documents"], row["bytes"], NAMES[row["id"]]) for row in rows]


def slow_outcome(documents, step):
    """The definition: go through all pieces of all documents in order, and count. Also: the most repeated."""
    label = "line" if isinstance(step, Line) else "paragraph"
    spans = {name: slow_pieces(text, label + "s") for name, text in documents.items()}
    all_pieces = {name: [documents[name][a:b].strip() for a, b in found] for name, found in spans.items()}
    flat = [piece for found in all_pieces.values() for piece in found]
    keys = dict(zip(flat, fold(pa.array(flat, pa.large_string())).to_pylist() if step.match == "folded" else flat))
    total = Counter(keys[piece] for piece in flat if len(keys[piece]) >= step.min_characters)
    seen: Counter[str] = Counter()
    result: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for name, text in documents.items():
        gone, sizes = [], [len(text[slice(*span)].encode()) for span in spans[name]]
        for piece, size in zip(all_pieces[name], sizes):
            key = keys[piece]
            over = total[key] > step.max_count
            gone.append(over and (seen[key] >= step.max_count or not step.keep_first))
            seen[key] += 1
            if total[key] > 1:
                row = most.setdefault(key, [piece, total[key], set(), 0, name])
                row[2].add(name)
                row[3] += size
        repeats, cut = sum(gone), sum(size for size, goes in zip(sizes, gone) if goes)
        share = cut / sum(sizes) if sizes else 0.0
        left = text if step.mark else slow_without(text, spans[name], gone)
        if repeats and not left.strip():
            left = f"{label}.empty"
        elif repeats and not step.mark and sum(sizes) - cut < (step.min_left or 0) * sum(sizes):
            left = f"{label}.min_left"
        result[name] = left, (repeats, cut, share)
    rows = [(text, many, len(names), size, first) for text, many, names, size, first in most.values()]
    return result, sorted(rows, key=lambda row: (-row[1], -row[3], row[0]))


PIECES = ["alpha beta", "Alpha, BÉTA!", "  alpha beta", "gamma", "Gamma.", "12 items", "7 items", "delta", "–", "naïve"]
GAPS = ["\n", "\n", "\n\n", "\n \n", "\r\n", "\n\n\n"]
texts = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), min_size=1, max_size=6).map(
    lambda parts: "".join(piece + gap for piece, gap in parts)
)
settings_of_steps = st.fixed_dictionaries(
    {
        "match": st.sampled_from(["text", "folded"]),
        "min_characters": st.sampled_from([1, 5, 9]),
        "max_count": st.integers(1, 3),
        "keep_first": st.booleans(),
        "min_left": st.sampled_from([None, 0.5, 1.0]),
        "mark": st.booleans(),
    }
)


@pytest.mark.parametrize("kind", [Line, Paragraph])
@settings(max_examples=20)
@given(corpus=st.lists(texts, min_size=1, max_size=8), given=settings_of_steps, cuts=st.sets(st.integers(1, 7)))
def test_it_is_what_counting_through_the_corpus_gives(tmp_path_factory, kind, corpus, given, cuts):
    documents = {f"d{i}": text for i, text in enumerate(corpus)}
    step = kind(**given)
    label = "line" if kind is Line else "paragraph"
    edges = [cut for cut in sorted(cuts) if cut < len(corpus)]
    found = dedup(tmp_path_factory.mktemp("cuts"), documents, step, cuts=edges, unit=150)
    wanted, most = slow_outcome(documents, step)
    assert outcome(found, label) == wanted
    # Of pieces that are one when folded, those are equal in all that the order looks at but the hash.
    assert sorted(repeated(found, label)) == sorted(most)


FOOTER = "Please read the notice at the end of the page."
CORPUS = {
    f"page-{i}": f"Page {i} says what no other page says: {'abcdefghijkl'[i] * 9}.\n\n{FOOTER}\nShare this page with {i} friends of yours!\n"
    for i in range(12)
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return dedup(tmp_path_factory.mktemp("whole"), CORPUS, Line(max_count=2), Minhash(ngram=2))


@pytest.mark.parametrize(
    ("how", "records"),
    [
        ({"cuts": [1, 5, 6], "unit": 300}, 1 << 20),
        ({"partition_bytes": 64}, 1 << 20),
        ({"cuts": [4], "unit": 700, "partition_bytes": 256}, 2),  # as many units as partitions
    ],
)
def test_how_the_work_is_cut_changes_nothing(whole, tmp_path, monkeypatch, how, records):
    monkeypatch.setattr(_repeats, "RECORDS", records)
    found = dedup(tmp_path, CORPUS, Line(max_count=2), Minhash(ngram=2), **how)
    assert outcome(found, "line") == outcome(whole, "line")
    assert repeated(found, "line") == repeated(whole, "line")
    assert found.twins("minhash") == whole.twins("minhash")
    tables = RunFiles(found.folder)
    assert (len(tables.stages["line-group"]) > 1) == (records == 2)


def test_workers_change_nothing(whole, tmp_path):
    made = recipe(tmp_path / "input", CORPUS, Line(max_count=2), Minhash(ngram=2), cuts=[3, 8])
    corpusmill.run(made, folder=tmp_path / "run", executor=Processes(2, preload=("corpusmill.engine.preload",)))
    assert outcome(Found(tmp_path / "run"), "line") == outcome(whole, "line")


def test_later_steps_see_what_is_left(tmp_path):
    """Two pages that only their footers tell apart are near copies once these are gone."""
    ends = [f"{FOOTER} {'It is the same everywhere.' * 9}", "This page was made with great care by us. " * 9]
    body = "The river ran through the valley, and all its bridges were built of stone."
    page = {"a": f"{body}\n{ends[0]}", "b": f"{body}\n{ends[1]}"}
    others = {"x": f"Nothing like it\n{ends[0]}", "y": f"Something else\n{ends[1]}"}
    near = Minhash(ngram=3)
    assert dedup(tmp_path / "1", others | page, near).reasons == {}
    found = dedup(tmp_path / "2", others | page, Line(min_characters=80), near)
    assert found.reasons == {"b": "minhash.near_copy"}
    assert found.twins("minhash") == {"b": ("a", 1.0)}


def test_lines_of_documents_that_went_before_do_not_count(tmp_path):
    documents = {"a": f"one of them\n{FOOTER}", "b": f"one of them\n{FOOTER}", "c": f"another\n{FOOTER} "}
    found = dedup(tmp_path, documents, Exact(), Line(max_count=2))
    assert found.reasons == {"b": "exact.exact_copy"}
    assert outcome(found, "line")["c"] == (documents["c"], (0, 0, 0.0))
    assert repeated(found, "line") == [(FOOTER, 2, 2, 2 * len(FOOTER) + 1, "a")]


def test_only_the_hundred_most_repeated_are_shown(tmp_path):
    lines = [f"line {'x' * i} of all the lines that there are" for i in range(130)]
    documents = {"twice": "\n".join(lines * 2), "again": "\n".join(lines[:70])}
    found = dedup(tmp_path, documents, Line(mark=True), partition_bytes=256)
    _, most = slow_outcome(documents, Line(mark=True))
    assert repeated(found, "line") == most[:100]
    assert most_repeated(RunTables(found.folder), 3)["line"] == most_repeated(RunTables(found.folder), 100)["line"][:3]


def test_a_change_of_what_goes_makes_no_keys_anew(tmp_path):
    stages = [
        dedup(tmp_path, CORPUS, step).stages()["pass-1"]
        for step in (Line(), Line(max_count=5, keep_first=False, min_left=0.2, mark=True), Line(min_characters=20))
    ]
    assert stages[0] == stages[1] != stages[2]


def test_keys_are_28_bytes_a_line_that_is_long_enough():
    keys = Line(min_characters=5).keys(docs("short\nx\n", None, "and longer"), {})
    assert keys.documents.tolist() == [0, 2] and keys.payload["number"].tolist() == [0, 0]
    riders = sum(column.itemsize for column in keys.payload.values())
    assert keys.bands.itemsize + riders + 4 == 28  # and the row of the document, which the engine adds


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"match": "fold"}, 'match is "text" or "folded", got "fold"'),
        ({"max_count": 0}, "`keep_first: false` leaves nothing of what repeats"),
        ({"min_characters": 0}, "need min_characters >= 1"),
        ({"min_left": 1.5}, "min_left is a share: need 0 < min_left <= 1, got 1.5"),
    ],
)
@pytest.mark.parametrize("kind", [Line, Paragraph])
def test_bad_parameters_are_refused(kind, given, words):
    with pytest.raises(RecipeError, match=words):
        kind(**given)
