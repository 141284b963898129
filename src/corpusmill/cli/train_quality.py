"""corpusmill train quality --good PATHS --bad PATHS --out MODEL"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from corpusmill.cli.common import Json, print_json, say
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, share, size


def add_to(app: typer.Typer) -> None:
    app.command(
        "quality",
        epilog="Example: corpusmill train quality --good wiki/ --bad crawl.warc.wet.gz --out wiki-like.quality",
    )(quality)


def quality(
    good: Annotated[
        list[str], typer.Option(help="Documents as they should be: files, folders, patterns.", show_default=False)
    ],
    bad: Annotated[list[str], typer.Option(help="Documents as they should not be.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The model file to write.", show_default=False)],
    documents: Annotated[
        Literal["file", "line", "paragraph", "article"], typer.Option(help="What a document of a text file is.")
    ] = "file",
    bits: Annotated[int, typer.Option(help="2**bits weights of two bytes: 18 is 0.5 MB.")] = 18,
    epochs: Annotated[int, typer.Option(help="How often each document is looked at.")] = 8,
    length: Annotated[bool, typer.Option(help="Learn from the length of documents, too.")] = True,
    held_out: Annotated[float, typer.Option(help="Share of the documents that the model is judged by.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Of the order of documents, and of which are held out.")] = 0,
    licence: Annotated[str, typer.Option(help="What the card says of the licence of the data.")] = "not stated",
    json: Json = False,
) -> None:
    """Train a classifier for annotate/quality, and say how well it does on documents it has not seen."""
    from corpusmill.train import quality as trainer
    from corpusmill.train.texts import read_texts

    settings = trainer.Settings(bits=bits, epochs=epochs, length=length, held_out=held_out, seed=seed)
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(f"{out}: cannot be written: {'a folder' if out.is_dir() else f'no folder {out.parent}'}")
    found = {kind: read_texts(paths, documents) for kind, paths in (("good", good), ("bad", bad))}
    about: dict[str, Any] = {"licence": licence, "data": {}}
    for kind, paths in (("good", good), ("bad", bad)):
        texts = found[kind]
        about["data"][kind] = {
            "paths": paths,
            "files": texts.files,
            "documents": len(texts.texts),
            "bytes": texts.bytes,
        }
        if not json:
            say(f"{kind}: {number(len(texts.texts))} documents in {number(texts.files)} files, {size(texts.bytes)}")
        if texts.faults:
            say(f"warning: {number(texts.faults)} records of the {kind} documents cannot be read and are left out")
    model = trainer.train(found["good"].texts, found["bad"].texts, settings, about)
    model.save(out)
    card = dict(model.card)
    if json:
        print_json({"model": str(out), **card})
        return
    print_card(card)
    print(f"\n{out}: {size(out.stat().st_size)}. In a recipe: annotate/quality: {{model: {out}}}")


def print_card(card: dict[str, Any]) -> None:
    """The scores, as a table of thresholds."""
    documents, held = card["documents"], card["held_out"]
    for what, why in (("repeated", "repeat a text"), ("disputed", "texts are among the good and the bad")):
        if documents[what]:
            print(f"left out: {number(documents[what])} {why}")
    print(f"held out: {number(held['good'])} good documents and {number(held['documents'] - held['good'])} bad ones")
    print(f"AUC {held['auc']:.4f}, of their length alone {held['length_auc']:.4f}\n")
    print(f"{'score at least':>14} {'good kept':>10} {'bad kept':>10} {'precision':>10} {'F1':>6}")
    for row in held["table"]:
        kept = (share(row[name], 1) for name in ("good_kept", "bad_kept", "precision"))
        print(f"{row['threshold']:>14.2f} " + " ".join(f"{cell:>10}" for cell in kept) + f" {row['f1']:>6.3f}")
    print("\nPrecision is where as many documents are good as bad; bad ones are commoner in a crawl.")
