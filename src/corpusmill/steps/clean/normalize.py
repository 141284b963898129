"""Give text that looks equal the same bytes: entities, invisible characters, Unicode forms and white space."""

import html
import re
import unicodedata
from dataclasses import dataclass
from functools import partial
from html.entities import html5
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.text.rewrite import beyond_ascii, substitute, where, with_text

Form = Literal["NFC", "NFKC"]


@dataclass(frozen=True, kw_only=True)
class Normalize:
    """Bring text to one form, so that what looks equal is equal. Each part can be switched off; they run in this order:

    entities          `&eacute;`, `&#233;` and `&#xE9;` become "é", once: `&amp;lt;` becomes `&lt;`. Only what ends
                      with ";" and is defined by HTML5 is an entity.
    controls          \\r\\n, \\r, form feeds and Unicode's line and paragraph separators become \\n; other control
                      characters, soft hyphens and characters without width are removed. The joiners U+200C and U+200D
                      are kept: Persian, Indic scripts and emoji are spelled with them.
    form              Unicode normal form; NFKC also unfolds ligatures, full-width letters and superscripts, which
                      changes the meaning of formulas. None leaves it.
    ascii             off by default, and seldom right: accents are removed ("café" is "cafe"), typographic quotes and
                      dashes become ASCII ones, and every other character beyond ASCII is removed, which empties most
                      languages and changes names, formulas ("x²" is "x2") and prices ("€5" is "5") in the rest.
    spaces            every kind of space becomes U+0020; a run of spaces or tabs within a line becomes one space;
                      the end of each line and both ends of the text are trimmed.
    indentation       kept, because it means something in code and lists; False removes it, and then a tab between words
                      becomes a space, too.
    max_blank_lines   longer runs of blank lines are cut to this many; None leaves them.

    Text that needs none of this keeps its bytes and costs one scan: 500 MB/s on clean ASCII text, 150 MB/s where four
    documents in ten need work. Control characters in U+0080 to U+009F are often mojibake: if you use `clean/mojibake`,
    put it before this step.
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
        # One scan with all patterns together finds the documents that need work: 600 MB/s, five scans make 130.
        if suspects := "|".join(self._patterns()):
            return with_text(docs, where(docs["text"], suspects, self._repair))
        return docs

    def _patterns(self) -> list[str]:
        """What a text must contain for this step to change it."""
        parts: list[str] = []
        if self.entities:
            parts += [ENTITY]
        if self.controls:
            parts += [LINE_END, INVISIBLE]
        if self.form is not None:
            parts += [NOT_SURELY_NFC if self.form == "NFC" else NOT_ASCII]
        if self.ascii:
            parts += [NOT_ASCII]
        if self.spaces:
            parts += [UNTIDY]
        if not self.indentation:
            parts += [INDENTED]
        if self.max_blank_lines is not None:
            parts += ["\n" * (self.max_blank_lines + 2)]
        return parts

    def _repair(self, text: pa.Array) -> pa.Array:
        if self.entities:
            text = where(text, ENTITY, unescape)
        if self.controls:
            text = where(text, f"{LINE_END}|{INVISIBLE}", visible)
        if self.form is not None:
            text = beyond_ascii(text, partial(in_form, form=self.form))
        if self.ascii:
            text = where(text, NOT_ASCII, in_ascii)
        if self.spaces:
            text = tidy(text)
        if not self.indentation:
            text = pc.replace_substring(substitute(text, r"(\A|\n)[ \t]+", r"\1"), "\t", " ")
        if self.max_blank_lines is not None:
            most = "\n" * (self.max_blank_lines + 1)
            text = substitute(text, f"{most}\n+", most)
        return text


ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_ENTITY = re.compile(ENTITY)

LINE_END = r"\r\n?|[\x0b\x0c\x{85}\x{2028}\x{2029}]"
INVISIBLE = (
    r"[\x00-\x08\x0e-\x1f\x7f-\x{84}\x{86}-\x{9f}"  # controls, without \t, \n and the line ends above
    r"\x{ad}\x{200b}\x{2060}-\x{2064}\x{feff}"  # soft hyphen, spaces and operators without width, byte order mark
    r"\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{206f}"  # marks of direction, deprecated format characters
    r"\x{fff9}-\x{fffb}\x{fdd0}-\x{fdef}\x{fffe}\x{ffff}]"  # interlinear annotation, noncharacters
)

# Text of these characters alone is in NFC: each is its own NFC form, and none combines with the character before it.
# Unicode guarantees that this never changes. Everything else (combining accents, most scripts of South Asia, Å the
# unit) is handed to the normalizer, which does 75 to 180 MB/s; this scan does 600.
NOT_SURELY_NFC = (
    r"[^\x00-\x{2ff}\x{370}-\x{373}\x{376}\x{377}\x{37a}-\x{37d}\x{384}-\x{386}\x{388}-\x{38a}\x{38e}-\x{3a1}"
    r"\x{3a3}-\x{482}\x{48a}-\x{52f}\x{2010}-\x{2027}\x{202f}-\x{205e}\x{20a0}-\x{20bf}\x{2150}-\x{2188}"
    r"\x{2190}-\x{2328}\x{232b}-\x{23f3}\x{2500}-\x{2adb}\x{3000}-\x{3029}\x{3041}-\x{3096}\x{309d}-\x{30ff}"
    r"\x{3400}-\x{4db5}\x{4e00}-\x{9fd5}\x{ac00}-\x{d7a3}\x{ff01}-\x{ffbe}\x{1f300}-\x{1f6c5}\x{1f900}-\x{1f9ff}]"
)

NOT_ASCII = r"[^\x00-\x7f]"

SPACES = r"[\x{a0}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]"
RUN = r"([^ \t\n])[ \t]{2,}"
INDENTED = r"(?:\A|\n)[ \t]|\t"
UNTIDY = rf"[ \t]\n|[^ \t\n][ \t][ \t]|\A\n|[ \t\n]\z|{SPACES}"


def in_form(text: pa.Array, form: Form) -> pa.Array:
    def normalize(texts: pa.Array) -> pa.Array:
        # Not by pc.utf8_normalize: in pyarrow before 26, its NFC does not compose.
        return pa.array([unicodedata.normalize(form, text) for text in texts.to_pylist()], texts.type)

    return where(text, NOT_SURELY_NFC if form == "NFC" else NOT_ASCII, normalize)


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


def unescape(texts: pa.Array) -> pa.Array:
    return pa.array([_ENTITY.sub(_character, text) for text in texts.to_pylist()], texts.type)


def _character(match: re.Match[str]) -> str:
    entity = match[0]
    return html.unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity


def visible(texts: pa.Array) -> pa.Array:
    return substitute(substitute(texts, LINE_END, "\n"), INVISIBLE, "")


def tidy(texts: pa.Array) -> pa.Array:
    texts = beyond_ascii(texts, lambda wide: substitute(wide, SPACES, " "))
    texts = substitute(texts, r"[ \t]+\n", "\n")
    texts = substitute(texts, RUN, r"\1 ")
    return pc.ascii_rtrim(pc.ascii_ltrim(texts, characters="\n"), characters=" \t\n")
