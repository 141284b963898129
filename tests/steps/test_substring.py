"""`dedup/substring` finds the passages that a suffix array finds, and cuts those that came before."""

import json
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from conftest import docs
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.listener import Silent
from corpusmill.engine.drive.session import Session
from corpusmill.engine.plan.plan import PassInfo, RunPlan
from corpusmill.engine.work.pass_parts import InputPieces, KeyRequest, SourcePieces
from corpusmill.engine.work.passes import Pass
from corpusmill.engine.work.sinks import DedupKeys, Documents, DroppedDocuments, SignalRows
from corpusmill.engine.work.sources import InputFiles
from corpusmill.engine.work.step_chain import StepChain
from corpusmill.engine.work.token_counts import TokenCounts
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.recipe.model import Recipe
from corpusmill.steps.dedup import _substring
from corpusmill.steps.dedup.substring import Substring
from corpusmill.steps.keys import EarlierKeys, KeyFile, KeyStage
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.plain_tokens import token_spans

WORDS = ["a", "b", "c", "d,", "東", "e\n\n"]


@st.composite
def corpora(draw):
    """Texts of a few words that take passages from each other, and that repeat themselves."""
    texts: list[list[str]] = []
    for _ in range(draw(st.integers(1, 6))):
        text: list[str] = []
        for _ in range(draw(st.integers(0, 5))):
            if texts and draw(st.booleans()):
                source = texts[draw(st.integers(0, len(texts) - 1))]
                start = draw(st.integers(0, max(len(source) - 1, 0)))
                text += source[start : start + draw(st.integers(0, 20))]
            elif draw(st.booleans()):
                text += draw(st.lists(st.sampled_from(WORDS), max_size=4)) * draw(st.integers(1, 8))
            else:
                text += draw(st.lists(st.sampled_from(WORDS), max_size=15))
        texts.append(text)
    return [" ".join(text) for text in texts]


def tokens(text: str) -> list[bytes]:
    data = text.encode()
    return [data[start:end] for start, end in token_spans(text)]


def repeated(texts: list[str], n: int, keep_first: bool, earlier: int = 0) -> list[list[bool]]:
    """Of each token, whether it stands in n tokens in a row that occur elsewhere, or began before."""
    goes = [[False] * len(tokens(text)) for text in texts]
    windows = [(d, i, tuple(tokens(t)[i : i + n])) for d, t in enumerate(texts) for i in range(len(tokens(t)) - n + 1)]
    count, seen = Counter(content for _, _, content in windows), set()
    for d, i, content in windows:
        if content in seen or (not keep_first and count[content] > 1):
            goes[d][i : i + n] = [True] * n
        seen.add(content)
    return goes[earlier:]


def suffix_array(texts: list[str], n: int) -> list[list[bool]]:
    """Of each token, whether it stands in one of the matches of at least n tokens that sorted suffixes show."""
    goes = [[False] * len(tokens(text)) for text in texts]
    suffixes = sorted((tokens(text)[i:], d, i) for d, text in enumerate(texts) for i in range(len(tokens(text))))
    for (one, d, i), (other, e, j) in pairwise(suffixes):
        common = next((k for k, (x, y) in enumerate(zip(one, other)) if x != y), min(len(one), len(other)))
        if common >= n:
            goes[d][i : i + common] = goes[e][j : j + common] = [True] * common
    return goes


