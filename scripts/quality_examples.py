"""Kinds of documents that labelled pages have few of, for scripts/train_quality.py: good ones of DIR and of the demo,
and bad ones that are made of them.

Each kind has parts. Models are trained on `train`, what they are trained on was chosen by `dev`, and `test` was looked
at four times:

    questions   Stack Exchange questions with answers, by a hash of the text: half, a quarter, a quarter
    verse       plays of Shakespeare: the first half of the file, a quarter, a quarter
    recipes     of demo/prose, all in `train`
    posts       of newsgroups, without headers and quotations, by group: none in `train`, see GROUPS
    mails       that people wanted, and as bad ones
    spam        that nobody wanted (SpamAssassin's): half in `train` by a hash of the text, in `test` the others, less
                those that share a tenth of their runs of five words with one in `train`; none in `dev`
    web         English pages of extraction benchmarks, all in `train`: what people marked as the text of the page, and
                as bad ones the rest of the page
    ruins       of print that was badly recognised, made of chapters: Moby-Dick, Frankenstein, Pride and Prejudice
    lists       of words, names and links, made of the same chapters
    keywords    a few words of them, over and over, as search engines were once misled: measured alone,
                because those that were trained on cost the ranking of labelled pages more than they helped here
"""

import email
import gzip
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal

import orjson
import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text

from corpusmill.text.hashing import hash64

sys.path.insert(0, str(Path(__file__).parent.parent / "demo"))
from passages import own

Part = Literal["train", "dev", "test"]
GROUPS = {
    "train": (),  # with them, labelled pages were ranked worse: people called such posts bad
    "dev": ("comp.sys.mac.hardware", "sci.electronics", "rec.autos"),
    "test": ("comp.sys.ibm.pc.hardware", "sci.crypt", "rec.sport.baseball"),
}
BOOKS = {
    "train": "herman-melville_moby-dick",
    "dev": "mary-shelley_frankenstein",
    "test": "jane-austen_pride-and-prejudice",
}
LEAST = 60  # words of a post or a mail: shorter ones are asides
RUN, SHARED = 5, 0.1  # words, and the share of such runs that makes two mails of one family
# What recognition of print takes for what.
CONFUSED = {
    "e": "co", "c": "eo(", "o": "0ec", "a": "uo4", "h": "bli", "b": "hli6", "l": "1I|ti", "i": "1l!j", "t": "fl+",
    "f": "t", "n": "uri", "u": "nii", "m": "inrn", "r": "nv", "s": "f5z", "g": "9q", "d": "cltl", "w": "vv", "y": "vg",
    "v": "yr", "I": "l1", "S": "5", "O": "0", "B": "8", "D": "0", "T": "'l", "E": "F", "p": "jn", "k": "lc", ".": ",",
    ",": ".",
}  # fmt: skip
SPECKS = ("'", ".", "^", "~", "*", "■", "|", "_", "-", "•", "\\", "»", ":", ";")


def good(data: Path, part: Part, rng: Random) -> dict[str, list[str]]:
    """Good documents by kind."""
    found = {"questions": questions(data, part), "verse": verse(data, part, rng)}
    if part != "dev":
        found["mails"] = mails(data, part, "ham")
    if part == "train":
        recipes = ["\n".join((passage.title, *passage.paragraphs)) for passage in own("recipes")]
        return found | {"recipes": recipes}
    return found | {"posts": posts(data, part)}


def bad(data: Path, part: Part, rng: Random, each: int) -> dict[str, list[str]]:
    """Bad documents by kind, so many of each."""
    passages = list(chapters(data, part))
    texts = [cut(rng.choice(passages), rng) for _ in range(2 * each)]
    found = {
        "ruins": [ruin(text, rng) for text in texts[:each]],
        "lists": [listed(text, rng) for text in texts[each:]],
        "keywords": [stuffed(text, Random(text)) for text in texts[:each]],
    }
    return found if part == "dev" else found | {"spam": mails(data, part, "spam")}


def questions(data: Path, part: Part) -> list[str]:
    texts = [record["text"] for record in records(data / "text/redpajama_samples/stackexchange.jsonl.gz")]
    chance = hash64(pa.array(texts, pa.large_string())) % 4
    of: dict[str, tuple[int, ...]] = {"train": (0, 1), "dev": (2,), "test": (3,)}
    return [text for text, number in zip(texts, chance.tolist()) if number in of[part]]


