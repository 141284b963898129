import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.filter._words import Words
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.measures import MEASURES

PROSE = {
    "content_words": 500,
    "mean_word_length": 4.7,
    "hash_ratio": 0.0,
    "ellipsis_ratio": 0.0,
    "symbol_ratio": 0.0,
    "bullet_line_ratio": 0.0,
    "ellipsis_line_ratio": 0.0,
    "alpha_word_ratio": 0.97,
    "stop_words": 8,
}


def judge(step: GopherQuality, **measured: float | None) -> str | None:
    signals = {name: pa.array([value]) for name, value in (PROSE | measured).items()}
    return step.reasons(docs("the text is not looked at"), signals).to_pylist()[0]


@pytest.mark.parametrize(
    ("signal", "still_passes", "just_past", "reason"),
    [
        ("content_words", 50, 49, "min_words"),
        ("content_words", 100_000, 100_001, "max_words"),
        ("mean_word_length", 3.0, 2.999, "min_mean_word_length"),
        ("mean_word_length", 10.0, 10.001, "max_mean_word_length"),
        ("hash_ratio", 0.1, 0.1001, "max_hash_ratio"),
        ("ellipsis_ratio", 0.1, 0.1001, "max_ellipsis_ratio"),
        ("bullet_line_ratio", 0.9, 0.9001, "max_bullet_lines"),
        ("ellipsis_line_ratio", 0.3, 0.3001, "max_ellipsis_lines"),
        ("alpha_word_ratio", 0.8, 0.7999, "min_alpha_words"),
        ("stop_words", 2, 1, "min_stop_words"),
    ],
)
def test_a_bound_itself_passes_and_one_step_past_it_does_not(signal, still_passes, just_past, reason):
    assert judge(GopherQuality(), **{signal: still_passes}) is None
    assert judge(GopherQuality(), **{signal: just_past}) == reason
    assert judge(GopherQuality(**{reason: None}), **{signal: just_past}) is None


def test_every_failing_rule_is_named_in_the_order_of_the_parameters():
    listed = judge(GopherQuality(), stop_words=0, content_words=3, hash_ratio=0.5)
    assert listed == "min_words,max_hash_ratio,min_stop_words"


def test_a_document_without_words_fails_only_what_can_be_measured():
    nothing = {"mean_word_length": None, "alpha_word_ratio": float("nan"), "content_words": 0, "stop_words": 0}
    assert judge(GopherQuality(), **nothing) == "min_words,min_stop_words"


def test_bounds_that_let_nothing_through_fail_when_the_step_is_made():
    with pytest.raises(RecipeError, match="need min_words <= max_words, got min_words=60, max_words=50"):
        GopherQuality(min_words=60, max_words=50)


def ellipsis_columns(text: str, *ellipses: str) -> dict[str, float]:
    """The slow twin: words and lines as Python has them."""
    one = re.compile("|".join(map(re.escape, sorted(ellipses, key=len, reverse=True))))
    words, lines = len(text.split()), text.splitlines()
    found = len(one.findall(text))
    ending = sum(bool(re.search(f"(?:{one.pattern})\\Z", line.rstrip())) for line in lines)
    return {
        "ellipsis_ratio": found / words if words else 0.0,
        "symbol_ratio": (found + text.count("#")) / words if words else 0.0,
        "ellipsis_line_ratio": ending / len(lines) if lines else 0.0,
    }


PARTS = ["word", "#", ".", "...", ". . .", "…", " ", "\n", "\r\n", "\x0b", "\u2028", "\t"]


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), max_size=3))
def test_ellipses_of_ones_own_are_counted_as_python_counts_them(batch):
    step = GopherQuality(ellipses=("...", ". . .", "…"))
    columns = pa.RecordBatch.from_pydict(step.signals(docs(*batch))).to_pylist()
    assert columns == [ellipsis_columns(text, *step.ellipses) for text in batch]


def test_hashes_and_ellipses_are_bounded_together():
    step = GopherQuality(rules=("max_symbol_ratio",), max_symbol_ratio=0.25)
    assert judge(step, symbol_ratio=0.25) is None
    assert judge(step, symbol_ratio=0.26) == "max_symbol_ratio"
    counted = MEASURES["stats"](docs("#one two... three… four"))
    assert counted["symbol_ratio"].to_pylist() == [0.75]


def test_an_ellipsis_is_a_text():
    with pytest.raises(RecipeError, match=re.escape("ellipses is a list of texts without white space at the ends")):
        GopherQuality(ellipses=())


PROSE_TEXT = "The river that runs to the sea has to be crossed with care and patience. " * 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PROSE_TEXT, None),
        ("", "min_words,min_mean_word_length,min_alpha_words,min_stop_words"),
        ("the river and " * 16, "min_words"),
        ("the a of a be a I o " * 10, "min_mean_word_length"),
        ("the internationalisation of characteristically incomprehensible " * 12, "max_mean_word_length"),
        ("the #river #runs to " * 20, "max_hash_ratio"),
        ("the river... and that… to sea " * 20, "max_ellipsis_ratio"),
        ("- the river of stones\n• that runs to sea\n" * 10, "max_bullet_lines"),
        ("the river that runs down to the sea and on and on and on…\n" * 5, "max_ellipsis_lines"),
        ("the of 1234 56789 " * 20, "min_alpha_words"),
        ("Die Flüsse laufen alle ins Meer hinab " * 10, "min_stop_words"),
    ],
)
def test_texts_are_judged_as_the_paper_says(text, reason):
    batch = docs(text)
    assert GopherQuality().reasons(batch, MEASURES["stats"](batch)).to_pylist() == [reason]


def test_words_are_counted_by_the_definition_that_is_asked_for():
    """Chinese prose: one word a line at white space and for spaCy, one a character by script."""
    text = "我们今天去公园散步，看见许多人在湖边聊天，孩子们在草地上放风筝。" * 4

    def is_kept(words: Words) -> bool:
        batch = Batch(docs(text))
        batch.apply(0, "gopher_quality", GopherQuality(words=words, rules=("min_words",)))
        return batch.dropped.tolist() == [KEPT]

    assert not is_kept("white_space") and not is_kept("spacy") and is_kept("by_script")
