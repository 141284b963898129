"""corpusmill train quality [RUN] --good PATHS --bad PATHS --out MODEL"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from corpusmill.cli.common import Json, must_be_writable, print_json, say
from corpusmill.cli.terminal import print_table
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural, share, size

if TYPE_CHECKING:
    from corpusmill.train.texts import TrainingFiles


def add_to(app: typer.Typer) -> None:
    app.command(
        "quality",
        epilog="Example: corpusmill train quality --good wiki/ --bad crawl.warc.wet.gz --out wiki-like.quality",
    )(quality)


def quality(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run with scored documents.", show_default=False),
    ] = None,
    good: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Good documents: files, folders, patterns; with a RUN, an SQL condition, as in filter/keep_where.",
            show_default=False,
        ),
    ] = None,
    bad: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Bad documents: the same. [default: of a RUN, those that do not meet the condition of --good]",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The model file to write.", show_default=False)
    ],
    documents: Annotated[
        Literal["file", "line", "paragraph", "article"], typer.Option(help="How text files are split into documents.")
    ] = "file",
    bits: Annotated[int, typer.Option(metavar="N", help="2**bits weights of two bytes: 18 is 0.5 MB.")] = 18,
    epochs: Annotated[int, typer.Option(metavar="N", help="Training epochs.")] = 8,
    length: Annotated[bool, typer.Option(help="Use document length as a feature.")] = True,
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the documents held out for evaluation.")
    ] = 0.2,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Random seed of the document order and the held-out split.")
    ] = 0,
    licence: Annotated[
        str, typer.Option("--license", metavar="WORDS", help="License of the data, for the model card.")
    ] = "not stated",
    json: Json = False,
) -> None:
    """Train a classifier for annotate/quality, and evaluate it on held-out documents.

    From a run in which a language model has scored some documents, it learns to score all of them:
    corpusmill train quality RUN --good 'model.score >= 3' --out edu.quality
    """
    from corpusmill.train import quality as trainer
    from corpusmill.train.texts import read_texts

    good, bad = good or [], bad or []
    if not good or not (bad or run) or (run and max(len(good), len(bad)) > 1):
        raise InputError(
            "give --good and --bad, files of documents; or a RUN and --good, one condition, as in --good "
            "'model.score >= 3'"
        )
    settings = trainer.QualitySettings(bits=bits, epochs=epochs, length=length, held_out=held_out, seed=seed)
    must_be_writable(out)
    if run:
        bad = bad or [f"NOT ({good[0]})"]
        texts_of = {kind: _documents_where(run, condition) for kind, (condition,) in (("good", good), ("bad", bad))}
    else:
        texts_of = {kind: read_texts(paths, documents) for kind, paths in (("good", good), ("bad", bad))}
    about: dict[str, Any] = {"licence": licence, "data": {}}
    for kind, paths in (("good", good), ("bad", bad)):
        texts = texts_of[kind]
        about["data"][kind] = {
            ("condition" if run else "paths"): paths[0] if run else paths,
            "files": texts.files,
            "documents": len(texts.texts),
            "bytes": texts.bytes,
        }
        if not json:
            say(f"{kind}: {plural(len(texts.texts), 'document')} in {plural(texts.files, 'file')}, {size(texts.bytes)}")
        if texts.faults:
            say(f"warning: skipped {plural(texts.faults, 'record')} of the {kind} documents that cannot be read")
    model = trainer.train(texts_of["good"].texts, texts_of["bad"].texts, settings, about)
    model.save(out)
    card = dict(model.card)
    if missed := trainer.unbeaten(card["held_out"]):
        say(
            f"warning: on its held-out documents the model (AUC {card['held_out']['auc']:.3f}) does not beat "
            f"{' and '.join(missed)} by more than chance gives, so what it learned of words is not needed to tell "
            "these sets apart. Use sets that differ in quality alone, of similar lengths and kinds, or more documents"
        )
    if json:
        print_json({"model": str(out), "unbeaten": missed, **card})
        return
    print_card(card)
    print(f"\n{out}: {size(out.stat().st_size)}. In a recipe: annotate/quality: {{model: {out}}}")


def _documents_where(run: str, condition: str) -> "TrainingFiles":
    """The documents of a run for which a condition is true and whose text is stored."""
    import pyarrow as pa

    from corpusmill.report.tables import RunTables
    from corpusmill.report.views import Views
    from corpusmill.train.texts import TrainingFiles

    tables = RunTables(run)
    query = (
        f"SELECT text FROM documents JOIN texts USING (id, file, position) WHERE ({condition}\n) AND text IS NOT NULL"
    )
    texts = Views(tables).query(f"{query} ORDER BY id, file, position")["text"]
    if not len(texts):
        raise InputError(f"{run}: no document whose text is stored fulfils {condition}")
    return TrainingFiles(texts.cast(pa.large_string()).combine_chunks(), len(tables.files.with_texts("docs", -1)), 0)


def print_card(card: dict[str, Any]) -> None:
    """The evaluation, as a table of thresholds."""
    documents, held_out = card["documents"], card["held_out"]
    for kind, why in (("repeated", "repeated texts"), ("disputed", "texts that are both good and bad")):
        if documents[kind]:
            print(f"skipped: {number(documents[kind])} {why}")
    good, total = held_out["good"], held_out["documents"]
    print(f"held out: {number(good)} good and {number(total - good)} bad documents")
    simple = f"bytes alone {held_out['length_auc']:.4f}, words alone {held_out['words_auc']:.4f}, "
    simple += f"statistics of characters, words and lines {held_out['shape_auc']:.4f}"
    print(f"AUC {held_out['auc']:.4f} ± {held_out['error']:.4f}; simple baselines: {simple}\n")
    rows = []
    for row in held_out["table"]:
        shares = (share(row[name], 1) for name in ("good_kept", "bad_kept", "precision"))
        rows.append([f"{row['threshold']:.2f}", *shares, f"{row['f1']:.3f}"])
    print_table(["min. score", "good kept", "bad kept", "precision", "F1"], rows)
    print("\nPrecision assumes as many good documents as bad ones; a crawl has more bad ones.")
