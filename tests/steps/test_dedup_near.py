"""Near copies are those that the definition finds, and nothing about the work decides which of them stay."""

from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from conftest import docs
from corpusmill.engine.drive.listener import Silent
from corpusmill.engine.plan.identity import keys_description
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.ops.checks import check
from corpusmill.recipe.model import Recipe
from corpusmill.steps.dedup import _candidates
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import MAX_LANES, TARGET_RECALL, Minhash, collision_probability, solve
from dedup_runs import WORDS, dedup, folders, grams, jaccard, named, slow_twins, some, texts

shapes = st.sampled_from([(1, "words"), (2, "words"), (4, "characters")])
thresholds = st.sampled_from([0.3, 0.5, 0.8])


@pytest.fixture
def every_pair(monkeypatch):
    """Every pair that meets is a candidate, however unlike its sketches."""
    monkeypatch.setattr(_candidates, "CERTAIN_DEVIATIONS", 1e9)


@pytest.mark.usefixtures("every_pair")
def test_where_all_that_are_alike_meet_it_is_the_definition(tmp_path):
    place = folders(tmp_path)

    @some
    @given(texts, shapes, thresholds, st.sets(st.integers(1, 8), max_size=3))
    def check(texts, shape, threshold, cuts):
        documents, (n, of) = named(texts), shape
        cuts = sorted(cut for cut in cuts if cut < len(documents))
        step = Minhash(ngram=n, unit=of, threshold=threshold, bands=64, rows=1)
        found = dedup(next(place), documents, step, cuts=cuts, unit=100)
        sets = {name: grams(text, n, of) for name, text in documents.items()}
        twins = slow_twins(sets, threshold, list(documents))
        assert found.twins("minhash") == twins
        assert found.kept == [name for name in documents if name not in twins]

    check()


def test_a_document_goes_only_for_one_that_stays_and_is_as_like_it_as_is_said(tmp_path):
    place = folders(tmp_path)

    @some
    @given(texts, shapes, st.sampled_from(["first", "longest"]))
    def check(texts, shape, keep):
        documents, (n, of) = named(texts), shape
        found = dedup(next(place), documents, Minhash(ngram=n, unit=of, threshold=0.4, bands=4, rows=2, keep=keep))
        twins = found.twins("minhash")
        assert set(found.kept) == set(documents) - set(twins)
        for name, (twin, similarity) in twins.items():
            assert twin in found.kept
            assert similarity >= 0.4
            assert similarity == jaccard(grams(documents[name], n, of), grams(documents[twin], n, of))

    check()


@pytest.mark.parametrize("step", [Minhash(ngram=1, bands=6, rows=2, threshold=0.5), Exact()], ids=["minhash", "exact"])
def test_how_the_input_is_cut_into_files_units_and_slices_changes_nothing(tmp_path, step):
    place = folders(tmp_path)
    label = "minhash" if isinstance(step, Minhash) else "exact"

    @some
    @given(texts, st.sets(st.integers(1, 8), max_size=4), st.sampled_from([60, 150, 400]), st.sampled_from([100, 400]))
    def check(texts, cuts, unit, partition_bytes):
        documents = named(texts)
        cuts = sorted(cut for cut in cuts if cut < len(documents))
        whole = dedup(next(place), documents, step)
        cut = dedup(next(place), documents, step, cuts=cuts, unit=unit, partition_bytes=partition_bytes)
        assert cut.kept == whole.kept
        assert cut.twins(label) == whole.twins(label)
        assert cut.clusters(label) == whole.clusters(label)

    check()


@pytest.mark.parametrize("step", [Minhash, Exact])
def test_where_contents_decide_the_order_of_documents_changes_nothing(tmp_path, step):
    """No two documents have one date: else the first of them stays, and "first" is a matter of order."""
    place = folders(tmp_path)
    parameters = {"ngram": 1, "bands": 6, "rows": 2, "threshold": 0.5} if step is Minhash else {}
    label = step.__name__.lower()

    @some
    @given(texts, st.randoms(use_true_random=False), st.sampled_from(["newest", "oldest"]))
    def check(texts, random, keep):
        dates = random.sample(range(10, 31), len(texts))
        documents = {
            name: {"text": text, "date": f"2024-01-{day}"} for (name, text), day in zip(named(texts).items(), dates)
        }
        shuffled = dict(random.sample(list(documents.items()), len(documents)))
        found = [dedup(next(place), each, step(keep=keep, **parameters)) for each in (documents, shuffled)]
        assert sorted(found[0].kept) == sorted(found[1].kept)
        assert found[0].twins(label) == found[1].twins(label)

    check()


