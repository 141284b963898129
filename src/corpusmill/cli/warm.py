"""corpusmill warm"""

import time

import typer

from corpusmill.cli.common import EXIT_FAILED, say


def add_to(app: typer.Typer) -> None:
    app.command("warm", epilog="Example: corpusmill warm")(warm)


def warm() -> None:
    """Compile all text kernels for this machine, so that the first run need not: for images, and machines that start
    anew. Takes up to two minutes, and nothing where it was done before."""
    from corpusmill.ops.kernels import warm_kernels
    from corpusmill.progress import display
    from corpusmill.text import compile as compiled

    modules = compiled.kernel_modules()
    folder = compiled.cache_folder()
    started = time.monotonic()
    with display() as listener:
        seconds = warm_kernels(listener, modules)
    if folder is None:
        say("no folder can be written to, so every process compiles for itself: set CORPUSMILL_CACHE to one of yours")
    elif compiled.not_kept():
        raise typer.Exit(EXIT_FAILED)  # it was said why
    elif seconds:
        print(f"{compiled.kernels_in(modules)} kernels are compiled, in {folder}")
    else:
        print(f"nothing to do: all kernels are compiled, in {folder} ({time.monotonic() - started:.1f} s)")
