"""What of a text counts when near-duplicates are compared, what one loses that is dropped, and what is said of it."""

import re
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.report.figures.emptied import emptied, warnings
from corpusmill.report.figures.pairs import pairs
from corpusmill.report.page import page
from corpusmill.report.tables import RunTables
from corpusmill.steps.dedup import _candidates
from corpusmill.steps.dedup._decide import MAX_REJECTED, RejectedPairs
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.text.addresses import parse, site_keys
from dedup_runs import dedup, folders, grams, jaccard, named, some

STEP: dict[str, Any] = {"ngram": 1, "bands": 64, "rows": 1, "threshold": 0.5}
PIECES = [
    "alder",
    "Alder",
    "birch,",
    "birch",
    "(cedar)",
    "cedar",
    "elm-fir",
    "elm",
    "fir",
    "3.5",
    "4.5",
    "7",
    "-",
    "a_b",
    "a",
]


@pytest.fixture
def every_pair(monkeypatch):
    """Every pair that meets is a candidate, however unlike its sketches."""
    monkeypatch.setattr(_candidates, "CERTAIN_DEVIATIONS", 1e9)


def plain(text):
    return set(re.findall(r"\w+", text.lower()))


def at_space(text):
    return set(text.lower().split())


@pytest.mark.parametrize(
    ("one", "other", "folds"),
    [
        ("Sales rose by 3.5 in May", "Sales rose by 12 in May", {"numbers": "fold"}),
        ("Sales rose in May", "sales rose in may", {"case": "fold"}),
        ("Sales rose, in May", "Sales; rose in “May”!", {"punctuation": "drop"}),
    ],
)
def test_what_is_folded_makes_no_difference_and_all_else_does(tmp_path, one, other, folds):
    strict: dict[str, Any] = {"numbers": "keep", "case": "keep", "punctuation": "keep"}
    documents = {"one": one, "other": other}
    assert dedup(tmp_path / "strict", documents, Minhash(threshold=1.0, **strict)).kept == ["one", "other"]
    assert dedup(tmp_path / "folded", documents, Minhash(threshold=1.0, **strict | folds)).kept == ["one"]
    defaults = dedup(tmp_path / "defaults", documents, Minhash(threshold=1.0))
    assert defaults.kept == (["one"] if "case" in folds else ["one", "other"])


@pytest.mark.usefixtures("every_pair")
def test_a_pair_must_be_alike_by_words_and_by_white_space_and_what_is_lost_is_the_definition(tmp_path):
    place = folders(tmp_path)

    @some
    @given(
        st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map(" ".join), min_size=1, max_size=7),
        st.booleans(),
    )
    def check(texts, contained):
        documents = named(texts)
        rule: dict[str, Any] = {"rule": "contained", "most_lost": 0.2} if contained else {}
        found = dedup(next(place), documents, Minhash(**STEP, **rule))
        kept: list[str] = []
        twins, lost = {}, {}
        for name, text in documents.items():
            passed = []
            for place_, other in enumerate(kept):
                sets = [(kind(text), kind(documents[other])) for kind in (plain, at_space)]
                alike = min(jaccard(*both) if both[0] and both[1] else 0.0 for both in sets)
                gone = max(len(mine - theirs) / len(mine) if mine else 0.0 for mine, theirs in sets)
                if alike >= 0.5 and gone <= (0.2 if contained else 1):
                    passed.append((-alike, place_, other, gone))
            if passed:
                alike, _, other, lost[name] = min(passed)
                twins[name] = other, -alike
            else:
                kept.append(name)
        assert found.twins("minhash") == twins and found.kept == kept
        assert {name: found.rows[name]["minhash.lost"] for name in documents} == {
            name: lost.get(name) for name in documents
        }

    check()


