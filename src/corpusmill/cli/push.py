"""corpusmill push RUN hf://datasets/ME/NAME"""

import sys
from typing import Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json, refuse_unused, say
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, size

MAX_DRY_RUN_FILES = 20  # files of a dry run


def add_to(app: typer.Typer) -> None:
    app.command("push", epilog="Example: corpusmill push runs/demo hf://datasets/me/demo --private --dry-run")(push)


def push(
    run: Folder,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="The data set: hf://datasets/ME/NAME.", show_default=False)
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="BRANCH", help="The branch, created if missing. [default: main]")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    license: Annotated[str | None, typer.Option(metavar="NAME", help="For the card: odc-by, cc-by-4.0 …")] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Push this output of the run. May be repeated. [default: all that are Parquet]"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only write the folder RUN/hub, and list it.")] = False,
    card: Annotated[
        bool,
        typer.Option(
            "--card",
            help="Without TARGET: only write the card into the run's folder: README.md with YAML metadata, and "
            "Croissant metadata. Others can then load the folder as a data set.",
        ),
    ] = False,
    eu_summary: Annotated[
        bool,
        typer.Option(
            "--eu-summary",
            help="With --card: draft the EU's public summary of training content from what the run recorded. Not "
            "legal advice.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Push a run to the Hugging Face Hub, as a data set with a card; or write the card alone."""
    if card != (target is None):
        raise InputError("push needs either a TARGET, hf://datasets/ME/NAME, or --card, which sends nothing")
    if eu_summary and not card:
        raise InputError("--eu-summary is written with --card, into the run's folder")
    if target is None:
        refuse_unused("revision private output dry_run", "is for a TARGET, and --card sends nothing")
        write_card(run, license, eu_summary, json)
        return
    from corpusmill.publish import push as carry_out

    if not dry_run and not sys.stderr.isatty():
        _without_bars()
    pushed = carry_out(
        run,
        target,
        revision=revision,
        private=private,
        license=license,
        outputs=output or (),
        dry_run=dry_run,
        progress=say,
    )
    if json:
        print_json({**vars(pushed), "folder": str(pushed.folder)})
        return
    if pushed.url is None:
        for name in pushed.files[:MAX_DRY_RUN_FILES]:
            print(f"{size((pushed.folder / name).stat().st_size):>9}  {name}")
        if len(pushed.files) > MAX_DRY_RUN_FILES:
            print(f"{'':>9}  … and {number(len(pushed.files) - MAX_DRY_RUN_FILES)} more")
        print(f"{pushed.folder}: {number(len(pushed.files))} files, {size(pushed.bytes)}. Nothing was sent.")
    elif pushed.sent:
        amount = f"{number(len(pushed.files))} files, {size(pushed.bytes)}"
        print(f"{pushed.url}: {amount}; {number(pushed.sent)} were sent now")
    else:
        print(f"{pushed.url}: nothing to send, all {number(len(pushed.files))} files are there")


def write_card(run: str, license: str | None, eu_summary: bool, json: bool) -> None:
    """Write the card into the run's folder, and list its files."""
    from corpusmill.publish import card

    files = card(run, license=license, eu_summary=eu_summary, progress=say)
    if json:
        print_json({"files": {name: path for name, (path, _) in files.items()}})
        return
    for path, length in files.values():
        print(f"{size(length):>9}  {path}")


def _without_bars() -> None:
    try:
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        return  # said by the push
    disable_progress_bars()
