"""Scores of our kernels against the fastText library, and against the definition in plain Python."""

import math
import random
import struct
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.fasttext import FastText
from corpusmill.models.fasttext_file import read_labels
from corpusmill.text.buffers import view

WORDS = {
    "en": ["the", "of", "and", "to", "in", "that", "was", "river", "mill", "grain", "water", "stone", "wheel"],
    "de": ["der", "die", "und", "in", "den", "von", "zu", "das", "mit", "fluss", "mühle", "korn", "größe", "straße"],
    "el": ["και", "το", "να", "του", "η", "της", "με", "που", "την", "από", "για", "μύλος", "νερό"],
    "zh": ["的一是不了人我在有他这", "水车磨坊", "河流", "石头", "粮食"],
    "pl": ["w", "i", "się", "na", "z", "do", "to", "że", "jest", "młyn", "rzeka", "zboże", "źródło"],
}
# What cuts words, what does not, the marks that mean something to fastText, and words that no model has seen.
GAPS = [" ", "  ", "\t", "\v", "\f", "\r", "\0", " \t ", "\u00a0", "\u2028", "\x1c"]
ODD = [
    "</s>",
    "__label__en",
    "__label__new",
    "<river>",
    "",
    "a",
    "é",
    "水",
    "🌊🌊",
    "straßenmühle",
    "x" * 300,
    "<",
    "\u200b",
]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = random.Random(1)
    lines = []
    for i in range(600):
        language = list(WORDS)[i % 8 * 5 // 8]  # 2:1:2:1:2, so a label is as frequent as the node of two others
        words = (
            chance.choice(WORDS[language]) + chance.choice(["", "", "s", "en"]) for _ in range(chance.randint(1, 9))
        )
        lines.append(f"__label__{language} {' '.join(words)}\n")
    path = tmp_path_factory.mktemp("fasttext") / "train.txt"
    path.write_text("".join(lines), "utf-8")
    return path


TRAINED: dict[str, dict[str, Any]] = {
    "hs": {"loss": "hs"},
    "softmax": {"loss": "softmax"},
    "one_vs_all": {"loss": "ova"},
    "negative": {"loss": "ns"},
    "word_bigrams": {"loss": "softmax", "wordNgrams": 2},
    "word_trigrams_hs": {"loss": "hs", "wordNgrams": 3, "minn": 3, "maxn": 5},
    "words_only": {"loss": "softmax", "minn": 0, "maxn": 0, "wordNgrams": 2},
    "no_buckets": {"loss": "hs", "minn": 0, "maxn": 0},
    "single_characters": {"loss": "softmax", "minn": 1, "maxn": 2},
    "odd_dimension": {"loss": "hs", "dim": 7},
}
QUANTISED: dict[str, dict[str, Any]] = {
    "pruned": {"cutoff": 300},
    "pruned_norms": {"cutoff": 300, "qnorm": True},
    "whole": {"dsub": 3},
    "whole_norms": {"qnorm": True},
}
CASES = [*((t, None) for t in TRAINED), *((t, q) for t in ("hs", "softmax", "word_bigrams") for q in QUANTISED)]


@pytest.fixture(scope="session")
def model_at(corpus: Path):
    made: dict[tuple[str, str | None], Path] = {}

    def make(trained: str, quantised: str | None = None) -> Path:
        path = corpus.parent / f"{trained}-{quantised}{'.ftz' if quantised else '.bin'}"
        if (trained, quantised) not in made:
            given = {"dim": 8, "minn": 2, "maxn": 4, "bucket": 1500, "epoch": 3, "lr": 0.5} | TRAINED[trained]
            model = fasttext.train_supervised(str(corpus), thread=1, seed=1, verbose=0, **given)
            if quantised:
                model.quantize(**QUANTISED[quantised])
            model.save_model(str(path))
            made[trained, quantised] = path
        return path

    return make


def some_texts(count: int) -> list[str]:
    chance = random.Random(2)
    known = [word for words in WORDS.values() for word in words]
    texts = []
    for _ in range(count):
        words = [
            chance.choice(known) if chance.random() < 0.8 else chance.choice(ODD) for _ in range(chance.randint(1, 20))
        ]
        texts.append("".join(word + chance.choice(GAPS) for word in words))
    return texts


def column(texts: list[str | None]) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def assert_same(
    model: FastText, predicted: tuple, expected: list[tuple[tuple[str, ...], list[float]]], atol: float = 1e-5
) -> None:
    """The same scores; and the same labels, but where the next best is as good as equal."""
    for labels, scores, (names, values) in zip(*predicted, expected, strict=True):
        k = len(names)
        assert (labels >= 0).sum() == k
        np.testing.assert_allclose(scores[:k], values, atol=atol)
        for i in range(k):
            near = [j for j in (i - 1, i + 1) if 0 <= j < k and abs(values[i] - values[j]) < atol]
            if not near and values[i] > 2e-5 and i < k - 1:
                assert "__label__" + model.labels[labels[i]] == names[i]


@pytest.mark.parametrize(("trained", "quantised"), CASES)
def test_gives_the_labels_and_scores_of_the_library(model_at, trained, quantised):
    path = model_at(trained, quantised)
    model, library = FastText.load(path), fasttext.load_model(str(path))
    texts = [text for text in some_texts(300) if has_a_word(text)]
    k = len(WORDS)
    assert_same(model, model.predict(column(texts), k), [library.predict(text, k=k) for text in texts])
    _, scores = model.predict(column(texts), 1)
    alone = [library.predict(text, k=1) for text in texts]
    np.testing.assert_allclose(scores[:, 0], [value[0] for _, value in alone], atol=1e-5)


@pytest.mark.parametrize(("trained", "quantised"), [("hs", None), ("softmax", "pruned"), ("word_bigrams", "pruned")])
def test_words_are_found_wherever_they_begin_and_end_in_a_long_text(model_at, trained, quantised):
    """Words are looked for 64 bytes at a time, and looked up in groups that have room for so many words and bytes."""
    path = model_at(trained, quantised)
    model, library = FastText.load(path), fasttext.load_model(str(path))
    sizes = [1, 2, 61, 62, 63, 64, 65, 66, 127, 128, 129, 191, 253, 254, 255, 256, 400]
    long = [word for size in sizes for word in ("river" * size)[:size].split() * 2 + ["w" * (size - 1) + "é"]]
    few, many = some_texts(70), " ".join(some_texts(400)).replace("</s>", "s")
    texts = [gap * skipped + gap.join(long) for gap in (" ", " \t ") for skipped in range(3)]
    texts += [" " * skipped + text for skipped, text in enumerate(few) if has_a_word(text)]
    texts += [many, many[:1000], " ".join("x" * (n % 9 + 1) for n in range(700)), "river " * 600, "a\t" * 3000]
    # Sums of thousands of rows in another order.
    assert_same(model, model.predict(column(texts), 3), [library.predict(text, k=3) for text in texts], atol=1e-4)


def test_gives_the_labels_and_scores_of_the_library_with_a_quantised_output(corpus, tmp_path):
    lines = corpus.read_text("utf-8").splitlines()
    many = [line.replace(" ", f"{i % 300} ", 1) for i, line in enumerate(lines)]  # the output needs 256 rows for this
    (tmp_path / "train.txt").write_text("\n".join(many) + "\n", "utf-8")
    library = fasttext.train_supervised(str(tmp_path / "train.txt"), dim=6, bucket=500, maxn=3, thread=1, verbose=0)
    library.quantize(qout=True, qnorm=True)
    library.save_model(str(tmp_path / "model.ftz"))
    model = FastText.load(tmp_path / "model.ftz")
    texts = [text for text in some_texts(50) if has_a_word(text)]
    assert_same(model, model.predict(column(texts), 4), [library.predict(text, k=4) for text in texts])


def has_a_word(text: str) -> bool:
    before_end = text.translate(dict.fromkeys(map(ord, "\n\t\v\f\r\0"), " ")).split(" ")
    words = before_end[: before_end.index("</s>")] if "</s>" in before_end else before_end
    return any(word and not word.startswith("__label__") for word in words)


def slow_fnv(spelling: bytes) -> int:
    h = 2166136261
    for byte in spelling:
        h = (h ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619 % 2**32
    return h


def slow_scores(library, text: str) -> dict[str, float]:
    """label -> probability under a dense softmax model, as the papers say it: features, mean, softmax."""
    options = library.f.getArgs()
    words, labels = library.get_words(), library.get_labels()
    ids = {word: i for i, word in enumerate(words)}
    tokens = [*text.translate(dict.fromkeys(map(ord, "\n\t\v\f\r\0"), " ")).split(" "), "</s>"]
    rows, hashes = [], []
    for token in tokens[: tokens.index("</s>") + 1]:
        if not token or token.startswith("__label__"):
            continue
        if token in ids:
            rows.append(ids[token])
        if token != "</s>":
            around = f"<{token}>"
            for n in range(max(options.minn, 1), options.maxn + 1):
                for i in range(len(around) - n + 1):
                    if around[i : i + n] not in ("<", ">") or (n == 1 and 0 < i < len(around) - 1):
                        rows.append(len(words) + slow_fnv(around[i : i + n].encode()) % options.bucket)
        h = slow_fnv(token.encode())
        hashes.append(h - 2**32 if h >= 2**31 else h)
    for i in range(len(hashes)):
        h = hashes[i]
        for following in hashes[i + 1 : i + options.wordNgrams]:
            h = (h * 116049371 + following) % 2**64
            rows.append(len(words) + h % options.bucket)
    mean = library.get_input_matrix()[rows].astype(float).mean(axis=0)
    values = library.get_output_matrix().astype(float) @ mean
    shares = np.exp(values - values.max()) / np.exp(values - values.max()).sum()
    return {label: float(share) for label, share in zip(labels, shares, strict=True)}


known = [word for words in WORDS.values() for word in words]
spelled = st.one_of(st.sampled_from(known + ODD), st.text(max_size=6))
written = st.lists(st.tuples(spelled, st.sampled_from([*GAPS, "\n"])), max_size=8).map(
    lambda parts: "".join(word + gap for word, gap in parts)
)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(written, min_size=1, max_size=4))
@pytest.mark.parametrize("trained", ["softmax", "word_bigrams", "single_characters", "words_only"])
def test_agrees_with_the_definition(model_at, trained, texts):
    path = model_at(trained)
    model, library = FastText.load(path), fasttext.load_model(str(path))
    for text, labels, scores in zip(texts, *model.predict(column(texts), 5), strict=True):
        if not has_a_word(text):
            assert labels.tolist() == [-1] * 5 and scores.tolist() == [0] * 5
            continue
        expected = slow_scores(library, text)
        assert sorted(labels.tolist()) == [0, 1, 2, 3, 4]
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)
        for label, score in zip(labels, scores, strict=True):
            assert math.isclose(score, expected["__label__" + model.labels[label]] + 1e-5, abs_tol=1e-5)