def posts(data: Path, part: Part) -> list[str]:
    texts = []
    for record in records(data / "text/20newsgroups_train.jsonl.gz"):
        if record["newsgroup"] in GROUPS[part]:
            lines = record["text"].partition("\n\n")[2].split("\n")
            own = [line for line in lines if not re.match(r"\s*[>|:}]|.*(writes|wrote|article).*[:>]?$", line)]
            text = re.sub(r"\n{3,}", "\n\n", "\n".join(own)).strip()
            text = re.split(r"\n-- ?\n|\n[-_=*]{10,}", text)[0]
            if len(text.split()) >= LEAST:
                texts.append(text)
    return texts


def mails(data: Path, part: Part, label: Literal["ham", "spam"]) -> list[str]:
    """The texts of mails, each once."""
    of_label = (record for record in records(data / "quality/spamassassin_mail.jsonl.gz") if record["label"] == label)
    texts = list(dict.fromkeys(mail_text(record["text"]) for record in of_label))
    texts = [text for text in texts if len(text.split()) >= LEAST]
    chance = (hash64(pa.array(texts, pa.large_string())) % 2).tolist()
    train = [text for text, number in zip(texts, chance) if number == 0]
    if part == "train":
        return train
    known = {run for text in train for run in runs(text)}
    rest = [text for text, number in zip(texts, chance) if number == 1]
    return [text for text in rest if len(runs(text) & known) < SHARED * len(runs(text))]


def mail_text(raw: str) -> str:
    """The longest part of a mail that is text; of HTML what it shows."""
    longest = ""
    for part in email.message_from_string(raw).walk():
        if part.get_content_maintype() != "text":
            continue
        encoded = part.get("Content-Transfer-Encoding", "").strip().lower() in ("base64", "quoted-printable")
        payload = part.get_payload(decode=True) if encoded else part.get_payload()
        text = payload.decode("latin-1") if isinstance(payload, bytes) else str(payload)
        if part.get_content_subtype() == "html" or re.search(r"<(html|body|table)\b", text, re.I):
            text = extract_plain_text(text, main_content=False)
        longest = max(longest, text, key=len)
    return re.sub(r"\n{3,}", "\n\n", longest.replace("\r", "")).strip()


def runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z]+", text.lower())
    return set(zip(*(words[first:] for first in range(RUN))))


