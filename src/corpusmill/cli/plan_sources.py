"""corpusmill plan: how many tokens a plan needs of each source, and how many are available."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusmill.cli.terminal import folded, print_table
from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.numbers import number, plural

MAX_GOOD_EPOCHS = 4  # epochs that are nearly as good as new text: Muennighoff et al. 2023, arXiv:2305.16264


def weights(options: list[str]) -> dict[str, float]:
    """source -> share of `web=0.8`."""
    shares: dict[str, float] = {}
    for option in options:
        source, _, share = option.rpartition("=")
        try:
            shares[source] = float(share)
        except ValueError:
            shares[source] = math.nan
        if not source or not 0 <= shares[source] < math.inf:
            raise InputError(f'--weight is a source and its share, as in web=0.8, got "{option}"')
    if shares and not sum(shares.values()):
        raise InputError("all weights are 0; give one source a share above 0")
    return shares


def of_run(run: Path | None) -> tuple[dict[str, int] | None, dict[str, float]]:
    """source -> tokens, and source -> share in the mix, of a finished run; the mix is empty if it has none.

    Tokens are those of the kept documents, EOS included; of a run with a mix, those of the documents that reached it.
    """
    if run is None:
        return None, {}
    from corpusmill.report.figures.mix import mixes
    from corpusmill.report.tables import RunTables
    from corpusmill.report.waterfall import special_tokens_per_document

    tables = RunTables(run)
    mix = next((mix for mix in mixes(tables) if mix.unit == "tokens"), None)
    if mix:
        return {part.source: part.there for part in mix.sources}, {part.source: part.share for part in mix.sources}
    flow = tables.files.waterfall()
    rows = flow.rows
    if not flow.documents_in:
        raise InputError(f"{run}: this run has read no documents, so it has no tokens to plan with.")
    if not flow.counts_tokens:
        raise InputError(f"{run}: this run has counted no tokens. Run its recipe with tokenize/bpe as its last step.")
    last = rows[-1].sources
    flows = {source: last[source] for source in tables.files.inputs if source in last}
    around = special_tokens_per_document(tables.files.facts("tokens"), rows[-1])
    return {source: flow["tokens_out"] + around * flow["documents_out"] for source, flow in flows.items()}, {}


def of_sample(cost: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, float]]:
    """source -> tokens of the whole input, and source -> share in the recipe's mix, empty if it has none.

    cost   as from `plan_cost.from_sample`
    Raises InputError if the recipe counts no tokens.
    """
    tokens = {source["source"]: source["tokens"] for source in cost["sources"]}
    if not any(tokens.values()):
        raise InputError(
            "the sample gave no tokens. Give the recipe tokenize/bpe as its last step, or a larger --sample."
        )
    return tokens, {source["source"]: source["share"] for source in cost["sources"] if source["share"] is not None}


def needs(
    available: Mapping[str, int] | None, shares: Mapping[str, float], tokens: float, where: str
) -> dict[str, dict[str, Any]]:
    """source -> its share and the tokens wanted of it; and if `available` is known, the tokens `there`, how many epochs
    that makes, and how many tokens are missing for four epochs.

    shares   if empty, in proportion to what is available
    """
    from corpusmill.tokens.mixing import normalised

    for name in shares:
        if available is not None and name not in available:
            suggestion = did_you_mean(name, available) or "."
            raise InputError(f'--weight: {where} has no source "{name}"{suggestion} It has: {", ".join(available)}.')
    shares = shares or available or {}
    if not sum(shares.values()):
        return {}
    by_source: dict[str, dict[str, Any]] = {}
    for source, share in normalised(shares).items():
        needed = round(share * tokens)
        by_source[source] = {"share": share, "wanted": needed}
        if available is not None:
            has = available[source]
            missing = max(0, math.ceil(needed / MAX_GOOD_EPOCHS) - has)
            by_source[source] |= {"there": has, "epochs": needed / has if has else None, "missing": missing}
    return by_source


def show(needs: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a line per source, and what to do about those that are too small."""
    counted = "there" in next(iter(needs.values()))
    head = ["source", "share", "tokens wanted", *(["tokens available", "epochs"] if counted else [])]
    rows = []
    for source, need in needs.items():
        row = [source, f"{need['share']:.1%}", number(need["wanted"])]
        if counted:
            row += [number(need["there"]), "–" if need["epochs"] is None else f"{need['epochs']:,.2f}"]
        rows.append(row)
    print_table(head, rows, leave_out=(1,))
    for source, need in needs.items():
        if need.get("missing"):
            print("\n".join(folded(_missing(source, need["missing"]))))


def _missing(source: str, tokens: int) -> str:
    return (
        f"{source}: {plural(tokens, 'token')} {'is' if tokens == 1 else 'are'} missing for {MAX_GOOD_EPOCHS} epochs; "
        "further repetition adds little (Muennighoff et al. 2023)"
    )