def test_names_the_k_best_of_the_tree_whatever_k_is(model_at):
    model = FastText.load(model_at("hs"))
    texts = column(some_texts(200))
    all_labels, all_scores = model.predict(texts, 5)
    for k in (1, 2, 3, 4):
        labels, scores = model.predict(texts, k)
        np.testing.assert_array_equal(scores, all_scores[:, :k])
        np.testing.assert_array_equal(labels, all_labels[:, :k])


@pytest.mark.parametrize("least", [0.05, 0.2, 0.5])
def test_labels_of_so_much_are_found_whatever_else_is_left_out(model_at, least):
    for model in (FastText.load(model_at("hs")), assets.load("lid.176.ftz", FastText.load)):
        text = view(column([*some_texts(200), "先月こちらにはじめて行きました。", "def f(x): return x"]))
        spans = text.data, text.offsets[:-1], text.offsets[1:]
        labels, scores = model.predict_spans(*spans, 5, least)
        all_labels, all_scores = model.predict_spans(*spans, 5)
        wanted = all_scores >= least
        assert labels[wanted].tolist() == all_labels[wanted].tolist()
        assert scores[wanted].tolist() == all_scores[wanted].tolist()
        assert (scores[~wanted] < least).all()


def test_finds_the_second_best_where_the_best_leaves_nothing():
    # The floor of 1e-5 makes a branch score a little more than the branch it grows from, so a bound must allow for it.
    model = assets.load("lid.176.ftz", FastText.load)
    texts = column(["先月こちらにはじめて行きました。", "その思考の原点と骨格を開示する。"])
    labels, scores = model.predict(texts, 2)
    all_labels, all_scores = model.predict(texts, 176)
    assert scores.tolist() == all_scores[:, :2].tolist() and labels.tolist() == all_labels[:, :2].tolist()


