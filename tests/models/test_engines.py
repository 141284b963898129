"""Engines by name: each gives the ids of the reference, none makes a control token of text, errors say what to do."""

import base64
import json
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import AssetError, MissingExtraError
from corpusmill.models import sentencepiece_file, table_cache, tiktoken_file, token_engines, tokenizer
from corpusmill.models.tokenizer import PROBE, CrossCheck, load
from corpusmill.steps.tokenize.bpe import Bpe
from made_tokenizers import LINES, texts, train_sentencepiece, write_bpe


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    like_llama = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    return {
        "unigram": train_sentencepiece(folder / "unigram.model", "unigram"),
        "bpe": train_sentencepiece(folder / "bpe.model", "bpe", user_defined_symbols=[], **like_llama),
        "symbols": train_sentencepiece(folder / "symbols.model", "bpe", **like_llama),
        "gpt2": write_ranks(folder / "r50k_base.tiktoken"),
        "cl100k": write_ranks(folder / "cl100k_base.tiktoken"),
        "o200k": write_ranks(folder / "o200k_base.tiktoken"),
    }


def write_ranks(path):
    """GPT-2's vocabulary as a file of ranks."""
    definition = load("gpt2").definition
    ranks = sorted((definition.ids[t], data) for t, data in definition.token_bytes.items() if t not in definition.added)
    path.write_bytes(b"".join(base64.b64encode(data) + b" %d\n" % rank for rank, data in ranks))
    return str(path)


ENGINES = [
    ("gpt2", "gigatoken"),
    ("gpt2", "tiktoken"),
    ("gpt2", "tokenizers"),
    ("cl100k", "gigatoken"),
    ("cl100k", "tiktoken"),
    ("o200k", "gigatoken"),
    ("o200k", "tiktoken"),
    ("bpe", "gigatoken"),
    ("bpe", "sentencepiece"),
    ("unigram", "sentencepiece"),
]


@pytest.mark.parametrize(("name", "engine"), ENGINES)
def test_text_like_a_control_token_is_text_in_every_engine(models, name, engine):
    tokenizer = load(models[name], engine)
    controls = tokenizer.definition.controls(tokenizer.eos)
    assert controls
    for look in controls:
        for text in (look, f"a{look}b", f"{look}{look}", f" {look} "):
            assert not set(tokenizer.encode(texts(text))[0].tolist()) & (
                set(controls.values()) - {tokenizer.definition.unknown}
            )
    ids, lengths = tokenizer.encode_documents(texts(f"a{tokenizer.eos}b", tokenizer.eos))
    assert np.flatnonzero(ids == tokenizer.eos_id).tolist() == (np.cumsum(lengths) - 1).tolist()


@pytest.mark.parametrize(("name", "engine"), ENGINES)
def test_every_engine_gives_the_ids_of_the_reference(models, name, engine):
    tokenizer = load(models[name], engine)
    compared = 0 if engine == tokenizer.reference.name else len(PROBE)
    assert tokenizer.check(texts(*PROBE)) == CrossCheck(compared, 0)
    assert tokenizer.check(texts(*LINES[:3], None)).differing == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\t'a1é<|>"))), max_size=4))
def test_tiktoken_is_the_reference(values):
    fast, reference = load("gpt2", "tiktoken"), load("gpt2", "tokenizers")
    got, expected = fast.encode(texts(*values)), reference.encode(texts(*values))
    assert [column.tolist() for column in got] == [column.tolist() for column in expected]


def test_the_merges_of_a_file_of_ranks_are_those_that_made_it(models):
    made = load(models["gpt2"]).definition.json["model"]
    shipped = load("gpt2").definition.json["model"]
    assert made["merges"] == [pair.split(" ") if isinstance(pair, str) else pair for pair in shipped["merges"]]
    assert load(models["gpt2"]).encode(texts("Hello world"))[0].tolist() == [15496, 995]


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_encodings_are_those_of_tiktoken_s_own_table(models, monkeypatch, name):
    import tiktoken
    from tiktoken_ext import openai_public

    definition = load("gpt2").definition
    ranks = {data: definition.ids[t] for t, data in definition.token_bytes.items() if t not in definition.added}
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: ranks)
    encoding = Path(models[name]).stem
    theirs = openai_public.ENCODING_CONSTRUCTORS[encoding]()
    assert theirs["special_tokens"] == tiktoken_file.ENCODINGS[encoding][1]
    own = tiktoken.Encoding("own", pat_str=theirs["pat_str"], mergeable_ranks=ranks, special_tokens={})
    values = [*PROBE, *LINES[:2], "IT'S It's it'S ÀÉ Àé 12345 a1b2\r\n/// \n\n  x"]
    mine = load(models[name])
    assert mine.encode(texts(*values))[0].tolist() == [i for value in values for i in own.encode_ordinary(value)]