@pytest.mark.parametrize("step", [Minhash, Exact])
def test_clusters_add_up_and_marking_drops_nothing_and_notes_the_same(tmp_path, step):
    place = folders(tmp_path)
    parameters = {"ngram": 1, "bands": 6, "rows": 2, "threshold": 0.5} if step is Minhash else {}
    label = step.__name__.lower()

    @some
    @given(texts)
    def check(texts):
        documents = named(texts)
        dropping = dedup(next(place), documents, step(**parameters), page=True)
        marking = dedup(next(place), documents, step(mark=True, **parameters), page=True)
        assert marking.kept == list(documents) and not marking.reasons
        assert marking.twins(label) == dropping.twins(label)
        clusters = dropping.clusters(label)
        assert marking.clusters(label) == clusters
        assert sum(clusters[name][1] for name in dropping.kept) == len(documents)
        for name, (twin, _) in dropping.twins(label).items():
            assert clusters[name] == clusters[twin] and clusters[name][0] == twin
        alone = [name for name in dropping.kept if clusters[name] == (None, 1)]
        assert len(alone) == len(dropping.kept) - len({twin for twin, _ in dropping.twins(label).values()})

    check()


def test_a_document_without_words_has_no_twin_and_a_short_one_only_equals(tmp_path):
    documents = {"dots": "...", "marks": "!?!", "one": "river stone", "two": "River, stone!", "three": "river stones"}
    found = dedup(tmp_path, documents, Minhash(punctuation="drop"))
    assert found.twins("minhash") == {"two": ("one", 1.0)}
    assert found.kept == ["dots", "marks", "one", "three"]


def test_one_whose_twin_goes_is_compared_with_what_its_twin_goes_for(tmp_path):
    """The last meets the second alone, which goes for the first: it is like the first, too, and goes for that."""
    step = Minhash(ngram=1, bands=2, rows=1, threshold=0.5)
    random = Random(1)

    def meet(one, other):
        keys = step.keys(docs(one, other), {}).bands
        return bool((keys[0] == keys[1]).any())

    def alike(one, other):
        return jaccard(grams(one, 1), grams(other, 1)) >= 0.5

    while True:
        first, second, last = (" ".join(random.sample(WORDS, 6)) for _ in range(3))
        if (
            all(alike(*pair) for pair in combinations((first, second, last), 2))
            and meet(first, second)
            and meet(second, last)
            and not meet(first, last)
        ):
            break
    found = dedup(tmp_path, {"first": first, "second": second, "last": last}, step)
    assert {name: twin for name, (twin, _) in found.twins("minhash").items()} == {"second": "first", "last": "first"}
    assert found.twins("minhash")["last"][1] == jaccard(grams(last, 1), grams(first, 1))


def test_there_are_no_chains(tmp_path, monkeypatch):
    """B is like A, and C like B: C is not like A, and stays."""
    monkeypatch.setattr(_candidates, "CERTAIN_DEVIATIONS", 1e9)
    a, b, c = "a b c d e f g h", "c d e f g h i j", "e f g h i j k l"
    step = Minhash(ngram=1, bands=64, rows=1, threshold=0.6)
    found = dedup(tmp_path, {"a": a, "b": b, "c": c}, step)
    assert found.twins("minhash") == {"b": ("a", 0.6)} and found.kept == ["a", "c"]


@pytest.mark.parametrize(("threshold", "shape"), [(0.8, (16, 7)), (0.5, (28, 3)), (0.9, (10, 11)), (1.0, (1, 128))])
def test_bands_and_rows_are_solved_from_the_threshold(threshold, shape):
    assert solve(threshold) == shape
    assert Minhash(threshold=threshold).shape == shape
    assert Minhash(threshold=threshold, bands=shape[0]).shape == shape
    assert Minhash(threshold=threshold, rows=shape[1]).shape == shape
    assert Minhash(bands=3, rows=5, threshold=threshold).shape == (3, 5)


