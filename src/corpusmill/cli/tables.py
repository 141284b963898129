"""Tables of a run in the terminal."""

from collections.abc import Iterator, Mapping, Sequence

from corpusmill.cli.terminal import NBSP, folded, heading, lines_of, paint, print_table, terminal
from corpusmill.report.figures.duplicates import DedupStep, dedup_table
from corpusmill.report.figures.leaks import Leaks
from corpusmill.report.figures.mix import Mix, mix_table
from corpusmill.report.figures.packing import packing, packing_table, written_table
from corpusmill.report.figures.resources import StageResources, resources_table
from corpusmill.report.figures.split import SPLIT_HEAD, SplitSide, split_table
from corpusmill.report.numbers import number, plural, share, size
from corpusmill.report.waterfall import Waterfall

MAX_REASONS = 5  # reasons per step; the report has all
TOKENS_NOT_COUNTED = "not counted"  # tokens, where a later step drops some of the documents before they are counted
NOT_APPLIED_COLUMN = 2  # the column of documents that a step is not for: only where there are some
WATERFALL_HEAD = ("step", "documents in", "not applied", "out", "kept", "of input", "bytes out", "tokens out")
# Columns where a line is too narrow, the first of them first; the same of
WATERFALL_LEAVE_OUT = (6, 5, NOT_APPLIED_COLUMN, 7)
MIX_LEAVE_OUT = (7, 1, 4, 2)  # the mix, and of
RESOURCES_LEAVE_OUT = (3, 7, 4, 1, 5)  # time and memory


def print_waterfall(flow: Waterfall) -> None:
    """Documents, bytes and tokens in and out of every step; below each, the reasons for what was dropped."""
    rows, reasons = zip(*_rows(flow))
    styles = ["cyan"] * len(flow.read)
    print_table(WATERFALL_HEAD, rows, leave_out=WATERFALL_LEAVE_OUT, notes=reasons, styles=styles)


def print_leaks(steps: Sequence[Leaks]) -> None:
    """A line per benchmark with questions in the documents."""
    for step in steps:
        for name, (documents, questions) in step.benchmarks.items():
            contain = "contains" if documents == 1 else "contain"
            print(f"{step.step}: {plural(documents, 'document')} {contain} {plural(questions, 'question')} of {name}")
        for name, (documents, items) in step.material.items():
            contain = "contains" if documents == 1 else "contain"
            material = f"{plural(items, 'item')} of {name}, which is corpus material"
            print(f"{step.step}: {plural(documents, 'document')} {contain} {material}")


def print_mixes(mixes: Sequence[Mix]) -> None:
    """What each mix planned to draw and drew from each source."""
    for mix in mixes:
        head, rows = mix_table(mix)
        heading(mix.step)
        print_table(head, rows, leave_out=MIX_LEAVE_OUT)


def print_split(sides: list[SplitSide]) -> None:
    """What is kept back for validation."""
    if sides:
        heading("split")
        print_table(SPLIT_HEAD, split_table(sides))


def print_warnings(warnings: Sequence[str]) -> None:
    """What is probably wrong with a run, or to be known of it."""
    for warning in warnings:
        print(f"\n{paint('warning:', 'bold yellow')} {warning}")


def print_packing(flow: Waterfall, checked: str | None) -> None:
    """How tokens are packed into rows, and the comparison with the reference tokenizer."""
    rows = packing_table(packing(flow))
    if rows:
        heading("training rows")
        print_pairs(rows)
    unpacked = written_table(flow)
    if unpacked:
        heading("tokens written without packing")
        print_pairs(unpacked)
    if checked:
        indent = "  " if rows or unpacked else ""
        print("" if indent else "\n", end="")
        print("\n".join(folded(checked, indent)) if terminal() else f"{indent}{checked}")


def print_pairs(rows: Sequence[Sequence[str]]) -> None:
    """Names and values, without a head."""
    print("\n".join(f"  {line}" for line in lines_of(rows, left_columns=range(len(rows[0]) - 1))))


def print_dedup(steps: Sequence[DedupStep]) -> None:
    """Dedup steps side by side, where there are two or more."""
    if len(steps) > 1:
        head, rows = dedup_table(steps)
        heading("duplicates")
        print_table(head, rows, indent="  ", leave_out=[*range(len(head) - 1, 4, -1), 2])


def print_resources(stages: Sequence[StageResources]) -> None:
    """Seconds, throughput and memory by stage."""
    head, rows = resources_table(stages)
    heading("time and memory by stage")
    print_table(head, rows, indent="  ", leave_out=RESOURCES_LEAVE_OUT)


def _rows(flow: Waterfall) -> Iterator[tuple[tuple[str, ...], str]]:
    first = flow.rows[0].sources if flow.rows else {}
    for name, source in flow.read.items():
        text = first.get(name, {}).get("bytes_in")  # of documents as they were read; of a file, they may be compressed
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
                "" if text is None else size(text),
                "",
            ),
            f"{NBSP}· ".join([f"{size(source['bytes'])} of input files", *filter(None, [_top_reasons(lost)])]),
        )
    for row in flow.rows:
        tokens = number(row.tokens_out) if row.tokens_in or row.tokens_out else ""
        tokens = TOKENS_NOT_COUNTED if row.uncounted_out else tokens
        kept_share = share(row.documents_out, row.documents_in)
        of_input = share(row.documents_out, flow.documents_in)
        passed = number(row.passed_through) if any(other.passed_through for other in flow.rows) else ""
        documents = (number(row.documents_in), passed, number(row.documents_out))
        cells = (row.step, *documents, kept_share, of_input, size(row.bytes_out), tokens)
        yield cells, _top_reasons({**row.reasons, "failed": row.failed} if row.failed else row.reasons)


def in_words(skipped: Mapping[str, int]) -> dict[str, int]:
    """Records that are not documents, by what they are. The header of a WARC file counts with the requests and images
    beside it; in a WET file it appears alone."""
    names = {"blank_line": "blank line", "blank": "blank piece", "not_sampled": "not in the sample"}
    if not any(kind.startswith("warc_") for kind in skipped.keys() - {"warc_warcinfo"}):
        names["warc_warcinfo"] = "file header"
    words: dict[str, int] = {}
    for kind, count in skipped.items():
        label = names.get(kind, "not an HTML response" if kind.startswith("warc_") else kind)
        words[label] = words.get(label, 0) + count
    return words


def _top_reasons(counts: Mapping[str, int]) -> str:
    """`min_words 56 · min_alpha_words 23 · 9 for 4 other reasons`"""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name}{NBSP}{number(count)}" for name, count in ordered[:MAX_REASONS]]
    if others := ordered[MAX_REASONS:]:
        kinds = f"another{NBSP}reason" if len(others) == 1 else f"{len(others)}{NBSP}other{NBSP}reasons"
        parts.append(f"{number(sum(count for _, count in others))}{NBSP}for{NBSP}{kinds}")
    return f"{NBSP}· ".join(parts)
