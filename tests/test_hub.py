"""Files of the Hugging Face hub: from the cache without a network, from a hub where there is one, else what to do."""

import doctest
import hashlib
import json

import pytest

from corpusmill import assets
from corpusmill.assets import hub
from corpusmill.errors import AssetError
from corpusmill.models import tokenizer_name
from corpusmill.models.tokenizer import load
from corpusmill.steps.tokenize.bpe import Bpe
from made_hub import COMMIT, serving, write_cache
from made_tokenizers import texts, write_bpe

NOWHERE = "http://127.0.0.1:9"  # nobody listens


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    return tmp_path / "home" / "hub"


@pytest.fixture
def definition(tmp_path):
    write_bpe(tmp_path / "made.json")
    return (tmp_path / "made.json").read_bytes()


def test_a_tokenizer_is_read_from_the_cache(cache, definition, tmp_path):
    snapshot = write_cache(cache, "org/llama", {"tokenizer.json": definition})
    named, by_path = load("org/llama"), load(tmp_path / "made.json")
    assert named.fingerprint == by_path.fingerprint
    assert named.encode(texts("a b"))[0].tolist() == by_path.encode(texts("a b"))[0].tolist()
    assert Bpe(tokenizer="org/llama").assets == ("hf://org/llama/tokenizer.json",)
    assert assets.from_hub("hf://org/llama/tokenizer.json") == {
        "revision": snapshot.name,
        "sha256": hashlib.sha256(definition).hexdigest(),
    }


def test_the_commit_is_part_of_what_a_file_is(cache, definition):
    write_cache(cache, "org/one", {"tokenizer.json": definition}, revision="main")
    write_cache(cache, "org/one", {"tokenizer.json": definition}, revision="v1")
    assert assets.digest("hf://org/one/tokenizer.json") != assets.digest("hf://org/one@v1/tokenizer.json")


@pytest.mark.parametrize("revision", ["main", "v1", "refs/pr/7"])
def test_a_revision_leads_to_its_commit(cache, revision):
    write_cache(cache, "org/other", {"a.bin": b"other"}, revision="other")
    snapshot = write_cache(cache, "org/name", {"a.bin": revision.encode()}, revision=revision)
    for at in (revision, snapshot.name):
        name = f"hf://org/name@{at}/a.bin"
        assert (assets.locate(name).read_text(), hub.commit_of(name)) == (revision, snapshot.name)


def test_a_copied_snapshot_without_references_is_the_main_one(cache):
    (cache / "models--org--name" / "snapshots" / COMMIT).mkdir(parents=True)
    (cache / "models--org--name" / "snapshots" / COMMIT / "a.bin").write_text("a")
    assert hub.commit_of("hf://org/name/a.bin") == COMMIT
    (cache / "models--org--name" / "snapshots" / "another").mkdir()
    assert hub.cached(hub.Repo("model", "org/name")) is None


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
    ],
)
def test_the_cache_is_where_huggingface_hub_has_it(cache, monkeypatch, variables, folder):
    monkeypatch.delenv("HF_HOME")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert hub.cache_folder().as_posix() == folder


def test_what_is_not_in_the_cache_is_downloaded_once_with_what_is_beside_it(cache, definition, monkeypatch):
    pytest.importorskip("huggingface_hub")
    config = json.dumps({"eos_token": "</s>"}).encode()
    files = {"tokenizer.json": definition, "tokenizer_config.json": config, "model.bin": b"large"}
    with serving(files) as (address, asked):
        monkeypatch.setenv("HF_ENDPOINT", address)
        assert load("org/fetched").fingerprint == hashlib.sha256(definition).hexdigest()
        assert hub.commit_of("hf://org/fetched/tokenizer.json") == COMMIT
        questions = len(asked)
        assert load("org/fetched", eos="</s>").eos == "</s>"
        assert len(asked) == questions and not any("model.bin" in path for path in asked)
    below = cache / "models--org--fetched" / "snapshots" / COMMIT
    assert sorted(path.name for path in below.iterdir()) == ["tokenizer.json", "tokenizer_config.json"]


def test_a_gated_repository_is_said_to_be_one(cache, monkeypatch):
    pytest.importorskip("huggingface_hub")
    with serving({"tokenizer.json": b"{}"}, gated=True) as (address, _):
        monkeypatch.setenv("HF_ENDPOINT", address)
        with pytest.raises(AssetError, match=r"the repository is gated, and the hub gave no access.*hf auth login"):
            load("meta-llama/gated")


def test_without_a_network_the_message_says_what_to_fetch_and_where_to_put_it(cache):
    pytest.importorskip("huggingface_hub")
    with pytest.raises(AssetError) as error:
        load("meta-llama/Meta-Llama-3-8B")
    said = str(error.value)
    assert "meta-llama/Meta-Llama-3-8B: this is a model on the Hugging Face Hub" in said
    assert "the hub cannot be reached" in said and "HF_TOKEN" in said and said.endswith("gpt2 and bytes ship.")
    fetch = "hf download meta-llama/Meta-Llama-3-8B tokenizer.json tokenizer_config.json --local-dir Meta-Llama-3-8B"
    assert fetch in said and "- tokenize/bpe: {tokenizer: Meta-Llama-3-8B/tokenizer.json}" in said


def test_of_other_files_the_message_says_where_to_put_them(cache):
    with pytest.raises(AssetError) as error:
        assets.locate("hf://org/name/en.lm")
    said = str(error.value)
    assert "hf download org/name en.lm" in said and "huggingface-cli download" in said
    assert f"copy the folder models--org--name into {cache}" in said


def test_offline_mode_is_a_reason(cache, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(AssetError, match="HF_HUB_OFFLINE is set"):
        load("org/name")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "gtp2",
            r'there is no tokenizer "gtp2"; did you mean "gpt2"\? A tokenizer is gpt2 or bytes, which ship; one of cl100k, o200k, ',
        ),
        ("lid.176.ftz", r'there is no tokenizer "lid.176.ftz"\. A tokenizer is gpt2'),
        ("models/tokenizer.json", r"models/tokenizer.json: no such file or folder\. A tokenizer is gpt2"),
        ("./here", r"\./here: no such file or folder"),
    ],
)
def test_what_is_no_tokenizer_is_answered_with_what_is_one(name, words):
    with pytest.raises(AssetError, match=words):
        load(name)


@pytest.mark.parametrize("name", ["hf://org", "hf://org/name@", "hf://datasets/org"])
def test_a_name_without_a_repository_is_refused(name):
    with pytest.raises(AssetError, match="names no repository of the hub"):
        assets.locate(name)


def test_an_asset_is_a_file_of_a_repository():
    with pytest.raises(AssetError, match="hf://org/name: which file of the repository"):
        assets.locate("hf://org/name")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(hub).failed == doctest.testmod(tokenizer_name).failed == 0
