"""What is said of the tokens of a run is what counting them one by one gives."""

import json
import sys
from collections import Counter

import pyarrow as pa
import pytest

import corpusmill
from corpusmill.cli.app import app
from corpusmill.cli.common import guarded
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.report import samples
from corpusmill.report.figures.engine_check import engine_check, in_words
from corpusmill.report.figures.tokens import TopToken, statistics, token_text
from corpusmill.report.page import page
from corpusmill.report.tables import RunTables
from made_run import made_run


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


@pytest.fixture(scope="module")
def documents(tables):
    """(source, text, ids) of every kept document."""
    gpt2 = load("gpt2")
    kept = samples.kept_documents(tables, 1000)
    return [(d["source"], d["text"], gpt2.encode(pa.array([d["text"]]))[0].tolist()) for d in kept]


def test_totals_are_what_is_there(tables, documents):
    figure = statistics(tables)
    ids = Counter(i for _, _, each in documents for i in each)
    assert figure.all.documents == figure.ends == len(documents)
    assert figure.all.tokens == ids.total()
    assert figure.all.words == sum(len(text.split()) for _, text, _ in documents)
    assert figure.all.characters == sum(len(text) for _, text, _ in documents)
    assert figure.all.bytes == sum(len(text.encode()) for _, text, _ in documents)
    assert figure.all.fertility == ids.total() / figure.all.words
    assert (figure.vocabulary, figure.distinct) == (50_257, len(ids))
    assert {token.id: token.count for token in figure.top} == dict(
        sorted(ids.items(), key=lambda i: (-i[1], i[0]))[:40]
    )
    assert all(token.text == load("gpt2").decode([token.id]) for token in figure.top)


def test_each_source_has_its_own(tables, documents):
    figure = statistics(tables)
    assert [group.name for group in figure.sources] == ["web", "extra"]
    for group in figure.sources:
        mine = [each for source, _, each in documents if source == group.name]
        assert (group.documents, group.tokens) == (len(mine), sum(map(len, mine)))


def test_lengths_are_those_that_a_share_of_the_documents_does_not_exceed(tables, documents):
    figure = statistics(tables)
    lengths = sorted(len(each) for _, _, each in documents)
    assert figure.longest == lengths[-1]
    for share, value in figure.lengths.items():
        assert sum(length <= value for length in lengths) >= share * len(lengths)
        assert sum(length < value for length in lengths) < share * len(lengths)


def test_languages_are_taken_from_the_step_that_identified_them_in_any_pass(tmp_path):
    texts = {
        "en": "The river runs to the sea and the sea is deep, as everyone in the village knows very well.",
        "de": "Der Fluss fließt zum Meer und das Meer ist tief, wie jeder im Dorf ganz genau weiß und sagt.",
    }
    lines = [json.dumps({"text": f"{text} {i}"}) for i in range(6) for text in texts.values()]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, lines[0]]) + "\n")
    recipe = {
        "name": "languages",
        "read": [{"jsonl": {"paths": str(tmp_path / "in.jsonl")}}],
        "steps": ["annotate/language", "dedup/exact", "tokenize/bpe", {"pack/best_fit": {"length": 64}}],
        "write": ["shards"],
    }
    (tmp_path / "r.yaml").write_text(json.dumps(recipe))
    done = corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial())
    figure = statistics(RunTables(done.folder))
    assert [(group.name, group.documents) for group in figure.languages] == [("de", 6), ("en", 6)]
    assert sum(group.tokens for group in figure.languages) == figure.all.tokens
    assert figure.languages[0].fertility > figure.languages[1].fertility


def test_the_page_and_the_verb_say_the_same(tables, capsys, monkeypatch):
    figure = statistics(tables)
    whole = page(tables)
    assert '<section id="tokens">' in whole and f"{figure.all.tokens:,}" in whole
    assert "mean in-document context (tokens)" in whole
    printed = []
    for flags in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["corpusmill", "stats", str(made_run()), *flags])
        assert guarded(app()) == 0
        printed.append(capsys.readouterr().out)
    assert f"{figure.all.tokens:,} tokens in {figure.all.documents} documents" in printed[0]
    assert "' the'" in printed[0]
    record = json.loads(printed[1])
    assert record["tokens"] == json.loads(json.dumps(figure.to_json()))
    packed = record["packed"]
    assert packed["mean_context"] == round(packed["context"] / packed["tokens"], 3)


def test_the_engine_and_whether_it_agrees_with_the_reference_are_named(tables, tmp_path):
    assert in_words(engine_check(tables)) == (
        "Token ids are from gigatoken. "
        "16 documents were also encoded by the reference tokenizer (tokenizers): all identical."
    )
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "a b c"}) + "\n")
    recipe = f"""
read: [{{jsonl: {{paths: {tmp_path}/in.jsonl}}}}]
steps: [{{tokenize/bpe: {{engine: tokenizers}}}}, {{pack/concat: {{length: 8}}}}]
write: [shards]
"""
    (tmp_path / "r.yaml").write_text(recipe)
    done = corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial())
    words = "Token ids are from tokenizers, the reference tokenizer itself, so nothing was compared."
    assert in_words(engine_check(RunTables(done.folder))) == words


def test_a_run_without_tokens_has_its_other_statistics_and_says_what_tokens_take(tmp_path, capsys, monkeypatch):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "a b c"}) + "\n")
    (tmp_path / "r.yaml").write_text(f"read: [{{jsonl: {{paths: {tmp_path}/in.jsonl}}}}]\nsteps: []\nwrite: [jsonl]\n")
    done = corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial())
    assert statistics(RunTables(done.folder)) is None
    monkeypatch.setattr(sys, "argv", ["corpusmill", "stats", str(done.folder)])
    assert guarded(app()) == 0
    out = capsys.readouterr().out
    assert "characters, input" in out and "There are no token statistics: they need tokenize/bpe" in out


def test_a_token_does_not_act_in_a_terminal():
    assert token_text(TopToken(1, "\x1b[2J\u202e", 1)) == r"'\x1b[2J\u202e'"
    assert token_text(TopToken(7, None, 1)) == "token 7"
