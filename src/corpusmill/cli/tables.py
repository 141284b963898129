"""Tables for people."""

from rich.console import Console
from rich.table import Table

from corpusmill.cli.common import number, share, size
from corpusmill.report.waterfall import Waterfall

TOP = 3  # reasons a step in the terminal; the report has all


def print_waterfall(flow: Waterfall) -> None:
    """What came in and went out of every step, with the reasons."""
    console = Console(width=max(Console().width, 100), highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("step", "documents in", "out", "kept", "bytes out", "tokens out"):
        table.add_column(name, justify="left" if name == "step" else "right")
    table.add_column("why documents go", overflow="fold")
    for name, source in flow.read.items():
        lost = {kind: count for part in ("dead", "expected") for kind, count in source[part].items()}
        skipped = sum(source["skipped"].values())
        why = [f"{kind} {number(count)}" for kind, count in sorted(lost.items(), key=lambda item: -item[1])]
        why += [f"not pages {number(skipped)}"] if skipped else []
        table.add_row(
            f"read {name}",
            number(source["records"]),
            number(source["documents"]),
            share(source["documents"], source["records"]),
            size(source["bytes"]),
            "",
            ", ".join(why),
        )
    for row in flow.rows:
        reasons = [f"{reason} {number(count)}" for reason, count in list(row.reasons.items())[:TOP]]
        rest = sum(row.reasons.values()) - sum(list(row.reasons.values())[:TOP])
        reasons += [f"others {number(rest)}"] if rest else []
        reasons += [f"failed {number(row.failed)}"] if row.failed else []
        table.add_row(
            row.step,
            number(row.documents_in),
            number(row.documents_out),
            share(row.documents_out, row.documents_in),
            size(row.bytes_out),
            number(row.tokens_out) if row.tokens_in else "",
            ", ".join(reasons),
        )
    console.print(table)
