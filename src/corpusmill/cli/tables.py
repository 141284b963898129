"""Tables of a run in the terminal."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from corpusmill.cli.common import aligned
from corpusmill.report.figures.duplicates import DedupStep, dedup_table
from corpusmill.report.figures.leaks import Leaks
from corpusmill.report.figures.mix import Mix, mix_table
from corpusmill.report.figures.packing import packing, packing_table, written_table
from corpusmill.report.figures.resources import StageResources, resources_table
from corpusmill.report.numbers import number, share, size
from corpusmill.report.waterfall import Waterfall

TOP = 5  # reasons per step; the report has all
WIDE = 120  # characters per line at most
NOT_COUNTED = "not counted"  # tokens, where a later step drops some of the documents before they are counted
TIE = "\u00a0"  # a space at which no line is broken
PASSED = 2  # the column of documents that a step is not for: only where there are some
HEAD = ("step", "documents in", "not applied", "out", "kept", "of input", "bytes out", "tokens out")


def print_waterfall(flow: Waterfall) -> None:
    """Documents, bytes and tokens in and out of every step; below each, the reasons for what was dropped."""
    rows = [(HEAD, ""), *_rows(flow)]
    if not any(row.passed_through for row in flow.rows):
        rows = [((*cells[:PASSED], *cells[PASSED + 1 :]), reasons) for cells, reasons in rows]
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


def print_warnings(warnings: Sequence[str]) -> None:
    """What is probably wrong with a run."""
    for warning in warnings:
        print(f"\nwarning: {warning}")


def print_packing(flow: Waterfall, checked: str | None) -> None:
    """How tokens are packed into rows, and the comparison with the reference tokenizer."""
    rows = packing_table(packing(flow))
    if rows:
        print("\ntraining rows")
        print("\n".join(f"  {line}" for line in aligned(rows)))
    written = written_table(flow)
    if written:
        print("\ntokens written without packing")
        print("\n".join(f"  {line}" for line in aligned(written)))
    if checked:
        print(f"  {checked}" if rows or written else f"\n{checked}")


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
        lost |= in_words(source["skipped"])
        records, documents = source["records"], source["documents"]
        yield (
            (
                f"read {name}",
                number(records),
                "",
                number(documents),
                share(documents, records),
                "",
                size(source["bytes"]),
                "",
            ),
            _most(lost),
        )
    for row in flow.rows:
        tokens = number(row.tokens_out) if row.tokens_in or row.tokens_out else ""
        tokens = NOT_COUNTED if row.uncounted_out else tokens
        kept = share(row.documents_out, row.documents_in)
        of_input = share(row.documents_out, flow.documents_in)
        documents = (row.documents_in, row.passed_through, row.documents_out)
        cells = (row.step, *map(number, documents), kept, of_input, size(row.bytes_out), tokens)
        yield cells, _most({**row.reasons, "failed": row.failed} if row.failed else row.reasons)


def in_words(skipped: Mapping[str, int]) -> dict[str, int]:
    """Records that are not documents, by what they are. The header of a WARC file counts with the requests and images
    beside it; in a WET file it appears alone."""
    named = {"blank_line": "blank line", "blank": "blank piece"}
    if not any(kind.startswith("warc_") for kind in skipped.keys() - {"warc_warcinfo"}):
        named["warc_warcinfo"] = "file header"
    words: dict[str, int] = {}
    for kind, count in skipped.items():
        word = named.get(kind, "not an HTML response" if kind.startswith("warc_") else kind)
        words[word] = words.get(word, 0) + count
    return words


def _most(counts: Mapping[str, int]) -> str:
    """`min_words 56 · min_alpha_words 23 · 9 for 4 other reasons`"""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name}{TIE}{number(count)}" for name, count in ordered[:TOP]]
    if rest := ordered[TOP:]:
        kinds = f"another{TIE}reason" if len(rest) == 1 else f"{len(rest)}{TIE}other{TIE}reasons"
        parts.append(f"{number(sum(count for _, count in rest))}{TIE}for{TIE}{kinds}")
    return f"{TIE}· ".join(parts)
