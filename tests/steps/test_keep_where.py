import os
import subprocess
import sys
import time

import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.annotate.stats import Stats
from corpusmill.steps.filter.basic import Basic
from corpusmill.steps.filter.keep_where import KeepWhere, functions

URLS = ["http://a.example/x", None, "http://b.example/y"]


def through(condition: str) -> Batch:
    """Three documents of 5, 1 and 2 words, measured by filter/basic and chosen by the condition."""
    batch = Batch(docs("one two three four five", "SIX", "seven 8", url=URLS))
    batch.apply(0, "basic", Basic(min_words=None))
    batch.apply(1, "keep_where", KeepWhere(condition=condition))
    return batch


def kept(condition: str) -> list[int]:
    """Which of the three documents are kept."""
    column = dict(through(condition).reasons).get("keep_where")
    return [0, 1, 2] if column is None else [at for at, reason in enumerate(column.to_pylist()) if reason is None]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("true", [0, 1, 2]),
        ("basic.words > 1", [0, 2]),
        ('"basic.words" > 1 and "basic"."words" < 3', [2]),
        ("basic.words = 1 OR basic.digit_ratio > 0.1", [1, 2]),
        ("bytes between 4 and 10", [2]),
        ("source = 'made' and position in (0, 1)", [0, 1]),
        ("url like '%b.example%'", [2]),
        ("url like '%example%' is not true", [1]),
        ("regexp_matches(coalesce(url, ''), '/x$')", [0]),
        ("case when url is null then basic.uppercase_word_ratio = 1 else false end", [1]),
        ("greatest(basic.words, 2) = 2 -- a comment", [1, 2]),
        ("nullif(basic.words, 5) is null", [0]),
        ("basic.words % 2 = 1 and not basic.words = 1", [0]),
        ("try_cast(url as int) is null", [0, 1, 2]),
    ],
)
def test_documents_for_which_the_condition_is_true_are_kept(condition, expected):
    assert kept(condition) == expected


@pytest.mark.parametrize("condition", ["null::bool", "false", "url = null", "basic.tokens > 0"])
def test_null_is_not_true(condition):
    assert kept(condition) == []


def test_a_null_url_does_not_match():
    assert kept("url <> 'http://a.example/x'") == [2]


def named(**conditions: str) -> Batch:
    batch = Batch(docs("one two three four five", "SIX", "seven 8", url=URLS))
    batch.apply(0, "stats", Stats())
    batch.apply(1, "keep_where", KeepWhere(conditions=tuple(conditions.items())))
    return batch


def test_the_name_of_a_condition_is_the_reason():
    batch = named(long_enough="stats.words >= 2", by_hand="url is not null", sure="stats.mean_word_length > 3.1")
    assert batch.all_reasons().to_pylist() == [
        None,
        "keep_where.long_enough,keep_where.by_hand,keep_where.sure",
        "keep_where.sure",
    ]


def test_conditions_and_a_single_one_agree():
    both = kept("basic.words > 1 and url is not null")
    reasons = named(long="stats.words > 1", url="url is not null").all_reasons().to_pylist()
    assert [at for at, reason in enumerate(reasons) if reason is None] == both


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "give one condition, or conditions by name"),
        ({"condition": "true", "conditions": (("a", "true"),)}, "give one condition, or conditions by name"),
        ({"conditions": (("a.b", "true"),)}, '"a.b" cannot name a condition'),
        ({"conditions": (("a", "true"), ("a", "true"))}, "two conditions have the same name"),
        ({"conditions": (("a", "true"), ("b", "bytes >"))}, "syntax error"),
    ],
)
def test_conditions_that_say_nothing_are_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        KeepWhere(**parameters)


