"""The files of a run as SQL: names and values are quoted, each pass has its rows, and a step those that it is for."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import InputError
from corpusmill.report.figures.amounts import amounts
from corpusmill.report.figures.domains import domains
from corpusmill.report.figures.lost import lost, skipped
from corpusmill.report.figures.sources import sources
from corpusmill.report.figures.together import together
from corpusmill.report.inputs import by_path, inputs_of
from corpusmill.report.tables import DOCUMENT_COLUMNS, RunTables, finite, identifier, literal, placeholders
from corpusmill.report.views import documents
from made_run import made_corpus, made_run


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


@settings(max_examples=50, deadline=None)
@given(st.text().filter(lambda text: "\x00" not in text and text.isprintable()))
def test_any_text_is_a_literal_and_a_name(text):
    database = RunTables(made_run()).duckdb
    assert database.execute(f"SELECT {literal(text)}").fetchone() == (text,)
    if text:
        assert database.execute(f"SELECT 1 AS {identifier(text)}").description[0][0] == text


def test_parameters_are_listed():
    assert placeholders([1, 2, 3]) == "(?, ?, ?)" and placeholders([]) == "()"


@pytest.mark.parametrize("value", [0.0, -1.5, 1e308, 3, "nan", None, True])
def test_what_json_has_is_unchanged(value):
    assert finite(value) is value


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_json_has_not_is_null(value):
    assert finite(value) is None


def test_rows_have_no_nan(tables):
    assert tables.rows("SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, 1.5::DOUBLE AS c") == [
        {"a": None, "b": None, "c": 1.5}
    ]
    assert tables.rows("SELECT ? AS a", ["it's"]) == [{"a": "it's"}]


def test_every_table_of_a_pass_has_the_rows_that_its_units_wrote(tables):
    for kind in ("signals", "docs", "dropped", "dead"):
        for number in range(len(tables.passes)):
            ((count,),) = tables.tuples(f"SELECT count(*) FROM ({tables.table(kind, number)})")
            assert count == sum(tables.files.rows(kind, number))


def test_a_row_can_be_found_where_it_is_stored(tables):
    plain = tables.tuples(f"SELECT count(*) FROM ({tables.tables('signals')})")
    placed = tables.tables("signals", with_location=True)
    assert tables.tuples(f"SELECT count(DISTINCT (filename, file_row_number)) FROM ({placed})") == plain


def test_texts_are_those_of_the_documents(tables):
    last = len(tables.passes) - 1
    kept = tables.tuples(f"SELECT id, text FROM ({tables.texts('docs', last)}) ORDER BY id")
    ids = tables.tuples(f"SELECT id FROM ({tables.table('signals', last)}) WHERE dropped_by IS NULL ORDER BY id")
    assert [(name,) for name, _ in kept] == ids and all(text for _, text in kept)
    assert len(tables.tuples(f"FROM ({tables.texts('dropped', 0)})")) == sum(tables.files.rows("dropped", 0))


def test_batches_hold_the_same_as_sql(tables):
    rows = [row for batch in tables.batches("signals", 0, ["id", "tokens"]) for row in batch.to_pylist()]
    assert sorted((row["id"], row["tokens"]) for row in rows) == sorted(
        tables.tuples(f"SELECT id, tokens FROM ({tables.table('signals', 0)})")
    )


def test_every_step_has_measured_every_document(tables):
    for number, (_, labels) in enumerate(tables.passes):
        for label in labels:
            assert tables.measured(label, number) == "true"
            condition = tables.is_for(label)
            assert tables.tuples(f"SELECT bool_and({condition}) FROM ({tables.table('signals', number)})") == [(True,)]


def test_signals_have_a_column_for_all_that_was_measured(tables):
    for number in range(len(tables.passes)):
        assert set(DOCUMENT_COLUMNS) <= set(tables.columns(number))
    bounds = {bound.signal for bound in tables.bounds.values()}
    measured = {name for number in range(len(tables.passes)) for name in tables.columns(number)}
    assert bounds <= measured


def test_documents_have_one_row_each_whatever_pass_they_reached(tables):
    rows = tables.rows(f"SELECT id, kept, dropped_by, reasons FROM ({documents(tables)})")
    flow = tables.files.waterfall()
    assert len(rows) == flow.documents_in and sum(row["kept"] for row in rows) == flow.documents_out
    for row in rows:
        assert row["kept"] == (row["dropped_by"] is None) == (not row["reasons"])


def test_sources_add_up_to_the_run(tables):
    flow, figures, amount = tables.files.waterfall(), sources(tables), amounts(tables)
    assert sum(source.documents for source in figures.sources) == flow.documents_in
    assert sum(source.kept for source in figures.sources) == flow.documents_out
    assert sum(source.amount for source in figures.sources) == figures.total and figures.unit == "tokens"
    assert amount.whole.kept_tokens == figures.total
    for name in ("files", "input_bytes", "read_bytes", "text_bytes", "kept_bytes", "kept_tokens"):
        assert getattr(amount.whole, name) == sum(getattr(own, name) for own in amount.sources.values())
    record = amount.to_json()
    assert set(record["sources"]) == {"web", "extra"} and record["files"] == 2


def test_files_have_the_documents_that_came_from_them():
    folder = str(made_run())
    files = inputs_of(folder)
    assert [(file.source, file.files, file.added) for file in files] == [("web", 1, None), ("extra", 1, None)]
    flow = RunTables(folder).files.waterfall()
    assert sum(file.read for file in files) == flow.documents_in
    assert sum(file.kept for file in files) == flow.documents_out
    paths = by_path(folder, files)
    assert [path.path for path in paths] == [f"{made_corpus().parent}/{name}.jsonl" for name in ("web", "extra")]
    assert [(path.read, path.kept, path.bytes) for path in paths] == [
        (file.read, file.kept, file.bytes) for file in files
    ]


def test_a_folder_without_a_run_has_no_inputs(tmp_path):
    with pytest.raises(InputError, match="no run here"):
        inputs_of(str(tmp_path))


def test_domains_are_counted_with_and_without_an_address(tables):
    figure = domains(tables)
    flow = tables.files.waterfall()
    assert figure.documents + figure.without == flow.documents_in and figure.without == 6
    assert sum(domain.documents for domain in figure.domains) == figure.documents
    assert sum(domain.kept for domain in figure.domains) == figure.kept <= flow.documents_out
    assert sum(domain.bytes for domain in figure.domains) == figure.bytes
    assert [domain.name for domain in figure.domains] == ["made.org"]


def test_lost_records_are_counted_by_kind(tables):
    losses = lost(tables)
    read = tables.files.waterfall().read
    assert sum(loss.records for loss in losses) == sum(sum(source["dead"].values()) for source in read.values()) == 2
    assert all(not loss.expected for loss in losses) and skipped(tables) == {}


def test_pairs_of_rules_are_those_of_the_reasons(tables):
    """A slow obvious twin."""
    rows = tables.tuples(f"SELECT reasons FROM ({tables.table('signals', 0)}) WHERE reasons IS NOT NULL")
    failed = [set(reasons.split(",")) for (reasons,) in rows if reasons]
    pairs = {pair.rules: pair for pair in together(tables, 1000)}
    names = sorted(set().union(*failed))
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            both = sum({first, second} <= reasons for reasons in failed)
            assert (pairs[first, second].both if (first, second) in pairs else 0) == both
