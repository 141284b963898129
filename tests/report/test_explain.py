"""The history of a document is what the run did with it, from the record to its tokens."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

import corpusmill
from corpusmill.errors import InputError, ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.report import samples
from corpusmill.report.explain import KeptDuplicate, explain
from corpusmill.report.tables import RunTables
from corpusmill.shards import open_shards
from made_run import COPIES, NEAR, SHORT, made_run, records

ALL = 1000
SHORTEST = "http://made.org/30"  # four words
FIRST_COPY = f"http://made.org/{30 + SHORT}"  # of 10
FIRST_NEAR = f"http://made.org/{30 + SHORT + COPIES}"  # of 0


def only(name):
    (history,) = explain(made_run(), name)
    return history


def verdicts(history):
    return {step.step: step.verdict for step in history.steps}


def test_a_kept_document_passes_every_step_and_has_its_tokens():
    history = only("http://made.org/7")
    assert history.kept and history.dropped_by is None and history.lost is None
    assert verdicts(history) == dict.fromkeys(["gopher_quality", "fineweb", "exact", "minhash"], "passes")
    assert history.text == records()[7]["text"] and history.bytes == len(history.text)
    (rule,) = [rule for rule in history.steps[0].rules if rule.rule == "min_words"]
    assert (rule.signal, rule.value, rule.drops, rule.threshold, rule.passes) == ("content_words", 90, "<", 20, True)


def test_tokens_are_where_the_history_says():
    shards = open_shards(made_run() / "output" / "shards")
    for document in samples.kept_documents(RunTables(made_run()), ALL):
        (history,) = explain(made_run(), document["id"])
        pieces = [shards.tokens(place.start, place.stop) for place in history.shards]  # one shard: its tokens are all
        assert sum(map(len, pieces)) == history.tokens + 1  # its end is a token too
        assert [place.offset for place in history.shards] == np.cumsum([0, *map(len, pieces[:-1])]).tolist()
        assert history.shards[0].row == history.shards[0].start // shards.index.sequence_length
        assert np.concatenate(pieces)[-1] == shards.index.eos_id


def test_a_dropped_document_names_its_step_and_what_else_it_fails():
    history = only(SHORTEST)
    assert history.dropped_by == "gopher_quality" and not history.kept and not history.shards
    assert verdicts(history) == {
        "gopher_quality": "drops",
        "fineweb": "would drop",
        "exact": "not reached",
        "minhash": "not reached",
    }
    assert history.steps[0].reasons == ("min_words", "min_stop_words")
    failed = {rule.rule: rule.value for rule in history.steps[0].rules if not rule.passes}
    assert failed == {"min_words": 4, "min_stop_words": 1 if " the " in history.text else 0}
    assert history.text == records()[30]["text"]


def test_every_rule_of_every_document_agrees_with_the_reasons_of_the_run():
    tables = RunTables(made_run())
    for document in [*samples.kept_documents(tables, ALL), *samples.dropped_documents(tables, None, ALL)]:
        (history,) = explain(made_run(), document["id"])
        failed = [f"{step.step}.{rule.rule}" for step in history.steps for rule in step.rules if not rule.passes]
        assert failed == [reason for reason in document["reasons"] if reason in tables.bounds]


def test_a_duplicate_names_the_one_that_is_kept():
    history = only(FIRST_COPY)
    kept = only("http://made.org/10")
    assert verdicts(history) | {"exact": "drops", "minhash": "not reached"} == verdicts(history)
    (exact,) = [step for step in history.steps if step.step == "exact"]
    assert exact.duplicate_of == KeptDuplicate(kept.id, "http://made.org/10", 1.0) and kept.kept
    (minhash,) = [step for step in only(FIRST_NEAR).steps if step.step == "minhash"]
    assert minhash.verdict == "drops" and minhash.duplicate_of.url == "http://made.org/0"
    assert 0.8 <= minhash.duplicate_of.similarity < 1 and NEAR


def test_a_document_is_found_by_its_place_too():
    by_url = only("http://made.org/7")
    assert explain(made_run(), f"{by_url.file}:{by_url.position}") == [by_url]
    assert explain(made_run(), f"web.jsonl:{by_url.position}") == [by_url]


def test_a_lost_record_has_its_reason():
    (letter,) = samples.dead_letters(RunTables(made_run()), 5, "bad_json")
    for name in (letter["id"], f"web.jsonl:{letter['position']}"):
        history = only(name)
        assert history.lost.kind == "bad_json" and "{bad json" in history.lost.reason
        assert history.text is None and history.tokens is None and set(verdicts(history).values()) == {"not reached"}


def test_all_documents_of_a_url_are_explained(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "one two", "url": "u:1"}\n{"text": "three", "url": "u:1"}\n' * 2)
    (tmp_path / "r.yaml").write_text(f"read: {{jsonl: {tmp_path}/d.jsonl}}\n")
    run = corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial()).folder
    assert [history.text for history in explain(run, "u:1")] == ["one two", "three", "one two", "three"]
    assert all(history.kept and history.steps == () and history.shards == () for history in explain(run, "u:1"))


def test_a_step_that_fails_is_named(tmp_path, monkeypatch):
    (tmp_path / "fragile_step.py").write_text(
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True, kw_only=True)\nclass Fragile:\n"
        "    needs = ()\n\n    def reasons(self, docs, signals):\n"
        "        if any('seven' in text for text in docs['text'].to_pylist()):\n            raise ValueError('seven')\n"
        "        import pyarrow as pa\n\n        return pa.nulls(len(docs), pa.string())\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "d.jsonl").write_text('{"text": "six", "url": "u:6"}\n{"text": "seven", "url": "u:7"}\n')
    (tmp_path / "r.yaml").write_text(
        f"read: {{jsonl: {tmp_path}/d.jsonl}}\nsteps: [filter/fineweb, 'fragile_step:Fragile', filter/code]\n"
        "run: {error_budget: 5}\n"
    )
    run = corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial()).folder
    (history,) = explain(run, "u:7")
    assert verdicts(history) == {"fineweb": "not recorded", "fragile": "fails", "code": "not reached"}
    assert history.lost.step == "fragile" and "seven" in history.lost.reason and not history.kept


@pytest.mark.parametrize(
    "wrong, near",
    [
        ("https://made.org/7", "http://made.org/7"),
        ("http://www.made.org/7/", "http://made.org/7"),
        ("http://mode.org/17", "http://made.org/17"),
    ],
)
def test_an_unknown_name_is_answered_with_what_is_near(wrong, near):
    with pytest.raises(InputError, match=f"there is no document or dead letter.*Similar names:.*{near}"):
        explain(made_run(), wrong)


def test_the_beginning_of_an_id_is_enough_where_only_one_begins_so():
    history = only("http://made.org/7")
    assert explain(made_run(), history.id[:12]) == explain(made_run(), history.id[:12].upper()) == [history]
    (letter,) = samples.dead_letters(RunTables(made_run()), 5, "bad_json")
    assert only(letter["id"][:12]).lost.kind == "bad_json"
    for wrong in (f"{history.id}0", f"x{history.id[:12]}", history.id[:3], history.id[1:20]):
        with pytest.raises(InputError, match="there is no document or dead letter"):
            explain(made_run(), wrong)
    with pytest.raises(InputError, match=r'FILE:POSITION "§+"\.$'):
        explain(made_run(), "§" * 10)


def test_a_beginning_that_several_ids_share_is_an_error_that_lists_them(tmp_path):
    rows = "".join(f'{{"text": "number {i}", "url": "u:{i}"}}\n' for i in range(2000))
    (tmp_path / "d.jsonl").write_text(rows)
    (tmp_path / "r.yaml").write_text(f"read: {{jsonl: {tmp_path}/d.jsonl}}\n")
    run = corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial()).folder
    ids = sorted(document["id"] for document in samples.kept_documents(RunTables(run), 3000))
    one, other = next(pair for pair in pairwise(ids) if pair[0][:4] == pair[1][:4])
    with pytest.raises(InputError, match=f'2 ids begin with "{one[:4]}": {one}, {other}. Give more digits'):
        explain(run, one[:4])
    shared = next(n for n in range(4, 32) if one[n] != other[n]) + 1
    assert [history.id for history in explain(run, one[:shared])] == [one]


def test_a_run_that_is_not_finished_says_what_is_missing(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    (folder / "waterfall.json").unlink()
    with pytest.raises(ResumeError, match=r"not finished.*Run its recipe again"):
        explain(folder, "x")