@pytest.mark.parametrize("name", ["unigram", "symbols"])
def test_sentencepiece_decodes_what_it_encodes_with_controls_by_name(models, name):
    tokenizer = load(models[name], bos="<s>")
    ids, lengths = tokenizer.encode_documents(texts("the sea<sep> is </s> deep", ""))
    assert lengths[1] == 2
    assert tokenizer.decode(ids.tolist()) == "<s>the sea<sep> is </s> deep</s><s></s>"


def test_a_user_defined_symbol_that_ends_documents_is_not_found_in_text(models):
    tokenizer = load(models["symbols"], eos="<sep>")
    ids, _ = tokenizer.encode(texts("the sea<sep>"))
    assert tokenizer.eos_id not in ids.tolist()
    assert tokenizer.decode(ids.tolist()) == "the sea<sep>"


def test_an_engine_that_is_wrong_after_a_symbol_is_not_chosen(models):
    assert load(models["bpe"]).engine.name == "gigatoken"
    tokenizer = load(models["symbols"])
    assert (tokenizer.engine.name, tokenizer.fallback) == (
        "sentencepiece",
        "gigatoken differs from the reference on 1 probe strings",
    )


def test_an_engine_that_splits_where_the_tokenizer_does_not_is_not_taken(tmp_path):
    path = tmp_path / "t.json"
    write_bpe(path)  # does not split text at all
    definition = json.loads(path.read_text())
    definition["model"]["vocab"] |= {"ĠB": 257, ".ĠB": 258}
    definition["model"]["merges"] = ["Ġ B", ". ĠB"]
    path.write_text(json.dumps(definition))
    tokenizer = load(str(path))
    assert tokenizer.encode(texts("x. B"))[0].tolist() == [87, 258]
    assert load(str(path), "tiktoken").encode(texts("x. B"))[0].tolist() == [87, 258]


def test_pieces_are_read_as_the_library_reads_them(models):
    import sentencepiece

    for name in ("unigram", "bpe"):
        model = load(models[name]).definition.model
        library = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces = sentencepiece_file.pieces(model)
        assert [piece for piece, _ in pieces] == [library.id_to_piece(i) for i in range(library.get_piece_size())]
        controls = [i for i, (_, kind) in enumerate(pieces) if kind == sentencepiece_file.CONTROL]
        assert controls == [i for i in range(len(pieces)) if library.is_control(i)]
        changed = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_file.unused(model, {"<s>", "the"}))
        assert [i for i in range(len(pieces)) if changed.is_control(i)] == [2]
        assert changed.encode("on the sea")[-1] == library.encode("on the sea")[-1]


def test_bos_precedes_each_document_and_occurs_nowhere_else(tmp_path):
    spec = write_bpe(tmp_path / "t.json", ("<s>", "</s>"))
    tokenizer = load(spec, bos="<s>")
    ids, lengths = tokenizer.encode_documents(texts("ab", "", "<s></s>", None))
    ends = np.cumsum(lengths)
    assert lengths.tolist() == [4, 2, 9, 2]
    assert np.flatnonzero(ids == 256).tolist() == (ends - lengths).tolist()
    assert np.flatnonzero(ids == 257).tolist() == (ends - 1).tolist()
    assert tokenizer.count(texts("ab")).tolist() == [2]
    assert load(spec, bos="<s>").arguments == tokenizer.arguments
    assert tokenizer.encode_documents(texts())[0].tolist() == []


