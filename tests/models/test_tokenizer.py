"""Tokenizers: GPT-2 without a network, text that never becomes a control token, engines that agree."""

import gzip
import json
import multiprocessing
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import AssetError
from corpusmill.models.tokenizer import PROBE, CrossCheck, load
from corpusmill.steps.tokenize.bpe import Bpe
from made_tokenizers import added, texts, write_bpe

EOS = 50_256


@pytest.fixture(scope="module")
def gpt2():
    return load("gpt2")


def test_gpt2_is_gpt2(gpt2):
    ids, offsets = gpt2.encode(texts("Hello world! This is GPT-2."))
    assert ids.tolist() == [15496, 995, 0, 770, 318, 402, 11571, 12, 17, 13]
    assert offsets.tolist() == [0, 10]
    assert (gpt2.vocab_size, gpt2.eos, gpt2.eos_id, gpt2.dtype) == (50_257, "<|endoftext|>", EOS, np.uint16)
    assert (gpt2.engine.name, gpt2.fallback) == ("gigatoken", None)
    assert gpt2.decode([15496, 995, EOS]) == "Hello world<|endoftext|>"


def test_eos_follows_each_document_and_occurs_nowhere_else(gpt2):
    ids, lengths = gpt2.encode_documents(texts("Hello world", "", None, "<|endoftext|>a<|endoftext|>"))
    assert lengths[:3].tolist() == [3, 1, 1]
    assert ids.dtype == np.uint16
    ends = np.cumsum(lengths) - 1
    assert np.flatnonzero(ids == EOS).tolist() == ends.tolist()
    assert gpt2.decode(ids[5:-1].tolist()) == "<|endoftext|>a<|endoftext|>"
    assert gpt2.count(texts("Hello world", None)).tolist() == [2, 0]


def test_no_documents_have_no_tokens(gpt2):
    for engine in ("gigatoken", "tokenizers"):
        ids, lengths = load("gpt2", engine).encode_documents(texts())
        assert (ids.tolist(), lengths.tolist()) == ([], [])


def test_strings_that_are_not_utf8_have_no_tokens(gpt2):
    offsets = np.array([0, 2, 5, 6], np.int64)
    array = pa.LargeStringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfeabc\xe3"))
    assert gpt2.count(array).tolist() == [0, 1, 0]


def test_slices_short_strings_and_chunks_are_read_as_they_are(gpt2):
    words = ["one", "two words", None, "three more words"]
    assert gpt2.count(texts("a b c d", "e", "f g").slice(1)).tolist() == [1, 2]
    whole = gpt2.encode(texts(*words[1:]))
    for array in (
        texts(*words).slice(1),
        pa.array(words[1:]),
        pa.chunked_array([texts("two words"), texts(*words[2:])]),
    ):
        got = gpt2.encode(array)
        assert [column.tolist() for column in got] == [column.tolist() for column in whole]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\t'a1é<|>"))), max_size=4))
def test_the_fast_engine_is_the_reference(values):
    fast, reference = load("gpt2", "gigatoken"), load("gpt2", "tokenizers")
    got = fast.encode(texts(*values))
    assert [column.tolist() for column in got] == [column.tolist() for column in reference.encode(texts(*values))]
    starts = got[1].tolist()
    assert [fast.decode(got[0][a:b].tolist()) for a, b in pairwise(starts)] == values


@pytest.mark.parametrize(
    "text",
    [
        "x" * 200_000,
        "\u65e5\u672c" * 50_000,
        "\u0301" * 50_000,
        " " * 200_000,
        "\U0001f468\u200d" * 20_000,
        "\x00\x1b" * 9_000,
    ],
    ids=["no spaces", "cjk", "lone marks", "spaces", "joined emoji", "control"],
)
def test_long_and_hard_strings_are_the_same_for_both_engines(gpt2, text):
    assert gpt2.check(texts(text, f"a{text}b")) == CrossCheck(2, 0)


