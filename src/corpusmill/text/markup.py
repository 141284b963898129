r"""Evidence of HTML in a text: its tags, among all that looks like tags, and whether they are arranged as markup.

`<` with a letter or a slash and a letter after it looks like a tag: `<p>`, `</div>`, `vector<int>`, `a<b`,
`<jane@example.org>`; `a < b` and `<=` do not. It is one if the name is HTML's, a space, a slash or `>` follows the
name, and `>` comes before the next `<`. Names are those of the HTML standard and of its obsolete elements; case is
ignored.
"""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, load8, lowest_bit
from corpusmill.text.rewrite import masked
from corpusmill.text.spans import below
from corpusmill.text.tags import GT, LONGEST_TAG, LT, SLASH, holds, is_name, name_size, name_table

# Elements that stand in lines of their own, and those that may only stand within such.
BLOCK_ELEMENTS = """
    address article aside blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset
    figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav
    noframes ol optgroup p plaintext pre search section summary table tbody td tfoot th thead tr ul xmp
"""
INLINE_ELEMENTS = """
    a abbr acronym applet area audio b base basefont bdi bdo bgsound big blink br button canvas cite code data datalist
    del dfn em embed font frame i iframe image img input ins kbd label link map mark marquee math meta meter nobr
    noembed noscript object option output param picture progress q rb rp rt rtc ruby s samp script select slot small
    source span strike strong style sub sup svg template textarea time title track tt u var video wbr
"""
MARKUP_NAMES = tuple(sorted(BLOCK_ELEMENTS.split() + INLINE_ELEMENTS.split()))


def _any(names: str) -> str:
    return f"(?:{'|'.join(names.split())})"


NAME, BLOCK = _any(" ".join(MARKUP_NAMES)), _any(BLOCK_ELEMENTS)
REST = r"(?:[\s/][^<>]*)?>"  # of a tag, after its name

QUOTED = r"(?ms:^[ \t]*```.*?^[ \t]*```)|`+[^`\n]+`+"
TAG_PATTERN = rf"(?i)</?{NAME}{REST}"
START = rf"(?i)\A\s*</?{BLOCK}{REST}"
# A single <p> or <source> may be a word about HTML, or of a usage line. An end tag, a line break or an attribute is
# hardly ever.
ARRANGED = rf"(?i)</{NAME}\s*>|<[bh]r\s*/?>|<{NAME}\s[^<>]*=[^<>]*>"
# White space, a byte order mark, an XML declaration and comments may stand before the beginning of a page.
PAGE = r"(?i)\A(?:\s|\x{feff}|<\?xml[^<>]*>|<!--(?s:.*?)-->)*<(?:!doctype\s+html|html)(?:\s[^<>]*)?>"
NOT_PROSE = "|".join(
    rf"<{name}(?:\s[^<>]*)?>.*?</{name}\s*>" for name in ("script", "style", "pre", "code", "textarea")
)
WITHIN = rf"(?is){NOT_PROSE}|<!--.*?-->|</?{NAME}{REST}"
# What a text shows, and is not to be taken for a tag again.
SHOWN = rf"(?i)<([!?]|/?{NAME}(?:[\s/>]|$))"


_openings = simd.masks(simd.equal("<"))


def may_be_markup(texts: pa.LargeStringArray) -> pa.BooleanArray:
    """Which documents hold a tag, whether or not it is closed, a comment or a document type: false for null. Found at
    the speed of memory; nothing else can be markup."""
    return pa.array(holds(texts, _names()))


def tag_counts(texts: pa.LargeStringArray) -> tuple[pa.Int64Array, pa.Int64Array]:
    """How many tags each document has, and how much of it looks like a tag, tags among that; null for null."""
    text = view(texts)
    counts = np.zeros((2, len(text.offsets) - 1), np.int64)
    _count_tags(text, _names(), counts)
    null = texts.is_null().to_numpy(zero_copy_only=False)
    tags, alike = (pa.array(count, mask=null) for count in counts)
    return tags, alike


@cache
def _names() -> UInt64s:
    return name_table(MARKUP_NAMES)