def test_what_a_post_processor_would_add_is_added_once_and_only_if_asked_for(tmp_path):
    path = tmp_path / "t.json"
    write_bpe(path, ("<s>", "</s>"))
    definition = json.loads(path.read_text())
    special = [{"SpecialToken": {"id": name, "type_id": 0}} for name in ("<s>", "</s>")]
    definition["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [special[0], {"Sequence": {"id": "A", "type_id": 0}}, special[1]],
        "pair": [],
        "special_tokens": {t: {"id": t, "ids": [256 + i], "tokens": [t]} for i, t in enumerate(("<s>", "</s>"))},
    }
    path.write_text(json.dumps(definition))
    for engine in ("tokenizers", "tiktoken", "auto"):
        plain, both = load(str(path), engine), load(str(path), engine, bos="<s>")
        assert plain.encode_documents(texts("a"))[0].tolist() == [64, 257]
        assert both.encode_documents(texts("a"))[0].tolist() == [256, 64, 257]


def test_a_bos_that_is_not_there_or_ends_documents_is_refused(tmp_path):
    spec = write_bpe(tmp_path / "t.json", ("<s>", "</s>"))
    with pytest.raises(
        AssetError, match=r'there is no token "<b>" to begin .* special tokens are: <s>, </s>\. Set `bos`'
    ):
        load(spec, bos="<b>")
    with pytest.raises(AssetError, match=r'"</s>" ends every document, so every next one already begins after it'):
        load(spec, bos="</s>")


def test_tiktoken_keeps_added_tokens_that_are_not_special(tmp_path):
    spec = write_bpe(tmp_path / "t.json", ("</s>",), ("::",))
    tokenizer = load(spec, "tiktoken")
    assert (
        tokenizer.encode(texts("a::b</s>"))[0].tolist()
        == load(spec, "tokenizers").encode(texts("a::b</s>"))[0].tolist()
    )


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ({"merges": ["b c", "a b"]}, "its merges are not in the order of their ids"),
        ({"merges": ["a b"], "normalizer": {"type": "NFC"}}, "normalizes text before it splits it"),
    ],
)
def test_tiktoken_says_why_it_cannot_use_a_tokenizer(tmp_path, model, reason):
    path = tmp_path / "t.json"
    write_bpe(path)
    definition = json.loads(path.read_text())
    definition["model"]["vocab"] |= {"ab": 257, "bc": 258}
    definition["normalizer"] = model.pop("normalizer", None)
    definition["model"] |= model
    path.write_text(json.dumps(definition))
    with pytest.raises(AssetError, match=rf'tiktoken cannot use .*{reason}.* Use engine "tokenizers", or "auto"'):
        load(str(path), "tiktoken")


def test_an_engine_that_does_not_read_the_file_is_refused_with_those_that_do(models):
    with pytest.raises(
        AssetError, match=r'engine tokenizers does not read such files\. Use engine "sentencepiece", "gigatoken"'
    ):
        load(models["unigram"], "tokenizers")
    with pytest.raises(
        AssetError, match=r'engine sentencepiece does not read .* Use engine "tokenizers", "gigatoken", "tiktoken"'
    ):
        load("gpt2", "sentencepiece")
    with pytest.raises(AssetError, match=r"gigatoken cannot use .*only BPE"):
        load(models["unigram"], "gigatoken")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("broken.model", b"no model", "not a SentencePiece model, or a damaged one"),
        ("my.tiktoken", b"IQ== 0\n", r"NAME\.tiktoken, with a name of: r50k_base"),
        ("cl100k_bas.tiktoken", b"IQ== 0\n", 'did you mean "cl100k_base"'),
        ("r50k_base.tiktoken", b"IQ== 0\nIg== x\n", r"r50k_base\.tiktoken:2: not a token and its rank"),
        ("r50k_base.tiktoken", b"IQ== 0\n", "has no token for the byte 0: it was truncated"),
        ("t.json", b'{"model": {"vocab": {"a": -1}}}', "the id of 'a' is -1; ids are integers from 0"),
        (
            "t.json",
            b'{"model": {"vocab": {"a": 4294967296}}}',
            "4294967296; ids are integers from 0 of at most 32 bits",
        ),
        ("t.json", b'{"model": {"vocab": {}}}', "it has no tokens"),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(AssetError, match=said):
        load(str(path))


