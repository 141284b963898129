"""Remove web addresses from the text."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.text.rewrite import masked, with_text

# Punctuation at the end belongs to the sentence, not to the address: "(see http://example.org/a)." keeps ").".
ADDRESS = r"""(?:\bhttps?://|\bftp://|\bwww\.)[^\s<>"]*[^\s<>"'.,;:!?()\[\]{}]/?"""
URL = rf"(?i){ADDRESS}"
# Addresses between spaces, with the spaces before them: one space would be left on each side.
BETWEEN_WORDS = rf"(?i)(\S)[ \t]+{ADDRESS}(?:[ \t]+{ADDRESS})*([ \t\n]|\z)"
AT_START = rf"(?im)^{ADDRESS}(?:[ \t]+{ADDRESS})*[ \t]+"


@dataclass(frozen=True, kw_only=True)
class Urls:
    """Replace every http, https, ftp and www address in the text.

    An address that is replaced by nothing takes the spaces before it along where white space follows: "See
    https://example.org for details" becomes "See for details". The signal `urls` counts addresses. Bare domains
    ("example.org") are kept: too many words look like one.
    """

    replacement: str = ""

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        text = docs["text"]
        count = pc.cast(pc.count_substring_regex(text, URL), pa.int32())
        text = masked(text, pc.greater(count, 0), self._replaced)
        return with_text(docs, text).append_column("urls", count)

    def _replaced(self, texts: pa.Array) -> pa.Array:
        if not self.replacement:
            texts = pc.replace_substring_regex(texts, BETWEEN_WORDS, r"\1\2")
            texts = pc.replace_substring_regex(texts, AT_START, "")
        return pc.replace_substring_regex(texts, URL, self.replacement.replace("\\", "\\\\"))
