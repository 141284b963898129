"""corpusmill find RUN TEXT"""

import sys
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import BatchSize, Epochs, Folder, Json, OfSteps, Seed, SeqLen, World, print_json
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural, size

if TYPE_CHECKING:  # imported by the verb, so that help is there at once
    from corpusmill.loader import Served
    from corpusmill.ops.find import FoundCanary, Occurrence, PassageMatch, TextIndex

SHOWN = 5  # steps of a document


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
        typer.Option("--canaries", help="Instead of TEXT: find what the run has planted; exits with 1 if not all."),
    ] = False,
    words: Annotated[int, typer.Option(min=1, metavar="N", help="Of --spans: words of a part, at least.")] = 8,
    limit: Annotated[int, typer.Option("-n", "--limit", min=0, metavar="N", help="Occurrences to show.")] = 10,
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
    """Find a text in what a run kept: how often, in which documents, in which training steps.

    The first question makes an index in RUN/find, about twice as large as the text.
    """
    from corpusmill import progress
    from corpusmill.ops.find import TextIndex, find_canaries, served

    if [text is None, spans is None, not canaries].count(False) != 1:
        raise InputError("give a TEXT to find, or --spans with a file of text whose parts to find, or --canaries")
    longer = None if spans is None else _text_of(spans)
    with ExitStack() as shown:
        index = TextIndex(run, workers, shown.enter_context(progress.display("auto")))
    if longer is not None:
        _print_spans(index, longer, words, json)
        return
    settings = {"seq_len": seq_len, "batch_size": batch, "seed": seed, "world": world, "epochs": epochs}
    if canaries:
        planted = find_canaries(index)
        ids = [id for one in planted for id in one.found]
        _print_canaries(planted, served(run, ids, **settings) if steps else None, json)
        if not all(one.is_whole for one in planted):
            raise typer.Exit(1)
        return
    assert text is not None
    found = index.find(text, limit)
    batches = served(run, index.ids(text), **settings) if steps else None
    gone = _forgotten(run, found)
    if json:
        print_json(_as_json(found, batches, gone))
        return
    _print_found(found, index, gone)
    if batches is not None:
        _print_served(batches)


def _text_of(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read as text in UTF-8 ({error})") from None


def _forgotten(run: str, found: "PassageMatch") -> set[str]:
    """Ids of those shown that `corpusmill forget` has taken out of the run; its stages may still have their text."""
    import pyarrow as pa

    from corpusmill.store import forgotten
    from corpusmill.store.run_folder import RunFolder

    left_out = forgotten.read(RunFolder(run))
    if left_out is None or not found.occurrences:
        return set()
    named = {"id": [one.id for one in found.occurrences], "url": [one.url for one in found.occurrences]}
    batch = pa.RecordBatch.from_pydict({name: pa.array(values, pa.string()) for name, values in named.items()})
    return {one.id for one, out in zip(found.occurrences, left_out.among(batch)) if out}


def _print_found(found: "PassageMatch", index: "TextIndex", gone: Collection[str]) -> None:
    from corpusmill.report.visible import one_line

    for one in found.occurrences:
        print(f"{one.id}  {_place(one)}{'  (forgotten)' * (one.id in gone)}")
        around = one_line(f"…{one.before}⟦{found.passage}⟧{one.after}…")
        print(f"    byte {number(one.offset)}: {around}")
    count, have = plural(found.count, "occurrence"), number(found.documents)
    print(f"{count}, in {have} of {plural(index.documents, 'document')}, {size(index.text_bytes)} of text")


def _place(one: "Occurrence") -> str:
    return one.url or f"{one.file} at {one.position}"


def _print_spans(index: "TextIndex", text: str, words: int, json: bool) -> None:
    from dataclasses import asdict

    from corpusmill.report.visible import one_line

    found = index.spans(text, words)
    told = [(span, index.find(span.text, 1).occurrences[0]) for span in found]
    if json:
        print_json({"spans": [asdict(span) | {"first": asdict(first)} for span, first in told]})
        return
    for span, first in told:
        place = f"characters {number(span.start)} to {number(span.stop)}"
        print(f"{place}, {plural(span.count, 'time')}: {one_line(span.text)}")
        print(f"    first in {first.id}  {_place(first)}")
    covered = reached = 0
    for span in found:  # in order, and none is within another
        covered += span.stop - max(span.start, reached)
        reached = span.stop
    part = f"{100 * covered / len(text):.1f} %" if text else "0 %"
    print(f"{plural(len(found), 'part')} of {words} words or more, {part} of the text")


def _print_canaries(planted: list["FoundCanary"], served: dict[str, list["Served"]] | None, json: bool) -> None:
    from dataclasses import asdict

    from corpusmill.report.visible import one_line

    if json:
        told = []
        for one in planted:
            steps = (
                {} if served is None else {"steps": {id: [each._asdict() for each in served[id]] for id in one.found}}
            )
            told.append(asdict(one) | steps)
        print_json({"canaries": told})
        return
    for one in planted:
        into = f", in {one.source}" if one.source else ""
        others = f", and {plural(one.elsewhere, 'time')} in other documents" if one.elsewhere else ""
        print(f"{one.name}: {number(len(one.found))} of {plural(one.copies, 'copy', 'copies')}{into}{others}")
        print(f"    {one_line(one.text)}")
        if served is not None:
            steps_of = sorted({(each.step, each.rank) for id in one.found for each in served[id]})
            listed = ", ".join(f"{step} (rank {rank})" for step, rank in steps_of[:SHOWN])
            more = f" and {number(len(steps_of) - SHOWN)} more" if len(steps_of) > SHOWN else ""
            print(f"    in {plural(len(steps_of), 'batch', 'batches')} of training: {listed}{more}")
    copies, found = (sum(column) for column in zip(*((one.copies, len(one.found)) for one in planted)))
    print(f"{plural(len(planted), 'string')}, {number(found)} of {plural(copies, 'copy', 'copies')} found")


def _print_served(served: dict[str, list["Served"]]) -> None:
    for name, batches in served.items():
        if not batches:
            print(f"{name}  is in no training step")
            continue
        listed = ", ".join(f"{one.step} (rank {one.rank}, row {one.row})" for one in batches[:SHOWN])
        more = f" and {number(len(batches) - SHOWN)} more" if len(batches) > SHOWN else ""
        print(f"{name}  in {'steps' if len(batches) > 1 else 'step'} {listed}{more}")


def _as_json(found: "PassageMatch", served: dict[str, list["Served"]] | None, gone: Collection[str]) -> dict[str, Any]:
    from dataclasses import asdict

    record = asdict(found) | {"forgotten": sorted(gone)}
    if served is not None:
        record["steps"] = {name: [one._asdict() for one in batches] for name, batches in served.items()}
    return record
