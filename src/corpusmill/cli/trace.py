"""corpusmill trace RUN"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Json, print_json, refuse_unused
from corpusmill.errors import InputError

if TYPE_CHECKING:  # imported by the verb, so that help is there at once
    from collections.abc import Mapping, Sequence

    from corpusmill.ops.tracing import Traced
    from corpusmill.shards import Shards

MAX_TOKENS_SHOWN = 40  # tokens of each document of a step or row


def add_to(app: typer.Typer) -> None:
    app.command("trace", epilog="Example: corpusmill trace runs/demo --step 12 --rank 3 --world 8 --batch 16")(trace)


def trace(
    run: Annotated[
        Path, typer.Argument(metavar="PATH", help="A run folder, or a folder of training shards.", show_default=False)
    ],
    step: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Training step, counted from the first sample.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Batch size per rank, in rows.")] = 8,
    rank: Annotated[int, typer.Option(min=0, metavar="N", help="Rank of the process.")] = 0,
    world: Annotated[int, typer.Option(min=1, metavar="N", help="Number of ranks.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the loader.")] = 0,
    seq_len: Annotated[
        int | None, typer.Option(metavar="N", help="Sequence length of the loader. [default: that of the shards]")
    ] = None,
    shuffle: Annotated[bool, typer.Option(help="Whether the loader shuffles.")] = True,
    row: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Instead of --step: a row, counted over all shards, or in --shard."),
    ] = None,
    shard: Annotated[int | None, typer.Option(min=0, metavar="N", help="A shard, with --token or --row.")] = None,
    token: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="A token of that shard, counted from its beginning.")
    ] = None,
    json: Json = False,
) -> None:
    """Trace a training step, a row or a token back to its documents.

    Shows their origin, place in the row, and text.

    The order of samples depends on these options, so use those of your TokenLoader. For a run with stages of training,
    only --seed, --rank and --world count; the rest is in the run.
    """
    from corpusmill.loader import TokenLoader
    from corpusmill.ops import tracing
    from corpusmill.report.run_files import shards_of
    from corpusmill.shards import open_shards
    from corpusmill.store.run_folder import TRAINING_RECORD

    if step is not None and row is token is None and (run / TRAINING_RECORD).is_file():
        if seq_len is not None or not shuffle:
            raise InputError(f"{run}: its stages of training say how rows are read; leave out --seq-len, --no-shuffle")
        refuse_unused("batch shard", "is not for a run with stages of training, which say it themselves")
        _of_stages(run, step, seed, rank, world, json)
        return
    folder = run if (run / "index.json").exists() else shards_of(run)
    shards = open_shards(folder)
    choices = [option is not None for option in (step, row, token)]
    if sum(choices) != 1 or (shard is None and token is not None) or (shard is not None and step is not None):
        raise InputError("give --step, or --shard with --token, or --row")
    if step is None:
        refuse_unused("batch rank world seed shuffle", "is for --step, which is not given")
    if token is not None:
        refuse_unused("seq_len", "is for --step or --row")
    pieces: list[dict[str, Any]]
    if step is not None:
        loader = TokenLoader(folder, seq_len, batch, seed, rank, world, shuffle=shuffle)
        pieces = [_entry(shards, piece) for piece in tracing.of_step(loader, step)]
    elif row is not None:
        pieces = [_entry(shards, piece) for piece in tracing.of_row(shards, row, seq_len, shard)]
    else:
        assert shard is not None and token is not None
        pieces = [_entry(shards, tracing.of_token(shards, shard, token), marked=True)]
    if json:
        print_json({"shards": str(folder), "documents": pieces})
        return
    _show(pieces, token is None)


def _of_stages(run: Path, step: int, seed: int, rank: int, world: int, json: bool) -> None:
    """Print the documents of a step, which is in one of the stages of training of a run."""
    from corpusmill.loader.stages import StageLoader
    from corpusmill.ops import tracing

    loader = StageLoader(run, seed, rank, world)
    number, inside = loader.locate(step)
    pieces = [
        {**_entry(shards, piece), "shards": str(shards.folder)}
        for shards, piece in tracing.with_shards(loader.loaders[number], inside)
    ]
    stage = loader.stages[number].name
    if json:
        print_json({"stage": stage, "step_in_stage": inside, "documents": pieces})
        return
    print(f"step {inside} of the stage {stage}\n")
    _show(pieces)


def _show(pieces: "Sequence[Mapping[str, Any]]", placed: bool = True) -> None:
    for entry in pieces:
        position = f"row {entry['row']}, tokens {entry['start']} to {entry['start'] + entry['length'] - 1}: "
        print(f"{position if placed else ''}document {entry['document']}, starting at its token {entry['offset']}")
        origin = entry["about"]
        print(f"  id    {origin.get('id', 'unknown: the shards were written without tables')}")
        if origin:
            print(f"  from  {origin['file']} at {origin['position']}, source {origin['source']}")
        if origin.get("url"):
            print(f"  url   {origin['url']}")
        print(f"  text  {entry['text']}\n")


def _entry(shards: "Shards", piece: "Traced", marked: bool = False) -> dict[str, Any]:
    """A piece of a document, with its text on one line: its beginning, or marked within the text around it."""
    from corpusmill.ops import tracing
    from corpusmill.report.visible import one_line

    entry = {name: value for name, value in vars(piece).items() if name != "at"}
    if piece.sample is None:
        del entry["sample"], entry["epoch"]
    end = piece.at + piece.length
    if not marked:
        return entry | {"text": one_line(tracing.text(shards, piece.at, min(end, piece.at + MAX_TOKENS_SHOWN)))}
    begin, stop = tracing.around(shards, piece)
    before, own, after = (tracing.text(shards, *part) for part in ((begin, piece.at), (piece.at, end), (end, stop)))
    return entry | {"text": f"{one_line(before)}⟦{one_line(own)}⟧{one_line(after)}"}