def test_a_check_counts_the_documents_that_differ(gpt2):
    class Wrong:
        name = "wrong"

        def encode(self, texts):
            ids, offsets = gpt2.engine.encode(texts)
            ids = ids.copy()
            ids[-1] += 1
            return ids, offsets

    assert replace(gpt2, engine=Wrong()).check(texts("a", "b", "c")) == CrossCheck(3, 1)


def test_a_tokenizer_is_loaded_once_and_travels_as_its_name(gpt2):
    assert load("gpt2", "auto") is gpt2
    assert pickle.loads(pickle.dumps(gpt2)) is gpt2
    assert len(pickle.dumps(gpt2)) < 200


def count_in_worker(tokenizer):
    return tokenizer.count(texts("Hello world")).tolist()


def test_a_worker_process_can_use_it_after_the_parent_has(gpt2):
    gpt2.count(texts("Hello world"))
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        assert pool.apply(count_in_worker, (gpt2,)) == [2]


@pytest.mark.parametrize("in_vocabulary", [True, False])
@pytest.mark.parametrize("engine", ["auto", "tokenizers"])
@pytest.mark.parametrize("ignore_merges", [True, False])
def test_text_like_a_special_token_is_text(tmp_path, engine, ignore_merges, in_vocabulary):
    # With ignore_merges a word that is in the vocabulary becomes its token at once, special or not.
    spec = write_bpe(tmp_path / "t.json", ("<s>", "</s>"), (), in_vocabulary, ignore_merges=ignore_merges)
    tokenizer = load(spec, engine)
    assert (tokenizer.eos, tokenizer.eos_id, tokenizer.vocab_size) == ("</s>", 257, 258)
    assert tokenizer.count(texts("</s>", "a<s>b", " </s>")).tolist() == [4, 5, 5]
    ids, _ = tokenizer.encode_documents(texts("</s>"))
    assert tokenizer.decode(ids.tolist()) == "</s></s>"


def test_added_tokens_that_are_not_special_are_kept_with_their_ids(tmp_path):
    spec = write_bpe(tmp_path / "t.json", ("<pad>", "</s>"), ("::",), in_vocabulary=False)
    tokenizer = load(spec)
    assert tokenizer.encode(texts("a::b</s>"))[0].tolist()[1] == 258
    assert tokenizer.count(texts("a::b</s>")).tolist() == [3 + 4]


def test_pieces_of_a_unigram_model_that_end_documents_are_not_found_in_text(tmp_path):
    pieces = [["<unk>", 0.0], ["</s>", 0.0], *[[c, -5.0] for c in "▁ab</s>"]]
    definition = {
        "version": "1.0",
        "added_tokens": [added("<unk>", 0), added("</s>", 1)],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}},
        },
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
    }
    path = tmp_path / "t.json"
    path.write_text(json.dumps(definition))
    tokenizer = load(str(path))
    ids, _ = tokenizer.encode(texts("a</s>b"))
    assert 1 not in ids.tolist()
    assert [pieces[i][0] for i in ids.tolist()] == list("▁a</s>b")


def test_ids_beyond_16_bits_are_kept_whole(tmp_path):
    path = tmp_path / "t.json"
    write_bpe(path, ("</s>",))
    definition = json.loads(path.read_text())
    definition["model"]["vocab"] |= {f"zz{i}": 257 + i for i in range(65_500)}
    path.write_text(json.dumps(definition))
    tokenizer = load(str(path))
    assert (tokenizer.vocab_size, tokenizer.dtype) == (65_757, np.dtype(np.uint32))


