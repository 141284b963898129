"""Buckets of very many documents: linear work, the same decisions, and a count of what was not compared."""

import math
from collections.abc import Sequence
from itertools import combinations, groupby
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.report.run_files import RunFiles
from corpusmill.steps.dedup import _candidates, _decide, _routes, _sketches
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.store import unit_io
from dedup_runs import Found, dedup, folders, grams, jaccard, named, some

LETTERS = str.maketrans("0123456789", "abcdefghij")
STEP = Minhash(ngram=1, bands=6, rows=1, threshold=0.6)


def word(kind: str, *numbers: int) -> str:
    """A word of letters alone: the values of numbers are ignored in comparisons."""
    return kind + "".join(f"z{number}".translate(LETTERS) for number in numbers)


def words_of(page: int, changed: Sequence[int], of: int = 12) -> str:
    """A page of distinct words, of which some are others."""
    return " ".join(word("p", page, i) + "x" * changed.count(i) for i in range(of))


# Near copies of few pages, so that most share a bucket; texts of other words, which share one by chance; equal ones.
pages = st.builds(words_of, st.integers(0, 1), st.lists(st.integers(0, 11), max_size=5))
chance = st.lists(st.integers(0, 60), min_size=1, max_size=12).map(lambda some: " ".join(word("c", i) for i in some))
corpora = st.lists(st.one_of(pages, pages, chance), min_size=2, max_size=40)


@st.composite
def chains(draw):
    """Each has one word other than the one before."""
    words = [word("w", i) for i in range(10)]
    made = []
    for number in range(draw(st.integers(2, 25))):
        words[draw(st.integers(0, 9))] = word("n", number)
        made.append(" ".join(words))
    return draw(st.permutations(made)) if draw(st.booleans()) else made


def slow_decisions(texts: Sequence[str], step: Minhash, most_leaders: int) -> dict[str, tuple[str, float]]:
    """The specification, read aloud: name -> what it is dropped for, and how similar the two are.

    In each bucket of each band, in order of preference, a document is compared by sketch with the first documents that
    were not surely similar to such a one themselves. Those that are not surely unlike are candidate pairs. Documents
    are decided in order: for the most similar candidate that is kept, the first of equals. One that is kept is compared
    with what its similar candidates are dropped for, and all is decided anew, until nothing is new.
    """
    keys = step.keys(docs(*texts), {})
    lanes = math.prod(step.shape)
    sketches = [[word >> bit & 15 for word in row for bit in range(0, 64, 4)] for row in keys.arrays["sketch"].tolist()]
    middle = step.threshold + (1 - step.threshold) / 16  # of four bits a lane
    spread = _candidates.CERTAIN_DEVIATIONS * (middle * (1 - middle) / lanes) ** 0.5
    low, high = max(middle - spread, 0), min(middle + spread, 1)
    pairs = set()
    for band in keys.bands.T.tolist():
        for _, bucket in groupby(sorted(range(len(texts)), key=lambda i: band[i]), key=lambda i: band[i]):
            leaders: list[int] = []
            for later in bucket:
                for leader in leaders:
                    pair = list(zip(sketches[later], sketches[leader]))[:lanes]
                    share = sum(one == other for one, other in pair) / lanes
                    if share >= low - 1e-9:
                        pairs.add((leader, later))
                    if share >= high - 1e-9:
                        break
                else:
                    if len(leaders) < most_leaders:
                        leaders.append(later)
    sets = [grams(text, step.ngram) for text in texts]
    while True:
        alike = {pair: s for pair in pairs if (s := jaccard(sets[pair[0]], sets[pair[1]])) >= step.threshold}
        dropped: dict[int, tuple[int, float]] = {}
        for later in range(len(texts)):
            kept = [(-s, one) for (one, other), s in alike.items() if other == later and one not in dropped]
            if kept:
                dropped[later] = min(kept)[1], -min(kept)[0]
        through = set()
        for one, other in alike:
            for mine, its in ((one, other), (other, one)):
                if mine not in dropped and its in dropped and dropped[its][0] != mine:
                    through.add((min(mine, dropped[its][0]), max(mine, dropped[its][0])))
        if through <= pairs:
            return {f"d{number}": (f"d{kept}", alike) for number, (kept, alike) in dropped.items()}
        pairs |= through


def facts(found: Found) -> dict[str, Any]:
    stages = RunFiles(found.folder).stages
    return {**stages["minhash-group"].facts, **stages["minhash-decide"].facts}


