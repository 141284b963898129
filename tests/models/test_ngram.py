"""The language model is that of its definition: every probability as counted by hand, and all of them add up to 1."""

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import AssetError, InputError, MissingExtraError, RecipeError
from corpusmill.models.ngram import UNKNOWN_KEY, NgramModel, find
from corpusmill.models.ngram_keys import END, START, UNKNOWN, extend
from corpusmill.steps.annotate.perplexity import Perplexity
from corpusmill.text.hashing import xxh64
from corpusmill.text.lowlevel import NO_BITS
from corpusmill.train.lm import LmSettings, train


class Slow:
    """Interpolated modified Kneser-Ney by recursion over dictionaries, from the formulas."""

    def __init__(self, sentences, order, min_count):
        counted = Counter(word for sentence in sentences for word in sentence)
        padded = [
            ["<s>", *(w if counted[w] >= min_count else "<unk>" for w in sentence), "</s>"] for sentence in sentences
        ]
        self.order = order
        raw: list[Counter[Any]] = [Counter() for _ in range(order + 1)]
        for sentence in padded:
            for n in range(1, order + 1):
                for i in range(len(sentence) - n + 1):
                    raw[n][tuple(sentence[i : i + n])] += 1
        del raw[1][("<s>",)]
        self.counts: list[Any] = [None, *raw[1:]]
        for n in range(1, order):
            before = Counter(gram[1:] for gram in raw[n + 1])
            self.counts[n] = {g: raw[n][g] if g[0] == "<s>" else before[g] for g in raw[n]}
        self.vocabulary = {g[0] for g in raw[1]} | {"<unk>"}
        self.rare = max(1, sum(count < min_count for count in counted.values()))
        self.discounts: list[Any] = [None]
        for n in range(1, order + 1):
            n1, n2, n3, n4 = (sum(c == k for c in self.counts[n].values()) for k in (1, 2, 3, 4))
            self.discounts.append((0.5, 1.0, 1.5))
            if n1 and n2 and n3:
                y = n1 / (n1 + 2 * n2)
                discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
                if all(0 < d < k for k, d in enumerate(discounts, 1)):
                    self.discounts[n] = discounts
        self.after: list[Any] = [None] + [defaultdict(dict) for _ in range(order)]
        for n in range(1, order + 1):
            for gram, count in self.counts[n].items():
                self.after[n][gram[:-1]][gram[-1]] = count

    def probability(self, context, word):
        n = len(context) + 1
        lower = self.probability(context[1:], word) if context else 1 / len(self.vocabulary)
        seen = self.after[n].get(context)
        if not seen:
            return lower
        total = sum(seen.values())
        less = {w: self.discounts[n][min(c, 3) - 1] for w, c in seen.items()}
        own = (seen[word] - less[word]) / total if word in seen else 0
        return own + sum(less.values()) / total * lower

    def score(self, sentence, order=None):
        words = ["<s>", *(w if w in self.vocabulary else "<unk>" for w in sentence), "</s>"]
        return sum(
            math.log10(self.probability(tuple(words[max(0, i - (order or self.order) + 1) : i]), words[i]))
            for i in range(1, len(words))
        ) - words.count("<unk>") * math.log10(self.rare)


WORD = st.sampled_from(["a", "b", "c", "d", "e", "f"])
SENTENCE = st.lists(WORD, min_size=1, max_size=7)


def text(sentences):
    return pa.array(["\n".join(" ".join(s) for s in sentences)], pa.large_string())


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCE, min_size=1, max_size=12), SENTENCE, st.integers(1, 4), st.integers(1, 2))
def test_scores_are_those_of_the_formulas(sentences, asked, order, min_count):
    slow = Slow(sentences, order, min_count)
    model = train(text(sentences), LmSettings(order=order, min_count=min_count, prune=0), {})
    queries = [asked, ["zzz", *asked], sentences[0]]
    log, alone, words = model.score(pa.array([" ".join(q) for q in queries], pa.large_string()))
    assert log.tolist() == pytest.approx([slow.score(q) for q in queries], abs=1e-4)
    assert alone.tolist() == pytest.approx([slow.score(q, 1) for q in queries], abs=1e-4)
    assert words.tolist() == [len(q) for q in queries]


def key_of(words):
    key = np.uint64(0)
    for word in reversed(words):
        key = np.uint64(extend(key, word))
    return key


def hashed(model, word):
    data = np.frombuffer(word.encode() + b"\0" * 16, np.uint8)
    word_hash = np.uint64(xxh64(data, 0, len(word.encode()), np.uint64(0)))
    return word_hash if find(model.table, 0, key_of([word_hash])) >= 0 else UNKNOWN


def one(model, history, word):
    """log10 p(word | history) as the tables say: the longest known n-gram, and the weights of the longer contexts."""
    history = history[len(history) - min(len(history), model.order - 1) :]
    log = 0.0
    for skip in range(len(history) + 1):
        place = find(model.table, len(history) - skip, key_of([*history[skip:], word]))
        if place >= 0:
            return log + float(model.table.log[place])
        context = find(model.table, len(history) - skip - 1, key_of(history[skip:]))
        log += float(model.table.back[context]) if context >= 0 else 0.0
    raise AssertionError


