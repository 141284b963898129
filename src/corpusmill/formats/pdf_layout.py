"""From the lines of text on pages to paragraphs in the order of reading.

A line has a place; what belongs together is found by that: columns by the white between them (recursive cuts, as in
Nagy and Seth 1984, "Hierarchical representation of optically scanned documents"), tables by short pieces on common
lines, running heads by what comes again at the same edge of other pages.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

EDGE_SHARE = 0.12  # share of a page's height, at its top and its foot, in which running heads are looked for
MAX_CUTS = 200  # cuts within cuts
MAX_CELL_CHARACTERS = 20  # characters: a mean piece of a table's row has fewer
PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|seite|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von)\s*\d{1,4})?[\W_]*", re.I
)
DIGITS = re.compile(r"\d+")
HYPHENS = "-\u00ad\u2010\x02\ufffe"
ENDS = tuple('.!?:;。\uff01\uff1f"”’)')


@dataclass(slots=True)
class PdfLine:
    """Characters on one line that no wide blank parts; y grows upwards."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str

    @property
    def height(self) -> float:
        return self.y1 - self.y0


@dataclass(slots=True)
class PdfPage:
    width: float
    height: float
    lines: list[PdfLine]


def document_text(pages: Sequence[PdfPage]) -> str:
    """The text of a document: a line for each paragraph, and for each row of a table, with "|" between its cells."""
    running = running_heads(pages)
    paragraphs: list[str] = []
    words = {compound for page in pages for line in page.lines for compound in re.findall(r"\w+-\w+", line.text)}
    for page in pages:
        body_lines = [line for line in page.lines if not _is_running(line, page, running)]
        for at, paragraph in enumerate(part for block in blocks(body_lines) for part in _paragraphs(block, words)):
            goes_on = at == 0 and paragraphs and "|" not in paragraph and not paragraphs[-1].endswith(ENDS)
            if goes_on and paragraph[:1].islower():
                paragraphs[-1] = joined(paragraphs[-1], paragraph, words)
            else:
                paragraphs.append(paragraph)
    return "\n".join(_clean(paragraph) for paragraph in paragraphs)


def running_heads(pages: Sequence[PdfPage]) -> set[str]:
    """What stands at the edge of three pages at least, and of a fifth of them, but for its digits."""
    page_counts: Counter[str] = Counter()
    for page in pages:
        page_counts.update({_form(line.text) for line in page.lines if _at_edge(line, page)})
    return {form for form, count in page_counts.items() if count >= max(3, len(pages) / 5)}


def _form(text: str) -> str:
    return DIGITS.sub("#", "".join(text.lower().split()))


def _at_edge(line: PdfLine, page: PdfPage) -> bool:
    return line.y0 > page.height * (1 - EDGE_SHARE) or line.y1 < page.height * EDGE_SHARE


def _is_running(line: PdfLine, page: PdfPage, running: set[str]) -> bool:
    if not _at_edge(line, page):
        return False
    return _form(line.text) in running or PAGE_NUMBER.fullmatch(line.text.strip()) is not None


def blocks(lines: list[PdfLine]) -> list[list[PdfLine]]:
    """Lines in the order of reading, cut where there is white from edge to edge: into columns if there are any, else
    between paragraphs."""
    finished: list[list[PdfLine]] = []
    pending = [(lines, 0)]
    while pending:
        part, depth = pending.pop()
        if not part:
            continue
        cut = None if len(part) < 2 or depth > MAX_CUTS else _columns(part) or _rows(part)
        if cut is None:
            finished.append(sorted(part, key=lambda line: (-round(line.y0), line.x0)))
        else:
            pending += [(cut[1], depth + 1), (cut[0], depth + 1)]
    return finished