@pytest.fixture
def small(monkeypatch):
    """All but the first document of a bucket meet leaders only, and few documents are decided at a time."""
    monkeypatch.setattr(_candidates, "PAIRED_RANKS", 1)
    monkeypatch.setattr(_routes, "BLOCK_DOCUMENTS", 256)  # the first ones are smaller
    monkeypatch.setattr(_decide, "MAX_KEPT_LEADERS", 255)
    monkeypatch.setattr(_sketches, "MAX_SKETCHES", 7)
    monkeypatch.setattr(unit_io, "CACHED", 0.0)  # no file is kept in memory


@pytest.mark.usefixtures("small")
def test_decisions_are_those_of_the_specification(tmp_path, monkeypatch):
    place = folders(tmp_path)

    @some
    @given(st.one_of(corpora, chains()), st.sets(st.integers(1, 20), max_size=3), st.booleans())
    def check(texts, cuts, many):
        monkeypatch.setattr(_sketches, "MANY_PARTITIONS", 1 if many else 1 << 20)
        documents = named(texts)
        cuts = sorted(cut for cut in cuts if cut < len(documents))
        found = dedup(next(place), documents, STEP, cuts=cuts, unit=300, partition_bytes=500)
        assert found.twins("minhash") == slow_decisions(texts, STEP, 16)
        assert facts(found)["not_verified"] == facts(found)["not_followed"] == 0

    check()


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_how_many_are_full_or_decided_at_a_time_changes_nothing(tmp_path, monkeypatch, keep):
    place = folders(tmp_path)
    step = Minhash(ngram=1, bands=6, rows=1, threshold=0.6, keep=keep)
    monkeypatch.setattr(_decide, "MAX_KEPT_LEADERS", 255)

    @settings(some, max_examples=6)
    @given(st.one_of(corpora, chains()))
    def check(texts):
        found = []
        for full, block in ((64, 1 << 16), (0, 64), (3, 128)):
            monkeypatch.setattr(_candidates, "PAIRED_RANKS", full)
            monkeypatch.setattr(_routes, "BLOCK_DOCUMENTS", block)
            found.append(dedup(next(place), named(texts), step).twins("minhash"))
        assert found[0] == found[1] == found[2]

    check()


def hot(number: int) -> dict[str, str]:
    """Near copies of one page: each pair is near the threshold, above or below."""
    random = Random(0)
    page = [word("w", i) for i in range(60)]
    texts = []
    for copy in range(number):
        words = list(page)
        for at in random.sample(range(60), random.randint(2, 5)):
            words[at] = word("c", copy, at)
        texts.append(" ".join(words))
    return named(texts)


def test_the_work_in_one_bucket_is_linear_in_its_documents(tmp_path):
    step = Minhash(ngram=1, bands=8, rows=3, threshold=0.8)
    counted = {number: facts(dedup(tmp_path / str(number), hot(number), step)) for number in (300, 1200)}
    for name in ("sketches_compared", "compared"):
        assert counted[1200][name] < 6 * counted[300][name]


@pytest.mark.parametrize(("limit", "fact"), [("MAX_KEPT_LEADERS", "not_verified"), ("MAX_ROUNDS", "not_followed")])
def test_beyond_the_limits_what_is_dropped_is_right_and_what_was_not_compared_is_counted(
    tmp_path, monkeypatch, limit, fact
):
    monkeypatch.setattr(_candidates, "PAIRED_RANKS", 1)
    monkeypatch.setattr(_routes, "BLOCK_DOCUMENTS", 64)
    monkeypatch.setattr(_decide, limit, 1)
    documents = hot(300)
    found = dedup(tmp_path, documents, Minhash(ngram=1, bands=8, rows=3, threshold=0.8))
    sets = {name: grams(text, 1) for name, text in documents.items()}
    twins = found.twins("minhash")
    assert twins and facts(found)[fact] > 0
    for name, (kept, similarity) in twins.items():
        assert kept not in twins and similarity == jaccard(sets[name], sets[kept]) >= 0.8


def test_documents_that_share_a_bucket_and_nothing_else_stay_and_the_report_says_how_many_were_not_compared(tmp_path):
    documents = named([" ".join(["common", *(word("d", number, i) for i in range(3))]) for number in range(200)])
    found = dedup(tmp_path, documents, Minhash(ngram=1, bands=64, rows=1, threshold=0.8), page=True)
    assert found.kept == list(documents)
    keys = Minhash(ngram=1, bands=64, rows=1, threshold=0.8).keys(docs(*documents.values()), {}).bands
    met = sum(int(one == other) for band in keys.T.tolist() for one, other in combinations(band, 2))
    assert facts(found)["sketches_compared"] + facts(found)["not_compared"] == met
    assert (missed := facts(found)["not_compared"]) > 1000
    assert f"Pairs not compared in large buckets: {missed:,} between" in (found.folder / "report.html").read_text(
        "utf-8"
    )
