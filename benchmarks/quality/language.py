"""Is the language right? Documents, sentences and short pieces with a known language, by language, by both models.

A language that a model lacks counts as wrong. Every set is divided by the hash of its documents: everything in lid.wide
was chosen on the development part (and its classes come from other texts), the figures with bars are of the test part.
"""

import gzip
import hashlib
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from time import thread_time
from typing import NamedTuple

import pyarrow as pa

from benchmarks.calibration import slowness
from benchmarks.common import Figure, row, table
from benchmarks.quality import language_mixes
from benchmarks.quality.language_codes import canonical
from benchmarks.quality.language_mixes import part_of
from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_176, LID_WIDE, UNKNOWN

BARS = {"ntrex_docs": 0.94, "lingua_sentences": 0.97, "masakhanews": 0.90, "short": 0.75}
SPEED = 25_000  # texts per second and core, see `calibration.slowness`
KNOWN = 0.97  # over the languages that lid.176 has
STRANGERS = 0.15  # of the texts in languages that the model lacks may be kept
FAILS = 0.8  # a language is named below this
THRESHOLDS = (0.0, 0.3, 0.5, 0.65, 0.8, 0.9)
PIECE = 38  # characters of a short text, the median of Tatoeba's sentences
PASSAGE = 450
PAGE = 1500
LARGE = "rus deu spa fra jpn zho-CN por ita pol nld tur vie ces ind fas arb kor swe ukr hun".split()


class Labelled(NamedTuple):
    language: str
    text: str


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    """Accuracy averaged over all labelled languages, texts in unknown languages that are kept, and speed."""
    print("## language\n")
    figures = []
    table("set", "part", "texts", "languages", "lid.176", "lid.wide", "lid.wide, exact codes", "below 0.8")
    kept = []
    for name, bar in BARS.items():
        for part in ("dev", "test"):
            texts = short_texts(data, part) if name == "short" else read(data, name, part)
            old, new = (labels(texts, model) for model in (LID_176, LID_WIDE))
            accuracy, weak = judge(texts, new, canonical)
            said = ", ".join(f"{language} {share:.2f}" for language, share in sorted(weak.items())) or "none"
            languages = len({canonical(text.language) for text in texts})
            before, exact = judge(texts, old, canonical)[0], judge(texts, new, narrow)[0]
            row(name, part, f"{len(texts):,}", languages, f"{before:.4f}", f"{accuracy:.4f}", f"{exact:.4f}", said)
            if part == "test":
                figures.append(Figure(f"language of {name}, all languages", accuracy, "", bar, digits=4))
                kept.append((name, texts, new))
    print("\nBy canonical code: macrolanguages and the groups bs/hr/sr and ms/id count as one; `exact codes` not.\n")
    beside_english(data)
    figures += language_mixes.run(data)
    figures += of_known(data)
    figures += unknown(data)
    by_threshold(kept)
    figures.append(speed(data))
    print()
    return figures


def narrow(code: str) -> str:
    return canonical(code, merged=False)


def read(data: Path, name: str, part: str) -> list[Labelled]:
    path = data / "lang" / f"{name}.jsonl.gz"
    if not path.is_file():
        raise SystemExit(f"{path}: not there. Name the folder of labelled documents with --data.")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [
        Labelled(record["lang"], record["text"])
        for record in records
        if part_of(record.get("doc") or record.get("url") or record["text"][:50]) == part
        and sum(map(str.isalpha, record["text"])) > 2
    ]


