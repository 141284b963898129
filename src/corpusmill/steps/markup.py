"""Is a text markup? What `clean/html` strips, and what a run warns of where nothing does."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.text.markup import (
    begins_with_block,
    is_arranged,
    is_page,
    may_be_markup,
    outside_of_tags,
    tag_counts,
    tag_share,
    unquoted,
)

MIN_SHARE = 0.5  # of what looks like a tag: in XML and in generics, most names are not HTML's
MAX_CODE_SCORE = 0.5  # as in filter/code
# Of 487 programs, 43 have arranged tags, in at most 0.185 of their bytes. Of 1,000 listings with a tag around every
# word, 19 in 20 have them in more than 0.4.
MAX_TAGS_IN_CODE = 0.25


def is_markup(texts: pa.LargeStringArray, leave_code: bool = True) -> pa.BooleanArray:
    """Which documents are HTML: (documents,) bool, false for null.

    A document is markup if it begins as a page does, or if at least half of what looks like a tag in it is one of
    HTML's, and one of these is an end tag, a line break, has an attribute, or begins the document and a line of its
    own. What Markdown marks as code is not looked at. `corpusmill.text.markup` has the exact definitions.

    leave_code   documents are not markup if they do not begin with a tag, have less than a quarter of their bytes in
                 tags, and are source code outside of these by the score of `filter/code`: programs that write HTML,
                 or have it in their comments
    """
    return _among(
        may_be_markup(texts), texts, lambda some: _among(_hopeful(some), some, lambda few: _judged(few, leave_code))
    )


def _among(
    mask: pa.BooleanArray, texts: pa.LargeStringArray, judged: Callable[[pa.LargeStringArray], pa.BooleanArray]
) -> pa.BooleanArray:
    """The mask with what is judged of the texts for which it is true."""
    return pc.replace_with_mask(mask, mask, judged(texts.filter(mask))) if pc.any(mask).as_py() else mask


def _hopeful(texts: pa.LargeStringArray) -> pa.BooleanArray:
    # Two patterns, and most texts with an address or a tag in passing need no more.
    return pc.or_(is_arranged(texts), is_page(texts))


def _judged(texts: pa.LargeStringArray, leave_code: bool) -> pa.BooleanArray:
    unquoted_text = unquoted(texts)
    tags, alike = tag_counts(unquoted_text)
    many = pc.greater_equal(tags, pc.multiply(pc.cast(alike, pa.float64()), MIN_SHARE))
    fragment = pc.and_(pc.and_(many, pc.greater(tags, 0)), is_arranged(unquoted_text))
    if leave_code:
        unsure = pc.and_not(fragment, begins_with_block(unquoted_text))
        fragment = pc.and_not(fragment, _among(unsure, texts, _is_code))
    return pc.or_(is_page(texts), fragment)


def _is_code(texts: pa.LargeStringArray) -> pa.BooleanArray:
    # A kernel that most runs never need: they should not wait for it.
    from corpusmill.steps.filter.code import code_shares

    few_tags = pc.fill_null(pc.less(tag_share(texts), MAX_TAGS_IN_CODE), False)

    def is_code(some: pa.LargeStringArray) -> pa.BooleanArray:
        return pc.greater(pa.array(code_shares(outside_of_tags(some))["code_score"]), MAX_CODE_SCORE)

    return _among(few_tags, texts, is_code)
