"""The lists of common words that `make_lid_wide.py` puts into lid.wide, and which language each belongs to.

FineWeb2's stop words, some 20 for each of 1,929 pairs of language and script (Apache-2.0). A list belongs to the group
of its language: itself, or the macrolanguage that it is a member of by IANA's registry of language subtags, as Egyptian
Arabic is of Arabic.
"""

import gzip
import json
import re
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lid_codes import ENGLISH, LABELS, TEXT_CODES, THREE
from numpy.typing import NDArray

from corpusmill.models.common_words import NO_GROUP, hashed

REGISTRY = "language_data/data/language-subtag-registry.txt"
TAGS = {three: tag for tag, three in THREE.items()}  # the registry has languages under the shorter code
FIRST = {code: codes[0] for codes in TEXT_CODES.values() for code in codes}  # of the codes of one language


@dataclass(frozen=True)
class Lists:
    """words of each pair, such as fra_Latn; and the macrolanguage of its members, by the codes of the registry"""

    words: dict[str, list[str]]
    macro: dict[str, str]

    def of(self, names: list[str]) -> tuple[dict[str, int], dict[str, NDArray[Any]]]:
        """The number of the group of each name that has lists, and the arrays for `make_common_words`, before they are
        placed: hashes of words and the lists that have them, sorted, and the group of each list, ascending."""
        tag = {name: self.tag(name) for name in names}
        of_pair = {pair: self.tag(pair.partition("_")[0]) for pair in self.words}
        shared = sorted(set(tag.values()) & set(of_pair.values()))
        groups = {group: number for number, group in enumerate(shared)}
        pairs = sorted(self.words, key=lambda pair: (groups.get(of_pair[pair], NO_GROUP), pair))
        group = [groups.get(of_pair[pair], NO_GROUP) for pair in pairs]
        entries = [
            (unicodedata.normalize("NFC", word), place)
            for place, pair in enumerate(pairs)
            for word in self.words[pair]
            if word.lower() not in ENGLISH
        ]
        single, hashes = hashed([word for word, _ in entries])
        found = sorted({(int(h), entries[i][1]) for i, h in zip(single.tolist(), hashes.tolist(), strict=True)})
        listed = {name: groups[tag[name]] for name in sorted(names) if tag[name] in groups}
        return listed, {
            "word_hashes": np.array([h for h, _ in found], np.uint64),
            "word_lists": np.array([place for _, place in found], np.int16),
            "list_groups": np.array(group, np.int16),
        }

    def tag(self, code: str) -> str:
        """The group of a language, by its name in the model or its code in ISO 639-3."""
        code = next((three for three, label in LABELS.items() if label == code), TEXT_CODES.get(code, [code])[0])
        code = TAGS.get(FIRST.get(code, code), FIRST.get(code, code))
        return self.macro.get(code, code)


def collect_lists(settings: Path, wheel: Path) -> Lists:
    """Reads FineWeb2's settings and the registry in the wheel of language_data."""
    with zipfile.ZipFile(wheel) as files:
        registry = files.read(REGISTRY).decode()
    macro = {}
    for record in registry.split("%%"):
        subtag, member = (re.search(rf"^{key}: (\S+)$", record, re.M) for key in ("Subtag", "Macrolanguage"))
        if subtag and member:
            macro[subtag[1]] = member[1]
    pairs = json.loads(gzip.decompress(settings.read_bytes()))["settings"]
    return Lists({pair: values.get("stopwords", []) for pair, values in pairs.items()}, macro)