@settings(max_examples=40, deadline=None)
@given(st.lists(SENTENCE, min_size=1, max_size=12), st.lists(WORD, max_size=4), st.integers(1, 4), st.integers(0, 3))
def test_the_probabilities_of_all_next_words_add_up_to_one(sentences, before, order, prune):
    model = train(text(sentences), LmSettings(order=order, min_count=1, prune=prune), {})
    history = [START, *(hashed(model, word) for word in before)]
    vocabulary = [hashed(model, word) for word in sorted({word for sentence in sentences for word in sentence})]
    total = sum(10 ** one(model, history, word) for word in [*vocabulary, UNKNOWN, END])
    assert total == pytest.approx(1, abs=1e-5)
    # And a sentence is scored as the sum of its words.
    words = [*history[1:], END]
    log, _, _ = model.score(pa.array([" ".join(before)], pa.large_string()))
    assert log[0] == pytest.approx(sum(one(model, [START, *words[:i]], word) for i, word in enumerate(words)), abs=1e-5)


def test_the_key_of_the_unknown_word_is_what_kernels_compute():
    assert extend(NO_BITS, UNKNOWN) == UNKNOWN_KEY


def test_a_model_is_the_same_after_it_was_saved_and_trained_twice(tmp_path):
    sentences = [["a", "b", "c"], ["b", "c", "a"], ["a", "b"]] * 3
    first, second = (train(text(sentences), LmSettings(min_count=1), {}) for _ in range(2))
    first.save(tmp_path / "one.lm")
    second.save(tmp_path / "two.lm")
    assert (tmp_path / "one.lm").read_bytes() == (tmp_path / "two.lm").read_bytes()
    asked = pa.array(["a b c", "c c c"], pa.large_string())
    assert NgramModel.load(tmp_path / "one.lm").score(asked)[0].tolist() == first.score(asked)[0].tolist()


def test_garbled_text_is_less_expected_than_clean(tmp_path):
    rng = np.random.default_rng(0)
    chain = [
        f"{a} {b}" for a, b in zip(["the", "a", "one", "my", "his"], ["dog", "cat", "man", "house", "sea"], strict=True)
    ]
    lines = [" ".join(rng.choice(chain, 6)) for _ in range(200)]
    train(pa.array(["\n".join(lines[:150])], pa.large_string()), LmSettings(), {}).save(tmp_path / "m.lm")
    step = Perplexity(model=str(tmp_path / "m.lm"), cutoffs=(4, 20))
    shuffled = [" ".join(rng.permutation(line.split())) for line in lines[150:]]
    signals = step.signals(docs(*lines[150:], *shuffled, "xqz vvk wwp prr tts", "", None))
    value = signals["value"].to_pylist()
    assert max(value[:50]) < min(value[50:100]) and value[101] is None and value[102] is None
    assert signals["bucket"].to_pylist()[:1] == ["head"] and signals["bucket"].to_pylist()[100:] == ["tail", None, None]
    assert signals["words"].to_pylist()[-3:] == [5, 0, 0]


def test_lines_are_scored_one_by_one(tmp_path):
    train(text([["a", "b", "a", "b", "a", "b"]] * 5), LmSettings(order=2), {}).save(tmp_path / "m.lm")
    step = Perplexity(model=str(tmp_path / "m.lm"), line_limit=3)
    good, bad = "a b a b a b", "z z z z z z"
    signals = step.signals(docs(good, f"{good}\n{bad}", bad))
    assert signals["bad"].to_pylist() == [0.0, 0.5, 1.0]
    worst = signals["worst"].to_pylist()
    assert worst[0] < worst[1] == worst[2]


def test_what_cannot_be_used_is_said(tmp_path):
    (tmp_path / "bad.lm").write_bytes(b"no model at all, just some bytes")
    with pytest.raises(AssetError, match="not a language model, or a damaged one"):
        Perplexity(model=str(tmp_path / "bad.lm"))
    (tmp_path / "x.arpa").write_text("\\data\\\n", "utf-8")
    with pytest.raises(MissingExtraError, match=r"corpusmill\[kenlm\]"):
        Perplexity(model=str(tmp_path / "x.arpa")).signals(docs("a"))
    with pytest.raises(InputError, match="no words to train on"):
        train(pa.array(["", " \n "], pa.large_string()), LmSettings(), {})
    with pytest.raises(InputError, match="order must be from 1 to 6, got 9"):
        LmSettings(order=9)
    train(text([["a", "b"]]), LmSettings(min_count=1), {}).save(tmp_path / "m.lm")
    with pytest.raises(RecipeError, match="low <= high"):
        Perplexity(model=str(tmp_path / "m.lm"), cutoffs=(5, 2))
