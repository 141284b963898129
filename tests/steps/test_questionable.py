import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.questionable import Questionable
from corpusmill.text.sentences import sentence_spans

PLAIN = "The river that runs to the sea has to be crossed with care."


def counts(step, text):
    return {name: column[0].as_py() for name, column in step.signals(docs(text)).items()}


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("All Of These Words Begin With Capitals And there are more than twelve Of Them Here", "list_case"),
        ("All Of These Begin With Capitals And Are Only Twelve Words All", None),
        ("Too short a line", "lengths"),
        ("word " * 101, "lengths"),
        ("Call 020 7946 0018 (office) or 020 7946 0019 (home)", "technical"),
        ("Lorem ipsum dolor sit amet and so on and on.", "cursed"),
        ("Here you can Download it for free as well.", "cursed"),
        ("this is what  r e a l l y b a d looks like here", "cursed"),
        ("One cell | another cell | the last one |", "cursed"),
        (PLAIN, None),
    ],
)
def test_a_sentence_is_questionable_by_this_rule(sentence, rule):
    found = counts(Questionable(), f"{PLAIN}\n{sentence}\n{PLAIN}")
    assert [name for name in ("list_case", "lengths", "technical", "cursed") if found[name]] == [rule] * (
        rule is not None
    )
    assert (found["sentences"], found["questionable_ratio"]) == (3, pytest.approx(1 / 3 if rule else 0.0))
    off: dict[str, Any] = {"list_case": False, "lengths": None, "technical": None, "cursed": False}
    if rule:
        assert counts(Questionable(**{rule: off[rule]}), sentence)[rule] == 0


def test_patterns_of_ones_own_count_as_cursed():
    step = Questionable(cursed=False, patterns=(("river", "(?i)the river"),))
    assert counts(step, f"{PLAIN}\nHere you can Download it for free as well.")["cursed"] == 1


def test_documents_with_many_questionable_sentences_or_few_sentences_are_dropped():
    texts = ["\n".join([PLAIN] * 8 + ["short"] * 2), "\n".join([PLAIN] * 7 + ["short"] * 2), PLAIN, "", None]
    step = Questionable()
    assert step.reasons(docs(*texts), step.signals(docs(*texts))).to_pylist() == [
        None,  # a fifth: the bound itself passes
        "max_questionable",
        "min_sentences",
        "min_sentences",
        "min_sentences",
    ]


PARTS = [PLAIN, "short", "Download it now for free.", "1 2 3 4 5 6 7 8 9 (0)", "A B " * 8, " ", "\n", "…", "word " * 90]


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=6).map("".join), min_size=1, max_size=3))
def test_counts_are_those_of_the_rules_read_aloud(batch):
    step = Questionable()
    columns = pa.RecordBatch.from_pydict(step.signals(docs(*batch))).to_pylist()
    for text, found in zip(batch, columns):
        spans, _ = sentence_spans(pa.array([text], pa.large_string()))
        sentences = [text.encode()[a:b].decode() for a, b in spans.tolist()]
        expected = {
            "list_case": [
                len(s.split()) > 12 and 2 * sum(word[0].isupper() for word in s.split()) > len(s.split())
                for s in sentences
            ],
            "lengths": [not 20 <= len(s) <= 500 for s in sentences],
            "technical": [len(re.findall(r"[0-9{}+/()>]", s)) > 0.2 * len(s) for s in sentences],
        }
        assert {name: found[name] for name in expected} == {name: sum(hits) for name, hits in expected.items()}


@pytest.mark.parametrize(
    "wrong", [{"max_questionable": 2}, {"technical": -1}, {"lengths": (9, 3)}, {"patterns": (("a", "("),)}]
)
def test_what_makes_no_sense_fails_when_the_step_is_made(wrong):
    with pytest.raises(RecipeError, match=r"filter/questionable: "):
        Questionable(**wrong)
