"""All verbs as one command, with which typer reads the command line."""

from importlib import import_module

import typer

from corpusmill.cli.help import GROUPS, Verbal, Verbs

VERBS = [verb for verbs in GROUPS.values() for verb in verbs]  # each a module of this package


def app(word: str = "") -> typer.Typer:
    """The command line; with the one verb alone if the word is one, as nothing else has to be loaded then."""
    made = Verbal(
        name="corpusmill",
        cls=Verbs,
        help="Mill raw text into training tokens: one recipe from a raw crawl to training shards.",
        epilog="Help for a verb, with an example: corpusmill VERB -h",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for verb in [word] if word in VERBS else VERBS:
        import_module(f"corpusmill.cli.{verb.replace('-', '_')}").add_to(made)
    made.callback(invoke_without_command=True)(version)
    return made


def version(
    context: typer.Context, show: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    if show:
        import corpusmill

        print(f"corpusmill {corpusmill.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
