"""Where in a text the things are that rules measure: what a reader sees of a share of 0.23."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from corpusmill.errors import AssetError
from corpusmill.report.visible import visible
from corpusmill.steps.decontaminate.ngrams import Ngrams
from corpusmill.steps.filter.c4 import C4
from corpusmill.steps.personal_data import FormsOf, Kind, find
from corpusmill.steps.phone_regions import PhoneRegions
from corpusmill.steps.redact.pii import RedactPii
from corpusmill.text.c4 import LINE_REASONS, clean_lines

MAX_TEXT_SHOWN = 200_000  # code points of a text that are shown
DEFAULT_PII_KINDS: tuple[Kind, ...] = ("email", "ip", "phone")  # where no step of the recipe names others
REPEATED_NGRAM_WORDS = 5  # words: the shortest n-gram that Gopher's rules of duplicates look for
SHORT_LINE_CHARS = 30  # code points: FineWeb's
WORD_PATTERN = re.compile(r"\S+")
LINE_PATTERN = re.compile(r"[^\n]+")


class MarkedSpan(NamedTuple):
    """Code points [start, end) of a text."""

    start: int
    end: int


def marks(text: str, row: Mapping[str, Any], steps: Sequence[Any], later: Sequence[Any]) -> dict[str, list[MarkedSpan]]:
    """What was measured -> where it is. What is nowhere is left out.

    row     with the columns url and metadata of the document
    steps   of the recipe that are for the document
    later   those of them that have not changed this text yet: what they would remove can be seen in it
    """
    spans_by_name = _contaminated(text, steps) | _personal(text, row, steps)
    for step in later:
        if isinstance(step, C4):
            spans_by_name |= {f"C4 removes: {why}": spans for why, spans in _removed_by_c4(text, step).items()}
    spans_by_name["repeated line"] = list(_repeated_lines(text))
    spans_by_name["repeated words"] = list(_repeated_words(text))
    spans_by_name["most frequent 2 to 4 words"] = list(_top_words(text))
    for name, condition in LINE_MARKS.items():
        spans_by_name[name] = [MarkedSpan(*line.span()) for line in LINE_PATTERN.finditer(text) if condition(line[0])]
    return {name: spans for name, spans in spans_by_name.items() if spans}


LINE_MARKS: Mapping[str, Callable[[str], bool]] = {
    "bullet line": lambda line: line.lstrip().startswith(("•", "-")),
    "ellipsis line": lambda line: line.rstrip().endswith(("...", "…")),
    "short line": lambda line: 0 < len(line.strip()) <= SHORT_LINE_CHARS,
}


def parts(text: str, spans_by_name: Mapping[str, Sequence[MarkedSpan]]) -> list[tuple[str, list[str]]]:
    """The text in parts, made safe to look at, each with what it is marked with.

    >>> parts("ab c", {"x": [Span(0, 2)], "y": [Span(1, 4)]})
    [('a', ['x']), ('b', ['x', 'y']), (' c', ['y'])]
    """
    edges: dict[int, list[tuple[str, int]]] = {0: [], len(text): []}
    for name, spans in spans_by_name.items():
        for start, end in spans:
            edges.setdefault(start, []).append((name, 1))
            edges.setdefault(end, []).append((name, -1))
    depth = dict.fromkeys(spans_by_name, 0)
    marked_parts, places = [], sorted(edges)
    for start_of_part, following in itertools.pairwise(places):
        for name, change in edges[start_of_part]:
            depth[name] += change
        marked_parts.append((visible(text[start_of_part:following]), [name for name in depth if depth[name]]))
    return marked_parts


class _ByteOffsets:
    """Bytes of a text as code points.

    text   as UTF-8 can hold it: lone surrogates are "?"
    """

    def __init__(self, text: str) -> None:
        self._data = text.encode("utf-8", "replace")
        self.text = self._data.decode()

    def span(self, start: int, end: int) -> MarkedSpan:
        begin = len(self._data[:start].decode())
        return MarkedSpan(begin, begin + len(self._data[start:end].decode()))


def _contaminated(text: str, steps: Sequence[Any]) -> dict[str, list[MarkedSpan]]:
    """Where items of benchmarks are, as the recipe's steps look for them, by benchmark and item. Nothing of a step
    whose benchmarks are not on this machine."""
    places = _ByteOffsets(text)
    spans_by_name: dict[str, list[MarkedSpan]] = {}
    for step in (step for step in steps if isinstance(step, Ngrams)):
        try:
            matches = step.matches(places.text)
        except AssetError:
            continue
        for match in matches:
            kind = "corpus material" if match.material else "contaminated" if match.is_hit else "too little overlap"
            name = f"{kind}: {match.benchmark} {match.item}, {match.overlap:.2f}"
            name += f", {match.template} words of a template" if match.template else ""
            span = places.span(match.start, match.stop)
            if span not in spans_by_name.setdefault(name, []):
                spans_by_name[name].append(span)
    return spans_by_name


def _personal(text: str, row: Mapping[str, Any], steps: Sequence[Any]) -> dict[str, list[MarkedSpan]]:
    """Of the kinds that the recipe's steps look for, as they do: its own names, its countries."""
    looking = [step for step in steps if isinstance(step, RedactPii)]
    docs = pa.RecordBatch.from_pydict({name: pa.array([row.get(name)], pa.string()) for name in ("url", "metadata")})
    places = _ByteOffsets(text)
    spans_by_name: dict[str, list[MarkedSpan]] = {}
    ways: dict[tuple[tuple[Kind, ...], bool, FormsOf, tuple[str, ...]], None] = dict.fromkeys(
        (step.kinds, step.public_only, step.forms, step.countries) for step in looking
    ) or {(DEFAULT_PII_KINDS, True, "any", ()): None}
    for kinds, public_only, forms, countries in ways:
        personal = find(
            pa.array([places.text], pa.large_string()), kinds, public_only, forms, PhoneRegions(docs, countries)
        )
        for _, kind, start, end in personal.spans.tolist():
            span = places.span(start, end)
            spans = spans_by_name.setdefault(f"personal data: {personal.kinds[kind]}", [])
            if span not in spans:
                spans.append(span)
    return spans_by_name


