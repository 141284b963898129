"""corpusmill ablate RUN or RECIPE"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Json, must_be_writable, print_json, say
from corpusmill.cli.terminal import heading, paint, print_lines, print_table
from corpusmill.errors import InputError
from corpusmill.report.numbers import plural, share, size

if TYPE_CHECKING:
    from corpusmill.train.ablate.ablation import Ablation, Effect, Interval
    from corpusmill.train.ablate.experiment import ModelKind

STYLES = {"better": "green", "worse": "red", "not shown": "dim"}
HEADS = {"stage": "drops", "source": "text", "bucket": "text"}


class Models(StrEnum):
    NGRAM = "ngram"
    GPT = "gpt"


def add_to(app: typer.Typer) -> None:
    app.command("ablate", epilog="Example: corpusmill ablate runs/demo --target wet --out ablation.svg")(ablate)


def ablate(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|RECIPE", help="The folder of a run; or a recipe in YAML, which is run.", show_default=False
        ),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PATH",
            help="Held-out text that models are evaluated on: the NAME of a source of the run, or your own files. "
            "May be repeated. "
            "[default: every source]",
        ),
    ] = None,
    models: Annotated[
        Models, typer.Option(help="N-grams of bytes, or small GPTs, which need the extra torch.")
    ] = Models.NGRAM,
    amount: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            metavar="N",
            help="Most bytes that a model is trained on. [default: 2M; GPTs without an accelerator 100k]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="A picture of the effects to write, SVG.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")] = 0,
    json: Json = False,
) -> None:
    """Measure what each stage, source and bucket of a run is worth, with many small models.

    Trains models on the corpus without some of its stages, sources and buckets, and evaluates them on held-out text.
    The worth is in bits per byte of that text, with a 95 % interval; below 0 is better.
    """
    from corpusmill.report.tables import RunTables
    from corpusmill.train.ablate.ablation import ablate as measure
    from corpusmill.train.ablate.picture import picture
    from corpusmill.train.texts import read_texts

    if out is not None:
        if out.suffix != ".svg":
            raise InputError(f"{out}: the picture ends in .svg")
        must_be_writable(out)
    budget = None if amount is None else parsed(amount)
    kind = kind_of(models)
    named = [text.partition("=") for text in target or ()]
    own = {name: read_texts([path]).texts for name, equals, path in named if equals}
    place = str(run)
    if run.is_file():
        from corpusmill.ops.runs import run as carry_out

        place = carry_out(run, progress="lines" if json else "auto").place

    def on_progress(done: int, total: int) -> None:
        if not json:
            say(f"{done} of {total} groups of documents")

    sources = [name for name, equals, _ in named if not equals]
    answer = measure(
        RunTables(place), targets=sources, own=own, kind=kind, budget=budget, seed=seed, progress=on_progress
    )
    if out is not None:
        out.write_text(picture(answer), "utf-8", newline="\n")
    if json:
        print_json({"run": place, **answer.to_json()})
        return
    show(answer)
    if out is not None:
        print(f"\n{out}")


def kind_of(models: Models) -> "ModelKind":
    """Raises MissingExtraError for GPTs without PyTorch."""
    if models is Models.NGRAM:
        from corpusmill.train.ablate.grams import NgramModels

        return NgramModels()
    from corpusmill.train.ablate.gpts import for_device
    from corpusmill.train.gpt import best_device

    return for_device(best_device().type)


def parsed(amount: str) -> int:
    """Bytes. Raises InputError if it is no amount."""
    from corpusmill.tokens.budget import amount as number_of

    try:
        return int(number_of(amount))
    except ValueError as error:
        raise InputError(f"--bytes: {error}") from None


def show(answer: "Ablation") -> None:
    print_lines("\n".join(about(answer)))
    for kind, column in HEADS.items():
        effects = sorted((each for each in answer.effects if each.kind == kind), key=lambda each: each.change.bits)
        if effects:
            print()
            styles = [STYLES[effect.change.verdict] for effect in effects]
            print_table((kind, column, "bits per byte", "95 % interval", ""), rows(effects), styles=styles)
    print_lines("\n".join(["", *conclusions(answer)]))
    if answer.mix is not None:
        heading("suggested mix")
        before, weights = answer.mix.before, answer.mix.weights
        cells = [(name, share(before[name], 1), share(weights[name], 1)) for name in weights]
        print_table(("source", "as it is", "weight"), cells)
        print_lines("\n".join(["", *of_mix(answer)]))


def about(answer: "Ablation") -> Iterator[str]:
    part = "all documents" if answer.share >= 1 else f"{share(answer.share, 2)} of the documents"
    yield (
        f"{plural(answer.models, 'model')} of {size(answer.budget)} each, in {answer.groups} groups that share no "
        f"document, from {part}: {answer.kind}"
    )
    costs = ", ".join(
        f"{name} has too little text" if isnan(bits) else f"{name} {bits:.3f}" for name, bits in answer.targets.items()
    )
    yield f"bits per byte of held-out text, trained on the run as it is: {costs}"


def rows(effects: "Sequence[Effect]") -> list[tuple[str, ...]]:
    return [
        (effect.name, size(effect.bytes), f"{effect.change.bits:+.4f}", in_words(effect.change), effect.change.verdict)
        for effect in effects
    ]


def in_words(interval: "Interval") -> str:
    return f"{interval.low:+.4f} to {interval.high:+.4f}"


def conclusions(answer: "Ablation") -> Iterator[str]:
    unclear = [effect.name for effect in answer.effects if effect.change.verdict == "not shown"]
    if unclear:
        yield f"not shown: {', '.join(unclear)}. Their intervals hold 0: they may help, harm, or do nothing"
    if answer.without:
        yield f"not measured: {', '.join(answer.without)}. They drop nothing whose text is stored"


def of_mix(answer: "Ablation") -> Iterator[str]:
    assert answer.mix is not None
    change = answer.mix.change
    words = {
        "better": paint("better than the run as it is", "green"),
        "worse": paint("worse than the run as it is: keep its shares", "red"),
        "not shown": "not shown to be better than the run as it is: keep its shares",
    }
    yield f"measured: {change.bits:+.4f} bits per byte, {in_words(change)}: {words[change.verdict]}"
    if change.verdict == "better":
        weights = ", ".join(f"{name}: {weight:g}" for name, weight in answer.mix.weights.items())
        yield f"in a recipe: - mix/sources: {{weights: {{{weights}}}}}"
