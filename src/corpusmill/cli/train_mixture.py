"""corpusmill train mixture RUN... --out WEIGHTS"""

import json as json_format
import time
from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Json, must_be_writable, print_json, say
from corpusmill.cli.terminal import print_table
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural, share

STEP_SECONDS = 10.0  # seconds between lines of progress


def add_to(app: typer.Typer) -> None:
    app.command(
        "mixture", epilog="Example: corpusmill train mixture runs/web runs/code --steps 2000 --out weights.yaml"
    )(mixture)


def mixture(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|SHARDS",
            help="Runs or folders of shards with the sources. NAME=FOLDER: everything in it is one source.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="FILE", help="The file of weights to write, .yaml or .json.", show_default=False
        ),
    ],
    steps: Annotated[int, typer.Option(metavar="N", help="Training steps of each of the two models.")] = 1000,
    length: Annotated[int, typer.Option(metavar="N", help="Tokens per row.")] = 256,
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of each source per batch.")] = 4,
    width: Annotated[int, typer.Option(metavar="N", help="Width of the models.")] = 128,
    layers: Annotated[int, typer.Option(metavar="N", help="Layers of the models.")] = 4,
    heads: Annotated[int, typer.Option(metavar="N", help="Attention heads.")] = 4,
    rate: Annotated[float, typer.Option(metavar="X", help="Learning rate.")] = 1e-3,
    step_size: Annotated[float, typer.Option(metavar="X", help="Step size of the weight updates.")] = 1.0,
    smoothing: Annotated[
        float, typer.Option(metavar="X", help="Share of uniform weights mixed into every update.")
    ] = 1e-3,
    token_limit: Annotated[
        int, typer.Option("--most", metavar="N", help="Tokens read per source at most.")
    ] = 50_000_000,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")] = 0,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="cpu or cuda. [default: cuda if available]", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Learn source weights for mix/sources with two small models (DoReMi).

    Needs torch: pip install 'corpusmill[torch]'.
    """
    import yaml

    from corpusmill.train import doremi
    from corpusmill.train.sources import read_sources

    settings = doremi.MixtureSettings(
        steps=steps,
        length=length,
        rows=rows,
        step_size=step_size,
        smoothing=smoothing,
        rate=rate,
        width=width,
        layers=layers,
        heads=heads,
        seed=seed,
    )
    if out.suffix not in (".yaml", ".yml", ".json"):
        raise InputError(f"{out}: the file of weights ends in .yaml or .json")
    must_be_writable(out)
    sources = read_sources(runs, token_limit, seed)
    tokens = {source.name: len(source.tokens) for source in sources}
    if not json:
        say("sources: " + ", ".join(f"{name} {plural(count, 'token')}" for name, count in tokens.items()))
    printed = time.monotonic()

    def on_step(model: str, step: int, weights: object) -> None:
        nonlocal printed
        if not json and (step == steps or time.monotonic() - printed >= STEP_SECONDS):
            printed = time.monotonic()
            say(f"{model} model: step {number(step)} of {number(steps)}")

    learnt = doremi.learn(sources, settings, device, on_step)
    weights = learnt.shares()
    card = {"weights": weights, "about": doremi.card(learnt, settings, tokens)}
    if out.suffix == ".json":
        text = json_format.dumps(card, indent=1, ensure_ascii=False) + "\n"
    else:
        text = yaml.safe_dump(card, sort_keys=False, allow_unicode=True)
    out.write_text(text, "utf-8", newline="\n")
    if json:
        print_json({"out": str(out), **card})
        return
    lines = []
    for i, (name, weight) in enumerate(weights.items()):
        losses = f"{learnt.reference[i]:.3f}", f"{learnt.proxy[i]:.3f}"
        lines.append([name, number(tokens[name]), share(weight, 1), *losses])
    print_table(["source", "tokens", "weight", "reference loss", "proxy loss"], lines)
    line = yaml.safe_dump({"weights": weights}, default_flow_style=True, sort_keys=False, width=10_000).strip()
    print(f"\n{out}. In a recipe: - mix/sources: {line}")