def _columns(lines: list[PdfLine]) -> tuple[list[PdfLine], list[PdfLine]] | None:
    """The columns left and right of the widest white that goes from top to bottom; None where there is none, or where
    it is between the cells of a table."""
    size = median(line.height for line in lines)
    best: tuple[float, float] | None = None
    ends = float("-inf")
    for line in sorted(lines, key=lambda line: line.x0):
        gap = line.x0 - ends
        if ends > float("-inf") and gap > 0.8 * size and (best is None or gap > best[0]):
            best = gap, ends
        ends = max(ends, line.x1)
    if best is None:
        return None
    first = [line for line in lines if line.x1 <= best[1]]
    second = [line for line in lines if line.x1 > best[1]]
    if min(len(first), len(second)) < 2 or _is_table(first, second):
        return None
    return first, second


def _is_table(first: list[PdfLine], second: list[PdfLine]) -> bool:
    """Whether what stands side by side are short pieces on common lines."""
    short = min(len(first), len(second))
    mean = min(sum(len(line.text) for line in part) / len(part) for part in (first, second))
    level = sum(any(abs(a.y0 - b.y0) < 0.3 * max(a.height, 1) for b in second) for a in first)
    return mean < MAX_CELL_CHARACTERS and level >= 0.6 * short


def _rows(lines: list[PdfLine]) -> tuple[list[PdfLine], list[PdfLine]] | None:
    """What is above and below the widest white that goes from side to side and is wider than between lines."""
    order = sorted(lines, key=lambda line: -line.y1)
    gaps: list[tuple[float, int]] = []
    foot = order[0].y0
    for at, line in enumerate(order[1:], 1):
        if foot - line.y1 > 0:
            gaps.append((foot - line.y1, at))
        foot = min(foot, line.y0)
    if not gaps:
        return None
    widest, at = max(gaps, key=lambda gap: (gap[0], -gap[1]))
    size = median(line.height for line in lines)
    # Whatever its width, a cut may set free columns that a title above them hides.
    if widest < 0.9 * size and not any(_columns(part) for part in (order[:at], order[at:]) if len(part) > 3):
        return None
    return order[:at], order[at:]


def _paragraphs(block: list[PdfLine], words: set[str]) -> list[str]:
    """The paragraphs of a block; rows of a table, where lines have several pieces."""
    rows: list[list[PdfLine]] = []
    for line in block:
        if rows and abs(rows[-1][0].y0 - line.y0) < 0.4 * max(line.height, 1):
            rows[-1].append(line)
        else:
            rows.append([line])
    several = [row for row in rows if len(row) > 1]
    if len(several) >= 2 and len(several) >= 0.5 * len(rows):
        return [" | ".join(line.text.strip() for line in sorted(row, key=lambda line: line.x0)) for row in rows]
    texts = [
        (min(line.x0 for line in row), max(line.x1 for line in row), " ".join(line.text for line in row))
        for row in rows
    ]
    margin, right = min(text[0] for text in texts), max(text[1] for text in texts)
    paragraphs: list[str] = []
    ended = True
    for x0, x1, text in texts:
        indented = x0 - margin > 0.02 * (right - margin) and x0 - margin < 0.2 * (right - margin)
        if ended or (indented and paragraphs[-1].endswith(ENDS)):
            paragraphs.append(text.strip())
        else:
            paragraphs[-1] = joined(paragraphs[-1], text.strip(), words)
        ended = x1 < right - 0.15 * (right - margin) and text.rstrip().endswith(ENDS)
    return paragraphs


def joined(before: str, after: str, words: set[str]) -> str:
    """Two lines of a paragraph as one; a hyphen between the parts of a word goes, unless the document has the word with
    it elsewhere, the first part is in capitals (C-speed), or what follows begins with a capital or a digit."""
    if before[-1:] in HYPHENS and before[-2:-1].isalpha() and after[:1].islower():
        first, second = re.findall(r"\w+", before[:-1])[-1], re.findall(r"\w+", after)[0]
        return before[:-1] + ("-" if first.isupper() or f"{first}-{second}" in words else "") + after
    return f"{before[:-1]}-{after}" if before[-1:] in HYPHENS and before[-2:-1].isalnum() else f"{before} {after}"


def _clean(text: str) -> str:
    for mark in HYPHENS[2:]:
        text = text.replace(mark, "-")
    return " ".join(text.replace("\u00ad", "").split())