class Done:
    """The stages of the step, carried out in a folder."""

    def __init__(
        self, folder: Path, units: list[list[str]], step: Substring, partitions: int = 1, **about: Any
    ) -> None:
        self.run = RunFolder(str(folder / "run"))
        self.run.make()
        request = KeyRequest("substring", step, partitions, {})
        sinks = (Documents(), SignalRows(), DroppedDocuments("sample"), DedupKeys(request))
        signing = Pass(InputFiles((("made", ReadTexts()),)), StepChain(), TokenCounts(None), sinks)
        pieces: list[Any] = [Texts(tuple(texts)) for texts in units]
        inputs = [InputPieces((SourcePieces(0, (piece,)),)) for piece in pieces]
        planned = [PlannedUnit(unit, (str(number),)) for number, unit in enumerate(inputs)]
        first = Stage("pass-1", signing, (), lambda upstream: planned)
        stages = (first, *step.stages(KeyStage("pass-1", "substring", partitions, (), **about)))
        recipe = Recipe.parse("name: made\nread:\n  - jsonl: {paths: none}\n")
        plan = RunPlan(recipe, stages, (PassInfo("pass-1", ()),), ())
        self.results = carry_out(Session(self.run, plan, Serial(attempts=1), Silent())).results
        self.last = stages[-1].name

    def rows(self, table: str) -> list[dict]:
        """The rows of all units, with documents numbered through."""
        starts = self.results["pass-1"]["docs"].starts.tolist()
        files = [pq.read_table(self.run.file(path)) for path in self.results[self.last][table].paths.to_pylist()]
        return [
            row | {"document": row["document"] + start}
            for start, file in zip(starts, files)
            for row in file.to_pylist()
        ]

    def kept(self) -> EarlierKeys:
        """All of its documents, as kept by an earlier run."""
        results = self.results["pass-1"]
        paths = [results[name].paths.to_pylist() for name in ("keys-substring", "docs")]
        rows = results["docs"].rows.tolist()
        names = ((str(self.run.file(keys)), str(self.run.file(docs_))) for keys, docs_ in zip(*paths))
        files = [KeyFile(*both, None, count) for both, count in zip(names, rows)]
        return EarlierKeys(tuple(files), "earlier")


@dataclass(frozen=True)
class Texts:
    """A piece of input that has its documents with it."""

    texts: tuple[str, ...]
    size: int = 0


@dataclass(frozen=True)
class ReadTexts:
    """Reads them in two batches."""

    def read(self, piece, source, counts):
        half = len(piece.texts) // 2
        yield from (docs(*piece.texts[:half]), docs(*piece.texts[half:]))


def cut(units: list[list[str]], step: Substring, **about: Any) -> list[list[bool]]:
    """Of each token of each document, whether it is cut."""
    with TemporaryDirectory() as folder:
        done = Done(Path(folder), units, step, **about)
        cuts, verdicts = done.rows("cuts"), {row["document"]: row for row in done.rows("verdicts")}
    texts = [text for unit in units for text in unit]
    goes = []
    for d, text in enumerate(texts):
        spans = [(row["start"], row["stop"]) for row in cuts if row["document"] == d]
        goes.append([any(a <= start and end <= b for a, b in spans) for start, end in token_spans(text)])
        row = verdicts.get(d)
        assert (row["cut_tokens"] if row else 0) == sum(goes[-1])
        assert row is None or (row["passages"], row["cut_share"]) == (len(spans), sum(goes[-1]) / len(goes[-1]))
    return goes


def in_units(texts: list[str], sizes: list[int]) -> list[list[str]]:
    units, at = [], 0
    for size in sizes:
        units.append(texts[at : at + size])
        at += size
    return [*units, texts[at:]]


@given(corpora(), st.integers(2, 6), st.lists(st.integers(0, 3), max_size=3), st.sampled_from([1, 4]))
@settings(max_examples=60)
def test_a_token_is_cut_if_it_stands_in_tokens_that_began_before(texts, n, sizes, slices):
    step = Substring(min_tokens=n)
    assert cut(in_units(texts, sizes), step, partitions=slices) == repeated(texts, n, keep_first=True)


@given(corpora(), st.integers(2, 6), st.lists(st.integers(0, 3), max_size=3))
@settings(max_examples=60)
def test_without_keep_first_what_goes_is_what_a_suffix_array_finds(texts, n, sizes):
    found = suffix_array(texts, n)
    assert found == repeated(texts, n, keep_first=False)
    assert cut(in_units(texts, sizes), Substring(min_tokens=n, keep_first=False)) == found


@given(texts=corpora(), n=st.integers(2, 6), keep_first=st.booleans())
@settings(max_examples=30)
def test_the_same_is_cut_when_a_corpus_has_many_partitions(texts, n, keep_first):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_substring, "RECORDS", 4)
        found = cut([texts[:2], texts[2:]], Substring(min_tokens=n, keep_first=keep_first), partitions=2)
    assert found == repeated(texts, n, keep_first)


