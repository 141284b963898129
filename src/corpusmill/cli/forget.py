"""corpusmill forget RUN"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import FAILED, BatchSize, Epochs, Folder, Json, OfSteps, Seed, SeqLen, World, print_json
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural

if TYPE_CHECKING:  # imported by the verb, so that help is there at once
    from corpusmill.loader import Served
    from corpusmill.ops.forget import Done, ForgetRequest

KEY = "CORPUSMILL_FORGET_KEY"
SHOWN = 5


def add_to(app: typer.Typer) -> None:
    app.command("forget", epilog="Example: corpusmill forget runs/demo --domain example.org --copies --dry-run")(forget)


def forget(
    run: Folder,
    domain: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="Documents of this host and all below. May be repeated.", show_default=False),
    ] = None,
    urls: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Documents with these URLs, one a line.", show_default=False)
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Documents with these ids, one a line.", show_default=False)
    ] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Kept documents that hold this passage; may be repeated.",
            show_default=False,
        ),
    ] = None,
    copies: Annotated[
        bool, typer.Option("--copies", help="And what deduplication took for a copy of one, or one for a copy of.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be forgotten; change nothing.")] = False,
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Also remove what the run was made with: stages, indexes, pages that name them."),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove output that does not say which documents are in its files.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Sign the manifest with this key, or that in {KEY}.", show_default=False),
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
    """Take documents out of a finished run, of its output and of all that it will write.

    Its loaders leave them out at once. The order of training samples does not change.
    """
    from corpusmill.ops import forget as forgetting

    secret = _key(key)
    if check is not None:
        problems = forgetting.check(check, secret)
        print_json({"problems": problems}) if json else print("\n".join(problems) or "as the manifest says")
        raise typer.Exit(FAILED if problems else 0)
    if not (domain or urls or ids or text):
        raise InputError("say what to forget: --domain, --urls, --ids or --text")
    asked = forgetting.find(
        run,
        domains=domain or (),
        urls=_lines(urls),
        ids=_lines(ids),
        texts=[_passage(file) for file in text or ()],
        copies=copies,
    )
    settings = {"seq_len": seq_len, "batch_size": batch, "seed": seed, "world": world, "epochs": epochs}
    served = forgetting.steps_of(run, asked, **settings) if steps else None
    if asked.removed and not (remove or dry_run):
        raise InputError(
            f"{run}: {', '.join(asked.removed)} cannot be rewritten: the files do not say which documents they hold. "
            "With --remove they are removed; `corpusmill export` makes them again of the shards."
        )
    done = None
    if not dry_run:
        done = forgetting.forget(run, asked, purge=purge, key=secret, served=served, loader=settings)
    if json:
        from dataclasses import asdict

        about = {"documents": [asdict(each) for each in asked.documents], "missing": list(asked.missing)}
        rows = None if served is None else [one._asdict() for one in served]
        what: dict[str, Any] = {"removed": list(asked.removed), "dry_run": dry_run, "served": rows}
        print_json(
            about | what | {"manifest": done.path if done else None, "changed": list(done.changed) if done else []}
        )
        return
    _print(asked, served, done)


def _print(asked: "ForgetRequest", served: "list[Served] | None", done: "Done | None") -> None:
    from corpusmill.report.visible import one_line

    kept = sum(each.kept for each in asked.documents)
    copies = sum(each.copy for each in asked.documents)
    for each in asked.documents[:SHOWN]:
        how = "kept" if each.kept else "dropped"
        print(f"{each.id}  {how}{', a copy' if each.copy else ''}  {one_line(each.url or each.source)}")
    if (more := len(asked.documents) - SHOWN) > 0:
        print(f"and {number(more)} more")
    of = f", {number(copies)} of them copies" if copies else ""
    print(f"{plural(len(asked.documents), 'document')}{of}: {number(kept)} in the output, the others dropped before")
    for name in asked.missing[:SHOWN]:
        print(f"not in this run: {one_line(name)}")
    if (more := len(asked.missing) - SHOWN) > 0:
        print(f"and {number(more)} more that are not in this run")
    if served is not None:
        _print_served(served)
    if done is None:
        gone = f"; {', '.join(asked.removed)} of the output would be removed" if asked.removed else ""
        print(f"nothing is changed: this was only to see{gone}")
        return
    print(f"written anew or removed: {', '.join(done.changed) or 'nothing'}")
    if done.manifest["purged"]:
        print(f"purged: {', '.join(done.manifest['purged'])}")
    if done.manifest["remains"]:
        print(f"may still hold their text: {', '.join(done.manifest['remains'])} (--purge removes it), and the input")
    print(f"manifest: {done.path}")


def _print_served(served: "list[Served]") -> None:
    steps = sorted({one.step for one in served})
    if not steps:
        print("no training step has served them")
        return
    listed = ", ".join(map(number, steps[:SHOWN]))
    more = f" and {number(len(steps) - SHOWN)} more" if len(steps) > SHOWN else ""
    print(f"served in {'steps' if len(steps) > 1 else 'step'} {listed}{more}, {plural(len(served), 'row')} in all")


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
        given = os.environ.get(KEY, "")
        return given.encode() or None
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise InputError(f"{file}: the key cannot be read ({error.strerror})") from None
    if not key:
        raise InputError(f"{file}: the key is empty")
    return key
