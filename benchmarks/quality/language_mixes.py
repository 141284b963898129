"""Documents in one language with a part in another, as pages have that quote, cite, or greet in two languages.

Six main languages and 21 others, in every share, place and size, made of real texts: news (NTREX), the Declaration of
Human Rights, sentences, and for English chapters of books. What stands in a document is divided into parts as
everything here is: `dev` to choose by, `test` to report.
"""

import gzip
import hashlib
import json
import re
import zipfile
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pyarrow as pa

from benchmarks.common import Figure, row, table
from benchmarks.quality.language_codes import canonical
from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_176, LID_WIDE

MAIN = "eng fra deu spa rus jpn".split()
OTHERS = "eng rus ukr ara heb ell hin tha zho jpn kor deu fra spa ita por nld pol tur vie ind".split()
SENTENCE = 80  # characters, letters nearly all
SHARES = {"one sentence": 0.0, "10 %": 0.1, "25 %": 0.25}
BARS = {"one sentence": 0.98, "10 %": 0.98, "25 %": 0.90}
PLACES = "start middle end scattered".split()
SIZES = (1000, 3000, 12_000)
MIN_SCORE = 0.65  # of filter/language
OTHER_NAMES = {"cmn": "zho", "arb": "ara"}  # of files and labels of the sets
VARIETIES = {"eng-GB", "eng-IN", "eng-US", "fra-CA", "spa-MX", "por-BR", "zho-TW"}  # one of each language is enough

ENDS = re.compile(r"(?<=[.!?।。！？\n])")


class Mixed(NamedTuple):
    main: str
    other: str
    share: str
    place: str
    size: int
    kind: str
    text: str


def run(data: Path) -> list[Figure]:
    """How many documents keep the label of their main language, in the main language and the place that lose most."""
    table(
        "with so much of another language",
        "part",
        "documents",
        "lid.176",
        "lid.wide",
        "at 0.65",
        *MAIN,
        *PLACES,
        "worst other",
    )
    figures = []
    for part in ("dev", "test"):
        made = list(mixes(data, part))
        old, new = (named_rightly(made, model) for model in (LID_176, LID_WIDE))
        for share, bar in BARS.items():
            rows = [i for i, mixed in enumerate(made) if mixed.share == share]
            by = [grouped([(getattr(made[i], key), new[i][0]) for i in rows]) for key in ("main", "place", "other")]
            every = [mean(right[i][at] for i in rows) for right, at in ((old, 0), (new, 0), (new, 1))]
            worst = min(by[2], key=lambda other: by[2][other])
            cells = (f"{value:.3f}" for value in (*every, *by[0].values(), *by[1].values()))
            row(share, part, f"{len(rows):,}", *cells, f"{worst} {by[2][worst]:.3f}")
            if part == "test":
                for number, of in enumerate(("main language", "place")):
                    what = f"language kept with {share} of another, least of every {of}"
                    figures.append(Figure(what, min(by[number].values()), "", bar, digits=3))
    print("\nDocuments of 1,000, 3,000 and 12,000 characters.\n")
    return figures


def named_rightly(made: list[Mixed], model: str) -> list[tuple[bool, bool]]:
    """Whether each is named as its main language, and with MIN_SCORE."""
    columns = Identifier(model=model).columns(pa.array([mixed.text for mixed in made], pa.large_string()))
    named = zip(made, columns["label"].to_pylist(), columns["score"].to_pylist(), strict=True)
    right = ((canonical(label or "") == mixed.main, score) for mixed, label, score in named)
    return [(is_right, is_right and score >= MIN_SCORE) for is_right, score in right]


def grouped(pairs: list[tuple[str, bool]]) -> dict[str, float]:
    groups = defaultdict(list)
    for key, right in pairs:
        groups[key].append(right)
    return {key: mean(right) for key, right in groups.items()}


