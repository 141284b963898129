"""Training a quality classifier: what it learns, that it is the same each time, and what it refuses."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.cli.app import app
from corpusmill.cli.common import guarded
from corpusmill.errors import InputError, RecipeError
from corpusmill.models.quality import QualityModel
from corpusmill.train.quality import QualitySettings, auc, fit, hold_out, together, train, unbeaten
from corpusmill.train.texts import read_texts

SMALL = QualitySettings(bits=12, epochs=3)
NOUNS = ("river", "mill", "harbour", "stone", "gauge", "moon", "tide", "winter", "sailor", "lamp")
GOOD = [f"The {a} stood by the {b}, and nobody knew why it was there." for a in NOUNS for b in NOUNS if a != b]
BAD = [f"Buy {a} now!!! Best {b} price\nAdd to cart" for a in NOUNS for b in NOUNS if a != b]


def column(texts) -> pa.LargeStringArray:
    return pa.array(list(texts), pa.large_string())


def bytes_of(model: QualityModel, path) -> bytes:
    model.save(path)
    return path.read_bytes()


def test_learns_what_tells_the_sets_apart():
    model = train(column(GOOD), column(BAD), SMALL, {})
    held = model.card["held_out"]
    assert held["documents"] == 36 and held["good"] == 18
    assert held["auc"] == 1.0
    good, bad = model.scores(column(["The cat sat by the fire, and nobody minded.", "Cheap cats now!!! Add to cart"]))
    assert bad < 0.3 and good > 0.7


def test_the_same_texts_in_another_order_give_the_same_bytes(tmp_path):
    one = bytes_of(train(column(GOOD), column(BAD), SMALL, {}), tmp_path / "one")
    again = bytes_of(train(column(GOOD[::-1]), column(BAD[7:] + BAD[:7]), SMALL, {}), tmp_path / "again")
    assert one == again


def test_the_seed_and_the_settings_change_the_model(tmp_path):
    made = [
        bytes_of(train(column(GOOD), column(BAD), settings, {}), tmp_path / "model")
        for settings in (SMALL, QualitySettings(bits=12, epochs=3, seed=1), QualitySettings(bits=12, epochs=4))
    ]
    assert len(set(made)) == 3


def test_held_out_documents_are_not_learned_from():
    sets = together(column(GOOD), column(BAD))
    held = hold_out(sets, SMALL)
    assert held[sets.good].sum() == held[~sets.good].sum() == 18  # a fifth of each kind
    expected = fit(sets.texts.filter(pa.array(~held)), sets.good[~held], SMALL)
    learned = train(column(GOOD), column(BAD), SMALL, {}).linear
    np.testing.assert_array_equal(learned.weights, expected.weights)
    assert learned.bias == expected.bias


def test_of_two_documents_one_is_held_out():
    sets = together(column(GOOD[:2]), column(BAD[:2]))
    held = hold_out(sets, QualitySettings(held_out=0.9))
    assert held[sets.good].sum() == held[~sets.good].sum() == 1


def test_both_kinds_count_the_same_however_many_they_are():
    few = BAD[:6]
    model = train(column(GOOD), column(few), QualitySettings(bits=12, epochs=10, held_out=0.34), {})
    assert model.scores(column(few)).max() < 0.5 < model.scores(column(GOOD)).min()


def test_without_length_long_and_short_are_judged_by_their_words():
    long = [" ".join(GOOD[i : i + 20]) for i in range(60)]
    short = [text.split(",")[0] for text in GOOD]
    by_length = train(column(long), column(short), SMALL, {})
    without = train(column(long), column(short), QualitySettings(bits=12, epochs=3, length=False), {})
    assert by_length.linear.lengths.any() and not without.linear.lengths.any()


def test_repeats_count_once_and_texts_of_both_kinds_not_at_all():
    sets = together(column([*GOOD, *GOOD[:5]]), column([*BAD, GOOD[0]]))
    assert (sets.repeated, sets.disputed) == (6, 1)
    assert int(sets.good.sum()) == len(GOOD) - 1 and int((~sets.good).sum()) == len(BAD)
    assert GOOD[0] not in sets.texts.to_pylist()


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=50)
def test_the_auc_is_the_share_of_pairs_in_order(rows):
    good = np.array([kind for _, kind in rows])
    score = np.array([value for value, _ in rows])
    if good.all() or not good.any():
        return
    pairs = [(a > b) + 0.5 * (a == b) for a in score[good] for b in score[~good]]
    assert auc(score, good) == pytest.approx(float(np.mean(pairs)))


@pytest.mark.parametrize(
    "good, bad, message",
    [
        ([], BAD, "0 good documents"),
        (GOOD, [], "0 bad documents"),
        (GOOD, BAD[:1], "1 bad documents"),
        (GOOD, GOOD, "90 are in both kinds"),
        (GOOD, ["same"] * 9, "9 bad documents give 1 usable texts"),
    ],
)
def test_sets_that_teach_nothing_are_refused(good, bad, message):
    with pytest.raises(InputError, match=message):
        train(column(good), column(bad), SMALL, {})


@pytest.mark.parametrize(
    "wrong", [{"bits": 9}, {"bits": 40}, {"epochs": 0}, {"rate": 0}, {"decay": -1}, {"held_out": 1.0}]
)
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(RecipeError):
        QualitySettings(**wrong)


# --- reading


def write(folder):
    (folder / "good").mkdir()
    with gzip.open(folder / "good" / "a.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in GOOD[:50])
    pq.write_table(pa.table({"text": GOOD[50:]}), folder / "good" / "b.parquet")
    (folder / "bad.txt").write_text("\n\n".join(BAD), "utf-8")


def test_documents_of_several_formats_are_read(tmp_path):
    write(tmp_path)
    read = read_texts([str(tmp_path / "good")])
    assert read.texts.to_pylist() == GOOD and (read.files, read.faults) == (2, 0)
    assert read.bytes == sum(len(text.encode()) for text in GOOD)
    assert read_texts([str(tmp_path / "bad.txt")], "paragraph").texts.to_pylist() == BAD
    assert len(read_texts([str(tmp_path / "bad.txt")], "line").texts) == 2 * len(BAD)
    assert len(read_texts([str(tmp_path / "bad.txt")]).texts) == 1


def test_the_text_of_pages_is_what_counts(tmp_path):
    (tmp_path / "page.html").write_text("<html><head><title>t</title></head><body><p>A river ran by.</p></body></html>")
    assert read_texts([str(tmp_path / "page.html")]).texts.to_pylist() == ["A river ran by."]


def test_a_file_that_no_reader_knows_is_refused(tmp_path):
    (tmp_path / "a.odt").write_text("x")
    with pytest.raises(InputError, match=r"a\.odt: no reader for this file name"):
        read_texts([str(tmp_path / "a.odt")])


# --- the command


def command(*words: object) -> int:
    return guarded(lambda **options: app()(["train", "quality", *map(str, words)], **options))


def test_the_command_trains_prints_a_table_and_writes_a_model(tmp_path, capsys):
    write(tmp_path)
    out = tmp_path / "model.quality"
    words = ("--good", tmp_path / "good", "--bad", tmp_path / "bad.txt", "--documents", "paragraph", "--out", out)
    assert command(*words, "--bits", 12, "--license", "CC0-1.0") == 0
    printed = capsys.readouterr()
    assert "AUC 1.0000" in printed.out and "min. score" in printed.out
    assert "good: 90 documents in 2 files" in printed.err
    card = QualityModel.load(out).card
    assert card["licence"] == "CC0-1.0" and card["data"]["good"]["documents"] == 90
    assert command(*words, "--bits", 12, "--json") == 0
    assert json.loads(capsys.readouterr().out)["held_out"]["auc"] == 1.0


def test_the_command_says_when_length_or_other_statistics_do_as_well(tmp_path, capsys):
    (tmp_path / "good.jsonl").write_text(
        "".join(json.dumps({"text": " ".join(GOOD[i : i + 9])}) + "\n" for i in range(80))
    )
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in GOOD[:80]))
    words = ("--good", tmp_path / "good.jsonl", "--bad", tmp_path / "bad.jsonl", "--bits", 12, "--json")
    assert command(*words, "--out", tmp_path / "m.quality") == 0
    printed = capsys.readouterr()
    assert "does not beat the number of bytes alone (1.000) and the number of words alone (1.000)" in printed.err
    assert len(json.loads(printed.out)["unbeaten"]) >= 2


def test_a_model_that_beats_them_is_not_blamed():
    rng = np.random.default_rng(0)
    kinds = [
        [" ".join(rng.choice(words, 60)) for _ in range(150)]
        for words in (NOUNS[:5], ("brick", "shoes", "cable", "phone", "chair"))
    ]
    held = train(column(kinds[0]), column(kinds[1]), SMALL, {}).card["held_out"]
    assert held["auc"] > 0.99 and held["words_auc"] == 0.5
    mixed = {"auc": 0.9, "error": 0.02, "length_auc": 0.1, "words_auc": 0.5, "shape_auc": 0.885}
    assert unbeaten(mixed) == [
        "the number of bytes alone (0.100)",
        "statistics of characters, words and lines alone (0.885)",
    ]


@pytest.mark.parametrize("what", ["missing", "empty", "one class", "no folder", "unknown"])
def test_the_command_says_what_is_wrong_and_writes_nothing(tmp_path, capsys, what):
    write(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    good, bad, out = tmp_path / "good", tmp_path / "bad.txt", tmp_path / "out.quality"
    bad = {"missing": tmp_path / "nothing.txt", "empty": tmp_path / "empty.jsonl", "one class": good}.get(what, bad)
    out = tmp_path / "none" / "out.quality" if what == "no folder" else out
    documents = "sentence" if what == "unknown" else "paragraph"
    assert command("--good", good, "--bad", bad, "--out", out, "--documents", documents) == 2
    said = capsys.readouterr().err
    expected = {
        "missing": "nothing.txt", "empty": "0 bad documents", "one class": "in both kinds", "no folder": "no folder",
        "unknown": "sentence",
    }  # fmt: skip
    assert expected[what] in said
    assert not out.exists()
