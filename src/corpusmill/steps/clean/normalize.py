"""Give text that looks equal the same bytes: entities, invisible characters, Unicode forms and white space."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.text.blanks import ALL_LINES, WhiteSpace, lay_out
from corpusmill.text.characters import (
    BEYOND_ASCII,
    ENTITY,
    INVISIBLE,
    LINE_END,
    SPACE,
    UNSURE,
    kinds_in,
    replace_kinds,
)
from corpusmill.text.entities import decode_entities
from corpusmill.text.rewrite import masked, with_text

Form = Literal["NFC", "NFKC"]


@dataclass(frozen=True, kw_only=True)
class Normalize:
    """Bring text to one form, so that what looks equal is equal. Each part can be switched off; they run in this order:

    entities          `&eacute;`, `&#233;` and `&#xE9;` become "é", once: `&amp;lt;` becomes `&lt;`; only what ends with
                      ";"
    controls          every line end becomes \\n; control characters, soft hyphens and characters without width are
                      removed, but the joiners U+200C and U+200D of Persian, Indic scripts and emoji
    form              Unicode normal form; NFKC also unfolds ligatures, full-width letters and superscripts, which
                      changes formulas
    ascii             accents are removed, typographic quotes and dashes become ASCII ones, all else beyond ASCII is
                      removed; seldom right: it empties most languages and changes names, formulas ("x²" is "x2") and
                      prices
    spaces            every kind of space becomes U+0020, runs of them one; ends of lines and of the text are trimmed
    indentation       kept; False removes it
    max_blank_lines   longer runs of blank lines are cut to this many

    Clean text keeps its bytes, at 1 to 4 GB/s; documents that change in the normal form are slow, 50 MB/s. Put
    `clean/mojibake` before this step: it needs the control characters U+0080 to U+009F.
    """

    entities: bool = True
    controls: bool = True
    form: Form | None = "NFC"
    ascii: bool = False
    spaces: bool = True
    indentation: bool = True
    max_blank_lines: int | None = 2

    def __post_init__(self) -> None:
        if self.form is not None and self.form not in get_args(Form):
            raise RecipeError(f"clean/normalize: form must be NFC, NFKC or null, got {self.form!r}")
        if self.max_blank_lines is not None and self.max_blank_lines < 0:
            raise RecipeError(f"clean/normalize: max_blank_lines must be at least 0, got {self.max_blank_lines}")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        if not len(docs):  # needs no table of characters
            return docs
        texts = docs["text"]
        replaced, others = None, None
        suspects = kinds_in(texts, self._character_kinds()) != 0
        if suspects.any():
            before = texts.filter(pa.array(suspects))
            after = self._repaired(before)
            if not after.equals(before):
                replaced, others = suspects, after
        newlines = ALL_LINES if self.max_blank_lines is None else self.max_blank_lines + 1
        new = lay_out(texts, WhiteSpace(self.spaces, self.indentation, newlines), replaced, others)
        return docs if new is texts else with_text(docs, new)

    def _character_kinds(self) -> int:
        """What a text must contain for more than its spaces, tabs and ends of lines to change."""
        kinds = self._removed()
        if self.entities:
            kinds |= ENTITY
        if self.form is not None:
            kinds |= MAY_CHANGE[self.form]
        if self.ascii:
            kinds |= BEYOND_ASCII
        return kinds

    def _removed(self) -> int:
        """The kinds of characters to replace before the normal form, which neither makes one nor needs one."""
        removed = 0
        if self.controls:
            removed |= LINE_END | INVISIBLE
        if self.spaces and not self.ascii:  # `in_ascii` makes U+0020 of all of them but U+1680, which it removes
            removed |= SPACE
        return removed

    def _repaired(self, texts: pa.Array) -> pa.Array:
        if self.entities:
            texts = decode_entities(texts)
        if removed := self._removed():
            texts = replace_kinds(texts, removed)
        if self.form is not None:
            texts = with_kind(texts, MAY_CHANGE[self.form], partial(in_form, form=self.form))
        if self.ascii:
            texts = with_kind(texts, BEYOND_ASCII, in_ascii)
        return texts


MAY_CHANGE = {"NFC": UNSURE, "NFKC": BEYOND_ASCII}


def with_kind(texts: pa.Array, kind: int, rewrite: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """`rewrite` of the texts with a character of this kind, the others as they are."""
    return masked(texts, pa.array(kinds_in(texts, kind) != 0), rewrite)


def in_form(texts: pa.Array, form: Form) -> pa.Array:
    # Not by pc.utf8_normalize: in pyarrow before 26, its NFC does not compose.
    return pa.array([unicodedata.normalize(form, text) for text in texts.to_pylist()], texts.type)


# What has no decomposition to ASCII, and looks like an ASCII character: quotes, double quotes, dashes, slashes.
LOOKS_ASCII = (
    dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032"), "'")
    | dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"), '"')
    | dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
    | dict.fromkeys(map(ord, "\u2044\u2215"), "/")
)


def in_ascii(texts: pa.Array) -> pa.Array:
    # NFKD takes letters and accents apart; the accents are then among what is not ASCII.
    taken_apart = (unicodedata.normalize("NFKD", text).translate(LOOKS_ASCII) for text in texts.to_pylist())
    return pa.array([text.encode("ascii", "ignore").decode() for text in taken_apart], texts.type)
