"""What the model of words scores: as its definition says, whole and by sentence."""

import math
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import assets
from corpusmill.arrays import map_arrays, write_arrays
from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.toxicity import TOXICITY_EN, Rater, ToxicityModel, make_bag

TABLE = ["the", "river", "1998", "don", "josé", "a_b", "internationalisation", "竜龙"]
RNG = np.random.default_rng(0)
IDF = RNG.uniform(2, 10, len(TABLE)).astype(np.float32)
WEIGHTS, BIAS = RNG.normal(size=(len(TABLE), 3)).astype(np.float32), RNG.normal(size=3).astype(np.float32)


def made() -> ToxicityModel:
    return ToxicityModel({}, make_bag(TABLE, IDF, WEIGHTS, BIAS))


def shipped() -> ToxicityModel:
    return assets.load(TOXICITY_EN, ToxicityModel.load)


def column(*texts: str | None) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def slow_score(text: str) -> float:
    """The definition: TF-IDF, scaled to length 1, under each model."""
    if not re.search(r"\w", text):
        return math.nan
    counts = Counter(re.findall(r"\b\w\w+\b", text.lower()))
    vector = {TABLE.index(word): n * float(IDF[TABLE.index(word)]) for word, n in counts.items() if word in TABLE}
    length = math.sqrt(sum(value * value for value in vector.values())) or 1.0
    odds = [sum(v * float(WEIGHTS[row, m]) for row, v in vector.items()) / length + float(BIAS[m]) for m in range(3)]
    return sum(1 / (1 + math.exp(-o)) for o in odds) / 3


words = st.sampled_from(
    [*TABLE, "The", "RIVER", "José", "JOSÉ", "a", "x", "_", "don't", "rivers", "東京", "x" * 70, "...", "?"]
)
gaps = st.sampled_from([" ", " ", "  ", "\n", "-", ".", ". ", "! ", "? The ", "’", ""])
texts = st.lists(st.tuples(words, gaps), max_size=25).map(lambda parts: "".join(map("".join, parts))) | st.text(
    max_size=20
)


@given(st.lists(texts, max_size=5))
@settings(max_examples=150)
def test_documents_and_sentences_score_as_by_definition(batch):
    scored = made().score(column(*batch))
    np.testing.assert_allclose(scored.documents, [slow_score(text) for text in batch], rtol=1e-5)
    for d, text in enumerate(batch):
        data = text.encode()
        mine = range(*scored.offsets[d : d + 2])
        sentences = [data[start:end].decode() for start, end in scored.spans[mine].tolist()]
        expected = np.array([slow_score(sentence) for sentence in sentences])
        filled = ~np.isnan(expected)
        np.testing.assert_allclose(scored.sentences[mine][filled], expected[filled], rtol=1e-5)
        assert scored.words[mine].tolist() == [len(re.findall(r"\w+", sentence)) for sentence in sentences]
        if filled.any():
            best = max((n for n in mine if scored.words[n]), key=lambda n: (scored.sentences[n], -n))
            assert scored.worst[d] == best
        else:
            assert scored.worst[d] == -1


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
@settings(max_examples=30)
def test_a_score_does_not_depend_on_the_batch(first, second):
    whole = made().score(column(*first, *second))
    parts = [made().score(column(*part)) for part in (first, second)]
    for name in ("documents", "sentences", "words"):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(part, name) for part in parts]))


def test_the_model_that_ships_scores_like_its_source_library():
    # predict_prob of alt-profanity-check 1.9.1 on scikit-learn 1.9.1, rounded to 8 digits.
    library = {
        "The ferry leaves at nine from the small harbour.": 0.02243458,
        "You are a stupid idiot and everybody knows it!": 0.99999495,
        "the of and": 0.03637575,
        "What a load of crap, CRAP and more crap; José and the Pokémon agree.": 0.99581311,
    }
    np.testing.assert_allclose(shipped().score(column(*library)).documents, list(library.values()), atol=1e-6)


def test_text_without_a_word_has_no_score():
    scored = shipped().score(column("", None, " \n", "!!! ...", "a"))
    assert np.isnan(scored.documents).tolist() == [True, True, True, True, False]


def test_a_file_that_is_not_a_model_is_refused(tmp_path):
    path = tmp_path / "model.toxicity"
    for content in (b"", b"CMARRAY1 and no more", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(AssetError, match="not a toxicity model, or a damaged one"):
            ToxicityModel.load(path)
    arrays = {name: np.array(array) for name, array in map_arrays(assets.locate(TOXICITY_EN)).items()}
    write_arrays(path, {name: array for name, array in arrays.items() if name != "card"})
    with pytest.raises(AssetError, match="card"):
        ToxicityModel.load(path)
    broken = {
        "do not fit together": {"idf": arrays["idf"][:-1]},
        "toxicity model of format 2; this reads 1": {"card": np.frombuffer(b'{"format": 2}', np.uint8)},
    }
    for said, part in broken.items():
        write_arrays(path, arrays | part)
        with pytest.raises(AssetError, match=said):
            ToxicityModel.load(path)


def test_an_invalid_score_and_a_missing_list_are_refused():
    with pytest.raises(RecipeError, match=r"sentence_score must be from 0 to 1, got 1\.5"):
        Rater(sentence_score=1.5)
    with pytest.raises(AssetError, match=r'no asset "toxic-words-em".*did you mean "toxic-words-en"'):
        Rater(lexicon="toxic-words-em")