def verse(data: Path, part: Part, rng: Random) -> list[str]:
    with gzip.open(data / "text/tinyshakespeare.txt.gz", "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    quarter = len(lines) // 4
    first, last = {"train": (0, 2), "dev": (2, 3), "test": (3, 4)}[part]
    lines = lines[first * quarter : last * quarter]
    spoken = [line for line in lines if not line.endswith(":")]  # as a poem has it
    made = []
    for _ in range(60):
        chosen = rng.choice((lines, spoken))
        start = rng.randrange(len(chosen) - 90)
        made.append("\n".join(chosen[start : start + rng.randint(12, 80)]).strip())
    return made


def web(data: Path, each: int, rng: Random) -> tuple[list[str], list[str]]:
    """Good and bad texts of pages whose text people have marked."""
    pages: dict[str, str] = {}
    for path in sorted((data / "warc/crawl").glob("*.warc.wet.gz")):
        with path.open("rb") as file:
            for page in ArchiveIterator(file, record_types=WarcRecordType.conversion):
                if (page.headers.get("WARC-Identified-Content-Language") or "eng")[:2] == "en":
                    pages[page.headers.get("WARC-Refers-To") or ""] = page.reader.read().decode("utf-8", "replace")
    texts, rests = [], []
    for record in records(data / "warc/crawl/gold_extraction.jsonl.gz"):
        if record["kind"] == "full_text" and record["record_id"] in pages:
            text = folded(record["text"])
            lines = [line for line in pages[record["record_id"]].split("\n") if folded(line)]
            rest = [line for line in lines if folded(line) not in text]
            if len(text.split()) >= 50:
                texts.append(record["text"])
            if sum(len(line.split()) for line in rest) >= 20:
                rests.append("\n".join(rest))
    return rng.sample(texts, each), rng.sample(rests, each)


def folded(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def chapters(data: Path, part: Part) -> Iterator[str]:
    for record in records(data / "text/standardebooks_chapters.jsonl.gz"):
        if record["book"] == BOOKS[part]:
            yield record["text"]


def cut(text: str, rng: Random) -> str:
    """Some of its paragraphs."""
    paragraphs = [paragraph for paragraph in text.split("\n") if paragraph.strip()]
    first = rng.randrange(len(paragraphs))
    words = " ".join(paragraphs[first : first + rng.randint(2, 10)]).split()
    return " ".join(words[: rng.randint(80, 600)])


def ruin(text: str, rng: Random) -> str:
    """The text as a bad scan of it would be recognised: letters confused, words torn apart and run together, specks,
    headers between lines, whole lines of nothing."""
    share = rng.uniform(0.12, 0.6)  # of words that are hit
    words: list[str] = []
    for word in text.split():
        draw = rng.random()
        if draw >= share:
            words.append(word)
        elif draw < 0.65 * share:
            words.append(confused(word, rng))
        elif draw < 0.8 * share and len(word) > 3:
            at = rng.randint(1, len(word) - 1)
            words += [word[:at], word[at:]]
        elif draw < 0.9 * share and words:
            words[-1] += word
        else:
            words += [word, "".join(rng.choices(SPECKS, k=rng.randint(1, 3)))]
    lines: list[str] = []
    width = rng.randint(5, 13)
    while words:
        size = max(width + rng.randint(-2, 2), 2)
        line, words = words[:size], words[size:]
        if rng.random() < 0.1 and words and len(line[-1]) > 5:
            line[-1], words[0] = line[-1][:3] + rng.choice(("-", "¬", "- ")), line[-1][3:] + " " + words[0]
        lines.append(" ".join(line))
        if rng.random() < 0.04:
            lines.append("".join(rng.choices([*SPECKS, " ", "i", "l", "1", "r", "t"], k=rng.randint(4, 30))))
        if rng.random() < 0.03:
            lines.append(f"{confused(text.split(maxsplit=1)[0].upper(), rng)} {rng.randint(1, 400)}")
    return rng.choice(("\n", "\n", " ", "\n\n")).join(lines)


def confused(word: str, rng: Random) -> str:
    """A word with one letter or several taken for others, or its case lost."""
    if rng.random() < 0.08:
        return word.swapcase()
    letters = list(word)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(letters))
        letters[at] = rng.choice(CONFUSED.get(letters[at], letters[at]))
    return "".join(letters)


def listed(text: str, rng: Random) -> str:
    """Words of the text as lists on pages are: one or a few a line or all in one, with capitals, numbers, marks."""
    words = [word.strip(".,;:!?“”‘’—()") for word in text.split()]
    words = [word for word in words if len(word) > 2]
    rng.shuffle(words)
    entries: list[str] = []
    longest = rng.choice((1, 2, 3, 6))
    style: Callable[[str], str] = rng.choice((str.title, str.title, str.lower, str.upper, str.capitalize))
    while words:
        size = rng.randint(1, longest)
        entries.append(style(" ".join(words[:size])))
        words = words[size:]
    mark = rng.choice(("", "", "- ", "• ", "* ", "» ", "#"))
    count = rng.random() < 0.3
    marked = [f"{mark}{entry}{f' ({rng.randint(1, 300)})' * count}" for entry in entries[: rng.randint(15, 250)]]
    return rng.choice(("\n", "\n", "\n", ", ", " | ", " ", " · ")).join(marked)


def stuffed(text: str, rng: Random) -> str:
    """A few words of the text in ever new combinations, as phrases without sentences."""
    words = list(dict.fromkeys(word for word in text.lower().split() if word.isalpha() and len(word) > 3)) or ["best"]
    chosen = rng.sample(words, min(rng.randint(3, 12), len(words)))
    phrases = [" ".join(rng.sample(chosen, min(rng.randint(1, 4), len(chosen)))) for _ in range(rng.randint(15, 200))]
    style: Callable[[str], str] = rng.choice((str.lower, str.lower, str.title))
    return style(rng.choice((", ", ", ", " ", "\n", " | ", "; ")).join(phrases))


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as lines:
        for line in lines:
            yield orjson.loads(line)
