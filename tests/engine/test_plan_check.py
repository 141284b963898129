"""A plan finds what a step cannot work with, by putting no documents through it, before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from corpusmill.engine.plan.lower import lower
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.ops.runs import run
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import Recipe, Source
from corpusmill.steps.annotate.language import AnnotateLanguage
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.filter.basic import Basic
from corpusmill.steps.filter.keep_where import KeepWhere


@dataclass(frozen=True, kw_only=True)
class NeedsLabel:
    """A filter of one's own that judges by what another step has left."""

    needs: ClassVar[tuple[str, ...]] = ("language.label",)

    def reasons(self, docs: pa.RecordBatch, signals: Mapping[str, Any]) -> pa.Array:
        assert list(signals) == ["language.label"]
        return signals["language.label"]


@dataclass(frozen=True, kw_only=True)
class FailsOnNothing:
    needs: ClassVar[tuple[str, ...]] = ()

    def reasons(self, docs: pa.RecordBatch, signals: Mapping[str, Any]) -> pa.Array:
        return pa.array([docs["text"][0].as_py()])


@pytest.fixture
def recipe(tmp_path):
    file = tmp_path / "docs.jsonl"
    file.write_text('{"text": "The river runs to the sea."}\n{"text": "one"}\n{"text": "one"}\n')

    def make(*steps: Any) -> Recipe:
        return Recipe(read=[Source(JsonlReader(), [str(file)])], steps=steps, name="checked")

    return make


def where(condition: str) -> KeepWhere:
    return KeepWhere(condition=condition)


def test_steps_that_fit_have_nothing_to_say(recipe):
    steps = [AnnotateLanguage(), NeedsLabel(), Basic(), where("basic.words > 3 and language.label = 'en'"), Exact()]
    lower(recipe(*steps, where("exact.similarity is null and bytes > 3"))).check()


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([where("basic.words > 3"), Basic()], 'makes the signal "basic.words"'),
        ([Basic(), where("basic.wrds > 3")], 'did you mean "basic.words"'),
        ([Basic(), Exact(), where("basic.words > 3")], "put the condition above the dedup"),
        ([Basic(), where("basic.words like 'a'")], "No function matches"),
        ([NeedsLabel()], 'needs_label needs "language.label", and no step before it leaves that'),
    ],
)
def test_a_step_that_needs_a_missing_signal_is_an_error_before_the_run(recipe, steps, message, tmp_path):
    with pytest.raises(RecipeError, match=message):
        lower(recipe(*steps)).check()
    with pytest.raises(RecipeError, match=message):
        run(recipe(*steps), folder=tmp_path / "run", executor=Serial())
    assert not (tmp_path / "run").exists()


def test_a_step_that_cannot_take_an_empty_batch_is_found_before_the_run(recipe):
    with pytest.raises(
        RecipeError, match="fails_on_nothing: fails on an empty batch, with which every unit begins: IndexError"
    ):
        lower(recipe(FailsOnNothing())).check()


def test_a_condition_chooses_by_the_signals_of_earlier_steps(recipe, tmp_path):
    steps = [
        Basic(min_words=None),
        where("basic.words > 3 or position > 50"),
        Exact(),
        where("exact.duplicate_of is null"),
    ]
    done = run(recipe(*steps), folder=tmp_path / "run", executor=Serial())
    assert [(row.step, row.documents_out, dict(row.reasons)) for row in done.waterfall.rows[1:]] == [
        ("keep_where", 2, {"condition": 1}),
        ("exact", 2, {}),
        ("keep_where_2", 2, {}),
    ]
