"""corpusmill train WHAT"""

import typer

from corpusmill.cli import train_lm, train_mixture, train_quality, train_tokenizer
from corpusmill.cli.help import Verbal, Verbs


def add_to(app: typer.Typer) -> None:
    verbs = Verbal(
        cls=Verbs,
        help="Train a tokenizer, classifier, language model or mixture.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for verb in (train_quality, train_lm, train_tokenizer, train_mixture):
        verb.add_to(verbs)
    app.add_typer(verbs, name="train")
