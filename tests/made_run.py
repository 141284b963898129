"""A small run, made once for all tests that look at one."""

import atexit
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random

import corpusmill
from corpusmill.execute.serial import Serial

# Everything that could break out of a page or command a terminal.
HOSTILE = "<script>alert(1)</script> \x1b[2J \u202e # # # # # # # # <img src=x onerror=alert(2)> &amp; </div></style>"
HOSTILE_URL = 'http://made.org/"><script>alert(3)</script>'
WORDS = """
river stone winter garden letter window market silver morning captain forest bridge candle harbour kitchen
mountain novel orange painter question railway sailor teacher village weather yellow anchor basket cotton dinner engine
feather glass hammer island jacket ladder mirror needle ocean pencil rabbit saddle ticket valley wagon
"""
SHORT, COPIES, NEAR = 12, 5, 3

RECIPE = """
name: made
read:
  - jsonl: {{paths: {folder}/web.jsonl, source: web}}
  - jsonl: {{paths: {folder}/extra.jsonl, source: extra}}
steps:
  - filter/gopher_quality: {{min_words: 20, min_stop_words: 1}}
  - filter/fineweb
  - dedup/exact
  - dedup/minhash
  - tokenize/bpe
  - pack/concat: {{length: 64}}
write: [shards]
run: {{executor: serial, error_budget: 5}}
"""


def prose(random: Random, words: int = 90) -> str:
    return " ".join("the" if i % 7 == 3 else random.choice(WORDS.split()) for i in range(words)) + "."


def records() -> list[dict[str, str]]:
    """Good ones, short ones, copies, near copies, and one that is hostile; the number is in the url."""
    random = Random(5)
    good = [prose(random) for _ in range(30)]
    near = [good[0] + " Again.", good[1].replace(" the ", " that ", 1), good[2] + " Over and over."]
    texts = [
        *good,
        *(prose(random, 4 + i) for i in range(SHORT)),
        *good[10 : 10 + COPIES],
        *near,
        f"{HOSTILE} {prose(random, 40)}",
    ]
    urls = [f"http://made.org/{i}" for i in range(len(texts))]
    return [{"text": text, "url": url} for text, url in zip(texts, [*urls[:-1], HOSTILE_URL])]


def write_corpus(folder: Path) -> Path:
    """The corpus, with two records that are no documents, and its recipe; returns the path of the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record) for record in records()]
    (folder / "web.jsonl").write_text("\n".join([*lines, "{bad json", '{"text": 7}']) + "\n")
    random = Random(9)
    (folder / "extra.jsonl").write_text("".join(json.dumps({"text": prose(random)}) + "\n" for _ in range(6)))
    (folder / "made.yaml").write_text(RECIPE.format(folder=folder))
    return folder / "made.yaml"


@cache
def made_corpus() -> Path:
    """The recipe of the corpus."""
    folder = Path(tempfile.mkdtemp(prefix="made-run-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return write_corpus(folder)


@cache
def made_run() -> Path:
    """The folder of the finished run. To change something in it, copy it first."""
    recipe = made_corpus()
    return corpusmill.run(recipe, folder=recipe.parent / "run", executor=Serial(), progress=False).folder


def unfinish(folder: Path, stage: str) -> None:
    """Make a finished run as it is after it was killed in this stage: one unit short of the end."""
    (place,) = folder.glob(f"stages/{stage}-????????")
    for result in (place / "results").iterdir():
        result.unlink()
    next((place / "commits").iterdir()).unlink()
