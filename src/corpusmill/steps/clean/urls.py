"""Remove web addresses from the text."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.text.rewrite import masked, with_text

# Punctuation at the end belongs to the sentence, not to the address: "(see http://example.org/a)." keeps ").".
URL = r"""(?i)(?:\bhttps?://|\bftp://|\bwww\.)[^\s<>"]*[^\s<>"'.,;:!?()\[\]{}]/?"""


@dataclass(frozen=True, kw_only=True)
class Urls:
    """Replace every http, https, ftp and www address in the text.

    The signal `urls` counts them. Bare domains ("example.org") are kept: too many words look like one.
    """

    replacement: str = ""

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        text = docs["text"]
        count = pc.cast(pc.count_substring_regex(text, URL), pa.int32())
        literal = self.replacement.replace("\\", "\\\\")
        text = masked(text, pc.greater(count, 0), lambda texts: pc.replace_substring_regex(texts, URL, literal))
        return with_text(docs, text).append_column("urls", count)
