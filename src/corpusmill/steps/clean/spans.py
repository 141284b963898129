"""Replace spans of text that others have marked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps.annotate.metadata import value_at
from corpusmill.text.rewrite import with_text

Span = tuple[int, int, int, str]  # start, number, end, what takes its place


@dataclass(frozen=True, kw_only=True)
class Spans:
    """Replace spans of the text that taggers of other programs have marked, as `mix` of the Dolma toolkit does.

        clean/spans: {replace: {attributes.pii.emails: "|||EMAIL|||", attributes.dedupe.paragraphs: ""}, min_score: 0.5}

    A name is where the spans are in the metadata, as of `annotate/metadata`: lists of [start, end, score], in
    characters of the text, as the readers `dolma` and `redpajama` leave them. What follows replaces each span with
    min_score or more: "" removes it, `{}` is the span itself. Of overlapping spans the first counts. Put it before
    steps that change the text. A document with a span beyond its text is a dead letter. Signal: `replaced`, how many.

    Source: Soldaini et al. 2024, "Dolma", arXiv:2402.00159, section 3 (mixers)
    """

    replace: tuple[tuple[str, str], ...]  # where spans are in the metadata -> what takes their place
    min_score: float = 0.0

    def __post_init__(self) -> None:
        if not self.replace:
            raise RecipeError('clean/spans: replace is empty; write as {replace: {attributes.pii.emails: "<EMAIL>"}}')

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        texts = docs["text"].to_pylist()
        counts = []
        for number, about in enumerate(docs["metadata"].to_pylist()):
            spans = sorted(self._spans(about)) if about else []
            texts[number], count = replaced(texts[number], spans) if spans else (texts[number], 0)
            counts.append(count)
        changed = with_text(docs, pa.array(texts, docs["text"].type)) if any(counts) else docs
        return changed.append_column("replaced", pa.array(counts, pa.int32()))

    def _spans(self, about: str) -> Iterator[Span]:
        """The spans that are replaced."""
        row = orjson.loads(about)
        number = 0
        for path, replacement in self.replace:
            spans = value_at(row, path.split("."))
            if not (spans is None or isinstance(spans, list)):
                raise ValueError(f"{path} holds {spans!r:.60}, not a list of spans")
            for span in spans or ():
                if not _is_span(span):
                    raise ValueError(f"{path} holds {span!r:.60}, not [start, end, score]")
                start, end, score = span
                if score >= self.min_score and start < end:
                    yield start, number, end, replacement
                    number += 1


def _is_span(span: Any) -> bool:
    return (
        isinstance(span, list)
        and len(span) == 3
        and all(isinstance(at, int) and at >= 0 for at in span[:2])
        and isinstance(span[2], int | float)
    )


def replaced(text: str, spans: list[Span]) -> tuple[str, int]:
    """The text with its spans, in order, replaced, and how many were. Raises ValueError if one ends after the text."""
    parts, at, count = [], 0, 0
    for start, _, end, replacement in spans:
        if end > len(text):
            raise ValueError(f"a span ends at character {end}, and the text has {len(text)}: it is of another text")
        if start < at:
            continue
        parts += [text[at:start], replacement.replace("{}", text[start:end])]
        at, count = end, count + 1
    return "".join([*parts, text[at:]]), count
