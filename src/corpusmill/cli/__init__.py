"""The command line: one file per verb, with the same words as recipes and Python."""

import os
import sys
import warnings


def main() -> None:
    """The `corpusmill` command."""
    try:
        from corpusmill.cli.app import app
        from corpusmill.cli.common import guarded, show_crash, show_warning
    except KeyboardInterrupt:  # Ctrl-C in the second in which libraries are loaded
        print("interrupted: nothing was begun.", file=sys.stderr)
        sys.exit(130)
    sys.excepthook, warnings.showwarning = show_crash, show_warning
    completes = "_CORPUSMILL_COMPLETE" in os.environ  # a shell asks for words to complete
    sys.exit(guarded(app("" if completes else next(iter(sys.argv[1:]), ""))))
