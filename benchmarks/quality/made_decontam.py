"""Real documents with benchmark items put into them, in every way that they are copied: made here, with a seed.

The documents are books, speeches, mail, papers, web text and Usenet posts, none of those of decontam.py. Both documents
and benchmarks are divided: bounds were chosen on the development part, the test part was looked at twice.
"""

import gzip
import html
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks import samples
from corpusmill.read import ReadCounts, whole_file
from corpusmill.storage import expand

DEVELOPMENT = ("arc_easy", "commonsense_qa", "hellaswag", "mbpp", "openbookqa", "truthfulqa")
TEST = ("arc_challenge", "gsm8k", "humaneval", "lambada_openai", "mmlu", "piqa", "winogrande")
SEEDS = {"development": 11, "test": 4711}
SHORT = (6, 12)  # words of a question
PER_MODE = 150  # documents
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONGEST = 30_000  # characters of a document


@dataclass(frozen=True)
class Item:
    id: str
    question: str
    answer: str

    @property
    def words(self) -> int:
        return len(self.question.split())


@dataclass(frozen=True)
class Made:
    """A document.

    mode    the way in which items were put in, a key of MODES, or "clean"
    bad     whether that is contamination
    items   the ids of the items
    span    first character and end of what was put in; (0, 0) if nothing was
    """

    text: str
    mode: str
    bad: bool
    items: frozenset[str]
    span: tuple[int, int] = (0, 0)


def items_of(folder: Path, tasks: tuple[str, ...]) -> list[Item]:
    found = []
    for task in tasks:
        with gzip.open(folder / f"{task}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                found.append(Item(row["id"], row["question"], str(row["answer"] or "")))
    return [item for item in found if item.words >= SHORT[0] and len(set(item.question.lower().split())) >= SHORT[0]]


def documents(data: Path, part: str) -> list[str]:
    """The texts of a part, by their hash."""
    texts = []
    for reader, pattern in samples.SOURCES:
        for info in expand(str(data / pattern)):
            for batch in reader.read(whole_file(info), "made", ReadCounts()):
                texts += [text for text in batch["text"].to_pylist() if text and len(text) >= 500]
    chosen = [text[:LONGEST] for text in texts if (sha256(text.encode()).digest()[0] % 2 == 0) == (part == "test")]
    return list(dict.fromkeys(chosen))


def made(data: Path, part: str) -> list[Made]:
    """PER_MODE documents of each mode, and all that are left with nothing put in."""
    chance = random.Random(SEEDS[part])
    items = items_of(data / "eval" / "normalized", DEVELOPMENT if part == "development" else TEST)
    short = [item for item in items if item.words <= SHORT[1]]
    long = [item for item in items if item.words > SHORT[1]]
    hosts = documents(data, part)
    chance.shuffle(hosts)
    result = []
    for mode, (write, whose) in MODES.items():
        for _ in range(PER_MODE):
            pool = short if whose == "short" else long if whose == "long" else items
            chosen = chance.sample(pool, 10 if mode == "ten in a row" else 1)
            if mode == "answer alone":
                chosen = [chance.choice([item for item in chance.sample(items, 50) if len(item.answer.split()) >= 3])]
            if mode == "first 60 %":
                chosen = [chance.choice([item for item in chance.sample(items, 50) if item.words >= 14])]
            text = "\n".join(write(item, chance) for item in chosen)
            bad = mode not in NOT_BAD
            made, start = put(text, hosts.pop(), chance)
            result.append(Made(made, mode, bad, frozenset(item.id for item in chosen), (start, start + len(text))))
    return result + [Made(text, "clean", False, frozenset()) for text in hosts]


def put(text: str, host: str, chance: random.Random) -> tuple[str, int]:
    """Between two lines, or two words, of a document; and where."""
    breaks = [at for at, character in enumerate(host) if character == "\n"]
    breaks = breaks or [at for at, character in enumerate(host) if character == " "]
    at = chance.choice(breaks)
    return f"{host[:at]}\n{text}\n{host[at:]}", at + 1


def exact(item: Item, chance: random.Random) -> str:
    return item.question


def with_answer(item: Item, chance: random.Random) -> str:
    return f"Question: {item.question}\nAnswer: {item.answer}"


def restyled(item: Item, chance: random.Random) -> str:
    """Another case, other white space, other punctuation."""
    text = chance.choice([str.upper, str.lower, str.title])(item.question)
    text = "".join(chance.choice([", ", "  ", " ", " ", "\n", " - "]) if c == " " else c for c in text)
    return text.replace("?", chance.choice(["", "!", " ?"])).replace("'", "\u2019")


def escaped(item: Item, chance: random.Random) -> str:
    quotes = item.question.replace("'", "\u2019").replace('"', "\u201c")
    return html.escape(quotes).replace("\u2019", "&rsquo;") if chance.random() < 0.5 else quotes


def first_part(item: Item, chance: random.Random) -> str:
    words = item.question.split()
    return " ".join(words[: round(0.6 * len(words))])


def misspelt(item: Item, chance: random.Random) -> str:
    """Typing errors in 5 % of the words, in one at least."""
    return wrong(item.question, chance, typing_error)


def garbled(item: Item, chance: random.Random) -> str:
    """5 % of the words, one at least, reversed, replaced by other letters, or by nothing that is a word."""
    return wrong(item.question, chance, noise)


def wrong(text: str, chance: random.Random, change: Callable[[str, random.Random], str]) -> str:
    words = text.split(" ")
    places = [at for at, word in enumerate(words) if any(map(str.isalpha, word))]
    chosen = set(chance.sample(places, max(1, round(0.05 * len(places)))))
    return " ".join(change(word, chance) if at in chosen else word for at, word in enumerate(words))


def typing_error(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word))
    other = chance.choice(LETTERS)
    kind = chance.randrange(4)
    if kind == 0 and len(word) > 1:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + other + word[at:]
    if kind == 2 and at + 1 < len(word):
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + other + word[at + 1 :]


