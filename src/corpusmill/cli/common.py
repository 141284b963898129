"""What all verbs share: options, messages, exit codes, JSON."""

import io
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from corpusmill import system
from corpusmill.cli.terminal import lines_of, paint
from corpusmill.errors import (
    AssetError,
    CorpusmillError,
    InputError,
    MissingExtraError,
    RecipeError,
    RefusedFolder,
    RenamedWarning,
)
from corpusmill.execute import termination
from corpusmill.hidden import masked

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Folder = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, as in runs/demo.", show_default=False)]
FolderOrFiles = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="The folder of a run; or files to look at: a path, a folder, a pattern.", show_default=False
    ),
]
RecipeFile = Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe in YAML.", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change the recipe: --set gopher_quality.min_words=30, --set run.workers=4. May be repeated.",
    ),
]
# With --steps: what the training job gives its TokenLoader.
OfSteps = Annotated[
    bool, typer.Option("--steps", help="List the training steps that read the documents; give the loader's settings.")
]
BatchSize = Annotated[int, typer.Option(min=1, metavar="N", help="With --steps: batch size per rank, in rows.")]
World = Annotated[int, typer.Option(min=1, metavar="N", help="With --steps: number of ranks.")]
Seed = Annotated[int, typer.Option(metavar="N", help="With --steps: seed of the loader.")]
SeqLen = Annotated[
    int | None, typer.Option(metavar="N", help="With --steps: sequence length. [default: that of the shards]")
]
Epochs = Annotated[int, typer.Option(min=1, metavar="N", help="With --steps: passes over the shards.")]
OF_STEPS = "batch world seed seq_len epochs"  # the parameters that these are

PROGRAM = "corpusmill"
EXIT_WRONG_INPUT = 2  # the command, the recipe or the input is wrong: nothing ran
EXIT_FAILED = 1  # something ran, and did not complete
EXIT_INTERRUPTED = 130
EXIT_AGAIN = 75  # EX_TEMPFAIL of sysexits.h: a worker was asked to end, and the same command goes on
NOTHING_RAN = (RecipeError, InputError, AssetError, MissingExtraError, RefusedFolder)
WORK_GIVEN_BACK = (
    "What this worker has not committed is given back, and others do it: run the same command again to take part again."
)
RUN_IS_SAFE = "What is committed is safe: run the same command again{} to continue."

_given: dict[str, str] = {}  # option of the command line -> as it is spelled
_printed: set[str] = set()  # "json", once there is an object on stdout: an error does not print a second one


def guarded(app: Callable[..., Any]) -> int:
    """Run the app; errors become messages on stderr and an exit code, never a traceback for a mistake of the user.

    With --json, an error is one object on stdout as well: {"error": {"code", "kind", "message", "problems"}}.
    """
    _printed.clear()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files need not be UTF-8, nor consoles know every character
        in_file = system.WINDOWS and not sys.stdout.isatty()  # as on all other systems
        sys.stdout.reconfigure(encoding="utf-8" if in_file else None, errors="backslashreplace")
    sys.path.insert(0, "")  # custom steps are imported from the working directory, as with `python -m`
    try:
        # Versions of typer turn Ctrl-C into a KeyboardInterrupt, an Abort, an Exit or a status.
        try:
            with termination.raised():
                status = app(standalone_mode=False, prog_name=PROGRAM) or 0
        except (KeyboardInterrupt, typer.Abort):
            status = EXIT_INTERRUPTED
        except typer.Exit as end:
            status = end.exit_code
        if status == EXIT_INTERRUPTED:
            stopped("interrupted", status)
        return int(status)
    except termination.Terminated as end:
        status = EXIT_AGAIN if "work" in _words()[:1] else int(end.code or EXIT_FAILED)
        stopped("terminated", status)
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE if os.name != "nt" else EXIT_FAILED
    except CorpusmillError as error:
        problems = [str(problem) for problem in error.problems]
        status = EXIT_WRONG_INPUT if isinstance(error, NOTHING_RAN) else EXIT_FAILED
        return failed(str(error), status, type(error).__name__, problems)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        # An error in the command line itself; its class depends on the version of typer.
        status = failed(error.format_message(), EXIT_WRONG_INPUT, "UsageError")
        context = getattr(error, "ctx", None)
        say(f"See: {context.command_path if context else PROGRAM} --help")
        return status


def show_crash(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """`sys.excepthook`: what libraries say of a request has the secrets of its URL."""
    say(masked("".join(traceback.format_exception(kind, error, trace))).rstrip())


def failed(message: str, code: int, kind: str, problems: Sequence[str] = ()) -> int:
    """Say what went wrong; every line of it can be found by its `error:`. Returns the code."""
    lines = [line for line in message.splitlines() if line.strip()]
    for line in lines:
        say(f"{paint('error:', 'bold red', sys.stderr)} {line}")
    json_error(code, kind, message, problems or lines)
    return code


def stopped(how: str, code: int) -> None:
    """Say that the command was stopped, and how its run is continued."""
    words = _words()
    safe = RUN_IS_SAFE.format(" without --restart" if "--restart" in words else "")
    advice = {"run": f" {safe}", "work": f" {WORK_GIVEN_BACK}"}.get("".join(words[:1]), "")
    message = f"{how}.{advice}"
    say(f"\n{message}")
    json_error(code, how, message, [])


def json_error(code: int, kind: str, message: str, problems: Sequence[str]) -> None:
    """The error as the one JSON object on stdout, if the command was asked for JSON and has printed none."""
    if "--json" in _words() and not _printed:
        print_json({"error": {"code": code, "kind": kind, "message": message, "problems": list(problems)}})


def _words() -> list[str]:
    """The words of the command line up to a `--`."""
    words = sys.argv[1:]
    return words[: words.index("--")] if "--" in words else words


def say(message: str) -> None:
    """A line for people, on stderr: stdout is for results."""
    print(message, file=sys.stderr, flush=True)


def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """A warning that is for whoever wrote the recipe, as a line; others as Python shows them."""
    if issubclass(category, RenamedWarning):
        say(f"warning: {message}")
    else:
        _show_warning(message, category, *where, **more)


_show_warning = warnings.showwarning


def print_json(value: Any) -> None:
    _printed.add("json")
    print(json.dumps(value, indent=1, ensure_ascii=False, default=str))


def note_options(context: Any) -> None:
    """Keep which options the command line has, for `refuse_unused`."""
    _given.clear()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name == "COMMANDLINE" and parameter.param_type_name == "option":
            _given[parameter.name] = parameter.opts[-1]


def refuse_unused(options: str, why: str) -> None:
    """Raises InputError if the command line has one of these options, which would change nothing.

    options   names of parameters: "batch world"
    why       "is for --steps, which is not given"
    """
    for name in options.split():
        if name in _given:
            raise InputError(f"{_given[name]} {why}")


def is_given(option: str) -> bool:
    """Whether the command line has an option, by the name of its parameter."""
    return option in _given


def must_be_writable(file: Path) -> None:
    """Raises InputError if a file cannot be written there: before it has taken hours to make it."""
    if file.is_dir() or not file.parent.is_dir():
        raise InputError(f"{file}: cannot be written: {'a folder' if file.is_dir() else f'no folder {file.parent}'}")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells as lines, in columns: the first flush left, the others flush right.

    >>> aligned([["stage", "disk"], ["pass-1", "9 kB"]])
    ['stage   disk', 'pass-1  9 kB']
    """
    return lines_of(rows, left_columns=(0,))