@given(texts=corpora(), n=st.integers(2, 6))
@settings(max_examples=40)
def test_every_token_that_is_cut_has_an_equal_one_that_stays(texts, n):
    goes = repeated(texts, n, keep_first=True)
    found = list(zip([token for text in texts for token in tokens(text)], [one for text in goes for one in text]))
    assert {token for token, gone in found if gone} <= {token for token, gone in found if not gone}


def test_one_period_of_what_repeats_itself_stays():
    goes = cut([["a b " * 30]], Substring(min_tokens=5))[0]
    assert goes == [False] * 2 + [True] * 58


def long_passage(seed: int, words: int = 60) -> str:
    return " ".join(map(str, np.random.default_rng(seed).integers(0, 10**6, words).tolist()))


def verdicts(units: list[list[str]], step: Substring) -> tuple[list[dict], list[dict]]:
    with TemporaryDirectory() as folder:
        done = Done(Path(folder), units, step)
        return done.rows("verdicts"), done.rows("cuts")


def test_with_min_left_what_keeps_a_smaller_share_goes():
    units = [[long_passage(1)], [f"{long_passage(1)} {'x ' * 19}", f"{long_passage(1)} {'y ' * 20}"]]
    found, _ = verdicts(units, Substring(min_left=0.25))
    assert [(row["document"], row["reason"], row["cut_share"]) for row in found] == [
        (1, "min_left", 60 / 79),
        (2, None, 0.75),
    ]


def test_min_left_is_exact_where_a_share_has_no_exact_fraction():
    found, _ = verdicts([[long_passage(1, 63), f"{long_passage(1, 63)} {'x ' * 7}"]], Substring(min_left=0.1))
    assert [row["reason"] for row in found] == [None]  # 7 of 70 is a tenth, and 1 - 63 / 70 is less


def test_what_has_nothing_left_is_for_the_engine_to_drop():
    found, cuts = verdicts([[long_passage(1), f"\n {long_passage(1)}\n"]], Substring(min_left=1))
    assert [row["reason"] for row in found] == [None]
    assert [(row["start"], row["stop"]) for row in cuts] == [(0, len(long_passage(1)) + 3)]


def test_mark_cuts_nothing_and_notes_what_it_would():
    found, cuts = verdicts([[long_passage(1), f"{long_passage(1)} more"]], Substring(mark=True, min_left=1))
    assert [(row["document"], row["reason"], row["cut_tokens"], row["passages"]) for row in found] == [(1, None, 60, 1)]
    assert cuts == []


def test_what_earlier_runs_kept_stays_there_and_goes_here():
    before, here = (
        [f"old {long_passage(1)}", long_passage(2)],
        [long_passage(3), f"new {long_passage(2)} {long_passage(1)}"],
    )
    step = Substring()
    with TemporaryDirectory() as folder:
        (Path(folder) / "old").mkdir()
        (Path(folder) / "new").mkdir()
        old = Done(Path(folder) / "old", [before], step)
        done = Done(Path(folder) / "new", [here], step, earlier=old.kept())
        assert [(row["document"], row["cut_tokens"]) for row in done.rows("verdicts")] == [(1, 120)]
        assert done.rows("cuts") == [{"document": 1, "start": 3, "stop": len(here[1])}]


@pytest.mark.parametrize("wrong", [{"min_tokens": 1}, {"min_tokens": 20_000}, {"min_left": 10}, {"min_left": 0}])
def test_parameters_that_make_no_sense_are_refused(wrong):
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        Substring(**wrong)


RECIPE = """
name: passages
read:
  - jsonl: {{paths: "{folder}/*.jsonl"}}
steps:
  - dedup/substring
write: [jsonl: {{compression: none}}]
run: {{unit_mb: 1, workers: {workers}}}
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_writes_texts_without_repeated_passages(tmp_path, workers):
    footer = long_passage(0)
    texts = [f"{long_passage(1 + i, 30)}\n\n{footer}" for i in range(6)] + [footer, "short", ""]
    for name, part in (("one", texts[:3]), ("two", texts[3:])):
        lines = [json.dumps({"text": text}) for text in part]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE.format(folder=tmp_path, workers=workers))
    run = corpusmill.run(tmp_path / "recipe.yaml", folder=tmp_path / "run")
    written = [
        json.loads(line)["text"]
        for path in sorted((run.output / "jsonl").rglob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    assert written == [texts[0], *(long_passage(1 + i, 30) for i in range(1, 6)), "short"]
