"""corpusmill train tokenizer RUN|PATHS --vocab-size N --out FILE"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from corpusmill.cli.common import Json, must_be_writable, print_json, say
from corpusmill.cli.terminal import print_table
from corpusmill.report.numbers import number, plural, size


def add_to(app: typer.Typer) -> None:
    app.command(
        "tokenizer", epilog="Example: corpusmill train tokenizer runs/demo --vocab-size 8192 --out tokenizer.json"
    )(tokenizer)


def tokenizer(
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|PATH", help="Folders of finished runs; or files, folders, patterns.", show_default=False
        ),
    ],
    vocab_size: Annotated[
        int,
        typer.Option(
            metavar="N", help="Vocabulary size, including special tokens and the 256 bytes.", show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The tokenizer.json to write.", show_default=False)
    ],
    special: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOKEN", help="A special token; may be repeated. The first is EOS. [default: <|endoftext|>]"
        ),
    ] = None,
    pattern: Annotated[Literal["gpt2", "cl100k", "o200k"], typer.Option(help="Pre-tokenization pattern.")] = "gpt2",
    min_count: Annotated[int, typer.Option(metavar="N", help="Rarer pairs are not merged.")] = 2,
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the documents held out for evaluation.")
    ] = 0.02,
    documents: Annotated[
        Literal["file", "line", "paragraph", "article"], typer.Option(help="How text files are split into documents.")
    ] = "file",
    json: Json = False,
) -> None:
    """Train a byte-level BPE tokenizer on the kept documents of runs, or on files."""
    from corpusmill.models.tokenizer import load
    from corpusmill.train import tokenizer as trainer

    settings = trainer.TokenizerSettings(
        vocab_size=vocab_size,
        special=tuple(special or ("<|endoftext|>",)),
        pattern=pattern,
        min_count=min_count,
        held_out=held_out,
    )
    must_be_writable(out)
    result = trainer.train(trainer.texts_of(text, documents), settings, out)
    trained = load(out, eos=settings.special[0])
    rates = trainer.rates(out, settings, result.held)
    if json:
        print_json(
            {
                "tokenizer": str(out),
                "vocabulary": trained.vocab_size,
                "settings": asdict(settings),
                "documents": result.documents,
                "bytes": result.bytes,
                "held_out": len(result.held),
                "engine": trained.engine.name,
                "rates": {
                    name: {
                        **asdict(rate),
                        "tokens_per_character": round(rate.tokens_per_character, 4),
                        "bytes_per_token": round(rate.bytes_per_token, 3),
                    }
                    for name, rate in rates.items()
                },
            }
        )
        return
    say(f"{plural(result.documents, 'document')}, {size(result.bytes)}; {number(len(result.held))} of them held out")
    if trained.vocab_size < vocab_size:
        say(f"warning: no more pairs to merge; the vocabulary has {plural(trained.vocab_size, 'token')}")
    if result.held:
        head = ["held-out text", "vocabulary", "tokens", "tokens/character", "bytes/token"]
        rows = []
        for name, rate in rates.items():
            vocabulary = trained.vocab_size if name == out.name else load("gpt2").vocab_size
            per_unit = f"{rate.tokens_per_character:.4f}", f"{rate.bytes_per_token:.3f}"
            rows.append([name, number(vocabulary), number(rate.tokens), *per_unit])
        print_table(head, rows, leave_out=(1,))
    else:
        say("warning: no document was held out, so the tokenizer was not evaluated; give more text or --held-out")
    eos = "" if settings.special[0] == "<|endoftext|>" else f', eos: "{settings.special[0]}"'
    print(f"{out}: {size(out.stat().st_size)}. In a recipe: tokenize/bpe: {{tokenizer: {out}{eos}}}")
