"""corpusmill trace RUN"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.errors import InputError, ShardError

if TYPE_CHECKING:  # imported by the verb, so that help is there at once
    from corpusmill.shards import Shards

CONTEXT = 20  # tokens on each side of a token


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
    shard: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Instead of --step: a shard, with --token.")
    ] = None,
    token: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="A token of that shard, counted from its beginning.")
    ] = None,
    json: Json = False,
) -> None:
    """Trace a training step, or a token, back to its documents.

    Shows their origin, place in the row, and text.

    The order of samples is a function of these options, so give those of the TokenLoader.
    """
    from corpusmill.report.run_files import shards_of
    from corpusmill.shards import open_shards

    folder = run if (run / "index.json").exists() else shards_of(run)
    shards = open_shards(folder)
    if (step is None) == (shard is None) or (shard is None) != (token is None):
        raise InputError("give --step, or --shard with --token")
    if step is not None:
        pieces = of_step(shards, folder, step, batch, rank, world, seed, seq_len, shuffle)
    else:
        assert shard is not None and token is not None
        pieces = [of_token(shards, shard, token)]
    if json:
        print_json({"shards": str(folder), "documents": pieces})
        return
    for entry in pieces:
        place = f"row {entry['row']}, tokens {entry['start']} to {entry['start'] + entry['length'] - 1}: "
        print(
            f"{place if step is not None else ''}document {entry['document']}, starting at its token {entry['offset']}"
        )
        origin = entry["about"]
        print(f"  id    {origin.get('id', 'unknown: the shards were written without tables')}")
        if origin:
            print(f"  from  {origin['file']} at {origin['position']}, source {origin['source']}")
        if origin.get("url"):
            print(f"  url   {origin['url']}")
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
    pieces = []
    for piece in loader.trace(step):
        at = int(rows[piece.row]) * loader.length + piece.start
        pieces.append(
            {
                "row": piece.row,
                "start": piece.start,
                "length": piece.length,
                "sample": piece.sample,
                "epoch": piece.epoch,
                "document": piece.document,
                "offset": piece.offset,
                "about": origin_of(shards, piece.document),
                "text": text(shards, at, at + min(piece.length, 2 * CONTEXT)),
            }
        )
    return pieces


def of_token(shards: "Shards", shard: int, token: int) -> dict[str, Any]:
    """The document that a token of a shard belongs to, with the text around it."""
    entries = shards.index.shards
    if shard >= len(entries) or token >= entries[shard].tokens:
        known = (
            f"tokens 0 to {entries[shard].tokens - 1} of it"
            if shard < len(entries)
            else f"shards 0 to {len(entries) - 1}"
        )
        raise ShardError(f"{shards.folder}: there is no token {token} of shard {shard}; the folder has {known}.")
    at = sum(entry.tokens for entry in entries[:shard]) + token
    place = shards.document_at(at)
    if place is None:
        raise ShardError(f"{shards.folder}: token {token} of shard {shard} is padding, not part of a document.")
    spans = shards.spans(max(at - CONTEXT, 0), min(at + CONTEXT, len(shards)))
    begin = max(at - CONTEXT, 0)
    own = [int(start) for start, document in zip(spans.start, spans.document) if document == place.document]
    others = [int(start) for start in spans.start if own and start > own[-1]]
    first, stop = begin + own[0], begin + (others[0] if others else 2 * CONTEXT)
    return {
        "row": place.row,
        "start": token if shards.index.sequence_length is None else at % shards.index.sequence_length,
        "length": 1,
        "document": place.document,
        "offset": place.offset,
        "about": origin_of(shards, place.document),
        "text": f"{text(shards, first, at)}⟦{text(shards, at, at + 1)}⟧{text(shards, at + 1, min(stop, len(shards)))}",
    }


def origin_of(shards: "Shards", document: int) -> dict[str, Any]:
    """Where a document is from; empty if the shards were written without tables."""
    return shards.provenance(document) if shards.has_tables else {}


def text(shards: "Shards", start: int, stop: int) -> str:
    """Tokens as text on one line; their ids if the tokenizer cannot be loaded."""
    from corpusmill.errors import AssetError
    from corpusmill.models.tokenizer import load
    from corpusmill.report.visible import one_line

    ids = shards.tokens(start, stop).tolist()
    try:
        return one_line(load(shards.index.tokenizer, eos=shards.index.eos).decode(ids))
    except AssetError:
        return " ".join(map(str, ids))