def short_texts(data: Path, part: str) -> list[Labelled]:
    """Two pieces of each document and one of each sentence, of whole words where there are spaces."""
    pieces = []
    for name, thirds in (("ntrex_docs", (1, 2)), ("lingua_sentences", (0,))):
        for language, text in read(data, name, part):
            line = " ".join(text.split())
            for third in thirds:
                start = len(line) * third // 3
                start = max(line.find(" ", start, start + 30) + 1, start) if third else 0
                end = line.rfind(" ", start + PIECE // 2, start + PIECE + 1)
                pieces.append(Labelled(language, line[start : end if end > 0 else start + PIECE]))
    return [piece for piece in pieces if sum(map(str.isalpha, piece.text)) > 2]


def labels(texts: Iterable[Labelled], model: str) -> list[tuple[str, float]]:
    """The label, "" if there is none, and score of each text."""
    columns = Identifier(model=model).columns(pa.array([text.text for text in texts], pa.large_string()))
    return [(label or "", score) for label, score in zip(columns["label"].to_pylist(), columns["score"].to_pylist())]


def judge(texts, named, code) -> tuple[float, dict[str, float]]:  # type: ignore[no-untyped-def]
    """The mean over languages of the share named rightly, and the languages below FAILS."""
    right = defaultdict(list)
    for text, (label, _) in zip(texts, named, strict=True):
        right[code(text.language)].append(float(code(label) == code(text.language)))
    shares = {language: mean(hits) for language, hits in right.items()}
    return mean(shares.values()), {language: share for language, share in shares.items() if share < FAILS}


def of_known(data: Path) -> list[Figure]:
    """Documents in the languages that lid.176 has a label for, by both models."""
    known = {canonical(label) for label in Identifier(model=LID_176).labels()}
    texts = [text for part in ("dev", "test") for text in read(data, "ntrex_docs", part)]
    texts = [text for text in texts if canonical(text.language) in known]
    figures = []
    for model in (LID_176, LID_WIDE):
        accuracy, _ = judge(texts, labels(texts, model), canonical)
        what = f"language of ntrex_docs, languages that lid.176 has, by {model}"
        figures.append(Figure(what, accuracy, "", KNOWN, digits=4))
    return figures


def unknown(data: Path) -> list[Figure]:
    """How many passages of the Declaration of Human Rights in languages that the model lacks it names all the same."""
    known = {canonical(name) for name in Identifier().labels()}
    figures = []
    table("passages in unknown languages", "languages", "passages", "named, not `unknown`", "at 0.65")
    for part in ("dev", "test"):
        passages = []
        with zipfile.ZipFile(data / "lang" / "udhr2.zip") as files:
            for name in sorted(files.namelist()):
                code = Path(name).stem.split("_")[0]
                if not name.endswith(".txt") or canonical(code) in known or part_of(code) != part or not code.isalpha():
                    continue
                text = files.read(name).decode("utf-8", "replace")
                cuts = (text[at : at + PASSAGE] for at in range(1000, 10_000, 1500))
                passages += [Labelled(code, cut) for cut in cuts if len(cut) == PASSAGE]
        named = labels(passages, LID_WIDE)
        share = mean(label != UNKNOWN for label, _ in named)
        sure = mean(score >= 0.65 for _, score in named)
        row(part, len({p.language for p in passages}), len(passages), f"{share:.3f}", f"{sure:.3f}")
        if part == "test":
            what = "texts in languages that lid.wide lacks, kept"
            figures.append(Figure(what, share, "", STRANGERS, wants="below", digits=3))
    print()
    return figures


def beside_english(data: Path) -> None:
    """Documents in the middle of which English stands, as menus and notices do, in place of as much of the rest."""
    table("documents with English in them", "documents", "a quarter: lid.176", "lid.wide", "half: lid.176", "lid.wide")
    for part in ("dev", "test"):
        documents = read(data, "ntrex_docs", part)
        english = [text for language, text in documents if language == "eng"]
        others = [text for text in documents if canonical(text.language) != "eng"]
        cells = []
        for share in (0.25, 0.5):
            mixed = []
            for number, (language, text) in enumerate(others):
                size = int(len(text[:PAGE]) * share)
                rest = text[: len(text[:PAGE]) - size]
                between = english[number % len(english)][:size]
                half = len(rest) // 2
                mixed.append(Labelled(language, f"{rest[:half]}\n{between}\n{rest[half:]}"))
            cells += [f"{judge(mixed, labels(mixed, model), canonical)[0]:.4f}" for model in (LID_176, LID_WIDE)]
        row(part, f"{len(others):,}", *cells)
    print()


def by_threshold(sets: list[tuple[str, list[Labelled], list[tuple[str, float]]]]) -> None:
    print("By `min_score`, test parts, lid.wide: texts kept, and of these named rightly\n")
    table("at least", *(f"{name}, {what}" for name, _, _ in sets for what in ("kept", "right")))
    for bound in THRESHOLDS:
        cells = []
        for _, texts, named in sets:
            pairs = zip(texts, named, strict=True)
            kept = [canonical(t.language) == canonical(n) for t, (n, score) in pairs if n != UNKNOWN and score >= bound]
            cells += [f"{len(kept) / len(texts):.3f}", f"{mean(kept):.3f}"]
        row(f"{bound:g}", *cells)
    print()


def speed(data: Path) -> Figure:
    """Texts per second on a mix as of a crawl: 45 % English, 50 % of 20 large languages, 5 % of all, 1,000 to 3,000
    characters; both models and the loop of `calibration` in turns, medians of 5."""
    by_language = defaultdict(list)
    for language, text in read(data, "ntrex_docs", "dev"):
        by_language[language].append(text)
    every = sorted(by_language)
    mix = []
    for i in range(4000):
        draw = int(hashlib.sha256(str(i).encode()).hexdigest()[:8], 16)
        language = (
            "eng" if draw % 100 < 45 else LARGE[draw // 100 % 20] if draw % 100 < 95 else every[draw // 100 % 128]
        )
        text = by_language[language][draw // 7 % len(by_language[language])]
        mix.append((text * 3)[: (1000, 1500, 3000)[draw // 11 % 3]])
    column = pa.array(mix, pa.large_string())
    times = defaultdict(list)
    for _ in range(6):
        for model in (LID_176, LID_WIDE):
            start = thread_time()
            Identifier(model=model).columns(column)
            times[model].append(thread_time() - start)
        times["slowness"].append(slowness())
    slow = sorted(times["slowness"][1:])[2]
    old, new = (len(mix) / sorted(times[model][1:])[2] for model in (LID_176, LID_WIDE))
    print(
        f"Texts per second and core on a mix as of a crawl: lid.176 {old:,.0f}, lid.wide {new:,.0f}: {new / old:.2f}; "
        f"the calibration loop takes {slow:.2f} times that of the bars"
    )
    return Figure(
        "language, texts per second and core, by the calibration loop", new * slow, "texts/s", SPEED, digits=0
    )
