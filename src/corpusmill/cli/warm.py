"""corpusmill warm"""

import time
from typing import Annotated

import typer

from corpusmill.cli.common import EXIT_FAILED, say


def add_to(app: typer.Typer) -> None:
    app.command("warm", epilog="Example: corpusmill warm")(warm)


def warm(
    native: Annotated[
        bool, typer.Option("--native", help="Compile for exactly this processor, including kernels that came compiled.")
    ] = False,
) -> None:
    """Compile all text kernels for this machine now, so that the first run starts at once: for container images and new
    machines. Takes minutes; nothing to do if they are compiled already, or came compiled with the package."""
    from corpusmill.ops.kernels import warm_kernels
    from corpusmill.progress import display
    from corpusmill.text import compile as compiled
    from corpusmill.text import shipped, warming

    shipped.is_native = native
    modules = warming.kernel_modules()
    folder = compiled.cache_folder()
    started = time.monotonic()
    with display() as listener:
        seconds = warm_kernels(listener, modules)
    if not seconds and not native and shipped.misfit() is None:
        print("nothing to do: the kernels came compiled with the package")
    elif folder is None:
        say("no folder can be written to, so every process compiles for itself: set CORPUSMILL_CACHE to one of yours")
    elif compiled.not_kept():
        raise typer.Exit(EXIT_FAILED)  # it was said why
    elif seconds:
        print(f"{warming.kernels_in(modules)} kernels are compiled, in {folder}")
    else:
        print(f"nothing to do: all kernels are compiled, in {folder} ({time.monotonic() - started:.1f} s)")
