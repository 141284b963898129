"""How many questions a recipe asks of language models, what the answers cost, and how long they take."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from corpusmill.engine.plan.look import SourceSample
from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.work.passes import Pass
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.steps import AsksModel
from corpusmill.store.run_folder import ANSWERS, RunFolder
from corpusmill.store.units import Results

if TYPE_CHECKING:
    from corpusmill.inference.server import Server
    from corpusmill.inference.trial import Asked, Trial

CHARS_PER_TOKEN = 4.0  # of English, about


@dataclass(frozen=True)
class ModelCost:
    """What all of the input will ask of a model.

    model           its name
    questions       that have no answer yet
    answered        that have one
    prompt_tokens, answer_tokens   of those that have none
    usd             None where the recipe has no `prices`
    seconds         by the rate of those that were asked
    asked           of the sample, for this estimate. Their answers are kept for the run
    """

    model: str
    questions: int
    answered: int
    prompt_tokens: int
    answer_tokens: int
    usd: float | None
    seconds: float
    asked: int


@dataclass(frozen=True)
class MostAsked:
    """The most that a step asks, should the steps before it drop nothing.

    questions       about
    prompt_tokens   at CHARS_PER_TOKEN
    usd             of the prompts; None where the recipe has no `prices`
    """

    label: str
    model: str
    questions: int
    prompt_tokens: int
    usd: float | None


def most_asked(recipe: Recipe, sizes: Sequence[float], samples: Sequence[SourceSample]) -> list[MostAsked]:
    """Of each step that asks a model, by the texts of a sample of the input; none where only pages were seen.

    sizes   of the text of each source
    """
    asked = []
    for label, step in zip(labels(recipe.steps), recipe.steps):
        if not isinstance(step, AsksModel):
            continue
        questions = tokens = 0.0
        for size, sample in zip(sizes, samples):
            seen = sum(pc.sum(pc.binary_length(batch["text"])).as_py() or 0 for batch in sample.batches)
            factor = float(step.sample) * size / seen if seen else 0.0
            sampled = [question for batch in sample.batches for question in step.questions(batch)]
            questions += factor * len(sampled)
            tokens += factor * sum(len(text) for question in sampled for _, text in question.messages) / CHARS_PER_TOKEN
        if questions:
            usd = step.server.cost(tokens, 0) if step.server.prices else None
            asked.append(MostAsked(label, step.server.model, round(questions), round(tokens), usd))
    return asked


@contextmanager
def trial(recipe: Recipe) -> "Iterator[Asking]":
    """Meanwhile steps of the recipe ask a part of what they would."""
    servers = [step.server for step in recipe.steps if isinstance(step, AsksModel)]
    if not servers:
        yield Asking(None)
        return
    from corpusmill.inference.trial import Trial, trying

    folder = RunFolder(recipe.folder)
    if folder.is_local and not all(server.answers for server in servers):
        folder.make()  # or it would hold answers and be no run's
    with trying(Trial(str(folder.path / ANSWERS) if folder.is_local else "")) as begun:
        yield Asking(begun)


class Asking:
    """The questions of an estimate; none of a recipe that asks no model."""

    def __init__(self, trial: "Trial | None") -> None:
        self._trial = trial
        self._counted: dict[Server, Asked] = {}

    def without_waiting(self, plan: RunPlan, results: Mapping[str, Results]) -> dict[str, Results]:
        """Results of stages without the seconds that asking took since the last call. Counts anew from here on.

        The counts of the last call are those of `costs`.
        """
        if self._trial is None:
            return dict(results)
        stages = [stage for stage in plan.stages if _servers(stage.work) and stage.name in results]
        waited, took = self._trial.seconds, sum(float(results[stage.name].seconds.sum()) for stage in stages)
        share = max(0.0, 1 - waited / took) if took else 1.0
        shorter = {
            stage.name: replace(results[stage.name], seconds=results[stage.name].seconds * share) for stage in stages
        }
        self._counted = self._trial.of_servers
        self._trial.begin()
        return {**results, **shorter}

    def costs(self, plan: RunPlan, part: float, growth: Callable[[str], float]) -> tuple[ModelCost, ...]:
        """Of each server, in the order of the steps.

        part     of the input that the sample is
        growth   stage -> how much more or less comes to it, for a byte of input, than in the sample
        """
        if self._trial is None:
            return ()
        factors = {server: growth(stage.name) / part for stage in plan.stages for server in _servers(stage.work)}
        costs = []
        for server, about in self._counted.items():
            factor = factors[server]
            questions = round((about.questions - about.answered) * factor)
            prompt_tokens, answer_tokens = about.prompt_tokens * factor, about.answer_tokens * factor
            costs.append(
                ModelCost(
                    server.model,
                    questions,
                    round(about.answered * factor),
                    round(prompt_tokens),
                    round(answer_tokens),
                    server.cost(prompt_tokens, answer_tokens) if server.prices else None,
                    questions / about.rate if about.rate else 0.0,
                    about.asked,
                )
            )
        return tuple(costs)


def _servers(work: object) -> "list[Server]":
    """The servers that a pass asks."""
    return (
        [step.server for _, step in work.chain.steps if isinstance(step, AsksModel)] if isinstance(work, Pass) else []
    )
