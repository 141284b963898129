"""Change the text of the documents that need it, and leave the bytes of all others alone."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc


def with_text(docs: pa.RecordBatch, text: pa.Array) -> pa.RecordBatch:
    """The batch with another text column."""
    return docs.set_column(docs.schema.get_field_index("text"), docs.schema.field("text"), text)


def masked(text: pa.Array, mask: pa.Array, rewrite: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """`rewrite` of the texts for which the mask is true, the others as they are. Null stays null."""
    if not pc.any(mask).as_py():
        return text
    return pc.replace_with_mask(text, mask, rewrite(text.filter(mask)))


def beyond_ascii(text: pa.Array, rewrite: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """`rewrite` of the texts with a character beyond ASCII, the others as they are. Null stays null."""
    return masked(text, pc.invert(pc.string_is_ascii(text)), rewrite)
