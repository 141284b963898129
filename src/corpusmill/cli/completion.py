"""corpusmill completion SHELL"""

import os
from typing import Annotated, Literal

import typer

from corpusmill.cli.common import PROGRAM

ASKS = f"_{PROGRAM.upper()}_COMPLETE"  # the variable by which a shell asks for completions
EPILOG = """Example: source <(corpusmill completion bash)

For every new shell, put that line into ~/.bashrc, or for zsh into ~/.zshrc
    source <(corpusmill completion zsh)
and for fish
    corpusmill completion fish > ~/.config/fish/completions/corpusmill.fish
"""


def add_to(app: typer.Typer) -> None:
    app.command("completion", epilog=EPILOG)(completion)


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)
    ],
) -> None:
    """Print a script that completes verbs, options and names of steps."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name=PROGRAM, complete_var=ASKS, shell=shell))


def prepare() -> bool:
    """Where a shell asks for completions, answer in the form that these scripts read. Returns whether it does."""
    if ASKS not in os.environ:
        return False
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    return True


def steps(incomplete: str) -> list[str]:
    """The names of steps that begin so, with their folder or without."""
    from corpusmill.steps import names

    short = {name.rpartition("/")[2] for name in names()} if "/" not in incomplete else set()
    return sorted(name for name in {*names(), *short} if name.startswith(incomplete))


def recipes(incomplete: str) -> list[str]:
    """The names of recipes that ship and begin so."""
    from corpusmill.recipe.shipped import names

    return [name for name in names() if name.startswith(incomplete)]
