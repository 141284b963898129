"""The tokenizer of a training job is compared with the one that made the shards, by the ids of fixed texts."""

from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.errors import ShardError
from corpusmill.loader import TokenLoader
from corpusmill.models.tokenizer import load
from corpusmill.ops.verify import verify_folder
from corpusmill.report.run_files import RunFiles
from corpusmill.shards.sample import SampleIds, ids_of, texts
from corpusmill.shards.verify import Controls
from corpusmill.shards.writer import sample_ids
from made_tokenizers import write_bpe


def gpt2(text: str) -> list[int]:
    ids: list[int] = load("gpt2").encode(pa.array([text], pa.large_string()))[0].tolist()
    return ids


def other(text: str) -> list[int]:
    return [0 if token == 262 else token for token in gpt2(text)]  # " the"


class Encoding:
    def __init__(self, ids):
        self.ids = ids


class LikeTokenizers:
    def encode(self, text, add_special_tokens=True):
        return Encoding(gpt2(text) + [50256] * add_special_tokens)


class LikeTiktoken:
    def encode_ordinary(self, text):
        return gpt2(text)

    def encode(self, text):
        raise AssertionError("takes control tokens for text")


class LikeSentencePiece:
    def id_to_piece(self, number):
        return ""

    def encode(self, text):
        return gpt2(text)


def test_the_texts_never_change():
    assert (
        sha256("\0".join(texts()).encode()).hexdigest()
        == "545370102c75e208fca6610423de74a33aa6cce608eabebb3eb2d381c82a3256"
    )


def test_ids_are_hashed_text_by_text():
    assert SampleIds.from_ids([[1, 2], []]) == SampleIds(2, sha256(np.array([2, 1, 2, 0], "<u4").tobytes()).hexdigest())
    assert SampleIds.from_ids([[1], [2]]).sha256 != SampleIds.from_ids([[1, 2], []]).sha256


@pytest.mark.parametrize("tokenizer", [LikeTokenizers(), LikeTiktoken(), LikeSentencePiece(), gpt2])
def test_a_tokenizer_is_known_in_whatever_form(tokenizer):
    assert ids_of(tokenizer) == sample_ids(load("gpt2"))


@pytest.mark.parametrize(("wrong", "message"), [(3, "must be one of tokenizers"), (str.split, "a list of ids")])
def test_what_does_not_encode_is_refused(wrong, message):
    with pytest.raises(ShardError, match=message):
        ids_of(wrong)


def test_the_loader_refuses_another_tokenizer(two_sources):
    TokenLoader(two_sources, tokenizer=gpt2)
    with pytest.raises(ShardError, match=r"made with another tokenizer than this one: gpt2 gives .* with other ids"):
        TokenLoader(two_sources, tokenizer=other)


def test_verify_counts_the_ends_of_documents_and_compares_the_tokenizer(two_sources, tmp_path):
    folder = two_sources / "output" / "shards"
    checked = verify_folder(folder)
    assert (checked.problems, checked.controls) == ((), Controls(120, 120))
    assert "tokenizer" in checked.compared
    (problem,) = verify_folder(folder, tokenizer=write_bpe(tmp_path / "tokenizer.json")).problems
    assert "made with another tokenizer" in problem


def test_the_run_counts_them_too(two_sources):
    assert RunFiles(two_sources).facts("tokens")["controls"] == {"documents": 120, "eos": 120}
