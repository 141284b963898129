"""Tokenizers as their files define them, and what a recipe may write for one."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from corpusmill import assets
from corpusmill.assets import hub
from corpusmill.errors import AssetError
from corpusmill.models.tokenizer_file import Definition, config_of, pre_tokenizers
from corpusmill.models.tokenizer_name import KNOWN, asset_of, assets_of, extras_of, hub_tokenizer, is_hub_name, unknown
from made_hub import write_cache
from made_tokenizers import write_bpe


@pytest.fixture
def bpe(tmp_path):
    return Definition.read(assets.locate(write_bpe(tmp_path / "tokenizer.json", ("<s>", "</s>"), ("<tab>",))))


def write(path, **changes):
    definition = json.loads(Path(write_bpe(path)).read_text())
    for name, value in changes.items():
        target = definition if name in definition else definition["model"]
        target[name] = value
    path.write_text(json.dumps(definition))
    return path


def test_tokens_and_their_bytes(bpe):
    assert (bpe.ids["<s>"], bpe.ids["</s>"], bpe.ids["<tab>"]) == (256, 257, 258)
    assert bpe.byte_level and bpe.token_bytes["Ġ"] == b" " and bpe.token_bytes["</s>"] == b"</s>"
    assert bpe.sizes[bpe.ids["Ġ"]] == 1 and bpe.sizes[257] == 4 and len(bpe.sizes) == 259
    assert bpe.controls() == {"<s>": 256, "</s>": 257} and bpe.controls("<tab>")["<tab>"] == 258
    assert bpe.look("Ġ") == " " and bpe.look("Ã") == "\ufffd" and bpe.look("日") == "日"


def test_the_end_of_documents_is_the_named_the_configured_or_a_usual_one(bpe, tmp_path):
    assert bpe.find_eos(None) == "</s>" and bpe.find_eos("<tab>") == "<tab>"
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "<s>"}}')
    assert config_of(bpe.path) == tmp_path / "tokenizer_config.json"
    assert bpe.default_eos == "<s>" == bpe.find_eos(None)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"eos_token": 3}', '{"eos_token": null}', "{}", '{"eos_token": {"content": 1}}']
)
def test_a_configuration_that_names_no_end_is_passed_over(bpe, tmp_path, content):
    (tmp_path / "tokenizer_config.json").write_text(content)
    assert bpe.default_eos is None and bpe.find_eos(None) == "</s>"


def test_ends_that_are_not_there(bpe):
    with pytest.raises(AssetError, match=re.escape('"<x>" is not one. Its special tokens are: <s>, </s>. Set `eos`')):
        bpe.find_eos("<x>")
    with pytest.raises(AssetError, match=re.escape('there is no token "<x>" to begin documents with')):
        bpe.find_bos("<x>", "</s>")
    with pytest.raises(AssetError, match=re.escape('"</s>" ends every document')):
        bpe.find_bos("</s>", "</s>")
    assert bpe.find_bos("<s>", "</s>") == "<s>"


def test_text_like_a_control_token_is_text_in_the_plain_form(bpe):
    plain = json.loads(bpe.plain("<tab>"))
    assert [token["content"] for token in plain["added_tokens"]] == []
    assert plain["model"]["vocab"][" </s>"] == 257 and " <tab>" in plain["model"]["vocab"]
    assert [token["content"] for token in json.loads(bpe.plain())["added_tokens"]] == ["<tab>"]


def test_a_sample_is_spread_over_the_vocabulary(bpe):
    assert len(bpe.sample(10)) <= 10 and len(bpe.sample(10_000)) == 256
    assert "</s>" not in bpe.sample(10_000)


def test_what_is_drawn_at_random_is_told_and_switched_off(tmp_path):
    definition = Definition.read(write(tmp_path / "t.json", dropout=0.1))
    assert definition.at_random == {"dropout": 0.1} and "dropout" not in json.loads(definition.plain())["model"]


def test_a_packed_file_has_the_fingerprint_of_the_plain_one(tmp_path):
    path = write(tmp_path / "t.json")
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    plain, packed = Definition.read(path), Definition.read(tmp_path / "t.json.gz")
    assert plain.fingerprint == packed.fingerprint and plain.ids == packed.ids


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a tokenizer.json (JSONDecodeError"),
        (b"[]", "not a tokenizer.json (TypeError"),
        (b"{}", "not a tokenizer.json (KeyError: 'model')"),
        (b'{"model": {}}', "not a tokenizer.json (KeyError: 'vocab')"),
        (b'{"model": {"vocab": {}}}', "it has no tokens; ids are integers"),
        (b'{"model": {"vocab": {"a": -1}}}', "the id of 'a' is -1; ids are integers from 0"),
        (b'{"model": {"vocab": {"a": "0"}}}', "the id of 'a' is '0'"),
        (b'{"model": {"vocab": {"a": 4294967296}}}', "the id of 'a' is 4294967296"),
        (b"\x1f\x8bcut", "not a tokenizer.json ("),
        (b"\xff\xfe", "not a tokenizer.json (JSONDecodeError"),
    ],
)
def test_files_that_are_none(tmp_path, content, message):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(AssetError, match=re.escape(message)) as error:
        Definition.read(tmp_path / "t.json")
    assert "t.json: " in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(AssetError, match=r"missing.json: not a tokenizer.json \(FileNotFoundError"):
        Definition.read(tmp_path / "missing.json")


def test_a_unigram_vocabulary_is_a_list(tmp_path):
    model = {"type": "Unigram", "unk_id": 1, "vocab": [["a", -1.0], ["<unk>", 0.0], ["\u2581b", -2.0]]}
    (tmp_path / "u.json").write_text(json.dumps({"model": model, "added_tokens": None}))
    definition = Definition.read(tmp_path / "u.json")
    assert definition.ids == {"a": 0, "<unk>": 1, "\u2581b": 2} and definition.unknown == 1
    assert definition.look("\u2581b") == " b" and definition.sizes is None and definition.token_bytes is None
    assert json.loads(definition.plain())["model"]["vocab"] == [["a", -1.0], ["<unk>", 0.0], ["\u2581b", -2.0]]


def test_pre_tokenizers_are_flattened():
    split, level = {"type": "Split"}, {"type": "ByteLevel"}
    nested = {"type": "Sequence", "pretokenizers": [split, {"type": "Sequence", "pretokenizers": [level]}]}
    assert pre_tokenizers(nested) == [split, level] and pre_tokenizers(level) == [level] and pre_tokenizers(None) == []


def test_a_name_that_ships_a_file_or_a_folder(tmp_path):
    assert asset_of("gpt2") == "gpt2" and asset_of("bytes") == "bytes"
    path = write_bpe(tmp_path / "tokenizer.json")
    assert asset_of(path) == path and asset_of(str(tmp_path)) == path
    assert assets_of(path) == (path,)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert assets_of(str(tmp_path)) == (path, str(tmp_path / "tokenizer_config.json"))
    (tmp_path / "other").mkdir()
    assert asset_of(str(tmp_path / "other")) == str(tmp_path / "other" / "tokenizer.json")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt3", 'there is no tokenizer "gpt3"; did you mean "gpt2"?'),
        ("nothing", 'there is no tokenizer "nothing". A tokenizer is gpt2 or bytes'),
        ("llama3.1", 'there is no tokenizer "llama3.1"; did you mean "llama3"?'),
        ("./x.json", "./x.json: no such file or folder. A tokenizer is"),
        ("/x", "/x: no such file or folder"),
        ("~/none", "~/none: no such file or folder"),
        ("a/b.model", "a/b.model: no such file or folder"),
    ],
)
def test_what_is_no_tokenizer(spec, message):
    assert message in unknown(spec)
    with pytest.raises(AssetError) as error:
        asset_of(spec)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("org/name", True),
        ("org/name@v1", True),
        ("org/name@", False),
        ("name", False),
        ("a/b/c", False),
        ("org/t.json", False),
        ("org/t.gz", False),
        ("", False),
    ],
)
def test_names_of_repositories(spec, expected):
    assert is_hub_name(spec) is expected


def test_a_repository_that_cannot_be_had_says_how_to_get_it(monkeypatch):
    def locate(repo, names, optional=()):
        raise hub.NotHere(repo, names, "there is no network")

    monkeypatch.setattr(hub, "locate", locate)
    with pytest.raises(AssetError) as error:
        asset_of("org/name@v2")
    assert "hf download org/name tokenizer.json tokenizer_config.json --revision v2 --local-dir name" in str(
        error.value
    )
    assert "`- tokenize/bpe: {tokenizer: name/tokenizer.json}`" in str(error.value)


@pytest.mark.parametrize("spec", ["llama3", "Llama-3", "llama_3"])
def test_a_tokenizer_of_the_hub_by_the_name_that_people_say(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    repo = "meta-llama/Meta-Llama-3-8B"
    write_cache(tmp_path / "hub", repo, {"tokenizer.json": Path(write_bpe(tmp_path / "t.json")).read_bytes()})
    assert asset_of(spec) == asset_of(repo) == f"hf://{repo}/tokenizer.json"
    monkeypatch.chdir(tmp_path)
    (tmp_path / spec).mkdir()
    assert asset_of(spec) == f"{spec}/tokenizer.json"


def test_one_that_is_not_there_says_what_to_fetch(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(AssetError) as error:
        asset_of("qwen3")
    assert str(error.value).startswith("qwen3 is the tokenizer of Qwen/Qwen3-8B-Base: this is a model on the Hugging")
    assert "hf download Qwen/Qwen3-8B-Base tokenizer.json tokenizer_config.json --local-dir Qwen3-8B-Base" in str(
        error.value
    )


def test_names_of_tokenizers_are_names_of_repositories_and_differ():
    assert all(is_hub_name(entry.repo) for entry in KNOWN.values())
    assert len({hub_tokenizer(name).repo for name in KNOWN}) == len(KNOWN) and not set(KNOWN) & {"gpt2", "bytes"}


def test_extras_that_a_tokenizer_needs(tmp_path):
    (tmp_path / "x.model").write_bytes(b"")
    names = [extra.name for extra in extras_of(str(tmp_path / "x.model"))]
    assert names == ["sentencepiece"] and extras_of("gpt2") == ()
    assert [extra.name for extra in extras_of("gpt2", "tiktoken")] == ["tiktoken"]
    assert extras_of("no-such-tokenizer") == ()


def test_sizes_are_of_the_largest_id(tmp_path):
    sizes = Definition.read(write(tmp_path / "t.json", vocab={"a": 0, "bc": 9})).sizes
    # The end of a document gets the number of tokens before it, 2, as the reference library has it.
    assert sizes.tolist() == [1, 0, 4, *[0] * 6, 2] and sizes.dtype == np.int64
