"""Was a text decoded with the wrong character set?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.measures import ratio
from corpusmill.steps.verdict import Rule, failing

# What a byte from 0x80 to 0xBF looks like as Latin-1 or as Windows-1252, where it is a sign.
SIGNS = bytes(b for b in range(0x80, 0xA0) if b not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)).decode("cp1252")
CONTINUATION = f"[\u0080-\u00bf{SIGNS}]"
# A character of UTF-8, of two, three or four bytes, each read as a character of its own: "Ã©", "â€™". Of those of two
# bytes only the blocks of alphabets: "É…" and "Ç»", which would be phonetic signs, occur in sound text.
LEADS = "[\u00c2-\u00c5\u00ce-\u00d9]"
MOJIBAKE = f"{LEADS}{CONTINUATION}|[\u00e0-\u00ef]{CONTINUATION}{{2}}|[\u00f0-\u00f4]{CONTINUATION}{{3}}"
PARTS = (MOJIBAKE, "\ufffd", "[\u0080-\u0084\u0086-\u009f]")  # U+0085 is a line break


@dataclass(frozen=True, kw_only=True)
class BrokenText:
    """Drop documents whose characters were decoded wrongly, before or in this run.

    Every bound is a share that still passes; None switches its rule off. ASCII text costs one scan.

        replacement   U+FFFD, which decoders write for bytes that are no characters
        mojibake      UTF-8 that was decoded as Latin-1 or Windows-1252: both characters of "Ã©", all three of "â€™"
        controls      U+0080 to U+009F but U+0085, which no text has: what Windows-1252 has there was decoded as Latin-1

    To repair mojibake instead, put clean/mojibake before this step; what was replaced by U+FFFD is lost.

    Source: ours. Mojibake: Speer 2019 (ftfy), doi:10.5281/zenodo.2591652
    """

    max_replacement: float | None = 0.001
    max_mojibake: float | None = 0.01
    max_controls: float | None = 0.001

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("max_replacement", "replacement_ratio", ">"),
        Rule("max_mojibake", "mojibake_ratio", ">"),
        Rule("max_controls", "control_ratio", ">"),
    )

    def __post_init__(self) -> None:
        for rule in self.RULES:
            bound = getattr(self, rule.parameter)
            if bound is not None and not 0 <= bound <= 1:
                raise RecipeError(f"filter/broken_text: {rule.parameter} is a share from 0 to 1, got {bound}")

    def signals(self, docs: pa.RecordBatch) -> Columns:
        text = pc.fill_null(docs["text"], "")
        chars = pc.utf8_length(text).to_numpy().astype(np.int64)
        beyond_ascii = np.flatnonzero(pc.binary_length(text).to_numpy() > chars)
        candidates = text.take(pa.array(beyond_ascii))
        shares = []
        for part in PARTS:
            counts = np.zeros(len(text), np.int64)
            counts[beyond_ascii] = characters_in(candidates, part)
            shares.append(pa.array(ratio(counts, chars)))
        return dict(zip(("mojibake_ratio", "replacement_ratio", "control_ratio"), shares))

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)


def characters_in(texts: pa.LargeStringArray, pattern: str) -> NDArray[np.int64]:
    """(documents,) characters in matches of an expression."""
    before = pc.utf8_length(texts).to_numpy().astype(np.int64)
    after = pc.utf8_length(pc.replace_substring_regex(texts, pattern, "")).to_numpy()
    return before - after  # type: ignore[no-any-return]
