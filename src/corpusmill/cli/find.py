"""corpusmill find RUN TEXT"""

import sys
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import (
    OF_STEPS,
    BatchSize,
    Epochs,
    Folder,
    Json,
    OfSteps,
    Seed,
    SeqLen,
    World,
    print_json,
    refuse_unused,
)
from corpusmill.cli.terminal import first_few
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural, size

if TYPE_CHECKING:  # imported by the verb, so that help is there at once
    from corpusmill.loader import Served
    from corpusmill.ops.find import FoundCanary, Occurrence, PassageMatch, TextIndex

MAX_STEPS_SHOWN = 5  # steps of a document


def add_to(app: typer.Typer) -> None:
    app.command("find", epilog='Example: corpusmill find runs/demo "the old mill"')(find)


def find(
    run: Folder,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What to find, byte for byte.", show_default=False)
    ] = None,
    spans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of TEXT: find the longest parts of this text that are in the run; - is stdin.",
            show_default=False,
        ),
    ] = None,
    canaries: Annotated[
        bool,
        typer.Option(
            "--canaries",
            help="Instead of TEXT: find the canaries that the run has planted; exits with 1 if one is missing.",
        ),
    ] = False,
    words: Annotated[int, typer.Option(min=1, metavar="N", help="With --spans: minimum words of a part.")] = 8,
    limit: Annotated[int, typer.Option("-n", min=0, metavar="N", help="Occurrences to show.")] = 10,
    steps: OfSteps = False,
    batch: BatchSize = 8,
    world: World = 1,
    seed: Seed = 0,
    seq_len: SeqLen = None,
    epochs: Epochs = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes that make the index. [default: all processors]")
    ] = None,
    json: Json = False,
) -> None:
    """Find a text in the kept documents of a run: how often, where, and in which training steps.

    The first call builds an index in RUN/find, about twice as large as the text.
    """
    from corpusmill import progress
    from corpusmill.ops.find import TextIndex, find_canaries, served

    if [text is None, spans is None, not canaries].count(False) != 1:
        raise InputError("give a TEXT to find, or --spans with a file of text whose parts to find, or --canaries")
    if spans is None:
        refuse_unused("words", "is for --spans, which is not given")
    else:
        refuse_unused("steps", "is for a TEXT or --canaries")
    if text is None:
        refuse_unused("limit", "is for a TEXT")
    if not steps:
        refuse_unused(OF_STEPS, "is for --steps, which is not given")
    longer = None if spans is None else _text_of(spans)
    with ExitStack() as shown:
        index = TextIndex(run, workers, shown.enter_context(progress.display("auto")))
    if longer is not None:
        _print_spans(index, longer, words, json)
        return
    settings = {"seq_len": seq_len, "batch_size": batch, "seed": seed, "world": world, "epochs": epochs}
    if canaries:
        planted = find_canaries(index)
        ids = [id for canary in planted for id in canary.found]
        _print_canaries(planted, served(run, ids, **settings) if steps else None, json)
        if not all(canary.is_whole for canary in planted):
            raise typer.Exit(1)
        return
    assert text is not None
    match = index.find(text, limit)
    batches = served(run, index.ids(text), **settings) if steps else None
    forgotten_ids = _forgotten(run, match)
    if json:
        print_json(_as_json(match, batches, forgotten_ids))
        return
    _print_match(match, index, forgotten_ids)
    if batches is not None:
        _print_served(batches)


