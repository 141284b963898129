"""corpusmill add RUN [INPUT …]"""

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Folder, Json, aligned, print_json, refuse_unused, say
from corpusmill.cli.run import Progress, ProgressStyle, Workers
from corpusmill.cli.terminal import first_few
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural, size

if TYPE_CHECKING:
    from corpusmill.ops.collection import InputChange
    from corpusmill.recipe.model import Recipe

MAX_FILES_SHOWN = 5  # files that are named

ToSource = Annotated[
    str | None, typer.Option("--source", metavar="NAME", help="The source of the recipe that the inputs belong to.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would change, and what would be redone.")]
Prepare = Annotated[
    bool, typer.Option("--prepare", help="Only plan the work; then start `corpusmill work RUN` on any machines.")
]


def add_to(app: typer.Typer) -> None:
    app.command("add", epilog="Example: corpusmill add runs/web crawl/2024-18/*.warc.gz --dry-run")(add)


def add(
    run: Folder,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT",
            help="Files, folders, patterns or URLs, as in `paths`; none to resume a run that was stopped.",
            show_default=False,
        ),
    ] = None,
    source: ToSource = None,
    dry_run: DryRun = False,
    prepare: Prepare = False,
    workers: Workers = None,
    list_inputs: Annotated[
        bool, typer.Option("--list", help="List the inputs by source: size, when added, documents read and kept.")
    ] = False,
    files: Annotated[bool, typer.Option("--files", help="With --list: list each file instead of each path.")] = False,
    progress: Progress = ProgressStyle.AUTO,
    json: Json = False,
) -> None:
    """Add inputs to a run and process them; or list its inputs.

    The run becomes a collection: duplicates are found across all inputs, and report, mix and shards cover all of them.
    The outputs are those of a new run over all inputs.
    """
    if list_inputs or files:
        if inputs:
            raise InputError("--list lists what the run has, and takes no INPUT")
        refuse_unused("source dry_run prepare workers progress", "is for adding, and --list changes nothing")
        print_inputs(run, files, json)
        return
    if not inputs:
        refuse_unused("source", "says where INPUT belongs, and there is none")
    refuse_idle(dry_run, prepare)
    from corpusmill.ops import collection, worker
    from corpusmill.store.run_folder import RunFolder

    recipe, folder = worker.of_run(run), RunFolder(run)
    change = collection.added(recipe, folder, inputs, source) if inputs else None
    carry_out(folder, recipe, change, dry_run, prepare, workers, progress, json)


def refuse_idle(dry_run: bool, prepare: bool) -> None:
    """Raises InputError for an option of doing what is not done."""
    if dry_run:
        refuse_unused("prepare workers progress", "is for doing it, and --dry-run changes nothing")
    elif prepare:
        refuse_unused("workers progress", "is for doing it, and --prepare only plans")


def print_inputs(run: str, files: bool, json: bool) -> None:
    """Print the inputs of a run, each file or each path of the recipe."""
    from corpusmill.report.inputs import by_path, inputs_of

    inputs = inputs_of(run)
    rows = inputs if files else by_path(run, inputs)
    if json:
        print_json({"folder": run, "inputs": [asdict(row) for row in rows]})
        return
    for source in dict.fromkeys(row.source for row in rows):
        group = [row for row in rows if row.source == source]
        cells = [["", "files", "size", "added", "read", "kept"]] + [
            [
                row.path,
                f"{row.files:,}",
                size(row.bytes),
                (row.added or "-")[:10],
                *("-" if count is None else number(count) for count in (row.read, row.kept)),
            ]
            for row in group
        ]
        print(f"{source}: {plural(sum(row.files for row in group), 'file')}, {size(sum(row.bytes for row in group))}")
        print("\n".join(f"  {line}" for line in aligned(cells)))


def carry_out(
    folder: Any,
    recipe: "Recipe",
    change: "InputChange | None",
    dry_run: bool,
    prepare: bool,
    workers: int | None,
    progress: ProgressStyle,
    json: bool,
) -> None:
    """Change the inputs of a run, and bring it to its end."""
    from corpusmill.engine.plan import preflight
    from corpusmill.engine.plan.changes import preview
    from corpusmill.ops import collection, worker
    from corpusmill.ops.finish import DamagedOutput
    from corpusmill.ops.runs import run as run_recipe

    if change is not None:
        recipe = change.recipe
        for line in in_words(change):
            say(line)
    facts = to_json(change)
    if dry_run or (change is not None and change.files):
        try:
            plan = preflight.ready(recipe, folder).plan  # what is refused must not have changed the run
        except InputError as error:
            if change is None or change.verb != collection.REMOVE:
                raise
            raise InputError(f"{error} An input that cannot be read can be removed in the same command.") from error
        if dry_run:
            ahead = preview(folder, plan)
            units = {"units": ahead.units, "kept": ahead.done, "new": ahead.units - ahead.done}
            if json:
                print_json({"folder": folder.place, **facts, "first_pass": units})
                return
            print(
                f"first pass: {plural(ahead.units - ahead.done, 'unit')} to do, {ahead.done:,} of {ahead.units:,} kept"
            )
            for stage in ahead.changes:
                print(str(stage))
            return
        assert change is not None
        collection.keep(folder, change)
    if prepare:
        address = worker.prepare(recipe, folder.place)
        print_json({"folder": address, **facts}) if json else print(f"planned. Now: corpusmill work {quote(address)}")
        return
    from corpusmill.cli.run import show

    shown = ProgressStyle.LINES if json and progress is ProgressStyle.AUTO else progress
    try:
        result = run_recipe(recipe, folder=folder, workers=workers, progress=shown.value)
    except DamagedOutput as error:
        show(error.run, json, facts)
        raise
    show(result, json, facts)


def in_words(change: "InputChange") -> list[str]:
    """What is changed, a line each."""
    to = "to" if change.verb == "add" else "from"
    lines = [
        f"{change.verb} {plural(len(files), 'file')} {to} {source}: {first_few(files, MAX_FILES_SHOWN)}"
        for source in dict.fromkeys(source for source, _ in change.files)
        for files in [[file for name, file in change.files if name == source]]
    ]
    if lines:
        lines[-1] += f" ({size(change.bytes)}{' in all' if len(lines) > 1 else ''})"
    same = [path for path in change.known if path not in change.altered]
    if same:
        lines.append(f"already in the run, skipped: {first_few(same, MAX_FILES_SHOWN)}")
    if change.left_out:
        lines.append(f"left out, as they were removed from this run: {first_few(change.left_out, MAX_FILES_SHOWN)}")
    if change.altered:
        files = first_few(change.altered, MAX_FILES_SHOWN)
        lines.append(f"changed since they were read, so read again: {files}")
    return lines


def to_json(change: "InputChange | None") -> dict[str, Any]:
    if change is None:
        return {}
    files = {source: [file for name, file in change.files if name == source] for source in dict(change.files)}
    record: dict[str, Any] = {"files": files, "bytes": change.bytes}
    if change.verb == "add":
        record |= {"known": list(change.known), "changed": list(change.altered), "left_out": list(change.left_out)}
    return {change.verb: record}
