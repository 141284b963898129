"""A document can be cut after a token where a paragraph or a sentence ends, whatever tokenizer cut it into tokens."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import AssetError
from corpusmill.models.token_breaks import token_breaks
from corpusmill.models.tokenizer import load
from corpusmill.tokens.breaks import pieces_of
from made_tokenizers import added, texts, train_sentencepiece, write_bpe

TEXT = "Hello world. Next one! 日本語。中文。 Mr. Smith.\n\nA new  para\nline two."


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("breaks")
    write_bpe(folder / "bytes.json")
    nfc = json.loads((folder / "bytes.json").read_text())
    (folder / "nfc.json").write_text(json.dumps(nfc | {"normalizer": {"type": "NFC"}}))
    words = {"[UNK]": 0, "</s>": 1, "Hello": 2}
    by_word = {
        "version": "1.0",
        "added_tokens": [added("[UNK]", 0), added("</s>", 1)],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"},
    }
    (folder / "words.json").write_text(json.dumps(by_word))
    same = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    return {
        "gpt2": "gpt2",
        "bytes": str(folder / "bytes.json"),
        "nfc": str(folder / "nfc.json"),
        "words": str(folder / "words.json"),
        "unigram": train_sentencepiece(folder / "unigram.model", "unigram", **same),
        "bpe": train_sentencepiece(folder / "bpe.model", "bpe", **same),
    }


def cut(tokenizer, values, at):
    """The texts of the pieces of each document."""
    ids, lengths = tokenizer.encode_documents(texts(*values))
    positions = token_breaks(tokenizer, texts(*values), ids, lengths, at)
    edges = np.cumsum([0, *lengths]).tolist()
    assert (np.diff(positions) > 0).all()
    assert not set(positions.tolist()) & (set(edges) | {end - 1 for end in edges})
    return [
        [
            tokenizer.decode(ids[a:b].tolist())
            for a, b in pairwise([start, *(p for p in positions if start < p < stop), stop])
        ]
        for start, stop in pairwise(edges)
    ]


@pytest.mark.parametrize(
    ("name", "bos"),
    [("gpt2", False), ("bytes", False), ("nfc", False), ("unigram", False), ("unigram", True), ("bpe", True)],
)
def test_pieces_end_with_a_sentence_or_a_paragraph(specs, name, bos):
    eos = "<|endoftext|>" if name == "gpt2" else "</s>"
    begin = "<s>" if bos else ""
    tokenizer = load(specs[name], bos=begin or None)
    paragraphs, empty, one = cut(tokenizer, [TEXT, "", "one"], "paragraph")
    assert [piece.strip() for piece in paragraphs] == [
        f"{begin}Hello world. Next one! 日本語。中文。 Mr. Smith.",
        f"A new  para\nline two.{eos}",
    ]
    assert (empty, one) == ([f"{begin}{eos}"], [f"{begin}one{eos}"])
    (sentences,) = cut(tokenizer, [TEXT], "sentence")
    assert [piece.strip() for piece in sentences] == [
        f"{begin}Hello world.",
        "Next one!",
        "日本語。",
        "中文。",
        "Mr. Smith.",
        "A new  para",
        f"line two.{eos}",
    ]


def test_white_space_after_a_paragraph_belongs_to_it(specs):
    assert cut(load(specs["bytes"]), ["a\n \n\n b"], "paragraph") == [["a\n \n\n", " b</s>"]]


def test_a_tokenizer_that_changes_text_first_is_asked_where_its_tokens_stand(specs):
    values = ["e\u0301. Next", "plain. Text"]  # the first is shorter after NFC
    assert cut(load(specs["nfc"]), values, "sentence") == [["é. ", "Next</s>"], ["plain. ", "Text</s>"]]
    assert cut(load(specs["words"]), ["Hello Hello\n\nHello Hello"], "paragraph")[0][0].split() == ["Hello", "Hello"]


def test_a_token_that_reaches_into_the_next_sentence_is_not_cut(tmp_path):
    path = tmp_path / "t.json"
    write_bpe(path)
    definition = json.loads(path.read_text())
    definition["model"]["vocab"] |= {"ĠB": 257, ".ĠB": 258}
    definition["model"]["merges"] = ["Ġ B", ". ĠB"]
    path.write_text(json.dumps(definition))
    assert cut(load(str(path)), ["Ax. By. Cz"], "sentence") == [["Ax. By. ", "Cz</s>"]]


def test_an_engine_that_says_otherwise_than_the_reference_is_not_believed(specs):
    tokenizer = load(specs["nfc"])
    ids, lengths = tokenizer.encode_documents(texts("e\u0301. Next"))
    ids[0] += 1
    with pytest.raises(AssetError, match="gives other ids than the reference, which locates tokens"):
        token_breaks(tokenizer, texts("e\u0301. Next"), ids, lengths, "sentence")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab.!? \n\té日。👩\u200d"), max_size=60), min_size=1, max_size=3),
    st.sampled_from(["paragraph", "sentence"]),
)
def test_with_a_token_for_every_byte_there_is_a_break_between_all_pieces(specs_of_bytes, values, at):
    tokenizer = load(specs_of_bytes)
    ids, lengths = tokenizer.encode_documents(texts(*values))
    positions = token_breaks(tokenizer, texts(*values), ids, lengths, at)
    pieces = pieces_of(texts(*values), at)
    starts = np.cumsum(lengths) - lengths
    expected = [
        int(starts[d]) + start
        for d in range(len(values))
        for start in pieces.start[pieces.offsets[d] + 1 : pieces.offsets[d + 1]].tolist()
    ]
    assert positions.tolist() == expected


@pytest.fixture(scope="module")
def specs_of_bytes(tmp_path_factory):
    return write_bpe(tmp_path_factory.mktemp("bytes") / "t.json")
