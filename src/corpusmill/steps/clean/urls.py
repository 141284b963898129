"""Remove web addresses from the text."""

from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.text.addresses import top_level_domains
from corpusmill.text.rewrite import masked, with_text

# Punctuation at the end belongs to the sentence, not to the address: "(see http://example.org/a)." keeps ").".
TAIL = r"""[^\s<>"]*[^\s<>"'.,;:!?()\[\]{}]/?"""
ADDRESS = rf"(?:\bhttps?://|\bftp://|\bwww\.){TAIL}"


@dataclass(frozen=True, kw_only=True)
class Urls:
    """Replace every http, https, ftp and www address in the text.

    An address that is replaced by nothing takes the spaces before it along: "See https://example.org for details"
    becomes "See for details"; one that has a line for itself takes the line. `tidy=False` keeps all white space. Hosts
    without a scheme ("example.org", "192.0.2.1") are kept; `bare` replaces those with a top-level domain of
    publicsuffix.org. Signal: `urls`, how many.
    """

    replacement: str = ""
    bare: bool = False  # hosts without a scheme, too
    tidy: bool = True  # without a replacement: remove the spaces and lines that were there for the address alone

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        text = docs["text"]
        count = pc.cast(pc.count_substring_regex(text, f"(?i){anywhere(self.bare)}"), pa.int32())
        text = masked(text, pc.greater(count, 0), self._replaced)
        return with_text(docs, text).append_column("urls", count)

    def _replaced(self, texts: pa.Array) -> pa.Array:
        if not self.replacement and self.tidy:
            url = address(self.bare)
            urls = rf"{url}(?:[ \t]+{url})*"
            # A line of addresses alone; between words, with the spaces before it, as one space would be left on each
            # side; at the start of a line.
            for pattern, remainder in (
                (rf"(?im)^[ \t]*{urls}[ \t]*\r?\n", ""),
                (rf"(?i)\r?\n[ \t]*{urls}[ \t]*\z", ""),
                (rf"(?i)(\S)[ \t]+{urls}([ \t\n]|\z)", r"\1\2"),
                (rf"(?im)^{urls}[ \t]+", ""),
            ):
                texts = pc.replace_substring_regex(texts, pattern, remainder)
        before = r"\1" if self.bare else ""
        return pc.replace_substring_regex(
            texts, f"(?i){anywhere(self.bare)}", before + self.replacement.replace("\\", "\\\\")
        )


@cache
def address(bare: bool) -> str:
    """An expression for one address."""
    return rf"(?:{ADDRESS}|{bare_host()}(?:/{TAIL}|/)?)" if bare else ADDRESS


@cache
def anywhere(bare: bool) -> str:
    """One for an address and, with `bare`, what is before it, as a group: no "@" and no part of a longer name."""
    return rf"(^|[^\w@./-]){address(True)}" if bare else ADDRESS


def bare_host() -> str:
    """An expression for a domain with a known top-level domain, or an IPv4 address, and a port."""
    domains = "|".join(sorted(top_level_domains(), key=lambda name: (-len(name), name)))
    return rf"(?:(?:[a-z0-9][a-z0-9-]*\.)+(?:{domains})|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}})\b(?::[0-9]+)?"
