"""Passages in the texts of a run: counted as in the texts themselves, and followed to training steps."""

import json
from itertools import pairwise

import pytest

import corpusmill
from corpusmill.errors import InputError, ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.loader import TokenLoader
from corpusmill.ops.find import TextIndex
from corpusmill.recipe.model import Recipe
from corpusmill.text.suffixes import DEPTH
from made_run import made_corpus


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return corpusmill.run(
        Recipe.parse(made_corpus().read_text()), folder=tmp_path_factory.mktemp("find") / "run", executor=Serial()
    )


@pytest.fixture(scope="module")
def index(done):
    return TextIndex(done.folder, workers=1)


def kept(done):
    return [(document.id, document.text) for document in done.documents()]


def slow_count(text, passage):
    return sum(text.startswith(passage, at) for at in range(len(text)))


def test_counts_documents_and_offsets_are_those_of_the_texts(done, index):
    texts = kept(done)
    some = texts[3][1]
    for passage in ("the", "the river", " the ", "iver", "e", "x", some[10:60], some, "# # # ", "alert(1)</script>"):
        found = index.find(passage, most=10_000)
        expected = [(id_, at) for id_, text in texts for at in range(len(text)) if text.startswith(passage, at)]
        assert [
            (one.id, len(dict(texts)[one.id].encode()[: one.offset].decode())) for one in found.occurrences
        ] == expected
        assert found.count == len(expected) == index.count(passage)
        assert found.documents == len({id_ for id_, _ in expected}) and index.ids(passage) == list(dict.fromkeys(
            id_ for id_, _ in expected
        ))  # fmt: skip
        for one in found.occurrences[:5]:
            assert f"{one.before}{passage}{one.after}" in dict(texts)[one.id]
    assert index.documents == len(texts) and index.text_bytes == sum(len(text.encode()) for _, text in texts)


def test_spans_are_the_longest_parts_that_occur(done, index):
    texts = dict(kept(done))
    first, second = list(texts.values())[2:4]
    longer = f"An answer: {first[5:200]} and then, of its own, {second[40:180]} the end."
    spans = index.spans(longer, words=4)
    assert spans
    for span in spans:
        assert longer[span.start : span.stop] == span.text
        assert span.count == sum(slow_count(text, span.text) for text in texts.values()) > 0
    ends = [(span.start, span.stop) for span in spans]
    assert ends == sorted(ends) and all(a[1] < b[1] for a, b in pairwise(ends))
    whole = first[first.index(" ", 5) + 1 : first.rindex(" ", 0, 200)]
    assert any(whole in span.text for span in spans)
    assert index.spans("nothing of this is known to the run at all, or is it", words=4) == []


def test_spans_longer_than_what_is_sorted(tmp_path):
    text = " ".join(f"word{i}" for i in range(400))
    assert len(text) > 2 * DEPTH
    run = corpusmill.run(_one_document(tmp_path, text), folder=tmp_path / "run", executor=Serial())
    (span,) = TextIndex(run.folder, workers=1).spans(f"Before. {text[:2500]}zz")
    assert span.text == text[: text.rindex(" ", 0, 2500) + 1].rstrip() or span.text in text
    assert len(span.text) > 2400


def _one_document(tmp_path, text):
    (tmp_path / "one.jsonl").write_text(json.dumps({"text": text}) + "\n")
    return Recipe.parse(f"name: one\nread:\n  - jsonl: {tmp_path}/one.jsonl\nwrite: [jsonl]\n")


def test_documents_are_followed_to_the_steps_that_serve_them(done, index):
    shards = done.output / "shards"
    loader = TokenLoader(shards, batch_size=3, seed=4)
    ids = index.ids("the river")
    numbers = loader.shards[0].numbers_of(ids)
    assert set(numbers) == set(ids)
    for id_ in ids:
        for one in loader.served(numbers[id_]):
            pieces = [piece for piece in loader.trace(one.step) if piece.row == one.row]
            assert any(loader.shards[0].provenance(piece.document)["id"] == id_ for piece in pieces)


def test_the_command_prints_what_was_found(done, index, corpusmill, tmp_path):
    status, out, _ = corpusmill("find", done.folder, "the river", "-n", "2", "--steps")
    found = index.find("the river")
    assert status == 0 and f"{found.count} occurrences, in {found.documents} of " in out
    assert out.count("⟦the river⟧") == 2 and "step" in out
    status, out, _ = corpusmill("find", done.folder, "the river", "--json", "--steps")
    record = json.loads(out)
    assert record["count"] == found.count and set(record["steps"]) == set(index.ids("the river"))
    text = tmp_path / "answer.txt"
    text.write_text(kept(done)[4][1])
    status, out, _ = corpusmill("find", done.folder, "--spans", text)
    assert status == 0 and "100.0 % of the text" in out
    status, out, _ = corpusmill("find", done.folder, "not in there anywhere")
    assert status == 0 and out.startswith("0 occurrences")


def test_what_cannot_be_found_is_said(done, corpusmill, tmp_path):
    status, _, err = corpusmill("find", done.folder)
    assert status == 2 and "give a TEXT to find, or --spans" in err
    status, _, err = corpusmill("find", done.folder, "")
    assert status == 2 and "empty" in err
    status, _, err = corpusmill("find", tmp_path, "x")
    assert status == 2 and "not a run folder" in err
    status, _, err = corpusmill("find", done.folder, "--spans", tmp_path / "none.txt")
    assert status == 2 and "cannot be read" in err
    with pytest.raises(InputError, match="valid Unicode"):
        TextIndex(done.folder, workers=1).count("\ud800")


def test_a_run_that_is_not_finished_is_not_indexed(done, tmp_path):
    import shutil

    shutil.copytree(done.folder, tmp_path / "run")
    (tmp_path / "run" / "waterfall.json").unlink()
    with pytest.raises(ResumeError, match="not finished"):
        TextIndex(tmp_path / "run")
