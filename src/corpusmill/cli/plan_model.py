"""corpusmill plan: what scaling laws say of a model, its tokens and its compute."""

from typing import Any

from corpusmill.cli.terminal import print_table
from corpusmill.errors import InputError
from corpusmill.tokens import budget
from corpusmill.tokens.budget import PUBLISHED_RUNS, Given, ModelPlan, amount, in_words, with_ratio


def quantity(params: str | None, flops: str | None, tokens: str | None) -> tuple[Given, float]:
    """Which of the three is given, and its value. Raises InputError unless it is one."""
    options: dict[Given, str | None] = {"params": params, "flops": flops, "tokens": tokens}
    values = [(name, value) for name, value in options.items() if value is not None]
    if len(values) != 1:
        got = " and ".join(f"--{name}" for name, _ in values) or "none of them"
        raise InputError(f"give one of --params, --flops and --tokens, as in --params 7B; got {got}")
    name, text = values[0]
    try:
        return name, amount(text)
    except ValueError as error:
        raise InputError(f"--{name}: {error}") from None


def optimal(quantity: Given, value: float) -> dict[str, ModelPlan]:
    """The compute-optimal model by each estimate."""
    return {
        "20 tokens per parameter": with_ratio(quantity, value, budget.TOKENS_PER_PARAMETER),
        "Besiroglu et al. 2024": budget.BESIROGLU.optimal(quantity, value),
        "Hoffmann et al. 2022, approach 3": budget.HOFFMANN.optimal(quantity, value),
    }


def record(quantity: Given, value: float, model: ModelPlan) -> dict[str, Any]:
    """The plan as JSON."""
    return {
        "plan": _quantities(model),
        "compute_optimal": {name: _quantities(fit) for name, fit in optimal(quantity, value).items()},
        "training": in_words(model),
        "published": {name: _quantities(run) | {"training": in_words(run)} for name, run in PUBLISHED_RUNS.items()},
        "as_others": {
            name: _quantities(with_ratio("params", model.params, entry.ratio)) for name, entry in PUBLISHED_RUNS.items()
        },
    }


def show(quantity: Given, value: float, model: ModelPlan, overtrain: float) -> None:
    """Print the plan, what is compute-optimal, and published models: their tokens against the compute-optimal ones,
    and how many tokens their ratio makes of this model."""
    times = "" if overtrain == 1 else f", {overtrain:g} times the compute-optimal tokens"
    optima = [
        [name, short(fit.params), short(fit.tokens), short(fit.flops), f"{fit.ratio:.1f}"]
        for name, fit in optimal(quantity, value).items()
    ]
    others = [
        [
            name,
            short(entry.params),
            short(entry.tokens),
            f"{entry.ratio:.1f}",
            in_words(entry),
            short(entry.ratio * model.params),
        ]
        for name, entry in PUBLISHED_RUNS.items()
    ]
    head = ["published", "parameters", "tokens", "per parameter", "against 20", f"so for {short(model.params)}"]
    print(f"{short(model.params)} parameters on {short(model.tokens)} tokens: {short(model.flops)} FLOP{times}\n")
    print_table(["compute-optimal by", "parameters", "tokens", "FLOP", "per parameter"], optima, leave_out=(3,))
    print()
    print_table(head, others, leave_out=(1, 2, 4))


def short(value: float) -> str:
    """A large number with a letter, as `amount` reads it; beyond a quadrillion with its power of ten.

    >>> short(7e9), short(1.4e12), short(5.76e23)
    ('7B', '1.4T', '5.76e23')
    """
    for scale, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if scale <= value < 1e15:
            return f"{value / scale:.3g}{letter}" if value < 999.5 * scale else f"{value / scale:.0f}{letter}"
    return f"{value:.3g}".replace("e+", "e")


def _quantities(model: ModelPlan) -> dict[str, float]:
    return {"params": model.params, "tokens": model.tokens, "flops": model.flops, "tokens_per_param": model.ratio}