def _text_of(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read as text in UTF-8 ({error})") from None


def _forgotten(run: str, match: "PassageMatch") -> set[str]:
    """Ids of those shown that `corpusmill forget` has taken out of the run; its stages may still have their text."""
    import pyarrow as pa

    from corpusmill.store import forgotten
    from corpusmill.store.run_folder import RunFolder

    left_out = forgotten.read(RunFolder(run))
    if left_out is None or not match.occurrences:
        return set()
    columns = [[getattr(occurrence, name) for occurrence in match.occurrences] for name in ("id", "url")]
    batch = pa.RecordBatch.from_arrays([pa.array(values, pa.string()) for values in columns], ["id", "url"])
    return {occurrence.id for occurrence, out in zip(match.occurrences, left_out.among(batch)) if out}


def _print_match(match: "PassageMatch", index: "TextIndex", forgotten_ids: Collection[str]) -> None:
    from corpusmill.report.visible import one_line

    for occurrence in match.occurrences:
        print(f"{occurrence.id}  {_address(occurrence)}{'  (forgotten)' * (occurrence.id in forgotten_ids)}")
        around = one_line(f"…{occurrence.before}⟦{match.passage}⟧{occurrence.after}…")
        print(f"    byte {number(occurrence.offset)}: {around}")
    count, have = plural(match.count, "occurrence"), number(match.documents)
    print(f"{count}, in {have} of {plural(index.documents, 'document')}, {size(index.text_bytes)} of text")


def _address(occurrence: "Occurrence") -> str:
    return occurrence.url or f"{occurrence.file} at {occurrence.position}"


def _print_spans(index: "TextIndex", text: str, words: int, json: bool) -> None:
    from dataclasses import asdict

    from corpusmill.report.visible import one_line

    spans = index.spans(text, words)
    located = [(span, index.find(span.text, 1).occurrences[0]) for span in spans]
    if json:
        print_json({"spans": [asdict(span) | {"first": asdict(first)} for span, first in located]})
        return
    for span, first in located:
        position = f"characters {number(span.start)} to {number(span.stop)}"
        print(f"{position}, {plural(span.count, 'time')}: {one_line(span.text)}")
        print(f"    first in {first.id}  {_address(first)}")
    covered = reached = 0
    for span in spans:  # in order, and none is within another
        covered += span.stop - max(span.start, reached)
        reached = span.stop
    part = f"{100 * covered / len(text):.1f} %" if text else "0 %"
    print(f"{plural(len(spans), 'part')} of {words} words or more, {part} of the text")


def _print_canaries(planted: list["FoundCanary"], served: dict[str, list["Served"]] | None, json: bool) -> None:
    from dataclasses import asdict

    from corpusmill.report.visible import one_line

    if json:
        records = []
        for canary in planted:
            records.append(asdict(canary))
            if served is not None:
                records[-1]["steps"] = {id: [batch._asdict() for batch in served[id]] for id in canary.found}
        print_json({"canaries": records})
        return
    for canary in planted:
        into = f", in {canary.source}" if canary.source else ""
        others = f", and {plural(canary.elsewhere, 'time')} in other documents" if canary.elsewhere else ""
        print(f"{canary.name}: {number(len(canary.found))} of {plural(canary.copies, 'copy', 'copies')}{into}{others}")
        print(f"    {one_line(canary.text)}")
        if served is not None:
            steps_of = sorted({(batch.step, batch.rank) for id in canary.found for batch in served[id]})
            listed = first_few([f"{step} (rank {rank})" for step, rank in steps_of], MAX_STEPS_SHOWN)
            print(f"    in {plural(len(steps_of), 'batch', 'batches')} of training: {listed}")
    copies, found_count = (sum(column) for column in zip(*((canary.copies, len(canary.found)) for canary in planted)))
    print(f"{plural(len(planted), 'string')}, {number(found_count)} of {plural(copies, 'copy', 'copies')} found")


def _print_served(served: dict[str, list["Served"]]) -> None:
    for name, batches in served.items():
        if not batches:
            print(f"{name}  is in no training step")
            continue
        listed = first_few([f"{batch.step} (rank {batch.rank}, row {batch.row})" for batch in batches], MAX_STEPS_SHOWN)
        print(f"{name}  in {'steps' if len(batches) > 1 else 'step'} {listed}")


def _as_json(match: "PassageMatch", served: dict[str, list["Served"]] | None, out: Collection[str]) -> dict[str, Any]:
    from dataclasses import asdict

    record = asdict(match) | {"forgotten": sorted(out)}
    if served is not None:
        record["steps"] = {name: [batch._asdict() for batch in batches] for name, batches in served.items()}
    return record
