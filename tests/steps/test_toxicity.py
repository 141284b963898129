"""annotate/toxicity and filter/toxicity: what they say of documents, and which go."""

import pytest

from conftest import docs
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps import Annotate, Filter
from corpusmill.steps.annotate.toxicity import AnnotateToxicity as Annotated
from corpusmill.steps.filter.toxicity import FilterToxicity as Filtered

CALM = "The ferry leaves at nine from the small harbour, and the river runs past the old mill. "
RUDE = "You are a stupid moron and everybody knows it!"
HATEFUL = "Immigrants are vermin and should be wiped out."
HIDDEN = "Some sh1t and f.u.c.k.i.n.g m0r0ns here."


def signals(step, *texts):
    return {name: column.to_pylist() for name, column in step.signals(docs(*texts)).items()}


def reasons(step, *texts):
    documents = docs(*texts)
    return step.reasons(documents, step.signals(documents)).to_pylist()


def test_scores_each_document_and_drops_none():
    columns = signals(Annotated(), CALM, RUDE, None, "!!!")
    assert list(columns) == ["score", "worst", "worst_start", "worst_end", "bad", "found", "share"]
    assert columns["score"][0] < 0.1 and columns["score"][1] > 0.9
    assert columns["found"] == [0, 1, 0, 0]
    assert columns["share"] == [0.0, 1 / 9, 0.0, 0.0]
    assert columns["bad"] == [0.0, 1.0, 0.0, 0.0]
    assert [columns[name][2:] for name in ("score", "worst", "worst_start")] == [[None, None]] * 3
    assert isinstance(Annotated(), Annotate) and not isinstance(Annotated(), Filter)


def test_says_where_the_worst_sentence_is_and_how_much_of_a_document_is_like_that():
    text = f"Érik: {CALM}\n  {RUDE} \n{CALM}"
    columns = signals(Annotated(spans=True), text, CALM)
    start, end = columns["worst_start"][0], columns["worst_end"][0]
    assert text.encode()[start:end].decode() == RUDE
    assert columns["worst"][0] > 0.9 and columns["score"][0] == columns["worst"][0]
    assert columns["bad"][0] == pytest.approx(9 / (1 + 17 + 9 + 17))
    assert columns["sentences"] == [[{"start": start, "end": end, "score": columns["worst"][0]}], []]
    assert [text.encode()[hit["start"] : hit["end"]] for hit in columns["words"][0]] == [b"moron"]


def test_a_lower_bound_makes_more_sentences_bad():
    shares = [signals(Annotated(sentence_score=bound), RUDE + " " + CALM)["bad"][0] for bound in (0.0, 0.7, 1.0)]
    assert shares[0] == 1.0 > shares[1] > shares[2] == 0.0
    at_the_bound = signals(Annotated(), RUDE)["worst"][0]
    assert signals(Annotated(sentence_score=at_the_bound), RUDE)["bad"] == [1.0]


def test_the_list_sees_through_disguises():
    columns = signals(Annotated(), HIDDEN)
    assert columns["found"] == [3]


@pytest.mark.parametrize(
    "text", ["Scunthorpe", "assess the class", "cockpit", "Dickens", "shiitake", "a title", "Essex", "analysis"]
)
def test_innocent_words_contain_no_listed_ones(text):
    assert signals(Annotated(), text)["found"] == [0]


@pytest.mark.parametrize(
    ("step", "text", "reason"),
    [
        (Filtered(), CALM, None),
        (Filtered(), RUDE, "max_share,max_score"),
        (Filtered(max_score=None, harmless=0), HIDDEN, "max_share"),
        (Filtered(), HATEFUL, "max_score"),
        (Filtered(), None, None),
        (Filtered(), "!!!", None),
        (Filtered(max_score=None), RUDE, "max_share"),
        (Filtered(max_share=None), RUDE, "max_score"),
        (Filtered(max_share=None), CALM * 20 + RUDE, None),
        (Filtered(max_share=None, max_worst=0.9), CALM * 20 + RUDE, "max_worst"),
        (Filtered(max_share=None, max_bad=0.02), CALM * 20 + RUDE, "max_bad"),
        (Filtered(max_share=None, max_score=None, max_bad=1.0), RUDE, None),
        (Filtered(max_share=None, max_bad=0.03), CALM * 20 + RUDE, None),
    ],
)
def test_drops_a_document_for_this_reason(step, text, reason):
    assert reasons(step, text) == [reason]


def test_a_share_at_the_bound_still_passes():
    text = "word " * 99 + "shit"
    assert reasons(Filtered(harmless=0), text, text[5:]) == [None, "max_share"]


def test_words_of_the_list_do_not_count_where_the_model_sees_no_harm():
    text = 'She said "shit" is a word.'
    found = signals(Filtered(), text, RUDE)
    assert found["share"][0] > 0.01 and found["score"][0] < 0.2
    assert found["counted"] == [0.0, found["share"][1]]
    assert reasons(Filtered(), text) == [None] and reasons(Filtered(harmless=0), text) == ["max_share"]


def test_a_list_of_your_own(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("ferry  # ours\n", "utf-8")
    step = Filtered(lexicon=str(path), max_score=None)
    assert reasons(step, CALM, "The f3rry", "Ferryman.", "shit") == ["max_share", "max_share", None, None]
    assert step.assets == ("toxicity-en", str(path)) == Annotated(lexicon=str(path)).assets


def test_wrong_parameters_are_reported_when_the_step_is_made(tmp_path):
    with pytest.raises(RecipeError, match=r"max_share is from 0 to 1, got -0\.1"):
        Filtered(max_share=-0.1)
    with pytest.raises(RecipeError, match="harmless is from 0 to 1, got 2"):
        Filtered(harmless=2)
    with pytest.raises(RecipeError, match="sentence_score must be from 0 to 1"):
        Annotated(sentence_score=2)
    with pytest.raises(AssetError, match="no asset"):
        Annotated(lexicon=str(tmp_path / "none.txt"))
