"""The parts of a card, made of figures: nothing that a text holds becomes markup, every number is one of the figures."""

import pytest

from corpusmill.assets.hub import Repo
from corpusmill.errors import InputError
from corpusmill.publish import composition, target_repo
from corpusmill.publish.readme import SIZE_BOUNDS, SIZE_NAMES, size_category
from corpusmill.report.figures.languages import LanguageFigure


def test_a_table_aligns_numbers_and_escapes_markup():
    lines = composition.table(("name", "count"), [("a | b", "1,000"), ("<script>\nx", "3.5 %"), ("–", "–")]).split("\n")
    assert lines[1] == "| --- | ---: |"
    assert lines[2] == "| a \\| b | 1,000 |"
    assert lines[3] == "| &lt;script> x | 3.5 % |"


def test_a_table_without_rows_has_its_head():
    assert composition.table(("a", "b"), []) == "| a | b |\n| --- | --- |"


@pytest.mark.parametrize("cell", ["12", "1,234", "3.5 %", "7 kB", "1.2 GB", "< 0.1 %", "–"])
def test_what_a_number_looks_like(cell):
    assert composition.table(("n",), [(cell,)]).split("\n")[1] == "| ---: |"


@pytest.mark.parametrize("cell", ["12 files", "en", "", "1 x 2"])
def test_what_is_no_number_is_flush_left(cell):
    assert composition.table(("n",), [(cell,)]).split("\n")[1] == "| --- |"


def test_languages_beyond_the_first_are_one_row():
    figures = [LanguageFigure(f"l{n}", 100 - n, 0) for n in range(11)] + [LanguageFigure(None, 5, 0)]
    text = composition.spoken(figures, "language")
    assert text.count("\n| l") == composition.MAX_ROWS + 1 and "As the step `language` identified them" in text
    assert "| 2 others | 95 | 9.0 % |" in text and "none found" not in text


def test_without_a_step_languages_are_not_known():
    assert "Not known: no step of the recipe identifies them." in composition.spoken([], None)


def test_a_licence_that_was_not_given_is_said_to_be_unknown():
    assert "No licence was given for the data set." in composition.licences_of([], None)
    assert "published under `cc-by-4.0`" in composition.licences_of([], "cc-by-4.0")
    assert composition.rights_of([]) == ""


def test_every_bound_of_a_size_has_a_name():
    assert len(SIZE_NAMES) == len(SIZE_BOUNDS) + 1
    for bound, below, above in zip(SIZE_BOUNDS, SIZE_NAMES, SIZE_NAMES[1:]):
        assert (size_category(bound - 1), size_category(bound)) == (below, above)


@pytest.mark.parametrize(
    ("target", "revision", "repo"),
    [
        ("hf://datasets/me/name", None, Repo("dataset", "me/name", "main")),
        ("hf://datasets/me/name@v2", None, Repo("dataset", "me/name", "v2")),
        ("hf://datasets/me/name", "v2", Repo("dataset", "me/name", "v2")),
        ("hf://datasets/me/name@v2", "v2", Repo("dataset", "me/name", "v2")),
    ],
)
def test_where_a_push_goes(target, revision, repo):
    assert target_repo(target, revision) == repo


@pytest.mark.parametrize(
    ("target", "revision", "message"),
    [
        ("me/name", None, 'cannot push to "me/name"; did you mean hf://datasets/me/name?'),
        ("/tmp/x", None, 'cannot push to "/tmp/x". A data set of the Hub is written hf://datasets/ME/NAME.'),
        ("hf://me/name", None, "is a model; a data set is hf://datasets/me/name."),
        ("hf://datasets/me/name/data/x.parquet", None, "is a file of a data set; push to the whole"),
        ("hf://datasets/me/name@v2", "v3", "names the revision v2, and --revision v3; give one of them."),
        ("hf://datasets/", None, "names no data set of the Hub"),
    ],
)
def test_targets_that_are_no_data_set_of_the_hub(target, revision, message):
    with pytest.raises(InputError) as error:
        target_repo(target, revision)
    assert message in str(error.value)
