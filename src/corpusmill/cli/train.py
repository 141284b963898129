"""corpusmill train WHAT"""

import typer

from corpusmill.cli import train_lm, train_quality, train_tokenizer
from corpusmill.cli.help import Verbal, Verbs


def add_to(app: typer.Typer) -> None:
    verbs = Verbal(
        cls=Verbs,
        help="Train a tokenizer, classifier or language model.",
        invoke_without_command=True,
        rich_markup_mode=None,
    )
    for verb in (train_quality, train_lm, train_tokenizer):
        verb.add_to(verbs)
    verbs.callback()(help_if_alone)
    app.add_typer(verbs, name="train")


def help_if_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
