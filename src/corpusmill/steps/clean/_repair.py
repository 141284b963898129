"""Change the text of the documents that need it, and leave the others' bytes alone."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc


def with_text(docs: pa.RecordBatch, text: pa.Array) -> pa.RecordBatch:
    """The batch with another text column."""
    return docs.set_column(docs.schema.get_field_index("text"), docs.schema.field("text"), text)


def where(text: pa.Array, pattern: str, repair: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """`repair` of the texts in which the RE2 pattern occurs, the others as they are. Null stays null."""
    return masked(text, pc.match_substring_regex(text, pattern), repair)


def masked(text: pa.Array, hit: pa.Array, repair: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """`repair` of the texts for which `hit` is true, the others as they are. Null stays null."""
    if not pc.any(hit).as_py():
        return text
    return pc.replace_with_mask(text, hit, repair(text.filter(hit)))


def beyond_ascii(text: pa.Array, repair: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """`repair` of the texts with a character beyond ASCII, the others as they are. Null stays null."""
    return masked(text, pc.invert(pc.string_is_ascii(text)), repair)


def substitute(text: pa.Array, pattern: str, replacement: str) -> pa.Array:
    """Every match of the RE2 pattern replaced, in the texts that have one."""
    return where(text, pattern, lambda texts: pc.replace_substring_regex(texts, pattern, replacement))
