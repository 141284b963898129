"""corpusmill trace RUN"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.errors import InputError, ShardError

if TYPE_CHECKING:  # imported by the verb, so that help is there at once
    from corpusmill.shards import Shards

AROUND = 20  # tokens on each side of a place


def add_to(app: typer.Typer) -> None:
    app.command("trace", epilog="Example: corpusmill trace runs/demo --step 12 --rank 3 --world 8 --batch 16")(trace)


def trace(
    run: Annotated[Path, typer.Argument(help="The folder of a run, or of shards.", show_default=False)],
    step: Annotated[int | None, typer.Option(min=0, help="Of training, counted from the first sample.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Rows in the batch of a rank.")] = 8,
    rank: Annotated[int, typer.Option(min=0)] = 0,
    world: Annotated[int, typer.Option(min=1, help="How many ranks.")] = 1,
    seed: Annotated[int, typer.Option(help="The loader's.")] = 0,
    seq_len: Annotated[int | None, typer.Option(help="The loader's; that of the shards if not given.")] = None,
    shuffle: Annotated[bool, typer.Option(help="Whether the loader shuffles.")] = True,
    shard: Annotated[int | None, typer.Option(min=0, help="Instead of a step: a shard …")] = None,
    token: Annotated[int | None, typer.Option(min=0, help="… and a token in it.")] = None,
    json: Json = False,
) -> None:
    """Which documents a training step saw: address, place in the row, text. Or to which one a token of a shard belongs.

    The order of samples is a function of what is given here, so give what TokenLoader was given.
    """
    from corpusmill.report.run_files import shards_of
    from corpusmill.shards import open_shards

    folder = run if (run / "index.json").exists() else shards_of(run)
    shards = open_shards(folder)
    if (step is None) == (shard is None) or (shard is None) != (token is None):
        raise InputError("give --step, or --shard with --token")
    if step is not None:
        found = of_step(shards, folder, step, batch, rank, world, seed, seq_len, shuffle)
    else:
        assert shard is not None and token is not None
        found = [of_token(shards, shard, token)]
    if json:
        print_json({"shards": str(folder), "documents": found})
        return
    for entry in found:
        place = f"row {entry['row']}, tokens {entry['start']} to {entry['start'] + entry['length'] - 1}: "
        print(f"{place if step is not None else ''}document {entry['document']}, from its token {entry['offset']} on")
        about = entry["about"]
        print(f"  id    {about.get('id', 'unknown: the shards were written without tables')}")
        if about:
            print(f"  from  {about['file']} at {about['position']}, source {about['source']}")
        if about.get("url"):
            print(f"  url   {about['url']}")
        print(f"  text  {entry['text']}\n")


def of_step(
    shards: "Shards",
    folder: Path,
    step: int,
    batch: int,
    rank: int,
    world: int,
    seed: int,
    seq_len: int | None,
    shuffle: bool,
) -> list[dict[str, Any]]:
    """The pieces of documents in a batch, row by row."""
    from corpusmill.loader import TokenLoader

    loader = TokenLoader(folder, seq_len, batch, seed, rank, world, shuffle=shuffle)
    rows = loader.drawn(step).row
    found = []
    for piece in loader.trace(step):
        at = int(rows[piece.row]) * loader.length + piece.start
        found.append(
            {
                "row": piece.row,
                "start": piece.start,
                "length": piece.length,
                "sample": piece.sample,
                "epoch": piece.epoch,
                "document": piece.document,
                "offset": piece.offset,
                "about": about(shards, piece.document),
                "text": text(shards, at, at + min(piece.length, 2 * AROUND)),
            }
        )
    return found


def of_token(shards: "Shards", shard: int, token: int) -> dict[str, Any]:
    """The document that a token of a shard belongs to, with the text around it."""
    entries = shards.index.shards
    if shard >= len(entries) or token >= entries[shard].tokens:
        held = (
            f"tokens 0 to {entries[shard].tokens - 1} of it"
            if shard < len(entries)
            else f"shards 0 to {len(entries) - 1}"
        )
        raise ShardError(f"{shards.folder}: there is no token {token} of shard {shard}; the folder has: {held}.")
    at = sum(entry.tokens for entry in entries[:shard]) + token
    place = shards.document_at(at)
    if place is None:
        raise ShardError(f"{shards.folder}: token {token} of shard {shard} is padding, and of no document.")
    spans = shards.spans(max(at - AROUND, 0), min(at + AROUND, len(shards)))
    begin = max(at - AROUND, 0)
    mine = [int(start) for start, document in zip(spans.start, spans.document) if document == place.document]
    others = [int(start) for start in spans.start if mine and start > mine[-1]]
    first, stop = begin + mine[0], begin + (others[0] if others else 2 * AROUND)
    return {
        "row": place.row,
        "start": at % shards.index.sequence_length,
        "length": 1,
        "document": place.document,
        "offset": place.offset,
        "about": about(shards, place.document),
        "text": f"{text(shards, first, at)}⟦{text(shards, at, at + 1)}⟧{text(shards, at + 1, min(stop, len(shards)))}",
    }


def about(shards: "Shards", document: int) -> dict[str, Any]:
    """Where a document came from; empty where the shards were written without tables."""
    return shards.provenance(document) if shards.has_tables else {}


def text(shards: "Shards", start: int, stop: int) -> str:
    """Tokens as text on one line; their numbers where the tokenizer is not here any more."""
    from corpusmill.errors import AssetError
    from corpusmill.models.tokenizer import load
    from corpusmill.report.visible import one_line

    ids = shards.tokens(start, stop).tolist()
    try:
        return one_line(load(shards.index.tokenizer, eos=shards.index.eos).decode(ids))
    except AssetError:
        return " ".join(map(str, ids))
