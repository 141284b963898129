"""Does a document contain the question of a benchmark?"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.decontaminate._benchmarks import Benchmarks, benchmarks, files
from corpusmill.steps.decontaminate._items import Fields
from corpusmill.steps.verdict import Rule, failing
from corpusmill.text.buffers import view
from corpusmill.text.fold import fold
from corpusmill.text.folded_words import folded_words
from corpusmill.text.overlap import WIDEST, find_items
from corpusmill.text.replace import replace_spans
from corpusmill.text.rewrite import masked, with_text

HIT = pa.struct([("benchmark", pa.string()), ("item", pa.string()), ("overlap", pa.float64()), ("ngrams", pa.int32())])
SHOWN = 60  # words of the passage, kept as evidence
REACH = 100  # words before and after a question that are searched for its answer


@dataclass(frozen=True, kw_only=True)
class Ngrams:
    """Find documents that contain questions of benchmarks, and drop them, cut the passages out, or only mark them.

    Question and document are folded (case, accents, punctuation, white space; every number is 0) and compared by their
    n-grams of words. `overlap` is the share of the question's words that are in n-grams found in one passage of the
    document; a document is dropped if that is at least `min_overlap` for any question. A question of fewer than `ngram`
    words matches only where all of it occurs, word for word. One of fewer than `shortest` words is searched for only
    together with the beginning of its answer.

    N-grams that occur in more than `common` items are boilerplate ("which of the following statements is true"), and so
    are those with more repeated words than distinct ones; they count for no item. How frequent an n-gram is in the
    corpus makes no difference, so the result for a document depends on that document alone.

    `cut` removes the text from where the question would begin to where it would end, and `margin` words on either side;
    a document of which nothing is left is dropped. With `require_answer`, a question counts only where its answer
    occurs in the passage or within 100 words of it; a question without an answer counts by itself.

    Signals: `overlap`, of the best match, 0.0 without one; `benchmark` and `item` of that question, and the `passage`
    as the document has it, its first 60 words; `hits`: benchmark, item, overlap and number of n-grams found, for every
    question with `min_overlap`, the best first, null without any.

    Source: Brown et al. 2020 (GPT-3), arXiv:2005.14165, appendix C: n-grams of 8 to 13 words, the spans and 200
    characters on either side cut out; Touvron et al. 2023 (Llama 2), arXiv:2307.09288, appendix A.6: the share of the
    words that are in n-grams found
    """

    benchmarks: tuple[str, ...] | str  # JSON Lines files, compressed or not, folders of them, or patterns
    ngram: int = 8  # words
    min_overlap: float | None = 0.5  # share of the question's words
    shortest: int = 8  # words of a question that is searched for without its answer
    common: int = 10  # items that an n-gram may occur in
    require_answer: bool = False  # count a question only where its answer is near
    action: Literal["drop", "cut", "mark"] = "drop"  # drop the document, cut the passage out, or only record it
    margin: int = 30  # words cut on either side
    question: str = "question"  # the field of a line that holds it
    answer: str | None = "answer"  # a text, or with `choices` a letter or number; null if the files have none
    choices: str | None = None  # the field with the texts that `answer` chooses from
    id: str | None = "id"  # null: the number of the line

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        named = (self.benchmarks,) if isinstance(self.benchmarks, str) else tuple(self.benchmarks)
        object.__setattr__(self, "benchmarks", named)
        if not named:
            raise RecipeError("decontaminate/ngrams: benchmarks is empty; name JSON Lines files, or a folder of them")
        if not 1 <= self.shortest <= self.ngram <= WIDEST:
            raise RecipeError(
                f"decontaminate/ngrams: need 1 <= shortest <= ngram <= {WIDEST}, got shortest={self.shortest}, "
                f"ngram={self.ngram}"
            )
        if self.min_overlap is not None and not 0 < self.min_overlap <= 1:
            raise RecipeError(f"decontaminate/ngrams: min_overlap is a share above 0, up to 1, got {self.min_overlap}")
        if self.common < 1:
            raise RecipeError(f"decontaminate/ngrams: common is at least 1, got {self.common}: nothing would be found")
        if self.margin < 0:
            raise RecipeError(f"decontaminate/ngrams: margin is at least 0 words, got {self.margin}")
        if self.action == "cut" and self.min_overlap is None:
            raise RecipeError("decontaminate/ngrams: action cut needs min_overlap, to know what to cut")
        if self.require_answer and self.answer is None:
            raise RecipeError(
                "decontaminate/ngrams: require_answer needs the field of the answer; name it with answer: …"
            )
        files(named)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """That of `min_overlap` if the action is to drop: where it cuts, another bound would give another text."""
        return (Rule("min_overlap", "overlap", ">="),) if self.action == "drop" else ()

    @property
    def assets(self) -> tuple[str, ...]:
        return tuple(map(str, files(tuple(self.benchmarks))))

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        text, items = docs["text"], self._items()
        passages = find_items(fold(text), items.index)
        if self.require_answer:
            near = places(text, passages, passages["first"] - REACH, passages["end"] + REACH)
            answered = [items.answered(item, around) for item, around in zip(passages["item"], texts_at(text, near))]
            passages = passages[np.array(answered, bool)]
        overlap = passages["covered"] / items.index.words[passages["item"]]
        changed = docs
        if self.action == "cut" and self.min_overlap is not None:
            changed = with_text(docs, self._cut(text, passages[overlap >= self.min_overlap]))
        for name, column in columns(text, items, passages, overlap, self.min_overlap).items():
            changed = changed.append_column(name, column)
        return changed

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.rules, signals)

    def _items(self) -> Benchmarks:
        fields = Fields(self.question, self.answer, self.choices, self.id)
        return benchmarks(tuple(self.benchmarks), fields, self.ngram, self.shortest, self.common)

    def _cut(self, text: pa.LargeStringArray, passages: NDArray[Any]) -> pa.LargeStringArray:
        """The texts without the passages; null where no words are left."""
        begin = passages["first"] - passages["at"] - self.margin
        end = passages["end"] + passages["left"] + self.margin
        spans = merged(places(text, passages, begin, end))
        rest = replace_spans(text, spans, pa.array([""] * len(spans), pa.large_string()))
        shorter = np.zeros(len(text), bool)
        shorter[spans[:, 0]] = True
        return masked(rest, pa.array(shorter), lambda cut: pc.if_else(pc.equal(fold(cut), ""), None, cut))


def columns(
    text: pa.LargeStringArray,
    items: Benchmarks,
    passages: NDArray[Any],
    overlap: NDArray[np.float64],
    least: float | None,
) -> dict[str, pa.Array]:
    """The signals of a batch from the passages in it; `least` is the overlap of a hit."""
    document, item = passages["document"], passages["item"]
    order = np.lexsort((passages["first"], item, -passages["covered"], -overlap, document))
    _, first_of_pair = np.unique(np.stack([document[order], item[order]]), axis=1, return_index=True)
    order = order[np.sort(first_of_pair)]
    passages, overlap, document, item = passages[order], overlap[order], document[order], item[order]

    named, share = pa.array(item, pa.int32()), pa.array(overlap)
    benchmark, name = items.benchmark.take(named), items.id.take(named)
    hits = pa.StructArray.from_arrays([benchmark, name, share, pa.array(passages["grams"])], fields=list(HIT))
    hits = hits.filter(pa.array(overlap >= (least or 0.0)))
    ends = np.searchsorted(document[overlap >= (least or 0.0)], np.arange(len(text) + 1))

    documents, best = np.unique(document, return_index=True)
    shown = passages[best]
    evidence = texts_at(text, places(text, shown, shown["first"], np.minimum(shown["end"], shown["first"] + SHOWN)))
    row = np.full(len(text), -1)  # of each document in the arrays of best matches; -1 becomes null
    row[documents] = np.arange(len(documents))
    at = pa.array(row, mask=row < 0)
    chosen = pa.array(best)
    return {
        "overlap": pc.fill_null(share.take(chosen).take(at), 0.0),
        "benchmark": benchmark.take(chosen).take(at),
        "item": name.take(chosen).take(at),
        "passage": pa.array(evidence, pa.string()).take(at),
        "hits": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), hits, mask=pa.array(ends[1:] == ends[:-1])),
    }


def places(
    text: pa.LargeStringArray, passages: NDArray[Any], first: NDArray[np.int32], end: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(passages, 3) document, first byte and end of the words [first, end) of each, within the bounds of the
    document."""
    documents, row = np.unique(passages["document"], return_inverse=True)
    words, offsets = folded_words(text.take(pa.array(documents)))
    base, count = offsets[row], np.diff(offsets)[row]
    start = words[base + np.maximum(first, 0), 0]
    stop = words[base + np.minimum(end, count) - 1, 1]
    return np.stack([passages["document"].astype(np.int64), start, stop], axis=1)


def texts_at(text: pa.LargeStringArray, spans: NDArray[np.int64]) -> list[str]:
    """The text of each of the spans: document, first byte, end."""
    data, offsets = view(text)
    return [data[offsets[d] + start : offsets[d] + stop].tobytes().decode() for d, start, stop in spans.tolist()]


def merged(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """The spans in order, as `replace_spans` takes them; those that touch or overlap are merged."""
    disjoint: list[list[int]] = []
    for document, start, stop in sorted(spans.tolist()):
        if disjoint and disjoint[-1][0] == document and start <= disjoint[-1][2]:
            disjoint[-1][2] = max(disjoint[-1][2], stop)
        else:
            disjoint.append([document, start, stop])
    return np.array(disjoint, np.int64).reshape(-1, 3)
