"""Tables of a run in the terminal."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from corpusmill.cli.common import aligned
from corpusmill.report.figures.duplicates import DedupStep, dedup_table
from corpusmill.report.figures.leaks import Leaks
from corpusmill.report.figures.mix import Mix, mix_table
from corpusmill.report.figures.packing import packing, packing_table
from corpusmill.report.figures.resources import StageResources, resources_table
from corpusmill.report.numbers import number, share, size
from corpusmill.report.waterfall import Waterfall

TOP = 5  # reasons per step; the report has all
WIDE = 120  # characters per line at most
TIE = "\u00a0"  # a space at which no line is broken
HEAD = ("step", "documents in", "out", "kept", "of input", "bytes out", "tokens out")


def print_waterfall(flow: Waterfall) -> None:
    """Documents, bytes and tokens in and out of every step; below each, the reasons for what was dropped."""
    rows = [(HEAD, ""), *_rows(flow)]
    width = min(shutil.get_terminal_size((100, 24)).columns, WIDE)
    for line, (_, reasons) in zip(aligned([cells for cells, _ in rows]), rows):
        print(line)
        for part in wrap(reasons, max(width - 4, 40), break_long_words=False, break_on_hyphens=False):
            print(f"    {part}".replace(TIE, " "))


def print_leaks(steps: Sequence[Leaks]) -> None:
    """A line per benchmark with questions in the documents."""
    for step in steps:
        for name, (documents, questions) in step.benchmarks.items():
            print(f"{step.step}: {number(documents)} documents contain {number(questions)} questions of {name}")


def print_mixes(mixes: Sequence[Mix]) -> None:
    """What each mix planned to draw and drew from each source."""
    for mix in mixes:
        head, rows = mix_table(mix)
        print("\n".join([f"\n{mix.step}", *aligned([head, *rows])]))


def print_packing(flow: Waterfall, checked: str | None) -> None:
    """How tokens are packed into rows, and the comparison with the reference tokenizer."""
    rows = packing_table(packing(flow))
    if rows:
        print("\ntraining rows")
        print("\n".join(f"  {line}" for line in aligned(rows)))
    if checked:
        print(f"\n{checked}" if not rows else f"  {checked}")


def print_dedup(steps: Sequence[DedupStep]) -> None:
    """Dedup steps side by side, where there are two or more."""
    if len(steps) > 1:
        head, rows = dedup_table(steps)
        print("\n".join(["\nduplicates", *(f"  {line}" for line in aligned([head, *rows]))]))


def print_resources(stages: Sequence[StageResources]) -> None:
    """Seconds, throughput and memory by stage."""
    head, rows = resources_table(stages)
    print("\n".join(["\ntime and memory by stage", *(f"  {line}" for line in aligned([head, *rows]))]))


def _rows(flow: Waterfall) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, source in flow.read.items():
        lost = {**source["dead"], **source["expected"]}
        if skipped := sum(source["skipped"].values()):
            lost["not an HTML response"] = skipped
        records, documents = source["records"], source["documents"]
        yield (
            (
                f"read {name}",
                number(records),
                number(documents),
                share(documents, records),
                "",
                size(source["bytes"]),
                "",
            ),
            _most(lost),
        )
    for row in flow.rows:
        tokens = number(row.tokens_out) if row.tokens_in else ""
        kept = share(row.documents_out, row.documents_in)
        of_input = share(row.documents_out, flow.documents_in)
        ends = number(row.documents_in), number(row.documents_out)
        cells = (row.step, *ends, kept, of_input, size(row.bytes_out), tokens)
        yield cells, _most({**row.reasons, "failed": row.failed} if row.failed else row.reasons)


def _most(counts: Mapping[str, int]) -> str:
    """`min_words 56 · min_alpha_words 23 · 9 for 4 other reasons`"""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name}{TIE}{number(count)}" for name, count in ordered[:TOP]]
    if rest := ordered[TOP:]:
        kinds = f"another{TIE}reason" if len(rest) == 1 else f"{len(rest)}{TIE}other{TIE}reasons"
        parts.append(f"{number(sum(count for _, count in rest))}{TIE}for{TIE}{kinds}")
    return f"{TIE}· ".join(parts)
