"""RefinedWeb's line rules: remove the boilerplate lines of web pages, and drop pages with too much of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.measures import ratio
from corpusmill.steps.verdict import Rule, failing, only
from corpusmill.text.replace import replace_spans
from corpusmill.text.rewrite import with_text
from corpusmill.text.shapes import line_shapes, line_texts


@dataclass(frozen=True, kw_only=True)
class RefinedwebLines:
    """Remove or cut boilerplate lines, then drop documents that lose too many of their words.

    The first of these rules that a line matches removes it:

        max_uppercase   more than this share of its characters, white space not counted, are capitals
        numeric         it has digits and no letters: "12/03/2014"; "1 2 3 Next" is kept
        counters        it is nothing but counters of these words: "3 likes", "1.2k views | 14 shares", "Comments (5)"
        one_word        it is one word

    From the other lines of at most `phrase_words` words, phrases are cut, with the separators around them: `at_start`
    where a line begins with one, `at_end` where it ends with one, `anywhere` with a number before it. A line that keeps
    no letter and no digit is removed. Case is ignored; a phrase is whole words, except in scripts without spaces. A
    document that loses more than `max_words_removed` of its words is dropped with all its lines. The lists are English.

    Signals: `words_removed_ratio`; `lines_uppercase`, `lines_numeric`, `lines_counter`, `lines_one_word`; `lines_cut`:
    lines that lost a phrase.

    Source: Penedo et al. 2023 (RefinedWeb), arXiv:2306.01116, section 3.2 and appendix G.2
    """

    max_uppercase: float | None = 0.5  # share of a line's characters
    numeric: bool = True
    one_word: bool = True
    counters: tuple[str, ...] = (
        *("like", "likes", "share", "shares", "comment", "comments", "reply", "replies", "response", "responses"),
        *("view", "views", "vote", "votes", "point", "points", "review", "reviews", "rating", "ratings"),
        *("follower", "followers", "following", "subscriber", "subscribers", "member", "members"),
        *("tweet", "tweets", "retweet", "retweets", "post", "posts", "download", "downloads"),
    )
    phrase_words: int = 10  # of the longest line that phrases are cut from
    at_start: tuple[str, ...] = (
        *("sign in", "sign-in", "sign up", "sign-up", "log in", "log-in", "log out", "skip to content"),
        *("skip to main content", "skip navigation", "share this", "follow us", "back to top", "leave a comment"),
    )
    at_end: tuple[str, ...] = (
        *("read more", "read the full story", "continue reading", "learn more", "see more", "show more", "view more"),
        *("load more", "more info", "click here", "see all", "view all", "sign in", "log in"),
    )
    anywhere: tuple[str, ...] = (
        *("item in cart", "items in cart", "item in your cart", "items in your cart", "your cart is empty"),
        *("add to cart", "add to wishlist", "share on facebook", "share on twitter", "email this", "print this page"),
    )
    max_words_removed: float | None = 0.05  # share of the document's words
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("max_words_removed", "words_removed_ratio", ">"),)
    SWITCHES: ClassVar[tuple[str, ...]] = (
        *("max_uppercase", "numeric", "one_word", "counters", "at_start", "at_end", "anywhere", "max_words_removed"),
    )

    def __post_init__(self) -> None:
        only(self, "clean/refinedweb_lines")
        for name in ("max_uppercase", "max_words_removed"):
            if (share := getattr(self, name)) is not None and not 0 <= share <= 1:
                raise RecipeError(f"clean/refinedweb_lines: {name} is a share from 0 to 1, got {share}")
        if self.phrase_words < 0:
            raise RecipeError(f"clean/refinedweb_lines: phrase_words must be at least 0, got {self.phrase_words}")
        for name in ("counters", "at_start", "at_end", "anywhere"):
            for phrase in getattr(self, name):
                if phrase != phrase.strip() or not any(map(str.isalnum, phrase)):
                    raise RecipeError(
                        f'clean/refinedweb_lines: {name} has "{phrase}"; a phrase has a letter or digit, and no white '
                        "space at its ends"
                    )

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        text = docs["text"]
        lines = line_shapes(text)
        rule = self._rules(text, lines)
        phrased, shortened = self._cut(text, lines, rule)
        removed, removed_words = rule != KEPT, np.where(rule != KEPT, lines["words"], 0)
        removed[phrased] = pc.equal(shortened, "").to_numpy(zero_copy_only=False)
        removed_words[phrased] = lines["words"][phrased] - [len(line.split()) for line in shortened.to_pylist()]

        def per_document(values: Any) -> NDArray[np.int64]:
            return np.bincount(lines["document"], values, len(docs)).astype(np.int64)

        lost = ratio(per_document(removed_words), per_document(lines["words"]))
        remove_blank_ends(lines, removed)
        spans, replacements = edits(lines, removed, phrased, shortened)
        cleaned = replace_spans(text, spans, replacements)
        if self.max_words_removed is not None:
            cleaned = pc.if_else(pa.array(lost > self.max_words_removed), text, cleaned)
        cut = np.zeros(len(lines), bool)
        cut[phrased] = True
        signals: dict[str, Any] = {"words_removed_ratio": lost}
        signals |= {f"lines_{name}": per_document(rule == number) for name, number in RULES.items()}
        signals |= {"lines_cut": per_document(cut)}
        changed = with_text(docs, cleaned)
        for name, column in signals.items():
            changed = changed.append_column(name, pa.array(column))
        return changed

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)

    def _rules(self, text: pa.LargeStringArray, lines: NDArray[Any]) -> NDArray[np.uint8]:
        """(lines,) the number of the rule that removes each line, KEPT where none does."""
        rule = np.full(len(lines), KEPT, np.uint8)
        words, chars, capitals = lines["words"], lines["chars"], lines["capitals"]

        def take(name: str, hits: NDArray[np.bool_]) -> None:
            rule[hits & (rule == KEPT)] = RULES[name]

        if self.max_uppercase is not None:
            take("uppercase", capitals > self.max_uppercase * chars)
        if self.numeric:
            take("numeric", (lines["digits"] > 0) & (lines["letters"] == 0))
        if self.counters:
            names = alternatives(self.counters, spaced=False)
            counter = rf"(?:{NUMBER}\+?\s*{names}|{names}[\s:(]*{NUMBER}\b)"
            at = np.flatnonzero((rule == KEPT) & (lines["digits"] > 0) & (words <= 10))
            counts = pc.match_substring_regex(
                line_texts(text, lines[at]), rf"(?i)\A{END}*{counter}(?:{BETWEEN}{counter})*{END}*\z"
            )
            hits = np.zeros(len(lines), bool)
            hits[at] = counts.to_numpy(zero_copy_only=False)
            take("counter", hits)
        if self.one_word:
            take("one_word", words == 1)
        return rule

    def _cut(
        self, text: pa.LargeStringArray, lines: NDArray[Any], rule: NDArray[np.uint8]
    ) -> tuple[NDArray[np.intp], pa.LargeStringArray]:
        """The numbers of the lines that hold a phrase, and what is left of each."""
        patterns = [
            f"(?i){before}{alternatives(phrases)}{after}"
            for phrases, before, after in (
                (self.at_start, rf"\A{EDGE}*", f"(?:{EDGE}|[.!,])*"),
                (self.at_end, f"{EDGE}*", rf"{END}*\z"),
                (self.anywhere, rf"{EDGE}*(?:\b[0-9]+ ?)?", f"{EDGE}*"),
            )
            if phrases
        ]
        at = np.flatnonzero((rule == KEPT) & (lines["words"] > 0) & (lines["words"] <= self.phrase_words))
        short = line_texts(text, lines[at])
        if not patterns:
            return at[:0], short[:0]
        # One pass for all patterns finds the few lines that have any.
        hit = pc.match_substring_regex(short, "|".join(patterns))
        at, shortened = at[hit.to_numpy(zero_copy_only=False)], short.filter(hit)
        for pattern in patterns:
            shortened = pc.replace_substring_regex(shortened, pattern, " ")
        shortened = pc.utf8_trim_whitespace(shortened)
        return at, pc.if_else(pc.match_substring_regex(shortened, r"[\pL\pN]"), shortened, "")


RULES = {"uppercase": 0, "numeric": 1, "counter": 2, "one_word": 3}
KEPT = len(RULES)

# Between a phrase and the rest of its line; the full stop of a sentence before it is kept.
EDGE = "[ \\t\\x{a0}|>»›•·–—…:()\\[\\]-]"
END = r"[\s\x{a0}\pP\pS]"  # after the last phrase of a line, or around counters
BETWEEN = rf"[\pP\pS]*[\s\x{{a0}}|/·•]{END}*"  # between two counters; the point in "12.5k" does not make two
NUMBER = r"[0-9][0-9.,]*(?:\s?[kmb]\b)?"


SPACELESS = re.compile(  # scripts whose words are not separated: Thai, Lao, Myanmar, Khmer, kana, Han
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def alternatives(phrases: Sequence[str], spaced: bool = True) -> str:
    """A pattern of whole words for any of the phrases, the longest that matches.

    spaced   whether letters beyond ASCII need a separator beside them; RE2's \\b knows words of ASCII alone
    """
    ordered = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return f"(?:{'|'.join(_bounded(phrase, spaced) for phrase in ordered)})"


def _bounded(phrase: str, spaced: bool) -> str:
    def side(letter: str, separated: str) -> str:
        if re.match(r"\w", letter, re.ASCII):
            return r"\b"
        return separated if spaced and letter.isalnum() and not SPACELESS.match(letter) else ""

    return side(phrase[0], rf"(?:\A|{EDGE})") + re.escape(phrase) + side(phrase[-1], rf"(?:\z|{EDGE}|[\pP\pS])")


def remove_blank_ends(lines: NDArray[Any], removed: NDArray[np.bool_]) -> None:
    """Mark the blank lines, too, that would begin or end a document because lines before or after them are removed."""
    if not len(lines):
        return
    document = lines["document"].astype(np.int64)
    number = np.arange(len(lines))
    filled = np.flatnonzero(~removed & (lines["words"] > 0))
    documents = int(document[-1]) + 1
    first, last = np.full(documents, len(lines)), np.full(documents, -1)
    np.minimum.at(first, document[filled], filled)
    np.maximum.at(last, document[filled], filled)
    for outside in (number < first[document], number > last[document]):
        cut = np.bincount(document[outside & removed], minlength=documents) > 0
        removed |= outside & cut[document] & (lines["words"] == 0)


def edits(
    lines: NDArray[Any], removed: NDArray[np.bool_], changed: NDArray[np.intp], texts: pa.LargeStringArray
) -> tuple[NDArray[np.int64], pa.LargeStringArray]:
    """Spans and replacements, as `replace_spans` takes them, that leave "\\n".join(kept lines).

    removed   (lines,) which lines are removed
    changed   numbers of lines that get other texts; those of them that are removed are ignored
    """
    document, begin, end = (lines[name].astype(np.int64) for name in ("document", "begin", "end"))
    last = np.full(document[-1] + 1 if len(lines) else 0, -1)  # kept line of each document, -1 where it keeps none
    np.maximum.at(last, document[~removed], np.flatnonzero(~removed))
    # A line is removed with its line feed. After the last kept line, it is removed with the one before it.
    cut = np.flatnonzero(removed)
    behind = cut > last[document[cut]]
    final = np.append(document[1:] != document[:-1], True)[cut]  # the last line of its document has no line feed
    nothing_kept = last[document[cut]] < 0
    start = begin[cut] - (behind & ~nothing_kept)
    stop = end[cut] + ~((behind & ~nothing_kept) | final)
    remaining = ~removed[changed]
    edited = changed[remaining]
    spans = np.concatenate(
        [
            np.column_stack([document[cut], start, stop]),
            np.column_stack([document[edited], lines["start"][edited], lines["stop"][edited]]),
        ]
    )
    replacements = pa.concat_arrays([pa.array([""] * len(cut), pa.large_string()), texts.filter(pa.array(remaining))])
    order = np.argsort(np.concatenate([cut, edited]))
    return spans[order].astype(np.int64), replacements.take(pa.array(order))
