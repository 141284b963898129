"""corpusmill rights CRAWL --out TABLE"""

from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Json, print_json, say


def add_to(app: typer.Typer) -> None:
    app.command("rights", epilog="Example: corpusmill rights crawl/robotstxt/*.warc.gz --out hosts.captures")(rights)


def rights(
    crawl: Annotated[
        list[str],
        typer.Argument(metavar="CRAWL", help="WARC or ARC files, folders or patterns.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The table to write.", show_default=False)],
    memory_mb: Annotated[
        int, typer.Option("--memory-mb", min=64, metavar="N", help="Above this, rows are sorted on disk.")
    ] = 1024,
    json: Json = False,
) -> None:
    """Collect robots.txt and tdmrep.json of a crawl's hosts, for annotate/rights and filter/rights.

    The latest capture of a host counts; redirects are followed. The workers of a run share one copy of the table in
    memory.
    """
    from corpusmill.ops.rights import collect
    from corpusmill.report.numbers import number, plural, size

    result = collect(crawl, out, memory_mb)
    if json:
        by_kind = {"robots": result.by_kind["robots"], "tdmrep": result.by_kind["tdmrep"]}
        counts = {"records": result.records, "damaged": result.damaged, "found": by_kind, "kept": result.kept}
        print_json({"table": str(out), "files": result.files, **counts, "bytes": out.stat().st_size})
        return
    if result.damaged:
        say(f"warning: {plural(result.damaged, 'record')} could not be read")
    print(
        f"{plural(result.files, 'file')}, {plural(result.records, 'record')}: "
        f"{number(result.by_kind['robots'])} robots.txt, {number(result.by_kind['tdmrep'])} tdmrep.json"
    )
    summary = f"{out}: the latest of each host, {plural(result.kept, 'row')}, {size(out.stat().st_size)}."
    print(f"{summary} In a recipe: filter/rights: {{captures: {out}}}")