def _repeated_lines(text: str) -> Iterator[MarkedSpan]:
    """Lines that occurred before."""
    earlier_lines = set()
    for line in LINE_PATTERN.finditer(text):
        if not line[0].strip():
            continue
        if line[0] in earlier_lines:
            yield MarkedSpan(*line.span())
        earlier_lines.add(line[0])


def _repeated_words(text: str) -> Iterator[MarkedSpan]:
    """Runs of words in n-grams of REPEATED words that occurred before."""
    words = list(WORD_PATTERN.finditer(text))
    earlier_grams = set()
    until = start = -1  # of the run: its last word and its first
    for at in range(len(words) - REPEATED_NGRAM_WORDS + 1):
        gram = tuple(match[0] for match in words[at : at + REPEATED_NGRAM_WORDS])
        if gram in earlier_grams:
            if at > until + 1 and until >= 0:
                yield MarkedSpan(words[start].start(), words[until].end())
            start = at if until < 0 or at > until + 1 else start
            until = at + REPEATED_NGRAM_WORDS - 1
        earlier_grams.add(gram)
    if until >= 0:
        yield MarkedSpan(words[start].start(), words[until].end())


def _top_words(text: str) -> Iterator[MarkedSpan]:
    """The most frequent n-grams of 2, 3 and 4 words, of those that occur more than twice; on a tie the first."""
    words = list(WORD_PATTERN.finditer(text))
    for n in (4, 3, 2):
        grams = [tuple(match[0] for match in words[at : at + n]) for at in range(len(words) - n + 1)]
        for gram, count in Counter(grams).most_common(1):
            if count > 2:
                yield from (
                    MarkedSpan(words[at].start(), words[at + n - 1].end())
                    for at, candidate in enumerate(grams)
                    if candidate == gram
                )


def _removed_by_c4(text: str, step: C4) -> dict[str, list[MarkedSpan]]:
    """Why -> the lines that filter/c4 would remove from this text."""
    lines, line_start = [], 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if bare.strip():
            lines.append((MarkedSpan(line_start, line_start + len(bare)), bare))
        line_start += len(line)
    cleaned = clean_lines(
        pa.array([bare for _, bare in lines], pa.large_string()),
        terminal_punctuation=step.terminal_punctuation,
        apostrophe=step.apostrophe,
        min_words=step.min_words_per_line,
        max_word_chars=step.max_word_chars,
        citations=step.citations,
        javascript=step.javascript,
        policy=step.policy,
        lorem_ipsum=False,
        curly_bracket=False,
    )
    removed: dict[str, list[MarkedSpan]] = {}
    for (span, _), counts in zip(lines, cleaned.lines.tolist()):
        for why, count in zip(LINE_REASONS[1:], counts[1:]):
            if count:
                removed.setdefault(why.replace("_", " "), []).append(span)
    return removed
