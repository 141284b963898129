"""What a finished run gives in Python: documents, tables, shards, and how it is shown."""

import importlib.util
import shutil
import sys

import pyarrow as pa
import pytest

import corpusmill
from corpusmill.errors import InputError, MissingExtraError, ResumeError
from corpusmill.execute.serial import Serial

TEXTS = ["The river <b>runs</b>.", "The river <b>runs</b>.", "Winter comes early.", "Stone and water."]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Four documents, of which one is a duplicate and one is too short for a rule that comes after."""
    steps = ["dedup/exact", {"filter/basic": {"rules": ["min_characters"], "min_characters": 18}}]
    rows = [{"text": text, "n": n, "url": f"http://a.example/{n}"} for n, text in enumerate(TEXTS)]
    folder = tmp_path_factory.mktemp("finished") / "run"
    settings = corpusmill.RunSettings(folder=str(folder), dropped_text="all")
    return corpusmill.run(corpusmill.Recipe(read={"web": rows}, steps=steps, run=settings), executor=Serial())


def test_kept_documents_are_iterated_over_in_order(done):
    kept = list(done.documents())
    assert [document.text for document in kept] == [TEXTS[0], TEXTS[2]]
    assert (kept[0].source, kept[0].url, kept[0].metadata) == ("web", "http://a.example/0", {"n": 0})


def test_dropped_documents_have_their_step_and_reasons(done):
    assert {document.text: (document.dropped_by, document.reasons) for document in done.dropped()} == {
        TEXTS[1]: ("exact", ("exact.exact_copy",)),
        TEXTS[3]: ("basic", ("basic.min_characters",)),
    }
    assert repr(next(done.dropped())).startswith("<DroppedDocument ")


def test_a_run_is_opened_by_its_folder_even_a_relative_one(done, monkeypatch):
    monkeypatch.chdir(done.folder.parent)
    opened = corpusmill.open("run")
    assert opened.waterfall == done.waterfall
    assert [document.text for document in opened.documents()] == [TEXTS[0], TEXTS[2]]
    with pytest.raises(InputError, match="not a run folder"):
        corpusmill.open("no")


def test_a_run_that_is_not_finished_is_not_opened(done, tmp_path):
    shutil.copytree(done.folder, tmp_path / "run")
    (tmp_path / "run" / "waterfall.json").unlink()
    with pytest.raises(ResumeError, match="not finished"):
        corpusmill.open(tmp_path / "run")


def test_a_run_is_a_table_of_its_documents(done):
    table = done.to_arrow()
    assert table["text"].to_pylist() == [TEXTS[0], TEXTS[2]]
    assert pa.table(done) == table
    assert [batch.num_rows for batch in done.batches(rows=1)] == [1, 1]


@pytest.mark.parametrize("library", ["pandas", "polars", "datasets"])
def test_it_becomes_a_frame_or_says_what_to_install(done, library, monkeypatch):
    convert = getattr(done, f"to_{library}")
    if importlib.util.find_spec(library):
        assert list(convert()["text"]) == [TEXTS[0], TEXTS[2]]
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"to_{library}\(\) needs {library}. Install: pip install {library}"):
        convert()


def test_sql_asks_the_run(done):
    assert done.sql("select count(*) n from documents where kept").to_pylist() == [{"n": 2}]
    assert "dropped_by" in done.tables["documents"]
    with pytest.raises(InputError, match='there is no column "dropt_by"; did you mean "dropped_by"'):
        done.sql("select dropt_by from documents")


def test_a_loader_of_the_shards_or_why_there_is_none(done, two_sources):
    assert corpusmill.open(two_sources).loader(batch_size=2).at(0)["tokens"].shape == (2, 32)
    with pytest.raises(InputError, match="the run wrote no training shards"):
        done.loader()


def test_it_is_shown_in_a_few_lines_and_as_a_table(done):
    assert repr(done).startswith(f"<Run {done.place}: 4 documents in, 2 kept (50.0 %), ")
    assert repr(done.waterfall).splitlines() == [
        "<Waterfall: 4 documents in, 2 kept (50.0 %)>",
        "  step   in  kept  dropped  reasons",
        "  exact   4     3        1  exact_copy 1",
        "  basic   3     2        1  min_characters 1",
    ]
    for shown in (done._repr_html_(), done.waterfall._repr_html_()):
        assert "<td" in shown
        assert "exact_copy 1" in shown
        assert "http" not in shown


def test_a_waterfall_is_a_frame(done):
    pytest.importorskip("pandas")
    frame = done.waterfall.to_pandas()
    assert frame.loc["exact", "documents_out"] == 3
