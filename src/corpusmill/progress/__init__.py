"""How a run shows its progress: bars in a terminal, a live cell in a notebook, lines in a log, JSON for programs.

Every display is a `ProgressListener` and a `BeatListener`, and is entered for as long as the run takes. All write to
stderr.
"""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from corpusmill.engine.drive.listener import Silent
from corpusmill.errors import RecipeError, did_you_mean

if TYPE_CHECKING:
    from corpusmill.engine.drive.listener import ProgressListener

MODES = ("auto", "bars", "lines", "json", "off")


def display(mode: str | bool = "auto") -> "AbstractContextManager[ProgressListener]":
    """What shows the progress of a run; it does so inside `with`.

    mode   "auto": a live cell in a notebook, bars in a terminal, lines elsewhere; "bars", "lines", "json": these;
           "off": nothing; True is "auto", False is "off"

    Raises RecipeError for another mode.
    """
    name = {True: "auto", False: "off"}.get(mode, mode) if isinstance(mode, bool) else mode
    if name not in MODES:
        suggestion = did_you_mean(str(name), MODES) or "."
        raise RecipeError(f"progress: there is no {name!r}{suggestion} Use one of: {', '.join(MODES)}, True, False.")
    if name == "auto":
        name = "notebook" if in_notebook() else "bars" if is_terminal() else "lines"
    display_class: Any
    match name:
        case "notebook":
            from corpusmill.progress.notebook import Notebook as display_class
        case "bars":
            from corpusmill.progress.bars import Bars as display_class
        case "lines":
            from corpusmill.progress.lines import ProgressLines as display_class
        case "json":
            from corpusmill.progress.json_lines import JsonLines as display_class
        case _:
            return nullcontext(Silent())
    shown: AbstractContextManager[ProgressListener] = display_class()
    return shown


def is_terminal() -> bool:
    """Whether stderr is a terminal that can draw over what it has shown."""
    return bool(sys.stderr) and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell and hasattr(shell, "get_ipython") else None
    return running is not None and getattr(running, "kernel", None) is not None
