"""corpusmill export RUN FORMAT FOLDER"""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from corpusmill.cli.common import Json, is_given, print_json, refuse_unused, say
from corpusmill.report.numbers import number, plural, size

PROGRESS_SECONDS = 5.0  # seconds between lines of progress


def add_to(app: typer.Typer) -> None:
    app.command("export", epilog="Example: corpusmill export runs/demo megatron exports/demo-megatron")(export)


def export(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a folder of training shards.", show_default=False)
    ],
    format: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="megatron, olmo, llmc, nanogpt, parquet_tokens, mds, litdata or tokenized; nanochat, jsonl or parquet "
            "for text; argilla or label_studio for review by people.",
            show_default=False,
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.", show_default=False)],
    tokens_per_shard: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens per file. [default: as in the shards, or 100 M]")
    ] = None,
    val_fraction: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="nanogpt, llmc, nanochat: share for validation, if the recipe has no split."
        ),
    ] = 0.0005,
    val_tokens: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="nanogpt, llmc: the first N tokens are for validation instead."),
    ] = None,
    eos: Annotated[
        bool, typer.Option("--eos/--no-eos", help="nanogpt, tokenized: the token that ends each document.")
    ] = True,
    single_file: Annotated[
        bool, typer.Option("--single-file", help="Text, tokenized, parquet_tokens: write one file.")
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            "-n", min=1, metavar="N", help="argilla, label_studio: documents, kept and dropped for each reason."
        ),
    ] = 20,
    json: Json = False,
) -> None:
    """Export shards to another trainer's format, the kept text, or a sample."""
    from corpusmill.export import TAKERS
    from corpusmill.export import export as carry_out

    for name, takers in TAKERS.items():
        if format not in takers:
            refuse_unused(name, f"is for {', '.join(takers)}, and not for {format}")

    settings: dict[str, Any] = {}
    if tokens_per_shard is not None:
        settings["tokens_per_shard"] = tokens_per_shard
    if single_file:
        settings["single_file"] = True
    if not eos:
        settings["eos"] = False
    if is_given("val_fraction"):
        settings["val_fraction"] = val_fraction
    if is_given("sample"):
        settings["sample"] = sample
    exported = carry_out(
        source,
        format,
        folder,
        val_tokens=val_tokens,
        progress=_Progress(json),
        **settings,
    )
    if json:
        print_json({name: value if name != "folder" else str(value) for name, value in vars(exported).items()})
        return
    amounts = [f"{plural(exported.documents, 'document')}"] if exported.documents is not None else []
    amounts += [f"{plural(exported.tokens, 'token')}"] if exported.tokens is not None else []
    files = f"{plural(exported.files, 'file')}, {size(exported.bytes)}"
    print(f"{exported.folder}: {', '.join(amounts)} in {files} ({exported.format})")


class _Progress:
    """Prints every few seconds how much is done."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.last = time.monotonic()

    def __call__(self, count: int, total: int) -> None:
        now = time.monotonic()
        if not self.silent and now - self.last >= PROGRESS_SECONDS:
            self.last = now
            say(f"{count / max(total, 1):.0%}, {number(count)} of {number(total)}")
