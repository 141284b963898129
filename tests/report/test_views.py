"""SQL over a run sees what the tables of the run hold, changes nothing and reaches nothing else."""

import json
import shutil
from collections import Counter

import pytest

import corpusmill
from corpusmill.errors import InputError, ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.report import samples
from corpusmill.report.tables import RunTables
from corpusmill.report.views import Views, sql
from made_run import COPIES, NEAR, made_run, records

ALL = 1000


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


def test_documents_are_all_documents_once_with_their_last_outcome(tables):
    kept, dropped = samples.kept_documents(tables, ALL), samples.dropped_documents(tables, None, ALL)
    expected = {d["id"]: (d["dropped_by"], d["dropped_by"] is None, d["tokens"]) for d in [*kept, *dropped]}
    rows = sql(tables, "select id, dropped_by, kept, tokens from documents").rows
    assert len(rows) == len(expected)
    assert {name: tuple(rest) for name, *rest in rows} == expected


def test_the_signals_of_all_passes_are_side_by_side(tables):
    query = "select minhash.similarity, gopher_quality.content_words from documents where dropped_by = 'minhash'"
    rows = sql(tables, query).rows
    assert len(rows) == NEAR and all(0.8 <= similarity < 1 and words > 80 for similarity, words in rows)


def test_the_folder_of_a_run_says_nothing_of_columns(tmp_path, tables):
    place = tmp_path / "source=7" / "tokens=1"
    shutil.copytree(made_run(), place)
    there = RunTables(place)
    for query in ("select distinct source from documents", "select sum(tokens) from documents"):
        assert sql(there, query).rows == sql(tables, query).rows
    assert samples.dropped_documents(there, None, ALL) == samples.dropped_documents(tables, None, ALL)


@pytest.mark.parametrize(
    "query",
    [
        "select max(gopher_quality.content_words) as most from documents",
        'select max("gopher_quality.content_words") as most from documents',
        "select max(d.gopher_quality.content_words) as most from documents as d",
        "with d as (select gopher_quality.content_words as w from signals_1) select max(w) as most from d",
        "from signals_1 select gopher_quality.content_words as most order by gopher_quality.content_words desc limit 1",
    ],
)
def test_a_signal_is_written_as_it_is_called(tables, query):
    answer = sql(tables, query)
    assert answer.columns == ("most",) and answer.rows == ((max(len(r["text"].split()) for r in records()),),)


def test_verdicts_dead_and_texts(tables):
    counts = Counter(dict(sql(tables, "select step, count(*) from verdicts group by 1").rows))
    assert counts == {"exact": COPIES, "minhash": NEAR}
    assert sql(tables, "select kind from dead order by 1").rows == (("bad_json",), ("no_text",))
    rows = sql(
        tables, "select url, text from documents join texts using (id, file, position) where url is not null"
    ).rows
    assert dict(rows) == {record["url"]: record["text"] for record in records()}


def test_sums_are_plain_numbers(tables):
    ((documents, tokens),) = sql(tables, "select count(*), sum(tokens) from documents where kept").rows
    assert (documents, tokens) == (36, tables.files.waterfall().rows[-1].tokens_out)
    assert type(tokens) is int


def run_of(folder, text, steps):
    (folder / "d.jsonl").write_text(json.dumps({"text": text}) + "\n")
    (folder / "r.yaml").write_text(f"read: {{jsonl: {folder}/d.jsonl}}\nsteps: {steps}\n")
    return RunTables(corpusmill.run(folder / "r.yaml", folder=folder / "run", executor=Serial()).folder)


def test_what_every_pass_knows_anew_is_that_of_the_last(tmp_path):
    run = run_of(tmp_path, "One line that ends.\nno end", "[dedup/exact, filter/c4: {min_sentences: null}]")
    assert sql(run, "select bytes, c4.bytes_before, text from documents join texts using (id)").rows == (
        (19, 26, "One line that ends."),
    )


def test_a_run_without_corpus_steps_has_the_same_tables(tmp_path):
    run = run_of(tmp_path, "one", "[]")
    assert list(Views(run).columns) == ["documents", "signals_1", "verdicts", "dead", "texts"]
    assert sql(run, "select * from verdicts").rows == () and sql(run, "select kept from documents").rows == ((True,),)


@pytest.mark.parametrize(
    "query",
    [
        "delete from documents",
        "copy documents to '{folder}/out.csv'",
        "create table t as select 1",
        "select 1; drop view documents",
        "attach '{folder}/x.db'",
        "set threads = 1",
        "install httpfs",
        "",
    ],
)
def test_only_one_select_is_taken(tables, query, tmp_path):
    with pytest.raises(InputError, match="one SELECT"):
        sql(tables, query.format(folder=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_text('{folder}/secret')",
        "select * from read_csv('{folder}/secret')",
        "select * from '{folder}/secret.csv'",
        "select * from glob('{folder}/*')",
        "select * from read_csv('http://localhost:1/x.csv')",
    ],
)
def test_no_other_file_is_reached(tables, query, tmp_path):
    for name in ("secret", "secret.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="disabled"):
        sql(tables, query.format(folder=tmp_path))


def test_variables_of_ours_are_no_tables(tables):
    frame = {"a": [1]}
    with pytest.raises(InputError, match="tables are documents"):
        sql(tables, "select * from frame")
    assert frame


@pytest.mark.parametrize(
    "query, said",
    [
        ("select tokns from documents", 'no column "tokns"; did you mean "tokens"'),
        ("select text from documents", 'the queried tables have no column "text"; it is in texts'),
        ("select gopher_quality.content_word from documents", 'did you mean "gopher_quality.content_words"'),
        ("select gopher_quality.nothing from documents", "gopher_quality has .*gopher_quality.hash_ratio"),
        ("select zzzzz from documents", "Columns: id, source.*All of them: corpusmill sql"),
        ("select * from document", "The tables are documents, signals_1, signals_2, verdicts, dead, texts"),
        ("select from where", "syntax error"),
    ],
)
def test_a_slip_is_answered_with_what_there_is(tables, query, said):
    with pytest.raises(InputError, match=said):
        sql(tables, query)


def test_a_run_that_is_not_finished_says_what_is_missing(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    (folder / "waterfall.json").unlink()
    with pytest.raises(ResumeError, match=r"not finished.*Run its recipe again"):
        sql(RunTables(folder), "select 1")


def test_half_a_pair_of_utf_16_is_no_query(tables):
    with pytest.raises(InputError, match=r"a SELECT in valid Unicode text; got: \"select '\\udcff'\""):
        sql(tables, "select '\udcff'")
