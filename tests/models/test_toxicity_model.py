"""What the model of toxicity scores: as its definition says, whole and by sentence."""

import math
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import assets
from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.toxicity import TOXICITY_EN, Rater, ToxicityModel, word_table
from corpusmill.models.toxicity_score import KIND_FEATURES
from corpusmill.store.arrays import map_arrays, write_arrays

TABLE = [
    "the",
    "river",
    "hated",
    "you",
    "don",
    "josé",
    "a_b",
    "internationalisation",
    "groups",
    "not",
    "i",
    "said",
    "ache",
]
KINDS_OF = {"hated": 23, "you": 5, "groups": 1, "not": 8, "i": 4, "said": 9, "josé": 1}
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=len(TABLE) + KIND_FEATURES).astype(np.float32)
BIAS = -0.5
CLOSE = ["hate", "grops"]  # real words, for the test


def made() -> ToxicityModel:
    kinds = np.array([KINDS_OF.get(word, 0) for word in TABLE], np.uint8)
    return ToxicityModel({}, word_table(TABLE, kinds, CLOSE), WEIGHTS, BIAS)


def shipped() -> ToxicityModel:
    return assets.load(TOXICITY_EN, ToxicityModel.load)


def column(*texts: str | None) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def slow_word(word: str) -> str | None:
    """The word of the table that is meant."""
    if word in TABLE:
        return word
    for known in TABLE:
        if KINDS_OF.get(known) not in {1, 23} or word in CLOSE or len(known) < 4:
            continue
        swapped = {known[:i] + known[i + 1] + known[i] + known[i + 2 :] for i in range(len(known) - 1)}
        shorter = {known[:i] + known[i + 1 :] for i in range(1, len(known))} if len(known) > 4 else set()
        if word in swapped | shorter:
            return known
    digits = sum(c in "0123456789" for c in word)
    if len(word.encode()) >= 4 and 0 < 2 * digits <= len(word.encode()):
        for one in "il":
            if (meant := word.translate(str.maketrans("0134579", f"o{one}eastg"))) in TABLE:
                return meant
    return None


def slow_tokens(text: str) -> list[str]:
    """The words as they were meant, and quotation marks; a word that is not in the table is "?"."""
    tokens = []
    at = 0
    while match := re.compile(r'["“”]|\w+').search(text, at):
        token, at = match.group(), match.end()
        single = re.compile(r"[A-Za-z](?: [A-Za-z](?![\w\x80-\U0010ffff]))+").match(text, match.start())
        if len(token) == 1 and token not in '"“”' and single:
            letters = single.group().replace(" ", "").lower()[:32]
            joined = letters if letters in TABLE else letters[1:] if letters[0] in "ai" and len(letters) > 3 else ""
            if len(letters) >= 3 and joined in TABLE:
                tokens.append(joined)
                at = match.start() + 2 * len(letters) - 1
                continue
        tokens.append(token if token in '"“”' else slow_word(token.lower()) or "?")
    return tokens


def slow_piece(tokens: list[str]) -> float:
    features, sequence, quoted = set(), [0, 0], False
    first = len(TABLE)
    for token in tokens:
        if token in '"“”':
            quoted, kind = (not quoted if token == '"' else token == "“"), 10
        else:
            kind = KINDS_OF.get(token, 0)
            if token in TABLE:
                features.add(TABLE.index(token))
        if not kind:
            continue
        features.add(first + kind)
        if quoted and kind != 10:
            features.add(first + 27 + kind)
        features.add(first + 54 + sequence[-1] * 27 + kind)
        features.add(first + 54 + 27**2 + (sequence[-2] * 27 + sequence[-1]) * 27 + kind)
        sequence.append(kind)
    held = sorted(set(sequence) - {0})
    features |= {first + 54 + 27**2 + 27**3 + a * 27 + b for i, a in enumerate(held) for b in held[i + 1 :]}
    return BIAS + sum(float(WEIGHTS[f]) for f in features)


def slow_sentence(text: str) -> tuple[float, int]:
    """The score, and the number of words."""
    pieces: list[list[str]] = [[]]
    words = 0
    for token in slow_tokens(text):
        if token not in '"“”':
            words += 1
        pieces[-1].append(token)
        if token not in '"“”' and words % 50 == 0:
            pieces.append([])
    if len(pieces) > 1 and not any(token not in '"“”' for token in pieces[-1]):
        pieces.pop()
    return 1 / (1 + math.exp(-max(map(slow_piece, pieces)))), words


