"""corpusmill plan RECIPE: what a run costs and gives, from a sample of its input."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusmill.cli.terminal import print_table
from corpusmill.report.numbers import duration, number, plural, share, size

PRICED_ITEMS = {"put": "PUT", "get": "GET", "storage": "a month of disk", "core": "cores", "model": "language models"}
SHIPPED_PRICES = "list prices of June 2025, see --prices"


def from_sample(
    recipe: Path, sample: str, workers: int | None, settings: list[str], table: Path | None, most_slices: int | None
) -> dict[str, Any]:
    """The estimate as JSON, with the `hours` that so many workers take, and the `price`."""
    from corpusmill.execute import cpus
    from corpusmill.ops.estimate import estimate
    from corpusmill.ops.estimate.requests import MAX_SLICES, prices
    from corpusmill.ops.estimate.requests import cost as priced
    from corpusmill.progress import display
    from corpusmill.recipe.model import Recipe
    from corpusmill.tokens.sampling import share_of

    share = share_of(sample, "--sample")
    unit_prices = prices(table)
    loaded = Recipe.load(recipe, settings)
    with display() as listener:
        cost = estimate(loaded, share, listener, most_slices=most_slices or MAX_SLICES)
    count = workers or loaded.run.workers or cpus.usable()
    hours = cost.wall(count) / 3600
    price = dict(priced(cost.requests, cost.disk, hours * count, unit_prices))
    if known := [model.usd for model in cost.models if model.usd is not None]:
        price["model"] = sum(known)
    memory = {"all_memory": cost.all_memory(count)}
    return {
        **cost.to_json(),
        "asked_share": share,
        "workers": count,
        "hours": hours,
        **memory,
        "price": price,
        "prices": str(table or ""),
    }


def show(cost: Mapping[str, Any]) -> None:
    """Print what a run takes, stage by stage, and what it gives."""
    part = share(cost["sample_bytes"], cost["bytes"]) + _more_than_asked(cost)
    workers = plural(cost["workers"], "worker")
    stages = [[stage["stage"], duration(stage["seconds"]), size(stage["bytes"])] for stage in cost["stages"]]
    sources = [
        [
            source["source"],
            size(source["bytes"]),
            number(source["documents"]),
            number(source["tokens"]) if source["tokens"] else "",
        ]
        for source in cost["sources"]
    ]
    print(f"Estimate for all {size(cost['bytes'])} of input, from a sample of {size(cost['sample_bytes'])} ({part}):")
    print(f"  kept    {_range(cost['documents'])} documents" + _tokens(cost))
    if cost["copies"]["high"]:
        copies = " to ".join(f"{cost['copies'][end]:.1%}" for end in ("low", "high"))
        print(f"  copies  {cost['copies']['value']:.1%} of the documents that a dedup sees ({copies})")
    print(f"  time    {duration(cost['hours'] * 3600)} with {workers}; {duration(cost['cpu'])} of processors")
    print(f"  disk    {size(cost['disk'])} in the run's folder")
    memory = f"{size(cost['memory'])} per worker in the sample, {size(cost['all_memory'])} all processes"
    print(f"  memory  {memory}" if cost["memory"] else "  memory  unknown")
    for shuffle in cost["shuffles"]:
        slices = f"{number(shuffle['slices'])} slices of {plural(shuffle['files'], 'key file')}"
        print(f"  shuffle {shuffle['step']}: {slices} for {plural(shuffle['units'], 'unit')}")
    for model in cost["models"]:
        print(f"  model   {_model_cost(model)}")
    requests = cost["requests"]
    counts = f"{number(requests['put'])} PUT and {number(requests['get'])} GET"
    print(f"  store   {counts} requests, if all is in an object store")
    if cost["price"]:
        parts = ", ".join(f"{PRICED_ITEMS[item]} {_usd(price)}" for item, price in cost["price"].items())
        print(f"  price   {_usd(sum(cost['price'].values()))}: {parts}; {cost['prices'] or SHIPPED_PRICES}")
    print()
    print_table(["stage", "worker time", "disk"], stages)
    print()
    print_table(["source", "input", "documents kept", "tokens"], sources)


def _more_than_asked(cost: Mapping[str, Any]) -> str:
    """Why a sample is larger than `--sample` says, if it is by a tenth."""
    from corpusmill.ops.estimate import MIN_SAMPLE_BYTES

    asked = cost["asked_share"] * cost["bytes"]
    if cost["sample_bytes"] <= 1.1 * asked:
        return ""
    least = f"{size(MIN_SAMPLE_BYTES)} are sampled at least, as less says little"
    return f"; {least if asked < MIN_SAMPLE_BYTES else 'compressed files are read whole'}"


def _model_cost(model: Mapping[str, Any]) -> str:
    """What is asked of a model."""
    tokens = f"{number(model['prompt_tokens'])} tokens of prompts and {number(model['answer_tokens'])} of answers"
    price = "" if model["usd"] is None else f", {_usd(model['usd'])}"
    before = f"; {number(model['answered'])} are answered already" if model["answered"] else ""
    asked = f"; measured on {plural(model['asked'], 'question')}, whose answers are kept" if model["asked"] else ""
    time = f", {duration(model['seconds'])}" if model["questions"] else ""
    return f"{model['model']}: {plural(model['questions'], 'question')}, {tokens}{price}{time}{before}{asked}"


def _range(value: Mapping[str, float]) -> str:
    return f"{number(value['value'])} ({number(value['low'])} to {number(value['high'])})"


def _tokens(cost: Mapping[str, Any]) -> str:
    return f", {_range(cost['tokens'])} tokens, nine times of ten" if cost["tokens"]["value"] else ", nine times of ten"


def _usd(price: float) -> str:
    return f"{price:,.2f} USD" if price >= 0.01 or not price else f"{price:.1g} USD"
