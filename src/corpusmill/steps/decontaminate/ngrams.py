"""Does a document contain the question of a benchmark?"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import AssetError, RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.decontaminate._benchmarks import INDEXING, Benchmarks, benchmarks, count_too_short, files
from corpusmill.steps.decontaminate._evidence import Match, columns, matches, merged, nothing_found, places, with_marks
from corpusmill.steps.decontaminate._items import Fields, FieldsOfFiles, name_of, read_items
from corpusmill.steps.verdict import Rule, failing
from corpusmill.text.compile import cache_folder
from corpusmill.text.fold import fold
from corpusmill.text.loosened import Loosened, loosened
from corpusmill.text.overlap import WIDEST, find_items
from corpusmill.text.replace import replace_spans
from corpusmill.text.rewrite import masked, with_text
from corpusmill.text.shapes import span_texts
from corpusmill.text.warming import is_warm

MANY_SHORT = 0.1  # share of the items; that many are a warning
REACH = 100  # words before and after a question that are searched for its answer


@dataclass(frozen=True, kw_only=True)
class Ngrams:
    """Find documents that contain questions of benchmarks, and drop them, cut the passages out, or only mark them.

    Question and document are folded (case, accents, punctuation, white space, width, what is not seen, words divided at
    ends of lines; every number is 0) and compared by n-grams of words. In Chinese and Japanese letters are compared, of
    `ngram` and `shortest` 1.5 times as many; in Thai, Lao, Burmese and Khmer 3 times. `overlap` is the share of the
    question's words, boilerplate aside, that are in n-grams found in one passage of the document; at `min_overlap` for
    any question it is dropped. A question of fewer than `shortest` words is searched for only together with the
    beginning of its answer.

    With `misspelt`, a question of W words, 6 to 24, is also found where W // 3 - 1 of its words are wrong: misspelt
    (one letter, or two of 8 and more), split, joined, additional, missing or replaced. Words missing or replaced may
    have a tenth of the question's weight, log2(items / items with the word), or half where what replaces them is no
    word of two items. Shorter questions than `ngram` match only so or, without `misspelt`, word for word.

    N-grams and questions in more than `common` items ("which of the following statements is true"), and those with more
    repeated words than distinct ones, are boilerplate and count for no item. But 13 words of boilerplate in a row, or
    an n-gram if that is longer, are a template, which counts for the question with the largest share of its n-grams
    there.

    `cut` removes the text from where the question would begin to where it would end, and `margin` words on either side.
    With `require_answer`, a question counts only where one of its answers is in the passage or within 100 words of it.
    Text of `context` fields and of `corpus_material` is recorded, and no reason to drop or cut.

    Signals: `overlap`, of the best match; `benchmark` and `item` of that question, what is `asked` and the `passage`
    (60 words each), with the 20 words `before` and `after`; `hits`: benchmark, item, overlap, number of n-grams found,
    words found in a `template` alone, for every question with `min_overlap`; `material`: the same of corpus material.

    Source: Brown et al. 2020 (GPT-3), arXiv:2005.14165, appendix C; Touvron et al. 2023 (Llama 2), arXiv:2307.09288,
    appendix A.6
    """

    benchmarks: tuple[str, ...] | str  # JSON Lines or Parquet files, folders of them, or patterns
    ngram: int = 8  # words
    min_overlap: float | None = 0.5  # share of the question's words
    shortest: int = 6  # words of a question that is searched for without its answer
    misspelt: bool = True  # find questions of 6 to 24 words with a few words misspelt or replaced
    common: int = 10  # items that an n-gram may occur in
    require_answer: bool = False  # count a question only where its answer is near
    action: Literal["drop", "cut", "mark"] = "drop"  # drop the document, cut the passage out, or only record it
    margin: int = 30  # words cut on either side
    question: str = "question"  # the field of a line or row that holds it; a dot leads into a field: `question.text`
    answer: tuple[str, ...] | str | None = "answer"  # a text, a number, or a list of which any is right; fields of such
    choices: str | None = None  # the field with the texts that `answer` chooses from
    id: str | None = "id"  # null: the number of the line or row
    context: str | None = None  # the field of the text that questions are about, to search for it too
    fields: tuple[tuple[str, Fields], ...] = ()  # by the name of a benchmark, or a pattern: its fields instead of those
    corpus_material: tuple[str, ...] = ()  # benchmarks, or benchmark/id, that are public text: found, and kept

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        names = (self.benchmarks,) if isinstance(self.benchmarks, str) else tuple(self.benchmarks)
        object.__setattr__(self, "benchmarks", names)
        if not names:
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
        self._check_names([name_of(path) for path in files(names)])

    @property
    def rules(self) -> tuple[Rule, ...]:
        """That of `min_overlap` if the action is to drop: where it cuts, another bound would give another text."""
        return (Rule("min_overlap", "overlap", ">="),) if self.action == "drop" else ()

    @property
    def assets(self) -> tuple[str, ...]:
        return tuple(map(str, files(tuple(self.benchmarks))))

    @property
    def remarks(self) -> tuple[str, ...]:
        try:
            short, all_items = count_too_short(tuple(self.benchmarks), self._mapping(), self.ngram, self.shortest)
        except AssetError:
            return ()  # which is said where the items are needed
        remark = (
            f"{short:,} of {all_items:,} items of the benchmarks have fewer than {self.shortest} words with their "
            "answer, and are not searched for. In scripts without spaces, 1.5 "
            "letters count as a word in Chinese and Japanese, and 3 in others"
        )
        if not short:
            return ()
        return (f"warning: {remark}" if short > MANY_SHORT * all_items else remark,)

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        if not len(docs):
            self._check_items()
            return _with_columns(docs, nothing_found(0))
        text, items = loosened(docs["text"]), self._items()
        passages = self._passages(text, items)
        min_overlap = self.min_overlap or 0.0
        evidence = columns(text, items, passages, min_overlap) if len(passages) else nothing_found(len(docs))
        changed = docs
        if self.action == "cut" and len(passages):
            enough = items.overlap(passages) >= min_overlap
            changed = with_text(docs, self._cut(text, passages[enough & ~items.material[passages["item"]]]))
        return _with_columns(changed, evidence)

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.rules, signals)

    def matches(self, text: str) -> list[Match]:
        """Where the items are in a text: what the signals of a document with this text tell of.

        Raises AssetError if the benchmarks cannot be read.
        """
        array, items = loosened(pa.array([text], pa.large_string())), self._items()
        return matches(array, items, self._passages(array, items), self.min_overlap or 0.0)

    def _passages(self, text: Loosened, items: Benchmarks) -> NDArray[Any]:
        folded = fold(text.texts)
        passages = find_items(folded, items.index, items.near)
        rows = np.flatnonzero(text.divided()) if items.by_letter else np.empty(0, np.int64)
        if len(rows):
            some = folded.take(pa.array(rows))
            found = [find_items(some, index) for index in items.by_letter]
            for own in found:
                own["document"] = rows[own["document"]]
            passages = np.concatenate([passages, *found])
            passages = passages[np.lexsort([passages[field] for field in ("first", "item", "document")])]
        if self.require_answer and len(passages):
            spans = places(text, passages, passages["first"] - REACH, passages["end"] + REACH)
            around = loosened(span_texts(text.before, *spans.T)).texts.to_pylist()
            answered = [items.answered(item, nearby) for item, nearby in zip(passages["item"], around)]
            passages = passages[np.array(answered, bool)]
        return passages

    def _check_items(self) -> None:
        """Raises AssetError if the benchmarks cannot be read or, where kernels are compiled, nothing can be found of
        them: `check` does not wait for minutes."""
        if cache_folder() is None or is_warm(INDEXING):
            self._items()  # its index is made here, before units begin
        else:
            read_items(files(tuple(self.benchmarks)), self._mapping())

    def _mapping(self) -> FieldsOfFiles:
        others = Fields(
            question=self.question, answer=self.answer, choices=self.choices, id=self.id, context=self.context
        )
        return FieldsOfFiles(others, self.fields)

    def _items(self) -> Benchmarks:
        return benchmarks(
            tuple(self.benchmarks),
            self._mapping(),
            self.ngram,
            self.shortest,
            self.common,
            self.misspelt,
            self.corpus_material,
        )

    def _check_names(self, names: list[str]) -> None:
        """Raises RecipeError if fields or corpus_material name a benchmark that no file is of."""
        for parameter, patterns in (
            ("fields", [name for name, _ in self.fields]),
            ("corpus_material", self.corpus_material),
        ):
            for pattern in patterns:
                if not any(fnmatchcase(name, pattern) or fnmatchcase(pattern, f"{name}/*") for name in names):
                    raise RecipeError(
                        f'decontaminate/ngrams: {parameter} names "{pattern}", which is none of the benchmarks'
                        f"{did_you_mean(pattern, names) or '.'} They are: {', '.join(names)}."
                    )

    def _cut(self, loose: Loosened, passages: NDArray[Any]) -> pa.LargeStringArray:
        """The texts without the passages; null where no words are left."""
        begin = passages["first"] - passages["at"] - self.margin
        end = passages["end"] + passages["left"] + self.margin
        text = loose.before
        spans = merged(with_marks(text, places(loose, passages, begin, end)))
        remaining = replace_spans(text, spans, pa.array([""] * len(spans), pa.large_string()))
        shorter = np.zeros(len(text), bool)
        shorter[spans[:, 0]] = True
        return masked(remaining, pa.array(shorter), lambda cut: pc.if_else(pc.equal(fold(cut), ""), None, cut))


def _with_columns(docs: pa.RecordBatch, added: dict[str, pa.Array]) -> pa.RecordBatch:
    for name, column in added.items():
        docs = docs.append_column(name, column)
    return docs
