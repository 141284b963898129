import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.code import Code

PROSE = """If you let the string of a kite run out while it is high, it will return with a short dive; for that is
its nature. Use both hands (one may do), and break no rule of the field.

Try it again when the wind is true.
"""
PYTHON = '''import re

def words(text):
    """All of them."""
    found = []
    for line in text.split("\\n"):
        if line:
            found += re.findall(r"\\w+", line)
    return found
'''
GO = """package main

// Twice returns x + x.
func Twice(x int) int {
\treturn 2 * x
}
"""
PAGE = "<ul>\n  <li><a href='/a'>A</a></li>\n  <li><a href='/b'>B</a></li>\n</ul>\n"
LISTING = f"{PROSE * 8}\nIn Go:\n\n{GO}"


def judge(step: Code, *texts: str | None) -> tuple[list[str | None], list[float]]:
    batch = Batch(docs(*texts))
    batch.apply(0, "code", step)
    reasons = batch.reasons[0][1].to_pylist() if batch.reasons else [None] * len(texts)
    return reasons, batch.signals["code.code_score"].to_pylist()


def test_code_is_dropped_and_prose_is_kept_even_with_a_listing():
    reasons, scores = judge(Code(), PROSE, PYTHON, GO, LISTING, "", None)
    assert reasons == [None, "max_code_score", "max_code_score", None, None, None]
    assert scores[0] < 0.45 and min(scores[1:3]) > 0.6 and scores[4:] == [0, 0]


def test_a_corpus_of_code_drops_the_rest():
    only_code = Code(max_code_score=None, min_code_score=0.5)
    assert judge(only_code, PROSE, PYTHON, GO, "")[0] == ["min_code_score", None, None, "min_code_score"]


def test_markup_has_no_keywords_and_is_recognised_by_its_lines_and_symbols():
    (reason,), (score,) = judge(Code(), PAGE)
    assert reason == "max_code_score" and score == pytest.approx(2 / 3)


def test_the_score_is_the_mean_of_three_shares_that_count_up_to_what_is_typical():
    batch = Batch(docs("if (a) b\nc d e f g h"))  # 1 keyword of 9 words, 2 symbols of 12 characters, no line of code
    batch.apply(0, "code", Code())
    columns = {name: column.to_pylist()[0] for name, column in batch.signals.items()}
    assert columns == pytest.approx(
        {
            "code.keyword_ratio": 1 / 9,
            "code.symbol_ratio": 2 / 12,
            "code.code_line_ratio": 0.0,
            "code.code_score": (1 / 9 / 0.15 + 1 + 0) / 3,
        }
    )


def test_a_score_beyond_one_fails_when_the_step_is_made():
    with pytest.raises(RecipeError, match="max_code_score is from 0 to 1, got 50"):
        Code(max_code_score=50)