def test_the_reason_is_the_condition():
    assert dict(through("bytes > 100").reasons)["keep_where"].to_pylist() == ["condition"] * 3


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("words > 1", 'no earlier step of this pass makes the signal "words"; did you mean "basic.words"\\?'),
        ("basic.wrods > 1", 'makes the signal "basic.wrods"; did you mean "basic.words"\\? There are: id, source,'),
        ("lenght(url) > 1", '"lenght" is not a function of values alone; did you mean "length"\\?'),
        ("bytes >", "syntax error at or near"),
        (" ", "the condition is empty"),
        ("bytes > 1; drop table documents", "syntax error"),
        ("true) from documents where (true", "one expression, not a statement"),
        ("true), (false", "one expression, not a statement"),
        ("bytes", "must be true or false, and is of type int64"),
        ("url > 3", "Cannot compare values of type VARCHAR"),
    ],
)
def test_a_condition_that_says_nothing_is_an_error_of_the_recipe(condition, message):
    with pytest.raises(RecipeError, match=message):
        through(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "bytes > (select 3)",
        "bytes in (select 3)",
        "exists (select 1 from read_csv('/etc/hostname'))",
        "bytes > avg(bytes)",
        "count(*) > 1",
        "row_number() over () > 1",
        "random() > 0.5",
        "now() > date::timestamp",
        "current_date > date::date",
        "getenv('HOME') = 'a'",
        "columns(*) > 1",
        "bytes > ?",
        "nextval('a') = 1",
        "current_setting('threads') = 1",
        "current_localtimestamp() > date::timestamp",
        "age(date::timestamp) > interval 1 day",
        "getvariable('a') = 1",
        "vector_type(bytes) = 'FLAT_VECTOR'",
    ],
)
def test_what_looks_beyond_the_document_is_refused(condition):
    with pytest.raises(RecipeError):
        through(condition)


def test_files_are_shut_even_to_sql_that_came_so_far(tmp_path):
    import duckdb

    from corpusmill.steps.filter.keep_where import database

    (tmp_path / "a.csv").write_text("a\n1\n")
    for sql in (f"select * from read_csv('{tmp_path}/a.csv')", f"copy (select 1) to '{tmp_path}/b.csv'"):
        with pytest.raises(duckdb.PermissionException):
            database().execute(sql)
    with pytest.raises(duckdb.Error, match="locked"):
        database().execute("set enable_external_access = true")
    documents = [1, 2, 3]  # what DuckDB would otherwise find by its name
    with pytest.raises(duckdb.CatalogException):
        database().execute("select * from documents")
    assert documents


def test_a_value_that_cannot_be_computed_costs_that_document_alone():
    batch = through("cast(substr(url, 8, 1) as int) is null")
    assert [failed.reason.splitlines()[0][:42] for failed in batch.failed] == [
        "filter/keep_where: Conversion Error: Could"
    ] * 2
    assert batch.docs["text"].to_pylist() == ["SIX"]


@pytest.mark.parametrize("clause", ["union select (1", "intersect select (1", "except all select (1"])
def test_two_selects_are_no_expression(clause):
    with pytest.raises(RecipeError, match="must be one expression, not a statement; got: bytes > 1"):
        KeepWhere(condition=f"bytes > 1) {clause}")


def test_half_a_pair_of_utf_16_is_no_text():
    with pytest.raises(RecipeError, match=r"the condition is no valid Unicode text; got: \"url = '\\ud800'\""):
        KeepWhere(condition="url = '\ud800'")


def test_the_same_functions_are_of_values_whatever_version_of_duckdb_says_so():
    zoned = {"+", "-", "year", "month", "day", "date_part", "date_diff", "strftime", "last_day", "timezone"}
    assert zoned | {"*", "length", "regexp_matches", "date_trunc", "epoch", "if", "split_part"} <= functions()
    assert not functions() & {"now", "today", "age", "random", "uuid", "gen_random_uuid", "current_setting", "nextval"}
    assert kept("bytes + 1 - 1 = bytes and year(date '2020-03-01' + interval 1 month) = 2020") == [0, 1, 2]


@pytest.mark.parametrize("condition", ["bytes" + " + 1" * 900 + " > 1", "[" * 600 + "1" + "]" * 600 + " is null"])
def test_a_condition_that_is_nested_too_deeply_is_refused(condition):
    with pytest.raises(RecipeError, match=r"nested too deeply to be a condition: .*…$"):
        KeepWhere(condition=condition)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone is set by an environment variable")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_the_time_zone_of_the_machine_decides_nothing(zone):
    code = """
from corpusmill.steps.filter.keep_where import evaluate, parsed
import pyarrow as pa
condition = "date_part('hour', timestamptz '2020-01-01 00:00:00+00') = 0 and timestamptz '2020-01-01 05:00:00' = timestamptz '2020-01-01 05:00:00+00'"
print(evaluate(parsed(condition).sql, pa.table({"bytes": [1]})).to_pylist())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[True]\n"
