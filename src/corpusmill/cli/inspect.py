"""corpusmill inspect RUN"""

from typing import Annotated

import typer

from corpusmill.cli.common import Folder, say


def add_to(app: typer.Typer) -> None:
    app.command("inspect", epilog="Example: corpusmill inspect runs/demo")(inspect)


def inspect(
    run: Folder,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="The port; 0 for any free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
) -> None:
    """Look at a finished run in a browser: its documents, its thresholds, a blind review.

    The page is served to this machine only, until Ctrl-C. Needs the extra `inspect`.
    """
    from corpusmill.inspect.serve import serve

    def begun(address: str) -> None:
        print(address, flush=True)
        say("Open this address in a browser of this machine. Ctrl-C ends it.")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    serve(run, port, begun)
