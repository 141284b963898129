"""What a tokenizer cannot express is refused, or measured and said; ids are those of the reference library."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Native

import corpusmill
from corpusmill.errors import AssetError
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.models.unexpressed import in_words, unexpressed
from corpusmill.ops.checks import check
from corpusmill.steps import Bpe
from made_tokenizers import BYTES, added, texts, write_bpe

LETTERS = "abcdefghij "
END = added("</s>", len(LETTERS))


def write(path, model, tokens=(END,), **parts):
    definition = {"version": "1.0", "added_tokens": list(tokens), "normalizer": None, "pre_tokenizer": None}
    definition |= {"post_processor": None, "decoder": None, "model": model} | parts
    path.write_text(json.dumps(definition), "utf-8")
    return str(path)


def bpe(**settings):
    return {"type": "BPE", "vocab": {c: i for i, c in enumerate(LETTERS)}, "merges": [], **settings}


def measured(tokenizer, *values):
    documents = texts(*values)
    return unexpressed(tokenizer, documents, *tokenizer.encode_documents(documents))


def test_characters_that_a_bpe_lacks_are_counted_and_named(tmp_path):
    tokenizer = load(write(tmp_path / "tokenizer.json", bpe()))
    counted = measured(tokenizer, "abc日 ab本日", "a b", "")
    assert (counted.documents, counted.with_some) == (3, 1)
    assert (counted.characters, counted.lost) == (10, 3) and (counted.tokens, counted.unknown) == (9, 0)
    assert counted.examples == {"日": 2, "本": 1}
    assert in_words(counted) == (
        "the tokenizer cannot express all text: 3 of 10 characters (30.0 %) have no token and are left out: 日 本; "
        "in 1 of 3 documents (33.3 %)"
    )
    assert in_words(measured(tokenizer, "abc")) == ""


@pytest.fixture(scope="module")
def without_unknown(tmp_path_factory):
    return load(write(tmp_path_factory.mktemp("bpe") / "tokenizer.json", bpe()))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.text(st.sampled_from(LETTERS + "kÖ日\u0301\U0001f680\x00\n") | st.characters(codec="utf-8")), max_size=4
    )
)
def test_what_is_lost_is_what_the_ids_do_not_spell(without_unknown, values):
    counted = measured(without_unknown, *values)
    spelled = sum(not c.isspace() for text in values for c in text if c in LETTERS)
    assert counted.characters == sum(not c.isspace() for text in values for c in text)
    assert counted.characters - counted.lost == spelled


def test_bytes_that_a_byte_level_vocabulary_lacks_are_characters_that_are_lost(tmp_path):
    """As of one that was trained without the whole alphabet."""
    path = tmp_path / "tokenizer.json"
    write_bpe(path)
    definition = json.loads(path.read_text("utf-8"))
    vocabulary = definition["model"]["vocab"]
    gone = next(c for c in vocabulary if vocabulary[c] == BYTES.index(0xA9))
    del vocabulary[gone]  # é is C3 A9
    path.write_text(json.dumps(definition), "utf-8")
    counted = measured(load(path), "café aé è")
    assert counted.lost == 2 and counted.examples == {"é": 2}


def test_unknown_tokens_are_counted_but_for_an_end_that_is_one(tmp_path):
    vocabulary = {"the": 0, "river": 1, "[UNK]": 2}
    words = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    split = {"pre_tokenizer": {"type": "Whitespace"}}
    tokenizer = load(write(tmp_path / "a.json", words, [added("</s>", 3)], **split))
    counted = measured(tokenizer, "the river runs", "the river")
    assert (counted.tokens, counted.unknown, counted.lost, counted.with_some) == (5, 1, 0, 1)
    assert "1 of 5 tokens (20.0 %) are the unknown one; in 1 of 2 documents" in in_words(counted)
    same = load(write(tmp_path / "b.json", words, [added("[UNK]", 2)], **split), eos="[UNK]")
    assert measured(same, "the river runs", "the river").unknown == 1


@pytest.mark.parametrize("name", ["gpt2", "bytes"])
def test_a_tokenizer_of_bytes_expresses_every_text(name):
    assert measured(load(name), "日本語 \x00") is None


NO_UNKNOWN: dict[str, dict[str, Any]] = {
    "Unigram": {"type": "Unigram", "unk_id": None, "vocab": [[c, -1.0] for c in LETTERS], "byte_fallback": False},
    "WordLevel": {"type": "WordLevel", "vocab": {"the": 0}, "unk_token": "[UNK]"},
    "WordPiece": {
        "type": "WordPiece",
        "vocab": {"the": 0},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    },
}


@pytest.mark.parametrize("kind", NO_UNKNOWN)
def test_a_tokenizer_that_fails_on_unknown_text_is_refused_by_check(tmp_path, kind):
    path = write(tmp_path / "tokenizer.json", NO_UNKNOWN[kind], [added("</s>", len(NO_UNKNOWN[kind]["vocab"]))])
    with pytest.raises(AssetError, match=r"cannot encode every text .* needs an unknown token"):
        load(path)
    with pytest.raises(AssetError, match="cannot encode every text"):
        check(recipe(tmp_path, path))


def recipe(folder, tokenizer):
    (folder / "d.jsonl").write_text('{"text": "abc日本 d"}\n{"text": "abc"}\n', "utf-8")
    path = folder / "r.yaml"
    path.write_text(
        f"read: {{jsonl: {folder / 'd.jsonl'}}}\nsteps:\n  - tokenize/bpe: {{tokenizer: {tokenizer}}}\n"
        "  - pack/concat: {length: 8}\nwrite: shards\n",
        "utf-8",
    )
    return str(path)


def test_check_and_the_run_say_what_is_left_out(tmp_path):
    path = recipe(tmp_path, write(tmp_path / "tokenizer.json", bpe()))
    share = "2 of 9 characters (22.2 %) have no token and are left out: 日 本; in 1 of 2 documents (50.0 %)"
    (warning,) = check(path).warnings
    assert warning == f"tokenize/bpe: in a sample of the input, the tokenizer cannot express all text: {share}"
    done = corpusmill.run(path, executor=Serial(), folder=tmp_path / "run", progress=False)
    assert share in (done.folder / "report.html").read_text("utf-8")


FAR, NEAR = len(LETTERS) + 3000, len(LETTERS)


@pytest.mark.parametrize(
    ("tokens", "ids"),
    [
        ([added("</s>", FAR)], {"</s>": FAR}),
        ([added("</s>", NEAR), added("<x>", FAR, special=False)], {"<x>": FAR}),
        ([added("</s>", NEAR + 1), added("<pad>", NEAR)], {"</s>": NEAR + 1, "<pad>": NEAR}),
        ([added("</s>", 3)], {"</s>": 3}),
        ([added("</s>", NEAR), added("a", 7, special=False)], {"a": 7}),
        ([added("</s>", NEAR), added("<pad>", NEAR + 1)], {}),
    ],
)
@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_added_tokens_have_the_ids_of_the_reference(tmp_path, tokens, ids, kind):
    """Which numbers them on from the vocabulary, whatever the file says."""
    if kind == "BPE":
        path = write(tmp_path / "tokenizer.json", bpe(), tokens)
    else:
        vocabulary = [[c, -1.0 - i] for i, c in enumerate(LETTERS)]
        model = {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": False}
        spaces = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
        path = write(tmp_path / "tokenizer.json", model, tokens, pre_tokenizer=spaces)
    tokenizer, library = load(path), Native.from_file(path)
    wanted = {token["content"]: library.token_to_id(token["content"]) for token in tokens}
    assert {content: tokenizer.definition.ids[content] for content in wanted} == wanted
    assert tokenizer.vocab_size == library.get_vocab_size()
    text = "abc<x>jab"
    encoded, _ = tokenizer.encode_documents(texts(text))
    assert encoded.tolist() == [*library.encode(text, add_special_tokens=False).ids, library.token_to_id("</s>")]
    assert tokenizer.definition.ids_in_file == ids
    remarks = Bpe(tokenizer=path).remarks
    assert all(
        f"{content} has {number} in the file and {wanted[content]} there" in remarks[0]
        for content, number in ids.items()
    )
    assert bool(remarks) == bool(ids)


def test_an_empty_batch_has_nothing_to_express(without_unknown):
    nothing = pa.array([], pa.large_string())
    assert in_words(unexpressed(without_unknown, nothing, *without_unknown.encode_documents(nothing))) == ""
