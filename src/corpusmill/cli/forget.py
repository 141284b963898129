"""corpusmill forget RUN"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import (
    EXIT_FAILED,
    OF_STEPS,
    BatchSize,
    Epochs,
    Folder,
    Json,
    OfSteps,
    Seed,
    SeqLen,
    World,
    print_json,
    refuse_unused,
)
from corpusmill.cli.terminal import first_few
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural

if TYPE_CHECKING:  # imported by the verb, so that help is there at once
    from corpusmill.loader import Served
    from corpusmill.ops.forget import ForgetRequest, ForgetResult

KEY_VARIABLE = "CORPUSMILL_FORGET_KEY"
MAX_ENTRIES_SHOWN = 5


def add_to(app: typer.Typer) -> None:
    app.command("forget", epilog="Example: corpusmill forget runs/demo --domain example.org --copies --dry-run")(forget)


def forget(
    run: Folder,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST", help="Documents of this host and its subdomains. May be repeated.", show_default=False
        ),
    ] = None,
    urls: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Documents with these URLs, one per line.", show_default=False)
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Documents with these ids, one per line.", show_default=False)
    ] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Kept documents that contain this passage. May be repeated.",
            show_default=False,
        ),
    ] = None,
    copies: Annotated[
        bool, typer.Option("--copies", help="Also their duplicates, as the run's dedup steps found them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be forgotten; change nothing.")] = False,
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Also delete the run's stages, indexes and report."),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete outputs whose files do not record which documents they contain.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Sign the manifest with this key, or with the one in {KEY_VARIABLE}.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="MANIFEST", help="Instead: compare a manifest with the output.", show_default=False),
    ] = None,
    steps: OfSteps = False,
    batch: BatchSize = 8,
    world: World = 1,
    seed: Seed = 0,
    seq_len: SeqLen = None,
    epochs: Epochs = 1,
    json: Json = False,
) -> None:
    """Remove documents from a finished run, its outputs, and everything that it will write later.

    Loaders skip them at once. The order of training samples does not change.
    """
    from corpusmill.ops import forget as forgetting

    if not steps:
        refuse_unused(OF_STEPS, "is for --steps, which is not given")
    secret = _key(key)
    if check is not None:
        others = "domain urls ids text copies dry_run purge remove steps"
        refuse_unused(others, "is for forgetting, and --check only compares")
        problems = forgetting.check(check, secret)
        print_json({"problems": problems}) if json else print("\n".join(problems) or "as the manifest says")
        raise typer.Exit(EXIT_FAILED if problems else 0)
    if not (domain or urls or ids or text):
        raise InputError("say what to forget: --domain, --urls, --ids or --text")
    request = forgetting.find(
        run,
        domains=domain or (),
        urls=_lines(urls),
        ids=_lines(ids),
        texts=[_passage(file) for file in text or ()],
        copies=copies,
    )
    settings = {"seq_len": seq_len, "batch_size": batch, "seed": seed, "world": world, "epochs": epochs}
    served = forgetting.steps_of(run, request, **settings) if steps else None
    if request.removed and not (remove or dry_run):
        raise InputError(
            f"{run}: {', '.join(request.removed)} cannot be rewritten: the files do not say which documents they hold. "
            "With --remove they are removed; `corpusmill export` makes them again of the shards."
        )
    result = None
    if not dry_run:
        result = forgetting.forget(run, request, purge=purge, key=secret, served=served, loader=settings)
    if json:
        from dataclasses import asdict

        about = {"documents": [asdict(document) for document in request.documents], "missing": list(request.missing)}
        rows = None if served is None else [entry._asdict() for entry in served]
        outcome: dict[str, Any] = {"removed": list(request.removed), "dry_run": dry_run, "served": rows}
        print_json(
            about | outcome | {"manifest": result and result.path, "changed": list(result.changed) if result else []}
        )
        return
    _print(request, served, result)


def _print(request: "ForgetRequest", served: "list[Served] | None", result: "ForgetResult | None") -> None:
    from corpusmill.report.visible import one_line

    kept_count = sum(document.kept for document in request.documents)
    copies = sum(document.copy for document in request.documents)
    for document in request.documents[:MAX_ENTRIES_SHOWN]:
        how = "kept" if document.kept else "dropped"
        print(f"{document.id}  {how}{', a copy' if document.copy else ''}  {one_line(document.url or document.source)}")
    if (unlisted := len(request.documents) - MAX_ENTRIES_SHOWN) > 0:
        print(f"and {number(unlisted)} more")
    copies_note = f", {number(copies)} of them copies" if copies else ""
    documents = f"{plural(len(request.documents), 'document')}{copies_note}"
    print(f"{documents}: {number(kept_count)} in the output, the others dropped before")
    for name in request.missing[:MAX_ENTRIES_SHOWN]:
        print(f"not in this run: {one_line(name)}")
    if (unlisted := len(request.missing) - MAX_ENTRIES_SHOWN) > 0:
        print(f"and {number(unlisted)} more that are not in this run")
    if served is not None:
        _print_served(served)
    if result is None:
        removal = f"; {', '.join(request.removed)} of the output would be removed" if request.removed else ""
        print(f"nothing is changed: this was only to see{removal}")
        return
    print(f"rewritten or removed: {', '.join(result.changed) or 'nothing'}")
    if result.manifest["purged"]:
        print(f"purged: {', '.join(result.manifest['purged'])}")
    if result.manifest["remains"]:
        print(f"may still hold their text: {', '.join(result.manifest['remains'])} (--purge removes it), and the input")
    print(f"manifest: {result.path}")


def _print_served(served: "list[Served]") -> None:
    steps = sorted({entry.step for entry in served})
    if not steps:
        print("no training step has served them")
        return
    listed = first_few(list(map(number, steps)), MAX_ENTRIES_SHOWN)
    print(f"served in {'steps' if len(steps) > 1 else 'step'} {listed}, {plural(len(served), 'row')} in all")


def _lines(file: Path | None) -> list[str]:
    return [] if file is None else [line.strip() for line in _read(file).splitlines() if line.strip()]


def _passage(file: Path) -> str:
    passage = _read(file).strip("\r\n")
    if not passage.strip():
        raise InputError(f"{file}: there is no text in it; every document would be meant")
    return passage


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read as text in UTF-8 ({error})") from None


def _key(file: Path | None) -> bytes | None:
    if file is None:
        value = os.environ.get(KEY_VARIABLE, "")
        return value.encode() or None
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise InputError(f"{file}: the key cannot be read ({error.strerror})") from None
    if not key:
        raise InputError(f"{file}: the key is empty")
    return key
