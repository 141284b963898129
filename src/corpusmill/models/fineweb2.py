"""FineWeb2's settings: bounds and stop words for 1,929 pairs of language and script, such as fra_Latn.

The asset "fineweb2-settings", made by scripts/make_fineweb2_settings.py.
"""

import json
import lzma
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill import assets
from corpusmill.text.array_types import Bools, Float64s, Int64s
from corpusmill.text.script_stats import Lists, make_lists
from corpusmill.text.scripts import SCRIPTS, script_counts

NAME = "fineweb2-settings"
# ISO 15924 -> our scripts, where a language has settings for several.
_CODES = """
    Latn:latin Cyrl:cyrillic Arab:arabic Grek:greek Hebr:hebrew Deva:devanagari Beng:bengali Guru:gurmukhi
    Gujr:gujarati Orya:oriya Taml:tamil Telu:telugu Knda:kannada Mlym:malayalam Ethi:ethiopic Cans:canadian
    Cher:cherokee Mymr:myanmar Khmr:khmer Tfng:tifinagh Hani:han
"""
SCRIPT_OF_CODE = dict(pair.split(":") for pair in _CODES.split())
NO_PAIR = -1


@dataclass(frozen=True)
class LanguageSettings:
    """pairs    of language (ISO 639-3) and script (ISO 15924), sorted
    bounds      parameter -> (pairs,) float64, NaN where that pair has none
    listed      the stop words of each pair, by its place
    by_label    what a language model calls texts -> the places of the pairs that it may be, the usual one first
    hyphens     (pairs,) whether a word ends at its hyphen: where two stop words or more do, as Maltese articles ("il-")
    """

    pairs: list[str]
    bounds: dict[str, Float64s]
    listed: list[list[str]]
    by_label: dict[str, list[int]]
    hyphens: Bools

    @cached_property
    def stop_words(self) -> Lists:
        """`listed`, as kernels take it."""
        return make_lists(self.listed)

    def find_pairs(self, labels: pa.StringArray, texts: pa.LargeStringArray) -> Int64s:
        """(documents,) the place of the pair of each document; NO_PAIR where its language has no settings.

        A language with settings for several scripts has those of the script with the most letters, and those of its
        usual script if that is none of them.
        """
        encoded = labels.dictionary_encode()
        candidates = [self.by_label.get(label, []) for label in encoded.dictionary.to_pylist()]
        first = np.array([places[0] if places else NO_PAIR for places in candidates] + [NO_PAIR], np.int64)
        code = encoded.indices.fill_null(len(candidates)).to_numpy()
        pairs: Int64s = first[code]
        several = np.flatnonzero(np.array([len(places) > 1 for places in candidates] + [False])[code])
        main = script_counts(texts.take(pa.array(several))).argmax(axis=1) if len(several) else several
        for row, script in zip(several.tolist(), main.tolist(), strict=True):
            for pair in candidates[code[row]]:
                if SCRIPT_OF_CODE.get(self.pairs[pair].partition("_")[2]) == SCRIPTS[script]:
                    pairs[row] = pair
                    break
        return pairs

    def apart(self, texts: pa.LargeStringArray, pairs: Int64s) -> tuple[Int64s, pa.Array]:
        """Which documents are in a language whose words end at their hyphens, and their texts with a space behind each
        hyphen between letters: "il-kelb" is two words in them, and no word is a hyphen."""
        rows = np.flatnonzero((pairs != NO_PAIR) & self.hyphens[pairs])
        return rows, pc.replace_substring_regex(texts.take(pa.array(rows)), r"(\pL)-(\pL)", r"\1- \2")

    def names(self, places: Int64s) -> pa.StringArray:
        """The pairs, null for NO_PAIR."""
        return pa.array(self.pairs, pa.string()).take(pa.array(places, mask=places == NO_PAIR))

    def places(self, names: pa.StringArray) -> Int64s:
        """As `names` has written them."""
        indices = pc.index_in(names, value_set=pa.array(self.pairs, pa.string()))
        places: Int64s = indices.fill_null(NO_PAIR).to_numpy().astype(np.int64)
        return places


def read(path: Path) -> LanguageSettings:
    content = json.loads(lzma.decompress(path.read_bytes()))
    pairs = list(content["pairs"])
    table = np.array(list(content["pairs"].values()), np.float64)  # None becomes NaN
    position = {pair: i for i, pair in enumerate(pairs)}
    stop_words = [content["stop_words"][pair] for pair in pairs]
    return LanguageSettings(
        pairs=pairs,
        bounds={name: table[:, column].copy() for column, name in enumerate(content["bounds"])},
        listed=stop_words,
        by_label={label: [position[pair] for pair in names] for label, names in content["labels"].items()},
        hyphens=np.array([sum(len(word) > 1 and word[-1] == "-" for word in words) > 1 for words in stop_words]),
    )


@cache
def settings() -> LanguageSettings:
    return assets.load(NAME, read)