def noise(word: str, chance: random.Random) -> str:
    kind = chance.randrange(3)
    if kind == 0:
        return word[::-1]
    if kind == 1:
        return "xx"
    return "".join(chance.choice(LETTERS) for _ in word)


def answer_alone(item: Item, chance: random.Random) -> str:
    return item.answer


def another(item: Item, chance: random.Random) -> str:
    """The question about something else: its longest word is another word of the same length or so."""
    words = item.question.split(" ")
    at = max(range(len(words)), key=lambda place: len(words[place]))
    words[at] = chance.choice(OTHER_WORDS)
    return " ".join(words)


OTHER_WORDS = ("kitchen", "president", "molecule", "Germany", "engine", "election", "triangle", "protein", "contract")
MODES: dict[str, tuple[Callable[[Item, random.Random], str], str]] = {
    "whole": (exact, "all"),
    "whole, 6 to 12 words": (exact, "short"),
    "with its answer": (with_answer, "all"),
    "case, space, punctuation": (restyled, "all"),
    "escaped, other quotes": (escaped, "all"),
    "first 60 %": (first_part, "long"),
    "ten in a row": (exact, "all"),
    "typing errors, 6 to 12 words": (misspelt, "short"),
    "typing errors, longer": (misspelt, "long"),
    "garbled words, 6 to 12 words": (garbled, "short"),
    "garbled words, longer": (garbled, "long"),
    "answer alone": (answer_alone, "all"),
    "the same about something else": (another, "short"),
}
NOT_BAD = ("answer alone", "the same about something else")
APART = (
    "the same about something else",
)  # half of them have 8 words of the question in a row: neither right nor wrong
TYPOS = tuple(mode for mode in MODES if "typing" in mode or "garbled" in mode)


def by_mode(documents: list[Made]) -> Iterator[tuple[str, list[int]]]:
    for mode in [*MODES, "clean"]:
        yield mode, [i for i, document in enumerate(documents) if document.mode == mode]
