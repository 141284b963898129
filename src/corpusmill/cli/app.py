"""All verbs as one command, with which typer reads the command line."""

from importlib import import_module

import typer

from corpusmill.cli.help import VERB_GROUPS, Verbal, Verbs

VERB_MODULES = [verb for verbs in VERB_GROUPS.values() for verb in verbs]  # each a module of this package


def app(first_word: str = "") -> typer.Typer:
    """The command line; with one verb alone if the first word names it, as nothing else has to be loaded then."""
    commands = Verbal(
        name="corpusmill",
        cls=Verbs,
        help="Mill raw text into training tokens: one recipe from a raw crawl to training shards.",
        epilog="Help for a verb, with an example: corpusmill VERB -h",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for verb in [first_word] if first_word in VERB_MODULES else VERB_MODULES:
        import_module(f"corpusmill.cli.{verb.replace('-', '_')}").add_to(commands)
    commands.callback(invoke_without_command=True)(version)
    return commands


def version(
    context: typer.Context, show: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    if show:
        import corpusmill

        print(f"corpusmill {corpusmill.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