@kernel
def _count_tags(text: TextBuffer, names: UInt64s, counts: Int64s) -> None:
    for d in range(len(text.offsets) - 1):
        at: Any = text.offsets[d]
        hi = text.offsets[d + 1]
        while at < hi:
            bits = _openings(text.data, at)[0] & below(min(64, hi - at))
            while bits != NO_BITS:
                evidence = _evidence(text.data, at + lowest_bit(bits), hi, names)
                counts[0, d] += evidence > 1
                counts[1, d] += evidence > 0
                bits &= bits - ONE
            at += 64


@inlined
def _evidence(data: Bytes, at: int, hi: int, names: UInt64s) -> Any:
    """Of the "<" at `at`: 2 if it begins a tag, 1 if it looks so, 0 if not."""
    at += 1
    if at < hi and load8(data, at) == SLASH:
        at += 1
    size = name_size(data, at, hi)
    if size == 0:
        return 0
    if size > LONGEST_TAG or at + size >= hi or not is_name(data, at, size, names):
        return 1
    end = at + size
    byte = load8(data, end)
    if byte == GT:
        return 2
    if byte != SLASH and byte not in (32, 9, 10, 12, 13):  # the white space of HTML
        return 1
    while end < hi and load8(data, end) != LT and load8(data, end) != GT:
        end += 1
    return 2 if end < hi and load8(data, end) == GT else 1


def unquoted(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The documents without what Markdown marks as code: fenced blocks, and words in backticks."""
    return masked(texts, pc.match_substring(texts, "`"), lambda some: pc.replace_substring_regex(some, QUOTED, " "))


def tag_share(texts: pa.LargeStringArray) -> pa.DoubleArray:
    """Bytes within tags, of all bytes of each document; null of none."""
    size = pc.cast(pc.binary_length(texts), pa.float64())
    without_tags = pc.cast(pc.binary_length(pc.replace_substring_regex(texts, TAG_PATTERN, "")), pa.float64())
    return pc.if_else(pc.greater(size, 0), pc.divide(pc.subtract(size, without_tags), size), None)


def own_lines(texts: pa.LargeStringArray) -> pa.DoubleArray:
    """Tags of BLOCK_ELEMENTS and line breaks, for each line of the document: a line ends at "\\n"."""
    blocks = pc.count_substring_regex(texts, rf"(?i)<[bh]r\s*/?>|</?{BLOCK}{REST}")
    lines = pc.add(pc.count_substring(texts, "\n"), 1)
    return pc.divide(pc.cast(blocks, pa.float64()), pc.cast(lines, pa.float64()))


def is_page(texts: pa.LargeStringArray) -> pa.BooleanArray:
    """Which documents begin as a page does: with `<!doctype html>` or `<html>`."""
    return pc.match_substring_regex(texts, PAGE)


def is_arranged(texts: pa.LargeStringArray) -> pa.BooleanArray:
    """Which documents have an end tag, a line break, a tag with an attribute, or begin with an element of its own
    line."""
    return pc.or_(pc.match_substring_regex(texts, ARRANGED), begins_with_block(texts))


def begins_with_block(texts: pa.LargeStringArray) -> pa.BooleanArray:
    """Which documents begin, after white space, with a tag of BLOCK_ELEMENTS."""
    return pc.match_substring_regex(texts, START)


def outside_of_tags(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The documents without tags and comments, and without scripts, styles and what is preformatted."""
    return pc.replace_substring_regex(texts, WITHIN, " ")


def escape_tags(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The documents with `&lt;` for every `<` that would begin a tag, a comment or a declaration.

    >>> escape_tags(pa.array(["a < b, List<int>, <b>bold</b> <!-- x"], pa.large_string()))[0].as_py()
    'a < b, List<int>, &lt;b>bold&lt;/b> &lt;!-- x'
    """
    return pc.replace_substring_regex(texts, SHOWN, r"&lt;\1")


def warm_up() -> None:
    texts = pa.array(["a <p> b", ""], pa.large_string())
    may_be_markup(texts)
    tag_counts(texts)
