"""corpusmill train lm --text PATHS --out MODEL"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from corpusmill.cli.common import Json, must_be_writable, print_json, say
from corpusmill.report.numbers import number, plural, size


def add_to(app: typer.Typer) -> None:
    app.command("lm", epilog="Example: corpusmill train lm --text wiki/*.jsonl.gz --order 3 --out wiki.lm")(lm)


def lm(
    text: Annotated[
        list[str], typer.Option(metavar="PATH", help="Training text: files, folders, patterns.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The model file to write.", show_default=False)
    ],
    order: Annotated[int, typer.Option(metavar="N", help="Order of the n-grams, in words.")] = 3,
    min_count: Annotated[int, typer.Option(metavar="N", help="Rarer words become the unknown word.")] = 2,
    prune: Annotated[
        int, typer.Option(metavar="N", help="Drop n-grams of three words or more with at most this count.")
    ] = 1,
    documents: Annotated[
        Literal["file", "paragraph", "article"], typer.Option(help="How text files are split into documents.")
    ] = "file",
    licence: Annotated[
        str, typer.Option("--license", metavar="WORDS", help="License of the data, for the model card.")
    ] = "not stated",
    json: Json = False,
) -> None:
    """Train a language model for annotate/perplexity: word n-grams, modified Kneser-Ney."""
    from corpusmill.train import lm as trainer
    from corpusmill.train.texts import read_texts

    settings = trainer.LmSettings(order=order, min_count=min_count, prune=prune)
    must_be_writable(out)
    texts = read_texts(text, documents)
    if not json:
        say(f"{plural(len(texts.texts), 'document')} in {plural(texts.files, 'file')}, {size(texts.bytes)}")
    if texts.faults:
        say(f"warning: skipped {plural(texts.faults, 'record')} that cannot be read")
    about: dict[str, Any] = {"licence": licence, "paths": text, "documents": len(texts.texts), "bytes": texts.bytes}
    model = trainer.train(texts.texts, settings, about)
    model.save(out)
    if json:
        print_json({"model": str(out), **model.card})
        return
    ngrams = ", ".join(f"{number(count)} of {n}" for n, count in enumerate(model.card["ngrams"], 1))
    print(f"{plural(model.card['words'], 'word')} in {plural(model.card['sentences'], 'line')}; n-grams: {ngrams}")
    print(f"{out}: {size(out.stat().st_size)}. In a recipe: annotate/perplexity: {{model: {out}}}")
