"""Benchmarks whose items share a template, made of others by putting words around every question; with a seed.

A copy of the first 60 % of such an item may be the template and little else. The two parts have other templates, around
other benchmarks, in other documents: the length from which on boilerplate is a template was chosen on the development
part.
"""

import gzip
import json
import random
from pathlib import Path

from benchmarks.quality.made_decontam import MODES, Item, Made, documents, exact, items_of, put

SEEDS = {"development": 23, "held out": 90210}
ITEMS = 400  # of each benchmark
LONGEST = 60  # words of a question
PER_MODE = 120  # documents of each way, of all templates together

# By benchmark: what is before each of its questions, and behind it.
TEMPLATES = {
    "development": {
        "arc_easy": ("Choose the right ending for the following exercise in science:", ""),
        "commonsense_qa": (
            "A person with common sense is asked this and has to answer at once, without looking anything up:",
            "",
        ),
        "hellaswag": (
            "Here is what happens first in a short film about everyday life. Decide which one of four endings, all "
            "written in the same style, continues it in the most plausible manner.",
            "",
        ),
        "mbpp": (
            "You are an expert programmer, and this is your task, which must pass some tests that are hidden from you:",
            "Return nothing but the code, between two marks that show where it begins and ends.",
        ),
        "openbookqa": (
            "Imagine that you are allowed to take a small book of elementary facts into your examination, and that one "
            "of those facts, together with something that everyone knows, leads to the only correct choice. Complete "
            "this sentence or reply to it as a careful pupil would:",
            "",
        ),
        "truthfulqa": ("", "Reply in one line, truthfully, even where many people believe something else to be so."),
    },
    "held out": {
        "arc_challenge": ("Pupils of the eighth grade were given this problem on paper:", ""),
        "gsm8k": (
            "Solve the little story below step by step, and write down only a whole number at the end.",
            "Remember that units such as dollars or hours do not belong to what you hand in.",
        ),
        "piqa": (
            "Somebody at home would like to reach the goal that is written next. Say which of both suggested ways "
            "would really work in a physical world like ours:",
            "",
        ),
        "winogrande": (
            "In the statement that stands underneath there is a gap, marked by a low line, where one out of two names "
            "or things was removed. Fill it in by means of ordinary knowledge, bearing in mind that a change of a "
            "single word would turn the solution around. The statement is:",
            "",
        ),
        "lambada_openai": (
            "Read this excerpt from a novel whose last word has been left out, and guess that word:",
            "",
        ),
    },
}


def wrapped(folder: Path, part: str) -> dict[str, list[Item]]:
    """The items with their templates, by benchmark."""
    chance = random.Random(SEEDS[part])
    made = {}
    for name, (before, after) in TEMPLATES[part].items():
        items = [item for item in items_of(folder, (name,)) if item.words <= LONGEST]
        chosen = chance.sample(items, min(ITEMS, len(items)))
        made[name] = [Item(item.id, f"{before} {item.question} {after}".strip(), item.answer) for item in chosen]
    return made


def write(folder: Path, part: str, to: Path) -> str:
    """All benchmarks as files below `to`, the items of this part with their templates in place of those without."""
    to.mkdir(parents=True)
    made = wrapped(folder, part)
    for path in sorted(folder.glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        if name not in made:
            (to / path.name).write_bytes(path.read_bytes())
            continue
        with gzip.open(to / path.name, "wt", encoding="utf-8") as lines:
            for item in made[name]:
                lines.write(json.dumps({"id": item.id, "question": item.question, "answer": item.answer}) + "\n")
    return str(to)


def made(data: Path, part: str) -> list[Made]:
    """PER_MODE documents of each way, and those that are left with nothing put in."""
    chance = random.Random(SEEDS[part])
    benchmarks = wrapped(data / "eval" / "normalized", part)
    names = sorted(benchmarks)
    hosts = documents(data, "development" if part == "development" else "test")
    chance.shuffle(hosts)
    result = []
    for mode in WAYS:
        for number in range(PER_MODE):
            name = names[number % len(names)]
            item = chance.choice(benchmarks[name])
            if mode == "the template alone":
                item = Item("", " ".join(TEMPLATES[part][name]).strip(), "")
            text = (OTHERS.get(mode) or MODES[mode][0])(item, chance)
            whole, start = put(text, hosts.pop(), chance)
            result.append(Made(whole, mode, mode not in APART, frozenset([item.id]), (start, start + len(text))))
    return result + [Made(text, "clean", False, frozenset()) for text in hosts]


def last_part(item: Item, chance: random.Random) -> str:
    words = item.question.split()
    return " ".join(words[-round(0.6 * len(words)) :])


OTHERS = {"last 60 %": last_part, "the template alone": exact}
APART = ("the template alone",)  # neither right nor wrong
TYPOS = ("typing errors, longer", "garbled words, longer")
WAYS = (
    "whole",
    "with its answer",
    "case, space, punctuation",
    "escaped, other quotes",
    "first 60 %",
    "last 60 %",
    "typing errors, longer",
    "garbled words, longer",
    "the template alone",
)
