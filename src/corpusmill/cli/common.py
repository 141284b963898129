"""What all verbs share: messages, exit codes, JSON, tables."""

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from corpusmill import termination
from corpusmill.errors import AssetError, CorpusmillError, InputError, MissingExtraError, RecipeError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Folder = Annotated[str, typer.Argument(help="The folder of a run, as in runs/demo.", show_default=False)]

WRONG = 2  # the command, the recipe or the input is wrong: nothing ran
FAILED = 1  # something ran, and did not complete
INTERRUPTED = 130
SAFE = "What is committed is safe: run the same command again to continue."


def guarded(app: Callable[..., Any]) -> int:
    """Run the app; errors become one message on stderr and an exit code, never a traceback for a mistake of the
    user."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files need not be UTF-8, nor consoles know every character
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.path.insert(0, "")  # custom steps are imported from the working directory, as with `python -m`
    try:
        # Versions of typer turn Ctrl-C into a KeyboardInterrupt, an Abort, an Exit or a status.
        try:
            with termination.raised():
                status = app(standalone_mode=False) or 0
        except (KeyboardInterrupt, typer.Abort):
            status = INTERRUPTED
        except typer.Exit as end:
            status = end.exit_code
        if status == INTERRUPTED:
            say(f"\ninterrupted. {SAFE}")
        return int(status)
    except termination.Terminated as end:
        say(f"\nterminated. {SAFE}")
        return int(end.code or FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE if os.name != "nt" else FAILED
    except CorpusmillError as error:
        say(f"error: {error}")
        return WRONG if isinstance(error, RecipeError | InputError | AssetError | MissingExtraError) else FAILED
    except Exception as error:
        if not hasattr(error, "show"):
            raise
        error.show()  # an error in the command line itself; its class depends on the version of typer
        return WRONG


def say(message: str) -> None:
    """A line for people, on stderr: stdout is for results."""
    print(message, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, default=str))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells as lines, in columns: the first flush left, the others flush right.

    >>> aligned([["stage", "disk"], ["pass-1", "9 kB"]])
    ['stage   disk', 'pass-1  9 kB']
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for cells in rows:
        first, *others = (cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(cells, widths)))
        lines.append("  ".join([first, *others]).rstrip())
    return lines
