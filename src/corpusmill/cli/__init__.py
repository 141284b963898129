"""The command line: one file per verb, with the same words as recipes and Python."""

import sys


def main() -> None:
    """The `corpusmill` command."""
    try:
        from corpusmill.cli import completion
        from corpusmill.cli.app import app
        from corpusmill.cli.common import guarded, show_crash
    except KeyboardInterrupt:  # Ctrl-C in the second in which libraries are loaded
        print("interrupted: nothing was begun.", file=sys.stderr)
        sys.exit(130)
    sys.excepthook = show_crash
    completes = completion.prepare()
    sys.exit(guarded(app("" if completes else next(iter(sys.argv[1:]), ""))))