def test_a_large_model_is_left_in_its_file_and_scores_the_same(tmp_path):
    chance = random.Random(3)
    spellings = ["".join(chance.choices("abcdefgh", k=7)) for _ in range(60_000)]
    lines = [f"__label__{'xyz'[i % 3]} {' '.join(spellings[i * 60 : i * 60 + 60])}\n" for i in range(1000)]
    (tmp_path / "train.txt").write_text("".join(lines), "utf-8")
    options = {
        "dim": 300,
        "bucket": 1000,
        "minn": 3,
        "maxn": 4,
        "epoch": 3,
        "lr": 1.0,
        "thread": 1,
        "verbose": 0,
        "seed": 1,
    }
    library = fasttext.train_supervised(str(tmp_path / "train.txt"), **options)
    path = tmp_path / "large.bin"
    library.save_model(str(path))
    assert path.stat().st_size > 64 << 20
    texts = [" ".join(chance.choices([*spellings, "abba", "unseen"], k=9)) for _ in range(50)]
    model = FastText.load(path)
    assert_same(model, model.predict(column(texts), 3), [library.predict(text, k=3) for text in texts])
    path.unlink()  # pytest would keep its 72 MB


def test_the_shipped_model_names_languages():
    model = assets.load("lid.176.ftz", FastText.load)
    texts = [
        "The river ran past the old mill.",
        "Der Fluss lief an der alten Mühle vorbei.",
        "La rivière passait devant le vieux moulin.",
        "Река текла мимо старой мельницы.",
        "河水从古老的磨坊旁边流过，人们在那里把粮食磨成面粉，这样的生活已经有几百年了。",
        "川は古い水車小屋のそばを流れていた。",
    ]
    labels, scores = model.predict(column(texts), 2)
    assert len(model.labels) == 176
    assert [model.labels[i] for i in labels[:, 0]] == ["en", "de", "fr", "ru", "zh", "ja"]
    assert (scores[:, 0] > 0.7).all() and (scores[:, 1] < 0.3).all()