def test_a_document_that_says_more_than_the_one_before_it_stays_if_it_must_be_contained(tmp_path):
    words = [f"w{number}" for number in range(200)]
    short, long = " ".join(words), " ".join([*words, *(f"v{number}" for number in range(20))])
    similar = dedup(tmp_path / "similar", {"short": short, "long": long}, Minhash())
    assert similar.kept == ["short"] and similar.rows["long"]["minhash.lost"] == 20 / 216
    contained = dedup(tmp_path / "contained", {"short": short, "long": long}, Minhash(rule="contained"))
    assert contained.kept == ["short", "long"]
    longest = dedup(tmp_path / "longest", {"short": short, "long": long}, Minhash(rule="contained", keep="longest"))
    assert longest.kept == ["long"] and longest.rows["short"]["minhash.lost"] == 0


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), max_size=300), st.lists(st.integers(0, 300)))
def test_the_sample_of_rejected_pairs_does_not_depend_on_the_order_in_which_they_come(pairs_, cuts):
    documents = np.array(pairs_, np.int64).reshape(-1, 2)
    whole = RejectedPairs().add(documents)
    parts = RejectedPairs()
    for start, stop in pairwise([0, *sorted(cut for cut in cuts if cut < len(documents)), len(documents)]):
        parts = parts.add(documents[start:stop][::-1])
    assert parts.hashes.tolist() == whole.hashes.tolist()
    assert parts.documents.tolist() == whole.documents.tolist()
    assert {tuple(pair) for pair in whole.documents.tolist()} <= set(pairs_)
    assert len(whole.hashes) == min(MAX_REJECTED, len(set(pairs_)))


def test_pairs_that_were_compared_and_stay_are_in_the_report_with_what_would_be_lost(tmp_path):
    words = [f"w{number}" for number in range(100)]
    changed = [*words[:50], *(f"v{number}" for number in range(6)), *words[50:]]
    documents = {"one": " ".join(words), "other": " ".join(changed)}
    found = dedup(tmp_path, documents, Minhash(rule="contained"))
    assert found.kept == ["one", "other"]
    (path,) = found.folder.glob("stages/minhash-decide-*/rejected/*.parquet")
    (row,) = pq.read_table(path).to_pylist()
    sets = [grams(text, 5) for text in documents.values()]
    assert row["similarity"] == jaccard(*sets) >= 0.8 and row["lost"] == len(sets[1] - sets[0]) / len(sets[1])
    tables = RunTables(found.folder)
    (figure,) = pairs(tables, 4)
    assert not figure.least_similar
    (shown,) = figure.rejected
    assert (shown["document"]["url"], shown["duplicate_of"]["url"]) == ("other", "one")
    text = page(tables)
    assert "Rejected candidate pairs, the most similar" in text
    assert "9.8% of the n-grams of the first are missing from the second" in text


def test_a_source_and_a_domain_that_lose_nearly_all_are_named(tmp_path):
    """Pages of a mirror, 19 of 20, and of a site that loses 6 of 12."""
    random = Random(0)
    texts = [" ".join(random.choices([f"w{number}" for number in range(900)], k=80)) for _ in range(60)]
    at = {f"https://www.first.example/{number}": text for number, text in enumerate(texts[:30])}
    at |= {f"http://m{number}.mirror.co.uk/": text for number, text in enumerate([*texts[:19], texts[40]])}
    at |= {f"http://other.example/{number}": text for number, text in enumerate([*texts[:6], *texts[50:56]])}
    found = dedup(tmp_path, at, Minhash(), cuts=[31, 55], unit=3000)
    tables = RunTables(found.folder)
    (one,) = emptied(tables)
    assert (one.kind, one.name, one.documents_in, one.dropped) == ("domain", "mirror.co.uk", 20, 19)
    (said,) = warnings(tables)
    assert said.startswith("minhash drops 95.0 % of the documents of domain mirror.co.uk as near-duplicates (19 of 20)")
    assert said[1:] in page(tables)
    marked = dedup(tmp_path / "marked", at, Minhash(mark=True))
    assert emptied(RunTables(marked.folder)) == []


def test_a_source_of_copies_alone_is_named(tmp_path):
    text = " ".join(f"w{number}" for number in range(60))
    found = dedup(tmp_path, {f"d{number}": text for number in range(12)}, Minhash())
    (one,) = emptied(RunTables(found.folder))
    assert (one.kind, one.name, one.documents_in, one.dropped) == ("source", "jsonl", 12, 11)


def test_pages_of_a_site_have_one_key_and_no_address_has_none():
    urls = [
        "http://a.b.co.uk/x",
        "https://B.co.uk:80",
        "http://b.com/",
        "http://10.0.0.7/a",
        "http://10.0.0.7/b",
        "x",
        "",
        None,
    ]
    keys = site_keys(parse(pa.array(urls, pa.string())))
    assert keys[0] == keys[1] and keys[3] == keys[4]
    assert len(set(keys.tolist())) == 5 and keys[6] == keys[7] == 0