@pytest.mark.parametrize(("library", "extra"), [("tiktoken", "tiktoken"), ("sentencepiece", "sentencepiece")])
def test_a_library_that_is_not_installed_is_named(models, tmp_path, monkeypatch, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'corpusmill\[{extra}\]'"):
        if library == "tiktoken":
            load(write_bpe(tmp_path / "t.json"), "tiktoken")
        else:
            load(write_copy(models["bpe"], tmp_path / "new.model"))


def write_copy(model, path):
    path.write_bytes(Path(model).read_bytes())
    return str(path)


def test_a_step_has_all_engines_and_both_ends(models):
    step = Bpe(tokenizer=models["unigram"], engine="sentencepiece", bos="<s>")
    ids, lengths = step.encode(texts("the sea", "a"))
    assert ids[0] == ids[lengths[0]] == 1
    assert step.count(texts("the sea", "a")).tolist() == (lengths - 2).tolist()


def test_characters_of_tokens_are_those_of_the_text(models):
    for name in ("gpt2", "unigram", "bpe"):
        reference = load(models[name]).reference
        ids, start, end = reference.spans("the naïve 日 sea")
        assert ids.tolist() == reference.encode(texts("the naïve 日 sea"))[0].tolist()
        assert (start <= end).all() and end[-1] == len("the naïve 日 sea")


def test_the_engines_of_the_step_are_those_that_there_are():
    assert set(get_args(token_engines.EngineName)) == {"auto", "gigatoken", "tokenizers", "tiktoken", "sentencepiece"}
    assert isinstance(texts("a"), pa.LargeStringArray)


@pytest.fixture
def comparisons(tmp_path, monkeypatch):
    """What `fresh` compares: a list that grows, with an empty cache."""
    compared = []
    differing = tokenizer._differing

    def count(*arguments):
        compared.append(arguments)
        return differing(*arguments)

    monkeypatch.setattr(tokenizer, "_differing", count)
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(table_cache, "cache_folder", lambda: tmp_path / "cache")
    return compared


def fresh(path):
    """A tokenizer as a new process loads it: its engine, and whether the reference was made, too."""
    for remembered in (tokenizer._load, tokenizer._engine, tokenizer._reference):
        remembered.cache_clear()
    loaded = load(path)
    return loaded.engine.name, loaded.fallback, bool(tokenizer._reference.cache_info().currsize)


def test_an_engine_is_compared_once_for_each_definition_and_version(comparisons, tmp_path, monkeypatch):
    path = write_bpe(tmp_path / "a.json")
    assert fresh(path) == ("gigatoken", None, True)
    assert [fresh(path), len(comparisons)] == [("gigatoken", None, False), 1]
    other = write_bpe(tmp_path / "b.json", ("</s>", "<b>"))
    assert [fresh(other), len(comparisons)] == [("gigatoken", None, True), 2]
    monkeypatch.setattr(tokenizer, "installed_version", lambda library: "0.0.1")
    assert [fresh(path), len(comparisons)] == [("gigatoken", None, True), 3]


@pytest.mark.parametrize("damage", [b"", b"null", b"\x00" * 200])
def test_a_damaged_verdict_is_found_again(comparisons, tmp_path, damage):
    path = write_bpe(tmp_path / "a.json")
    fresh(path)
    (verdict,) = (tmp_path / "cache").glob("tokenizer-*/*.npy")
    verdict.write_bytes(damage)
    assert [fresh(path), len(comparisons)] == [("gigatoken", None, True), 2]
    assert [fresh(path), len(comparisons)] == [("gigatoken", None, False), 2]


@pytest.mark.parametrize("folder", [None, "missing"])
def test_where_no_verdict_can_be_kept_engines_are_compared_each_time(comparisons, tmp_path, monkeypatch, folder):
    monkeypatch.setattr(table_cache, "cache_folder", lambda: folder and tmp_path / folder)
    path = write_bpe(tmp_path / "a.json")
    assert [fresh(path), fresh(path), len(comparisons)] == [("gigatoken", None, True)] * 2 + [2]


def test_the_verdict_says_why_the_fast_engine_is_not_used(comparisons, tmp_path, monkeypatch):
    path = write_bpe(tmp_path / "a.json")
    monkeypatch.setattr(tokenizer, "_differing", lambda *arguments: [0, 3])
    why = "gigatoken differs from the reference on 2 probe strings"
    assert fresh(path) == ("tokenizers", why, True)
    monkeypatch.setattr(tokenizer, "_differing", None)  # is not called again
    assert fresh(path) == ("tokenizers", why, True)
    with pytest.raises(AssetError, match=r"gigatoken differs .* Use engine"):
        load(path, "gigatoken")