def test_a_folder_names_its_own_end_of_document(tmp_path):
    write_bpe(tmp_path / "tokenizer.json", ("<|endoftext|>", "<|im_end|>"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": "<|im_end|>"}}))
    assert load(str(tmp_path)).eos == "<|im_end|>"
    assert load(str(tmp_path), eos="<|endoftext|>").eos_id == 256


def test_the_fingerprint_is_of_the_definition_not_of_its_packing(tmp_path):
    spec = write_bpe(tmp_path / "t.json")
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress((tmp_path / "t.json").read_bytes()))
    assert load(spec).fingerprint == load(str(packed)).fingerprint
    assert load(spec).fingerprint != load("gpt2").fingerprint


def test_it_asks_which_token_ends_a_document_where_that_is_not_clear(tmp_path):
    spec = write_bpe(tmp_path / "t.json", ("<a>", "<b>"))
    with pytest.raises(AssetError, match=r"which token ends a document\? none of .* Its special tokens are: <a>, <b>"):
        load(spec)
    with pytest.raises(
        AssetError, match=r'"</s>" is not one\. Its special tokens are: <a>, <b>\. Set `eos` to one of them'
    ):
        load(spec, eos="</s>")
    assert load(spec, eos="<b>").eos_id == 257


@pytest.mark.parametrize("content", [b"{}", b"not json", b"\x1f\x8b broken", b'{"model": {"vocab": 3}}'])
def test_a_file_that_is_not_a_tokenizer_is_refused_by_name(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(AssetError, match=r"broken\.json: not a tokenizer\.json"):
        load(str(path))


def test_an_unknown_name_is_refused():
    with pytest.raises(AssetError, match=r'no tokenizer "gpt3".*did you mean "gpt2"'):
        load("gpt3")


def test_a_tokenizer_that_the_fast_engine_cannot_use_falls_back_and_says_so(tmp_path):
    path = tmp_path / "t.json"
    vocabulary = {"[UNK]": 0, "</s>": 1, "a": 2, "b": 3}
    definition = {
        "version": "1.0",
        "added_tokens": [added("[UNK]", 0), added("</s>", 1)],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    path.write_text(json.dumps(definition))
    tokenizer = load(str(path))
    assert tokenizer.engine.name == "tokenizers"
    assert "gigatoken" in tokenizer.fallback
    assert tokenizer.encode(texts("a b c"))[0].tolist() == [2, 3, 0]
    with pytest.raises(AssetError, match=r'gigatoken cannot use .* Use engine "tokenizers"'):
        load(str(path), "gigatoken")


def test_a_tokenizer_in_which_documents_could_forge_their_end_is_refused(tmp_path):
    path = tmp_path / "t.json"
    definition = {
        "version": "1.0",
        "added_tokens": [added("[UNK]", 0), added("</s>", 1)],
        "normalizer": {"type": "Prepend", "prepend": " "},
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "</s>": 1}, "unk_token": "[UNK]"},
    }
    path.write_text(json.dumps(definition))
    with pytest.raises(AssetError, match="text that looks like the control tokens </s> is encoded as these tokens"):
        load(str(path))


def test_the_probe_holds_what_engines_disagree_on():
    assert len(set(PROBE)) == len(PROBE)
    assert load("gpt2").check(texts(*PROBE)) == CrossCheck(len(PROBE), 0)


@pytest.mark.parametrize("engine", ["auto", "tokenizers", "gigatoken", "tiktoken"])
def test_dropout_is_switched_off(tmp_path, engine):
    merges = [["a", "b"], ["ab", "b"], ["abb", "a"]]
    definition = json.loads(Path(write_bpe(tmp_path / "plain.json", merges=merges)).read_text())
    definition["model"]["vocab"] |= {"ab": 257, "abb": 258, "abba": 259}
    (tmp_path / "plain.json").write_text(json.dumps(definition))
    definition["model"] |= {"dropout": 0.5, "alpha": 0.1}
    (tmp_path / "drops.json").write_text(json.dumps(definition))
    text = texts("abba " * 50, "cabbage")
    plain, drops = (load(tmp_path / f"{name}.json", engine) for name in ("plain", "drops"))
    assert plain.count(text).tolist() == [100, 4]
    for _ in range(20):
        assert drops.encode(text)[0].tolist() == plain.encode(text)[0].tolist()
    assert drops.decode(drops.encode(text)[0].tolist()) == "abba " * 50 + "cabbage"
    assert drops.fingerprint != plain.fingerprint  # each is that of its file
    step = Bpe(tokenizer=str(tmp_path / "drops.json"))
    assert step.remarks == (f"{step.tokenizer} draws tokens at random (dropout 0.5, alpha 0.1); that is switched off",)
    assert Bpe(tokenizer=str(tmp_path / "plain.json")).remarks == Bpe().remarks == ()
