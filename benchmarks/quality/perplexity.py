"""Does perplexity tell sound text from the same text with its words in another order or its letters damaged?

By domain: text of web pages (of editors, without menus), whole pages, news, newsgroup posts, mail, spam and prose;
whole documents of 30 to 2,000 words that lid.176 calls English. Judged are the model that ships, which has seen none of
them, and one trained as `corpusmill train lm` does on the web pages of half of the domains.

Halves by a hash of the domain, book, newsgroup or message: what `disorder` takes off for words alone was chosen on the
development half, which also trains the second model; the figures are those of the test half. Last, prose by a model of
other prose: what `value` alone tells, and what the signals do that were made for it.
"""

import email
import gzip
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.common import Figure, row, table
from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_176
from corpusmill.read import ReadCounts, whole_file
from corpusmill.read.wet import WetReader
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.steps.annotate.perplexity import Perplexity
from corpusmill.storage import expand
from corpusmill.train.lm import LmSettings, train

BAR, PROSE_BAR = 0.95, 0.98  # AUC
SIGNALS = ("value", "gain", "disorder")
BOUND = {"web", "web pages, whole"}  # domains with a bar
SHORTEST, LONGEST, MOST = 30, 2000, 500  # words of a document, documents of a domain
PIECE = 200  # words
SURE = 0.65  # the score from which a text is taken for English

Origin = str  # a domain, book, newsgroup or message
Texts = list[tuple[Origin, str]]


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    scratch.mkdir(parents=True, exist_ok=True)
    domains = {name: english(texts(data)) for name, texts in DOMAINS.items()}
    learn = pa.array([text for origin, text in domains["web"] if not tested(origin)], pa.large_string())
    train(learn, LmSettings(), {}).save(scratch / "web.lm")
    print("## perplexity: sound text against the same text damaged\n")
    print(f"Test halves; the trained model has seen {len(learn):,} texts of web pages, of the other half.\n")
    table("domain, model", "documents", "damage", "median, sound", *(f"AUC by {name}" for name in SIGNALS))
    figures = []
    for model in ("prose-en", str(scratch / "web.lm")):
        called = "the model that ships" if model == "prose-en" else "a model trained on web pages"
        for name, texts in domains.items():
            figures += judge(f"{name}, {called}", Perplexity(model=model), some(texts), name in BOUND)
    print()
    against_spam(Perplexity(), {name: some(texts) for name, texts in domains.items()})
    return [*figures, *prose_by_prose(data, scratch)]


