"""tiktoken's files of ranks as a tokenizer.json."""

import base64
import json
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from corpusmill.errors import AssetError
from corpusmill.models.tiktoken_file import BYTE_CHARACTERS, ENCODINGS, as_json, is_one, to_characters

TOKENS = [
    *(bytes([byte]) for byte in range(256)),
    b"th",
    b"he",
    b"the",
    b" t",
    b" the",
    b"in",
    b"ing",
    b"\xc3\xa9",
    b"zzq",
]
PATH = Path("cl100k_base.tiktoken")


def content(tokens=TOKENS, end=b"\n"):
    return b"".join(base64.b64encode(token) + b" %d" % rank + end for rank, token in enumerate(tokens))


def lowest_rank_first(word):
    """tiktoken's own algorithm: merge the neighbours whose concatenation has the lowest rank."""
    ranks = {token: rank for rank, token in enumerate(TOKENS)}
    if word in ranks:
        return [ranks[word]]
    parts = [bytes([byte]) for byte in word]
    while len(parts) > 1:
        pairs = [(ranks.get(a + b, 1 << 30), i) for i, (a, b) in enumerate(pairwise(parts))]
        rank, at = min(pairs)
        if rank == 1 << 30:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [ranks[part] for part in parts]


def test_words_become_the_ids_of_lowest_ranks():
    tokenizer = Tokenizer.from_str(json.dumps(as_json(content(), PATH)))
    draw = random.Random(5)
    for _ in range(200):
        word = "".join(draw.choice("theinzqé") for _ in range(draw.randint(1, 9)))
        assert tokenizer.encode(word).ids == lowest_rank_first(word.encode()), word


def test_a_token_that_no_merge_makes_has_no_merge():
    definition = as_json(content(), PATH)
    assert ["Ġ", "t"] in definition["model"]["merges"] and len(definition["model"]["vocab"]) == len(TOKENS)
    merged = {"".join(pair) for pair in definition["model"]["merges"]}
    assert "zzq" not in merged and "the" in merged


def test_files_are_known_by_their_first_line():
    assert is_one(content()) and is_one(content(end=b"\r\n"))
    assert not is_one(b"{}") and not is_one(b"") and not is_one(b"AA== x\n") and not is_one(b"AA== 1")


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("suffix", ["", ".tiktoken", ".tiktoken.gz"])
def test_the_name_says_how_text_is_split(name, suffix):
    definition = as_json(content(), Path(name + suffix))
    assert [token["content"] for token in definition["added_tokens"]] == list(ENCODINGS[name][1])
    assert all(token["special"] for token in definition["added_tokens"])


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (content(), "mine.tiktoken", "mine.tiktoken: a file of ranks does not define how text is split"),
        (content(), "cl100k_bas", 'did you mean "cl100k_base"?'),
        (content(TOKENS[1:]), "cl100k_base", "has no token for the byte 0: it was truncated"),
        (content() + b"AAEC 3\n", "cl100k_base", "two tokens have the same rank"),
        (content() + b"AAEC\n", "cl100k_base", f"cl100k_base:{len(TOKENS) + 1}: not a token and its rank"),
        (content() + b"A?EC 999\n", "cl100k_base", "not a token and its rank"),
        (content() + b"AAEC x\n", "cl100k_base", "not a token and its rank"),
    ],
)
def test_files_that_cannot_be_read(data, name, message):
    with pytest.raises(AssetError, match=re.escape(message)):
        as_json(data, Path(name))


def test_every_byte_has_a_character_of_its_own():
    assert len(set(BYTE_CHARACTERS)) == 256
    assert to_characters(b"a \n\xff") == "aĠĊÿ"
    assert all(character.isprintable() for character in BYTE_CHARACTERS)