def slow_document(sentences: list[tuple[float, int]]) -> float:
    total = mass = top = held = 0.0
    for score, words in sentences:
        if words:
            top, held, total = max(top, score), held + words, total + words
        if held >= 50:
            mass, top, held = mass + top * held, 0.0, 0.0
    return (mass + top * held) / total if total else math.nan


odd = ["hatde", "htaed", "hatd", "gr0ups", "h4t3d", "r1ver", "a1he", "5aid", "4242", "hate", "grops", "gruops", "R1VER"]
apart = ["h a t e d", "a h a t e d", "y o u", "i y o u", "n o", "x y z", "r i v e r s"]
plain = ["The", "HATED", "José", "JOSÉ", "a", "x", "_", "don't", "rivers", "東京", "x" * 70, "...", "?", '"', "“", "”"]
words = st.sampled_from([*TABLE, *plain, *odd, *apart])
gaps = st.sampled_from([" ", " ", " ", "  ", "\n", "-", ".", ". ", "! ", "? The ", "’", ""])
texts = st.lists(st.tuples(words, gaps), max_size=25).map(lambda parts: "".join(map("".join, parts))) | st.text(
    max_size=20
)
long_texts = st.lists(st.tuples(words, gaps), min_size=90, max_size=130).map(lambda parts: "".join(map("".join, parts)))


@given(st.lists(texts, max_size=5) | st.lists(long_texts, max_size=1))
@settings(max_examples=150)
def test_documents_and_sentences_score_as_by_definition(batch):
    scored = made().score(column(*batch))
    for d, text in enumerate(batch):
        data = text.encode()
        mine = range(*scored.offsets[d : d + 2])
        sentences = [slow_sentence(data[start:end].decode()) for start, end in scored.spans[mine].tolist()]
        filled = np.array([words > 0 for _, words in sentences], bool)
        np.testing.assert_allclose(
            scored.sentences[mine][filled], np.array([score for score, _ in sentences])[filled], rtol=1e-4
        )
        assert scored.words[mine].tolist() == [words for _, words in sentences]
        np.testing.assert_allclose(scored.documents[d], slow_document(sentences), rtol=1e-4)
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


@pytest.mark.parametrize(
    ("hateful", "harmless"),
    [
        ("Immigrants are vermin.", "Rats in the barn are vermin."),
        ("We should kill all Jews.", "We should never let anyone kill Jews."),
        ("I despise gay people.", "I despise cold coffee."),
        ("Muslims are a disease.", 'He was fired because he wrote "Muslims are a disease".'),
        ("Women are stupid and worthless.", "It is wrong to say that women are stupid and worthless."),
        ("These imm1grants are d i s g u s t i n g.", "These immigrants are wonderful."),
        ("Disabled people are wortless garbage.", "The museum shows the history of disabled people."),
    ],
)
def test_the_model_that_ships_sees_who_says_what_of_whom(hateful, harmless):
    bad, good = shipped().score(column(hateful, harmless)).documents
    assert bad > 0.5 > good


def test_no_group_is_worse_than_another():
    groups = ["women", "gay people", "black people", "muslims", "jews", "immigrants", "disabled people", "asians"]
    for frame in ("I love {}.", "{} are vermin.", "Do you know any {}?"):
        scores = shipped().score(column(*(frame.format(group) for group in groups))).documents
        assert np.ptp(scores[np.char.find(groups, " ") < 0]) < 1e-6
        assert len({bool(score > 0.5) for score in scores}) == 1


def test_a_long_document_is_judged_by_how_much_of_it_is_bad():
    calm, rude = "The ferry leaves at nine from the small harbour. " * 30, "You are all stupid fucking idiots. "
    one, many = shipped().score(column(calm + rude, calm + rude * 200)).documents
    assert one < 0.3 and many > 0.7


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
        r"the shape of the array weights is \[38473\], must be \[38474\]": {"weights": arrays["weights"][:-1]},
        "the kind of a word is 99, must be less than 27": {"kinds": np.full_like(arrays["kinds"], 99)},
        "toxicity model of format 1; this reads 2": {"card": np.frombuffer(b'{"format": 1}', np.uint8)},
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