def mixes(data: Path, part: str) -> Iterator[Mixed]:
    """Every combination, of a kind of text, and with a text, that change from one to the next."""
    sources = read_sources(data, part)
    combinations = product(MAIN, OTHERS, SHARES, PLACES, SIZES)
    for main, other, share, place, size in combinations:
        if canonical(main) == canonical(other):
            continue
        for kind in sources[main]:
            draw = int(hashlib.sha256(f"{main} {other} {share} {place} {size} {kind}".encode()).hexdigest()[:12], 16)
            of_main, of_other = sources[main][kind], sources[other][list(sources[other])[draw % len(sources[other])]]
            text = cut(of_main, draw // 7, size - (round(size * SHARES[share]) or SENTENCE))
            size_of_other = round(len(text) * SHARES[share] / (1 - SHARES[share])) or SENTENCE
            text = mix(text, cut(of_other, draw // 11, size_of_other), place, draw)
            yield Mixed(main, other, share, place, size, kind, text)


def cut(text: str, draw: int, size: int) -> str:
    """`size` characters from the beginning of some sentence on, where there are so many."""
    starts = ends_of(text)
    start = starts[draw % max(bisect_right(starts, len(text) - size), 1)]
    return text[start : start + size].strip()


@cache
def ends_of(text: str) -> list[int]:
    """Its beginning, and where sentences end."""
    return [0, *(end.end() for end in ENDS.finditer(text))]


def mix(main: str, other: str, place: str, draw: int) -> str:
    ends = [end.end() for end in ENDS.finditer(main)] or [len(main)]
    if place != "scattered":
        middle = min(ends, key=lambda end: abs(end - len(main) // 2))
        before = {"start": 0, "middle": middle, "end": len(main)}[place]
        between = "\n" if draw // 13 % 2 else " "
        return between.join(filter(None, (main[:before], other, main[before:])))
    sentences = list(filter(None, ENDS.split(other)))
    at = sorted(
        (int(hashlib.sha256(f"{draw} {i}".encode()).hexdigest()[:8], 16) % len(ends), i) for i in range(len(sentences))
    )
    pieces, done = [], 0
    for number, i in at:
        pieces += [main[done : ends[number]].strip(), sentences[i].strip()]
        done = ends[number]
    return " ".join(filter(None, [*pieces, main[done:].strip()]))


def read_sources(data: Path, part: str) -> dict[str, dict[str, str]]:
    """Per language and kind one long text."""
    sources: dict[str, dict[str, str]] = defaultdict(dict)
    for kind, name in (("news", "ntrex_docs"), ("sentences", "lingua_sentences")):
        with gzip.open(data / "lang" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                language = canonical(record["lang"])
                language = "ind" if language == "msa" else language
                key = record.get("doc") or record["text"][:50]
                if record["lang"] in VARIETIES | {"msa", "ms"} or language not in OTHERS or part_of(key) != part:
                    continue
                before = sources[language].get(kind, "")
                sources[language][kind] = before + record["text"].strip() + ("\n" if kind == "news" else " ")
    with zipfile.ZipFile(data / "lang" / "udhr2.zip") as files:
        for name in sorted(files.namelist()):
            code = Path(name).stem.split("_")[0]
            language = OTHER_NAMES.get(code, code)
            if language in OTHERS and "legal" not in sources[language]:
                text = files.read(name).decode("utf-8", "replace")
                sources[language]["legal"] = text[: len(text) // 2] if part == "dev" else text[len(text) // 2 :]
    with gzip.open(data / "text" / "standardebooks_chapters.jsonl.gz", "rt", encoding="utf-8") as lines:
        chapters = [json.loads(line)["text"] for line in lines]
    sources["eng"]["books"] = "\n".join(text for text in chapters if part_of(text[:50]) == part)
    return sources


def part_of(key: str) -> str:
    """Documents that are translations of each other have one key, and are in one part."""
    return ("dev", "test")[int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2]
