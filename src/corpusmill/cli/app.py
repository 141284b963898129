"""All verbs as one command, with which typer reads the command line."""

import typer

from corpusmill.cli import (
    add,
    audit,
    card,
    check,
    completion,
    demo,
    diff,
    explain,
    export,
    find,
    forget,
    index,
    inputs,
    inspect,
    new,
    peek,
    plan,
    push,
    recipe,
    recipes,
    remove,
    report,
    rights,
    run,
    schema,
    sql,
    stats,
    steps,
    trace,
    train,
    verify,
    warm,
    watch,
    what_if,
    work,
)
from corpusmill.cli.help import Verbal, Verbs

app = Verbal(
    name="corpusmill",
    cls=Verbs,
    help="Mill raw text into training tokens: one recipe from a raw crawl to training shards.",
    epilog="Help for a verb, with an example: corpusmill VERB -h",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (
    run,
    schema,
    check,
    demo,
    steps,
    peek,
    verify,
    report,
    recipe,
    stats,
    inspect,
    explain,
    what_if,
    diff,
    audit,
    sql,
    index,
    rights,
    new,
    export,
    card,
    push,
    find,
    forget,
    trace,
    train,
    plan,
    completion,
    recipes,
    warm,
    work,
    watch,
    add,
    remove,
    inputs,
):
    verb.add_to(app)


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context, show: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    if show:
        import corpusmill

        print(f"corpusmill {corpusmill.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