@given(st.floats(0.05, 1.0))
def test_what_is_solved_meets_often_enough_with_as_many_rows_as_can_be(threshold):
    bands, rows = solve(threshold)
    assert bands * rows <= MAX_LANES

    assert collision_probability(threshold, bands, rows) >= TARGET_RECALL - 1e-9 or (bands, rows) == (MAX_LANES, 1)
    assert bands == 1 or rows == 1 or collision_probability(threshold, bands - 1, rows) < TARGET_RECALL
    assert (
        collision_probability(threshold, MAX_LANES // (rows + 1), rows + 1) < TARGET_RECALL + 1e-9 or rows == MAX_LANES
    )


@given(st.floats(0.05, 1.0), st.integers(1, 40))
def test_of_bands_and_rows_the_one_that_is_given_stays_and_the_other_is_solved(threshold, number):
    bands, rows = solve(threshold, bands=number)
    assert bands == number
    assert collision_probability(threshold, bands, rows) >= TARGET_RECALL - 1e-9 or rows == 1
    assert collision_probability(threshold, bands, rows + 1) < TARGET_RECALL + 1e-9 or bands * (rows + 1) > MAX_LANES
    bands, rows = solve(threshold, rows=number)
    assert rows == number
    assert collision_probability(threshold, bands, rows) >= TARGET_RECALL - 1e-9 or bands == max(MAX_LANES // number, 1)
    assert bands == 1 or collision_probability(threshold, bands - 1, rows) < TARGET_RECALL


@pytest.mark.parametrize(
    ("parameters", "remark"),
    [
        ({}, "two documents of similarity 0.8 meet with probability 0.98 (16 bands × 7 rows)"),
        ({"threshold": 0.7}, "two documents of similarity 0.7 meet with probability 0.98 (21 bands × 5 rows)"),
        (
            {"threshold": 0.7, "bands": 16, "rows": 7},
            "two documents of similarity 0.7 meet with probability 0.75 (16 bands × 7 rows), so 25% of such pairs are "
            "missed, as its bands and rows ask for; without them the probability is 0.98",
        ),
        (
            {"threshold": 0.01},
            "warning: two documents of similarity 0.01 meet with probability 0.72 (128 bands × 1 rows), so 28% of such "
            "pairs are missed; give it a higher threshold, or rows: 1 and bands: 368",
        ),
    ],
)
def test_the_step_says_how_many_pairs_meet(parameters, remark):
    assert Minhash(**parameters).remarks == (remark,)


def test_the_bands_that_it_asks_for_are_enough():
    assert Minhash(threshold=0.01).remarks[0].endswith("rows: 1 and bands: 368")
    assert collision_probability(0.01, 368, 1) >= TARGET_RECALL > collision_probability(0.01, 367, 1)
    assert not Minhash(threshold=0.01, rows=1, bands=368).remarks[0].startswith("warning: ")


def test_keys_depend_on_the_shape_and_not_on_how_it_came_about():
    given_shape, solved = Minhash(bands=16, rows=7, threshold=0.9), Minhash()
    assert keys_description(given_shape) == keys_description(solved)
    assert keys_description(Minhash(threshold=0.7)) != keys_description(solved)


def test_the_table_of_the_docstring_is_that_of_the_formula():
    lines = [line.split() for line in (Minhash.__doc__ or "").splitlines()]
    (header,) = [[float(word) for word in words[1:]] for words in lines if words[:1] == ["s"]]
    table = {(int(words[0]), int(words[2])): words[3:] for words in lines if words[1:2] == ["x"] and len(words) > 3}
    assert (16, 7) in table and len(table) == 4
    for (bands, rows), values in table.items():
        assert values == [f"{1 - (1 - s**rows) ** bands:.4f}" for s in header]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bands": 0}, "bands, rows >= 1"),
        ({"ngram": 0}, "need ngram"),
        ({"ngram": 2**63}, "ngram is at most 1,000"),
        ({"threshold": 0.0}, "0 < threshold <= 1, got 0.0"),
        ({"unit": "letters"}, 'unit is "words" or "characters", got "letters"'),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        Minhash(**parameters)


def test_check_the_run_and_the_report_say_it(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a b c d e f"}\n{"text": "a b c d e f"}\n', "utf-8")
    said = f"read: {{jsonl: {tmp_path}/in.jsonl}}\nsteps: [dedup/minhash: {{threshold: 0.6}}]\nwrite: jsonl\n"
    recipe = Recipe.parse(said + f"run: {{folder: {tmp_path}/run}}\n")
    remark = "two documents of similarity 0.6 meet with probability 0.98 (27 bands × 4 rows)"
    assert check(recipe).remarks == (("minhash", remark),)
    heard = Heard()
    done = corpusmill.run(recipe, executor=Serial(), listener=heard)
    assert f"minhash: {remark}" in heard.notes
    assert f"T{remark[1:]}." in done.report.read_text("utf-8")


class Heard(Silent):
    """What a run notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)