def test_each_text_is_scored_alone(model_at):
    model = FastText.load(model_at("word_bigrams", "pruned"))
    texts = column([*some_texts(40), None, "", " \n"])
    labels, scores = model.predict(texts)
    for first, last in ((0, 0), (0, 1), (7, 20), (20, 43)):
        part = model.predict(texts[first:last])
        np.testing.assert_array_equal(part[0], labels[first:last])
        np.testing.assert_array_equal(part[1], scores[first:last])
    assert labels[40:].tolist() == [[-1, -1]] * 3 and scores[40:].tolist() == [[0, 0]] * 3


def test_a_line_break_is_a_space(model_at):
    model = FastText.load(model_at("word_bigrams"))
    broken, joined = (model.predict(column([text])) for text in ("the river\nmill\n", "the river mill "))
    assert broken[0].tolist() == joined[0].tolist() and broken[1].tolist() == joined[1].tolist()


def test_asks_for_at_least_one_label(model_at):
    with pytest.raises(ValueError, match="k must be 1 or more, got 0"):
        FastText.load(model_at("softmax")).predict(column(["a"]), 0)


def test_reads_labels_without_their_prefix_in_the_order_of_the_model(model_at):
    path = model_at("hs")
    assert read_labels(path) == [
        label.removeprefix("__label__") for label in fasttext.load_model(str(path)).get_labels()
    ]
    assert read_labels(path) == FastText.load(path).labels


@pytest.mark.parametrize("quantised", [None, "pruned_norms"])
def test_a_file_that_is_cut_short_is_refused(model_at, tmp_path, quantised):
    whole = model_at("hs", quantised).read_bytes()
    FastText.load(model_at("hs", quantised))
    for size in (*range(8, 93, 6), *range(93, len(whole), len(whole) // 40), len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(
            AssetError, match=f"ends at byte {size}, in the middle|The file, {size:,} bytes, is cut off"
        ):
            FastText.load(tmp_path / "cut")


def test_other_files_are_refused_with_what_they_are(corpus, model_at, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"not a model")
    with pytest.raises(AssetError, match="not a fastText model"):
        FastText.load(path)
    vectors = fasttext.train_unsupervised(str(corpus), dim=4, bucket=100, epoch=1, thread=1, verbose=0)
    vectors.save_model(str(path))
    with pytest.raises(AssetError, match="word vectors, not a classifier"):
        FastText.load(path)
    whole = bytearray(model_at("hs").read_bytes())
    struct.pack_into("<i", whole, 4, 13)
    path.write_bytes(whole)
    with pytest.raises(AssetError, match="fastText format 13; this reads 11 and 12"):
        FastText.load(path)


def test_a_model_whose_parts_do_not_fit_each_other_is_refused(model_at, tmp_path):
    whole = bytearray(model_at("softmax").read_bytes())
    assert struct.unpack_from("<i", whole, 8 + 4 * 8) == (1500,)
    struct.pack_into("<i", whole, 8 + 4 * 8, 1501)  # one bucket more than the input matrix has rows for
    (tmp_path / "model").write_bytes(whole)
    with pytest.raises(AssetError, match=r"do not fit .* 1501 buckets"):
        FastText.load(tmp_path / "model")