def prose_by_prose(data: Path, scratch: Path) -> list[Figure]:
    """Pieces of prose by a model that is trained on other works: half of them, drawn once and for all."""
    random = np.random.default_rng(1)
    pieces = list(prose(data))
    works = sorted({work for work, _ in pieces})
    known = set(random.permutation(np.array(works))[: len(works) // 2].tolist())
    learn = [text for work, text in pieces if work in known]
    sound = [text for work, text in pieces if work not in known]
    train(pa.array(learn, pa.large_string()), LmSettings(), {}).save(scratch / "prose.lm")
    step = Perplexity(model=str(scratch / "prose.lm"))
    figures = []
    print(f"Prose: trained on {len(learn):,} pieces of {PIECE} words, judged on {len(sound):,} of other works\n")
    table("sound against", "pieces", *(f"AUC by {name}" for name in SIGNALS))
    clean = values(step, sound)
    worse = {name: [DAMAGE[name](text, random) for text in sound] for name in PROSE_DAMAGE}
    for name, texts in (worse | {"spam": short_messages(data)}).items():
        auc = areas(clean, values(step, texts))
        row(name, f"{len(texts):,}", *(f"{auc[signal]:.4f}" for signal in SIGNALS))
        said = f"perplexity, prose by prose, against {name}: AUC"
        figures.append(Figure(f"{said} of value", auc["value"], "", PROSE_BAR, digits=4))
        if "order" in name:
            figures.append(Figure(f"{said} of gain", auc["gain"], "", PROSE_BAR, digits=4))
    print()
    return figures


def short_messages(data: Path) -> list[str]:
    """Spam messages of telephones, ten to a piece: alone they have too few words to be judged."""
    texts = [record["text"] for record in records(data / "quality/sms_spam.jsonl.gz") if record["label"] == "spam"]
    return ["\n".join(texts[i : i + 10]) for i in range(0, len(texts), 10)]


def against_spam(step: Perplexity, texts: dict[str, list[str]]) -> None:
    """Spam is sound English: no signal of order or spelling tells it, and no bar is set."""
    table("the model that ships, against spam", "documents", *(f"AUC by {name}" for name in SIGNALS))
    spam = values(step, texts["spam"])
    for name in ("web", "mail", "prose"):
        sound = values(step, texts[name])
        auc = areas(sound, spam)
        row(name, f"{len(texts[name]):,}", *(f"{auc[signal]:.4f}" for signal in SIGNALS))
    print()


def judge(name: str, step: Perplexity, texts: list[str], bound: bool) -> list[Figure]:
    """AUC of each signal for each kind of damage; the figures are of `gain` for the order and `disorder` for both."""
    random = np.random.default_rng(1)
    sound = values(step, texts)
    figures = []
    for damage, of in DAMAGE.items():
        damaged = values(step, [of(text, random) for text in texts])
        auc = areas(sound, damaged)
        row(name, f"{len(texts):,}", damage, f"{np.median(sound['disorder']):.1f}", *(f"{a:.4f}" for a in auc.values()))
        said = f"perplexity, disorder: {name}, {damage}: AUC"
        figures.append(Figure(said, auc["disorder"], "", BAR if bound else None, digits=4))
    return figures


def shuffled(text: str, random: np.random.Generator) -> str:
    """Its words in another order; the lines keep their numbers of words."""
    words = random.permutation(text.split()).tolist()
    lines, at = [], 0
    for line in text.split("\n"):
        lines.append(" ".join(words[at : at + len(line.split())]))
        at += len(line.split())
    return "\n".join(lines)


def lost(text: str, random: np.random.Generator, share: float = 0.1) -> str:
    letters = np.array(list(text))
    return "".join(letters[(random.random(len(letters)) >= share) | np.isin(letters, [" ", "\n"])])


def misread(text: str, random: np.random.Generator) -> str:
    """One letter in ten is another."""
    wrong = random.random(len(text)) < 0.1
    others = random.integers(ord("a"), ord("z") + 1, len(text))
    return "".join(chr(o) if w and c.isalpha() else c for c, w, o in zip(text, wrong, others, strict=True))


DAMAGE: dict[str, Callable[[str, np.random.Generator], str]] = {
    "words in another order": shuffled,
    "words in another order, one line": lambda text, random: " ".join(random.permutation(text.split())),
    "one letter in ten gone": lost,
    "one letter in five gone": lambda text, random: lost(text, random, 0.2),
    "one letter in ten another": misread,
}
PROSE_DAMAGE = ("words in another order, one line", "one letter in five gone", "one letter in ten gone")


def web(data: Path) -> Iterator[tuple[Origin, str]]:
    """The main text of web pages, by the editors of the benchmarks of extraction."""
    for record in records(data / "warc/crawl/gold_extraction.jsonl.gz"):
        if record["kind"].startswith("full_text") and record.get("text"):
            yield urlsplit(record["url"]).hostname or record["source"], record["text"]


def pages(data: Path) -> Iterator[tuple[Origin, str]]:
    """All text of web pages, menus too."""
    for path in expand(str(data / "warc/crawl/*.warc.wet.gz")):
        for batch in WetReader().read(whole_file(path), "crawl", ReadCounts()):
            for url, text in zip(batch["url"].to_pylist(), batch["text"].to_pylist(), strict=True):
                yield urlsplit(url or "").hostname or "", text or ""


def news(data: Path) -> Iterator[tuple[Origin, str]]:
    for path in sorted((data / "text/reuters21578").glob("*.sgm.gz")):
        bodies = re.findall(r"<BODY>(.*?)</BODY>", gzip.decompress(path.read_bytes()).decode("latin-1"), re.DOTALL)
        for number, body in enumerate(bodies):
            yield f"{path.name} {number}", html.unescape(body).replace("\x03", "").replace(" Reuter\n", "")


def newsgroups(data: Path) -> Iterator[tuple[Origin, str]]:
    for record in records(data / "text/20newsgroups_train.jsonl.gz"):
        yield record["newsgroup"], record["text"].partition("\n\n")[2]


def mail(data: Path, label: str) -> Iterator[tuple[Origin, str]]:
    """The plain text of messages, without headers."""
    for record in records(data / "quality/spamassassin_mail.jsonl.gz"):
        if record["label"] == label:
            message = email.message_from_string(record["text"])
            plain = [part for part in message.walk() if part.get_content_type() == "text/plain"]
            bodies = [part.get_payload(decode=True) for part in plain]
            yield record["id"], "".join(body.decode("latin-1") for body in bodies if isinstance(body, bytes))


def prose(data: Path) -> Iterator[tuple[Origin, str]]:
    """Pieces of PIECE words of books, encyclopedia and speeches."""
    for record in records(data / "text/standardebooks_chapters.jsonl.gz"):
        yield from cut(record["id"].partition("/")[0], record["text"])
    for number, text in enumerate(pq.read_table(data / "text/wikitext2_valid.parquet").column("text").to_pylist()):
        yield from cut(f"wiki {number}", text or "")
    for record in records(data / "text/us_inaugural.jsonl.gz"):
        yield from cut(record["id"], record["text"])


def cut(work: str, text: str) -> Iterator[tuple[Origin, str]]:
    words = text.split()
    for at in range(0, len(words) - PIECE + 1, PIECE):
        yield work, " ".join(words[at : at + PIECE])


DOMAINS: dict[str, Callable[[Path], Iterable[tuple[Origin, str]]]] = {
    "web": web,
    "web pages, whole": pages,
    "news": news,
    "newsgroups": newsgroups,
    "mail": lambda data: mail(data, "ham"),
    "spam": lambda data: mail(data, "spam"),
    "prose": prose,
}


def english(texts: Iterable[tuple[Origin, str]]) -> Texts:
    """Those of SHORTEST to LONGEST words in English."""
    some = [(origin, text) for origin, text in texts if SHORTEST <= len(text.split()) <= LONGEST]
    language = Identifier(model=LID_176).columns(pa.array([text for _, text in some], pa.large_string()))
    is_english = pc.and_(pc.equal(language["label"], "en"), pc.greater_equal(language["score"], SURE))
    return [one for one, it_is in zip(some, pc.fill_null(is_english, False).to_pylist(), strict=True) if it_is]


def tested(origin: Origin) -> bool:
    return hashlib.sha256(origin.encode()).digest()[0] % 2 == 1


def some(texts: Texts) -> list[str]:
    """At most MOST of the test half."""
    mine = [text for origin, text in texts if tested(origin)]
    chosen = np.random.default_rng(0).permutation(len(mine))[:MOST]
    return [mine[i] for i in sorted(chosen)]


def values(step: Perplexity, texts: list[str]) -> dict[str, NDArray[np.float64]]:
    columns = {name: pa.nulls(len(texts), DOCUMENT.field(name).type) for name in DOCUMENT.names}
    columns["id"] = pa.array([document_id("made", str(i)) for i in range(len(texts))])
    columns["text"] = pa.array(texts, pa.large_string())
    signals = step.signals(pa.RecordBatch.from_pydict(columns, schema=DOCUMENT))
    return {name: np.asarray(signals[name].drop_null().to_numpy(zero_copy_only=False)) for name in SIGNALS}


def areas(sound: dict[str, NDArray[np.float64]], worse: dict[str, NDArray[np.float64]]) -> dict[str, float]:
    """signal -> how well it tells them apart."""
    found = {signal: area(sound[signal], worse[signal]) for signal in SIGNALS}
    return found | {"gain": 1 - found["gain"]}  # high is sound


def area(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    """How often one of `high` is above one of `low`, equal ones half: the area under the ROC curve."""
    order = np.sort(low)
    below = np.searchsorted(order, high, "left") + np.searchsorted(order, high, "right")
    return float(below.mean() / (2 * len(low)))


def records(path: Path) -> Iterator[dict[str, str]]:
    if not path.is_file():
        raise SystemExit(f"{path}: not there. Name the folder of labelled documents with --data.")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
