"""corpusmill plan [RUN or RECIPE]"""

import math
from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli import plan_cost, plan_model, plan_sources, plan_stages
from corpusmill.cli.common import Json, Settings, print_json, refuse_unused
from corpusmill.cli.terminal import heading
from corpusmill.errors import InputError
from corpusmill.tokens.budget import TOKENS_PER_PARAMETER, with_ratio


def add_to(app: typer.Typer) -> None:
    app.command("plan", epilog="Example: corpusmill plan --params 7B --overtrain 10")(plan)


def plan(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|RECIPE|STAGES",
            help="A finished run, or a recipe in YAML: how far its tokens go. Or a file of stages.",
            show_default=False,
        ),
    ] = None,
    params: Annotated[str | None, typer.Option(metavar="N", help="Parameters of the model: 7B, 400M.")] = None,
    flops: Annotated[
        str | None, typer.Option(metavar="FLOPS", help="Training compute in floating-point operations: 1e23.")
    ] = None,
    tokens: Annotated[str | None, typer.Option(metavar="N", help="Training tokens: 1T.")] = None,
    overtrain: Annotated[
        float, typer.Option(metavar="FACTOR", help="Factor on the compute-optimal number of tokens.")
    ] = 1.0,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE=SHARE", help="A source's share of the tokens: --weight web=0.8. May be repeated."),
    ] = None,
    sample: Annotated[
        str, typer.Option(metavar="SHARE", help="With a recipe: how much of its input to sample: 1% or 0.01.")
    ] = "1%",
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With a recipe: the number of worker processes.")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="With a recipe: prices, with the columns item, usd, per.", show_default=False),
    ] = None,
    most_slices: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With a recipe: refuse larger shuffles. 100 million if not given."),
    ] = None,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Plan a token budget, or estimate what a run of a recipe takes.

    Prints the tokens for a model size, or the model size for a number of tokens or compute, and the tokens per source.

    Compute-optimal is 20 tokens per parameter (Hoffmann et al. 2022, table 3). A smaller model trained on more tokens
    costs more to train to the same loss, and less at inference: --overtrain 10 plans that.

    With a run or a file of stages of training (pre-training, annealing, long context), prints the steps, rows and
    sources of each, and how often each source is read.

    With a recipe, processes a sample of the input to estimate the documents, tokens, time, memory, disk, shuffles,
    requests and price of a full run, and how far the tokens go in the recipe's stages of training. Items of --prices
    are put, get (requests), storage (per GB and month), core (per hour).
    """
    has_budget = not (params is flops is tokens is None)
    if target is not None and plan_stages.is_one(target) and not (target.is_dir() and has_budget):
        budget = "params flops tokens overtrain weight sample workers prices most_slices settings"
        refuse_unused(budget, "is not for stages of training, which say their tokens")
        stages = plan_stages.planned(target)
        print_json({"stages": stages}) if json else plan_stages.show(stages)
        return
    cost = None
    if target is None or not target.is_file():
        refuse_unused("sample workers prices most_slices settings", "is for a recipe, and none is given")
    if not has_budget and target is not None:
        refuse_unused("overtrain weight", "is for a budget: give --params, --flops or --tokens")
    if target is not None and target.is_file():
        cost = plan_cost.from_sample(target, sample, workers, settings or [], prices, most_slices)
    if cost is not None and not has_budget:
        training = plan_stages.of_recipe(target, settings or [], cost) if target else []
        if json:
            print_json({"run": cost, **({"stages": training} if training else {})})
            return
        plan_cost.show(cost)
        if training:
            heading("stages of training")
            plan_stages.show(training)
        return
    quantity, value = plan_model.quantity(params, flops, tokens)
    if not 0 < overtrain < math.inf:
        raise InputError(f"--overtrain is a number above 0, got {overtrain}")
    model = with_ratio(quantity, value, TOKENS_PER_PARAMETER * overtrain)
    available, shares = plan_sources.of_sample(cost) if cost is not None else plan_sources.of_run(target)
    needs = plan_sources.needs(available, plan_sources.weights(weight or []) or shares, model.tokens, str(target))
    if json:
        record = {"given": {quantity: value}, "overtrain": overtrain, **plan_model.record(quantity, value, model)}
        print_json({**record, "sources": needs, "run": cost})
        return
    plan_model.show(quantity, value, model, overtrain)
    if needs:
        print()
        plan_sources.show(needs)
    if cost is not None:
        print()
        plan_cost.show(cost)
