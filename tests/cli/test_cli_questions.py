"""The verbs that ask questions of a finished run: what they print, how they end."""

import csv
import io
import json
import shutil

import pytest

from made_run import COPIES, HOSTILE_URL, NEAR, made_run, unfinish

WORDS = "gopher_quality.min_words=9"


def test_explain_prints_a_hostile_document_without_obeying_it(corpusmill):
    status, out, _ = corpusmill("explain", made_run(), HOSTILE_URL)
    assert status == 0 and "outcome  dropped by gopher_quality" in out
    assert "FAIL  max_hash_ratio: hash_ratio 0.143, dropped above 0.1" in out
    assert "\x1b" not in out and "\u202e" not in out


def test_explain_names_the_tokens_and_the_kept_duplicate(corpusmill):
    status, out, _ = corpusmill("explain", made_run(), "http://made.org/7")
    assert status == 0 and "outcome  kept" in out and "of 00000.bin" in out
    status, out, _ = corpusmill("explain", made_run(), "http://made.org/42")
    assert status == 0 and "http://made.org/10, similarity 1.000" in out


def test_explain_prints_json_and_lost_records(corpusmill):
    status, out, _ = corpusmill("explain", made_run(), "http://made.org/7", "--json")
    (history,) = json.loads(out)["documents"]
    assert status == 0 and history["kept"] and history["steps"][0]["rules"][0]["value"] == 90
    dead = json.loads(corpusmill("peek", made_run(), "--dead", "--json")[1])["documents"]
    status, out, _ = corpusmill("explain", made_run(), dead[0]["id"])
    assert status == 0 and "outcome  lost at read/jsonl" in out and "steps" not in out


def test_what_if_prints_before_and_after(corpusmill):
    status, out, _ = corpusmill("what-if", made_run(), "--set", WORDS, "--examples", "1")
    assert status == 0
    assert "gopher_quality.min_words: 20 → 9" in out and "min_words 12 → 5 (-7)" in out
    assert "newly kept: 7 documents" in out and out.count("content_words 9") == 1
    assert "Documents and bytes are exact up to fineweb. Results of later steps (exact, minhash)" in out
    status, out, _ = corpusmill("what-if", made_run(), "--set", WORDS, "--json")
    answer = json.loads(out)
    assert status == 0 and [kept["documents"] for kept in answer["kept"]] == [36 + COPIES + NEAR, 43 + COPIES + NEAR]


def test_diff_prints_transitions_and_examples(corpusmill):
    status, out, _ = corpusmill("diff", made_run(), made_run())
    assert status == 0 and "the same recipe, inputs and versions" in out and "59 documents had the same outcome" in out
    status, out, _ = corpusmill("diff", made_run(), made_run(), "--json")
    assert status == 0 and json.loads(out)["moved"] == []


def test_sql_prints_a_table_json_or_csv(corpusmill):
    query = (
        "select dropped_by, count(*) as n from documents where dropped_by in ('exact', 'minhash') group by 1 order by 1"
    )
    rows = [["exact", COPIES], ["minhash", NEAR]]
    assert corpusmill("sql", made_run(), query)[1].split() == ["dropped_by", "n", "exact", "5", "minhash", "3"]
    assert json.loads(corpusmill("sql", made_run(), query, "--json")[1]) == {
        "columns": ["dropped_by", "n"],
        "rows": rows,
    }
    printed = corpusmill("sql", made_run(), query, "--csv")[1]
    assert list(csv.reader(io.StringIO(printed))) == [["dropped_by", "n"], *([a, str(b)] for a, b in rows)]


def test_sql_shows_texts_on_one_safe_line_and_says_when_there_is_more(corpusmill):
    status, out, _ = corpusmill("sql", made_run(), "select text from texts")
    assert status == 0 and "\x1b" not in out and "\u202e" not in out and len(out.splitlines()) == 58
    out = corpusmill("sql", made_run(), "select a.id from documents a, documents b")[1]
    assert out.splitlines()[-1] == f"… and {57 * 57 - 100:,d} more rows: --csv prints them all"


def test_sql_without_a_query_lists_tables_and_columns(corpusmill):
    status, out, _ = corpusmill("sql", made_run())
    assert status == 0 and "gopher_quality.content_words" in out and "\nverdicts\n" in out
    assert json.loads(corpusmill("sql", made_run(), "--json")[1])["tables"]["dead"]["kind"] == "VARCHAR"


@pytest.mark.parametrize(
    "words, said",
    [
        (("explain", "https://made.org/7"), "Similar names: http://made.org/7"),
        (("what-if",), "--set gopher_quality.min_words=30"),
        (("what-if", "--set", "exact.nothing=1"), "nothing"),
        (("what-if", "--set", "minhash.threshold=0.9"), "run again with --set"),
        (("sql", "select tokns from documents"), 'did you mean "tokens"'),
        (("sql", "select 1", "--json", "--csv"), "exclude each other"),
    ],
)
def test_a_mistake_is_answered_and_ends_with_two(corpusmill, words, said):
    verb, *rest = words
    status, out, err = corpusmill(verb, made_run(), *rest)
    assert status == 2 and said in err
    assert not out or json.loads(out)["error"]["code"] == 2


@pytest.mark.parametrize("words", [("explain", "x"), ("what-if", "--set", WORDS), ("diff", made_run), ("sql",)])
def test_a_missing_run_and_a_run_that_is_not_finished_are_named(corpusmill, tmp_path, words):
    verb, *rest = (word() if callable(word) else word for word in words)
    status, out, err = corpusmill(verb, tmp_path / "none", *rest)
    assert status == 2 and not out and "not a run folder" in err
    folder = shutil.copytree(made_run(), tmp_path / "run")
    unfinish(folder, "shards")
    status, out, err = corpusmill(verb, folder, *rest)
    assert status == 1 and not out and "shards has 0 of 1 units" in err


@pytest.mark.parametrize("verb", ["explain", "what-if", "diff", "sql"])
def test_help_ends_with_an_example(corpusmill, verb):
    status, out, _ = corpusmill(verb, "--help")
    assert status == 0 and f"Example: corpusmill {verb} runs/demo" in out
