"""corpusmill plan [RUN or RECIPE]"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.numbers import number, size
from corpusmill.report.numbers import share as share_of
from corpusmill.tokens.budget import BESIROGLU, HOFFMANN, KNOWN, TWENTY, Given, Model, amount, with_ratio

WORTH = 4  # epochs that are nearly as good as new text: Muennighoff et al. 2023, arXiv:2305.16264


def add_to(app: typer.Typer) -> None:
    app.command("plan", epilog="Example: corpusmill plan --params 7B --overtrain 10")(plan)


def plan(
    of: Annotated[
        Path | None,
        typer.Argument(
            help="The folder of a finished run, or a recipe in YAML: how far its tokens go.", show_default=False
        ),
    ] = None,
    params: Annotated[str | None, typer.Option(help="Parameters of the model: 7B, 400M.")] = None,
    flops: Annotated[str | None, typer.Option(help="Floating-point operations of its training: 1e23.")] = None,
    tokens: Annotated[str | None, typer.Option(help="Tokens that there are for it: 1T.")] = None,
    overtrain: Annotated[float, typer.Option(help="Times the tokens that are compute-optimal.")] = 1.0,
    weight: Annotated[
        list[str] | None, typer.Option(help="A source's share of the tokens: --weight web=0.8. May be repeated.")
    ] = None,
    sample: Annotated[float, typer.Option(help="Of a recipe: the share of its input that is tried.")] = 0.01,
    workers: Annotated[int | None, typer.Option(min=1, help="Of a recipe: processes at work.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Change the recipe, as for run.")] = None,
    json: Json = False,
) -> None:
    """How many tokens a model wants, or how large a model some tokens or some compute are for; what to collect for it.

    Compute-optimal is 20 tokens a parameter (Hoffmann et al. 2022, table 3). A smaller model on more tokens costs more
    to train to the same loss, and less to use: that is what --overtrain 10 plans.

    Of a recipe, a sample of the input is milled, to say what time, memory and disk all of it takes, and what it gives.
    """
    cost = milled(of, sample, workers, settings or []) if of is not None and of.is_file() else None
    if cost is not None and params is flops is tokens is None:
        print_json({"run": cost}) if json else print("\n".join(cost_lines(cost)))
        return
    given, value = quantity(params, flops, tokens)
    if not 0 < overtrain < math.inf:
        raise InputError(f"--overtrain is a number above 0, got {overtrain}")
    model = with_ratio(given, value, TWENTY * overtrain)
    fits = {
        "20 tokens a parameter": with_ratio(given, value, TWENTY),
        "Besiroglu et al. 2024": BESIROGLU.optimal(given, value),
        "Hoffmann et al. 2022, approach 3": HOFFMANN.optimal(given, value),
    }
    there, shares = yields(cost) if cost is not None else there_and_shares(of)
    needs = sources(there, weights(weight or []) or shares, model.tokens, str(of))
    if json:
        print_json(
            {
                "given": {given: value},
                "overtrain": overtrain,
                "plan": told(model),
                "compute_optimal": {name: told(fit) for name, fit in fits.items()},
                "as_others": {
                    name: told(with_ratio("params", model.params, known.ratio)) for name, known in KNOWN.items()
                },
                "sources": needs,
                "run": cost,
            }
        )
        return
    times = "" if overtrain == 1 else f", {overtrain:g} times what is compute-optimal"
    print(f"{short(model.params)} parameters on {short(model.tokens)} tokens: {short(model.flops)} FLOP{times}")
    print(
        "\ncompute-optimal by          parameters   tokens       FLOP   tokens a parameter".replace("by  ", "by      ")
    )
    for name, fit in fits.items():
        print(
            f"  {name:<32}  {short(fit.params):>6}   {short(fit.tokens):>6}  {short(fit.flops):>9}   {fit.ratio:>18.1f}"
        )
    print(f"\n{short(model.params)} parameters trained as long as".ljust(43) + "tokens   tokens a parameter")
    for name, known in KNOWN.items():
        print(f"  {name:<38}  {short(known.ratio * model.params):>6}   {known.ratio:>18.0f}")
    if needs:
        print("\n" + "\n".join(source_lines(needs)))
    if cost is not None:
        print("\n" + "\n".join(cost_lines(cost)))


def quantity(params: str | None, flops: str | None, tokens: str | None) -> tuple[Given, float]:
    """Which of the three is given, and its value."""
    said: dict[Given, str | None] = {"params": params, "flops": flops, "tokens": tokens}
    given = [(name, value) for name, value in said.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(f"--{name}" for name, _ in given) or "none of them"
        raise InputError(f"give one of --params, --flops and --tokens, as in --params 7B; got {got}")
    name, text = given[0]
    try:
        return name, amount(text)
    except ValueError as error:
        raise InputError(f"--{name}: {error}") from None


def weights(written: list[str]) -> dict[str, float]:
    """source -> share of `web=0.8`."""
    found: dict[str, float] = {}
    for one in written:
        source, _, share = one.rpartition("=")
        try:
            found[source] = float(share)
        except ValueError:
            found[source] = math.nan
        if not source or not 0 <= found[source] < math.inf:
            raise InputError(f'--weight is a source and its share, as in web=0.8, got "{one}"')
    if found and not sum(found.values()):
        raise InputError("all weights are 0; give one source a share above 0")
    return found


def there_and_shares(run: Path | None) -> tuple[dict[str, int] | None, dict[str, float]]:
    """source -> tokens, and source -> share in the mix, of a finished run; the mix is empty where there is none.

    Tokens are those of the documents that stay, their ends counted; of a run with a mix, of those that came to it.
    """
    if run is None:
        return None, {}
    from corpusmill.report.figures.mix import mixes
    from corpusmill.report.tables import RunTables
    from corpusmill.report.waterfall import special_tokens_per_document

    tables = RunTables(run)
    found = next((mix for mix in mixes(tables) if mix.unit == "tokens"), None)
    if found:
        return {one.source: one.there for one in found.sources}, {one.source: one.share for one in found.sources}
    rows = tables.files.waterfall().rows
    if not rows or not rows[0].tokens_in:
        raise InputError(f"{run}: this run has counted no tokens. Run its recipe with tokenize/bpe as its last step.")
    last = rows[-1].sources
    flows = {source: last[source] for source in tables.files.inputs if source in last}
    around = special_tokens_per_document(tables.files.facts("tokens"), rows[-1])
    return {source: flow["tokens_out"] + around * flow["documents_out"] for source, flow in flows.items()}, {}


def sources(
    there: Mapping[str, int] | None, shares: Mapping[str, float], tokens: float, where: str
) -> dict[str, dict[str, Any]]:
    """source -> its share, the tokens wanted of it, and, where it is known what there is, the tokens there, how often
    they come, and how many are missing for four epochs.

    shares   if there are none, in proportion to what there is
    """
    from corpusmill.tokens.mixing import normalised

    for name in shares:
        if there is not None and name not in there:
            near = did_you_mean(name, there) or "."
            raise InputError(f'--weight: {where} has no source "{name}"{near} It has: {", ".join(there)}.')
    shares = shares or there or {}
    if not sum(shares.values()):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for source, share in normalised(shares).items():
        wanted = round(share * tokens)
        found[source] = {"share": share, "wanted": wanted}
        if there is not None:
            has = there[source]
            missing = max(0, math.ceil(wanted / WORTH) - has)
            found[source] |= {"there": has, "epochs": wanted / has if has else None, "missing": missing}
    return found


def milled(recipe: Path, share: float, workers: int | None, settings: list[str]) -> dict[str, Any]:
    """What a run of a recipe takes and gives, from a sample of its input."""
    from corpusmill.cli.run import Plain
    from corpusmill.estimate import estimate
    from corpusmill.recipe.model import Recipe

    if not 0 < share <= 1:
        raise InputError(f"--sample is a share above 0 and up to 1, got {share}")
    loaded = Recipe.load(recipe, settings)
    found = estimate(loaded, share, Plain())
    count = workers or loaded.run.workers or os.cpu_count() or 1
    return {**found.to_json(), "workers": count, "hours": found.seconds / count / 3600}


def yields(cost: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, float]]:
    """source -> tokens that the whole input gives, and source -> share in the recipe's mix, empty where there is none.

    Raises InputError where the recipe counts no tokens.
    """
    found = {source["source"]: source["tokens"] for source in cost["sources"]}
    if not any(found.values()):
        raise InputError(
            "the sample gave no tokens. Give the recipe tokenize/bpe as its last step, or a larger --sample."
        )
    return found, {source["source"]: source["share"] for source in cost["sources"] if source["share"] is not None}


def cost_lines(cost: Mapping[str, Any]) -> list[str]:
    """What a run takes, stage by stage, and what it gives."""
    part = share_of(cost["sample_bytes"], cost["bytes"])
    width = max(len(stage["stage"]) for stage in cost["stages"])
    lines = [
        f"all {size(cost['bytes'])} of input, if they are like the {size(cost['sample_bytes'])} of it ({part}) that were milled:",
        f"  time    {duration(cost['seconds'] / cost['workers'])} with {cost['workers']} worker{'s' * (cost['workers'] > 1)}",
        f"  disk    {size(cost['disk'])} in the run's folder",
        f"  memory  {size(cost['memory'])} a worker in the sample" if cost["memory"] else "  memory  not known here",
        "",
        f"{'stage':<{width}}  worker time        disk",
    ]
    for stage in cost["stages"]:
        lines.append(f"{stage['stage']:<{width}}  {duration(stage['seconds']):>11}  {size(stage['bytes']):>10}")
    width = max(len("source"), *(len(source["source"]) for source in cost["sources"]))
    lines += ["", f"{'source':<{width}}       input   documents kept          tokens"]
    for source in cost["sources"]:
        tokens = number(source["tokens"]) if source["tokens"] else ""
        row = (
            f"{source['source']:<{width}}  {size(source['bytes']):>10}  {number(source['documents']):>15}  {tokens:>14}"
        )
        lines.append(row.rstrip())
    return lines


def duration(seconds: float) -> str:
    """Time in two units at most.

    >>> duration(0.31), duration(75), duration(9000), duration(200000)
    ('0.3 s', '1 min 15 s', '2 h 30 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for length, name, small, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= length:
            return f"{whole // length} {name} {whole % length // small} {smaller}"
    raise AssertionError


def told(model: Model) -> dict[str, float]:
    return {"params": model.params, "tokens": model.tokens, "flops": model.flops, "tokens_per_param": model.ratio}


def short(value: float) -> str:
    """A large number with a letter, as `amount` reads it; beyond a quadrillion with its power of ten.

    >>> short(7e9), short(1.4e12), short(5.76e23)
    ('7B', '1.4T', '5.76e23')
    """
    for scale, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if scale <= value < 1e15:
            return f"{value / scale:.3g}{letter}" if value < 999.5 * scale else f"{value / scale:.0f}{letter}"
    return f"{value:.3g}".replace("e+", "e")


def source_lines(needs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line a source, and what to do about those that are too small."""
    width = max(len("source"), *map(len, needs))
    counted = "there" in next(iter(needs.values()))
    head = f"{'source':<{width}}   share   tokens wanted" + ("           there   epochs" if counted else "")
    lines = [head]
    for source, need in needs.items():
        line = f"{source:<{width}}  {need['share']:6.1%}  {number(need['wanted']):>14}"
        if counted:
            epochs = "–" if need["epochs"] is None else f"{need['epochs']:,.2f}"
            line += f"  {number(need['there']):>14}  {epochs:>7}"
        lines.append(line)
    for source, need in needs.items():
        if need.get("missing"):
            lines.append(
                f"{source}: {number(need['missing'])} tokens are missing for {WORTH} epochs; text that comes more often "
                f"teaches little that is new (Muennighoff et al. 2023)"
            )
    return lines
