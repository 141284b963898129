"""Is what `corpusmill ablate` says true? Corpora whose sources and stages have a worth that is known.

Each corpus has 20 sources. Their prose is drawn from one chain of words, so that there is as much of it as one likes,
and what each source has instead of prose is planted: sentences of random letters, words in random order, another
language, copies of its own documents, and all documents of another source. Of six stages three drop documents by
chance, two drop what is known to be bad, and one drops good prose. The text that models are judged by is other prose.

The truth of an effect is its mean over other corpora than the one that is judged: the first ones of a trial, which are
not judged, or, where each costs much, all others. What is judged is how often the 95 % interval holds the truth, the
rank correlation of what was measured with it, and whether stages that do nothing are called so.
"""

import json
import math
import random
import re
import shutil
import string
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pyarrow as pa

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.report.tables import RunTables
from corpusmill.text.hashing import hash64
from corpusmill.train.ablate.ablation import Ablation, Effect, Interval, ablate
from corpusmill.train.ablate.experiment import ModelKind
from corpusmill.train.ablate.grams import NgramModels

PROSE = Path(__file__).parents[2] / "demo" / "prose"
SURPRISE = 0.3  # of words are drawn from all: or documents would be near-duplicates of each other
SENTENCES = 16  # of a document, if nothing else is said
NOISE = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)  # per cent of sentences of random letters
SHUFFLED = (25, 50, 75, 100)  # of sentences whose words are in random order
FOREIGN = (50, 100)  # of documents in another language
COPIES = (4, 16)  # how often each document is there
SOURCES = (
    *(f"noise-{share}" for share in NOISE),
    *(f"shuffled-{share}" for share in SHUFFLED),
    *(f"foreign-{share}" for share in FOREIGN),
    *(f"copies-{times}" for times in COPIES),
    "twin",  # the documents of noise-0 again
)
NULL = ("first_by_chance", "second_by_chance", "third_by_chance")
GOOD, BAD = ("some_noisy", "some_foreign"), "some_good"
STAGES = (*NULL, *GOOD, BAD)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """How much is made and trained.

    source_bytes   of each source
    sentences      of a document: a small model should read some documents of each source
    budget         bytes of a model: less than there is of some sources in a group, so that hardly anything is read
                   twice
    held_out       bytes of prose that no source has
    truth          corpora of which the truth is the mean; 0: for each corpus, it is the mean of all others
    judged         corpora that are judged
    """

    source_bytes: int
    sentences: int
    budget: int
    held_out: int
    truth: int
    judged: int


TRIALS = {
    "ngram": Trial(source_bytes=600_000, sentences=SENTENCES, budget=80_000, held_out=400_000, truth=16, judged=8),
    "gpt": Trial(source_bytes=120_000, sentences=4, budget=10_000, held_out=80_000, truth=0, judged=8),
}


def kind_of(models: str) -> ModelKind:
    """GPTs are as small as they can be and still see more than single letters."""
    if models == "ngram":
        return NgramModels()
    from corpusmill.train.ablate.gpts import GptModels

    return GptModels(width=32, layers=1, heads=2, length=32, rows=1, models_at_once=80)


class Chain:
    """Sentences, each word drawn by the one before it as in the prose of the demo."""

    def __init__(self) -> None:
        self.after: dict[str, list[str]] = defaultdict(list)
        self.words: list[str] = []
        for path in ("articles.txt", "recipes.txt", "threads.txt"):
            for sentence in re.split(r"(?<=[.!?])\s+", (PROSE / path).read_text("utf-8")):
                words = ["", *sentence.split(), ""]
                self.words += words[1:-1]
                for before, word in pairwise(words):
                    self.after[before].append(word)

    def sentence(self, chance: random.Random) -> list[str]:
        words: list[str] = []
        while word := chance.choice(self.after[words[-1] if words else ""]):
            words.append(chance.choice(self.words) if chance.random() < SURPRISE else word)
            if len(words) == 40:
                break
        return words or ["So."]


def documents(source: str, seed: int, size: int, chain: Chain, length: int = SENTENCES) -> Iterator[tuple[str, str]]:
    """Texts of a source, about `size` bytes, each with what its stage is to know: noisy, foreign, good or "" """
    kind, _, number = source.partition("-")
    if kind == "twin":
        yield from documents("noise-0", seed, size, chain, length)
        return
    chance = random.Random(f"{seed} {source}")
    share = int(number) / 100
    alphabet = string.ascii_lowercase
    foreign = str.maketrans(alphabet, "".join(random.Random(1).sample(alphabet, 26)))
    written = 0
    while written < size:
        sentences = [chain.sentence(chance) for _ in range(length)]
        label = "good" if source == "noise-0" else ""
        if kind == "noise":
            for i, words in enumerate(sentences):
                if chance.random() < share:
                    sentences[i] = ["".join(chance.choices(alphabet, k=len(word))) for word in words]
                    label = "noisy" if share >= 0.5 else label
        elif kind == "shuffled":
            for words in sentences:
                if chance.random() < share:
                    chance.shuffle(words)
        text = "\n".join(" ".join(words) for words in sentences)
        if kind == "foreign" and chance.random() < share:
            text, label = text.translate(foreign), "foreign"
        for _ in range(int(number) if kind == "copies" else 1):
            written += len(text)
            yield text, label


def is_chosen(text: str, salt: int, share: float) -> bool:
    return int(hash64(pa.array([text], pa.large_string()), salt)[0]) / 2**64 < share


def first_by_chance(document: Any) -> bool:
    return not is_chosen(document.text, 1, 0.15)


def second_by_chance(document: Any) -> bool:
    return not is_chosen(document.text, 2, 0.3)


def third_by_chance(document: Any) -> bool:
    return not is_chosen(document.text, 3, 0.05)


def some_noisy(document: Any) -> bool:
    return document.metadata["label"] != "noisy" or not is_chosen(document.text, 4, 0.5)


def some_foreign(document: Any) -> bool:
    return document.metadata["label"] != "foreign" or not is_chosen(document.text, 5, 0.5)


def some_good(document: Any) -> bool:
    return document.metadata["label"] != "good" or not is_chosen(document.text, 6, 0.5)


def mill(folder: Path, seed: int, size: int, sources: Sequence[str] = SOURCES, length: int = SENTENCES) -> Path:
    """Write a corpus and run its recipe; returns the folder of the run."""
    folder.mkdir(parents=True)
    chain = Chain()
    for source in sources:
        with (folder / f"{source}.jsonl").open("w", encoding="utf-8") as file:
            for text, label in documents(source, seed, size, chain, length):
                file.write(json.dumps({"text": text, "label": label}) + "\n")
    recipe = {
        "name": "planted",
        "read": [{"jsonl": {"paths": str(folder / f"{source}.jsonl"), "source": source}} for source in sources],
        "steps": [{"filter/function": {"function": f"{__name__}:{stage}"}} for stage in STAGES],
        "run": {"dropped_text": "all"},
    }
    path = folder / "planted.yaml"
    path.write_text(json.dumps(recipe), "utf-8")  # JSON is YAML
    return corpusmill.run(path, folder=folder / "run", executor=Serial(), progress=False).folder


@dataclass(frozen=True)
class Found:
    """What was measured of a corpus: effects by the names of sources and functions, and what else is told."""

    changes: Mapping[str, Interval]
    mix: str
    models: int
    budget: int
    kind: str

    @classmethod
    def of(cls, answer: Ablation) -> "Found":
        effects = {name: effect.change for name, effect in named(answer.effects).items()}
        mix = answer.mix.change.verdict if answer.mix else ""
        return cls(effects, mix, answer.models, answer.budget, answer.kind)

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "Found":
        return cls(**record | {"changes": {name: Interval(**each) for name, each in record["changes"].items()}})

    @property
    def bits(self) -> dict[str, float]:
        return {name: change.bits for name, change in self.changes.items()}


def measured(scratch: Path, models: str, seed: int) -> Found:
    trial = TRIALS[models]
    folder = mill(scratch / str(seed), seed, trial.source_bytes, length=trial.sentences)
    prose = [text for text, _ in documents("noise-0", -1 - seed, trial.held_out, Chain(), trial.sentences)]
    try:
        own = {"prose": pa.array(prose, pa.large_string())}
        return Found.of(ablate(RunTables(folder), own=own, kind=kind_of(models), budget=trial.budget, seed=seed))
    finally:
        shutil.rmtree(scratch / str(seed))


def all_measured(scratch: Path, models: str) -> list[Found]:
    """Of all corpora of a trial, by seed. Each is appended to SCRATCH/MODELS.jsonl, and is not measured again."""
    scratch.mkdir(parents=True, exist_ok=True)
    results, corpora = scratch / f"{models}.jsonl", TRIALS[models].truth + TRIALS[models].judged
    done = len(results.read_text().splitlines()) if results.exists() else 0
    for seed in range(done, corpora):
        with results.open("a") as file:
            file.write(json.dumps(asdict(measured(scratch, models, seed))) + "\n")
        print(f"{seed + 1} of {corpora}", file=sys.stderr)
    return [Found.of_record(json.loads(line)) for line in results.read_text().splitlines()]


def named(effects: Sequence[Effect]) -> dict[str, Effect]:
    """Effects by the names of sources and functions: a run calls its steps function, function_2, …"""
    stages = iter(STAGES)
    return {next(stages) if effect.kind == "stage" else effect.name: effect for effect in effects}


def changes(answer: Ablation) -> dict[str, float]:
    return Found.of(answer).bits


def rank_correlation(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Spearman's, without ties.

    >>> rank_correlation({"a": 1, "b": 2, "c": 3}, {"a": 5, "b": 7, "c": 6})
    0.5
    """
    names = sorted(left)
    ranks = [{name: i for i, name in enumerate(sorted(names, key=values.__getitem__))} for values in (left, right)]
    squares = sum((ranks[0][name] - ranks[1][name]) ** 2 for name in names)
    return 1 - 6 * squares / (len(names) * (len(names) ** 2 - 1))


def judge(scratch: Path, models: str) -> int:
    """Print the table; 1 if a promise does not hold."""
    trial = TRIALS[models]
    everything = all_measured(scratch, models)
    judged = everything[trial.truth :]
    names = list(judged[0].changes)
    of_others = [everything[: trial.truth] or [one for one in judged if one is not each] for each in judged]
    truths = [{name: mean(one.bits[name] for one in others) for name in names} for others in of_others]
    truth = {name: mean(each[name] for each in truths) for name in names}
    hits: dict[str, list[bool]] = defaultdict(list)
    verdicts: dict[str, list[str]] = defaultdict(list)
    for found, known in zip(judged, truths):
        for name, change in found.changes.items():
            hits[name].append(change.low <= known[name] <= change.high)
            verdicts[name].append(change.verdict)
    one = judged[0]
    print(f"{one.models:,} models ({one.kind}) of {one.budget:,} bytes a corpus, {len(of_others[0])} corpora for the ")
    print(f"truth of each, {len(judged)} judged; {len(SOURCES)} sources, {len(STAGES)} stages\n")
    print("| | truth | measured once | 95 % interval | holds the truth | better | worse |")
    print("|---|---|---|---|---|---|---|")
    for name in sorted(names, key=lambda name: (name in STAGES, truth[name])):
        change = one.changes[name]
        print(
            f"| {name} | {truth[name]:+.4f} | {change.bits:+.4f} | {change.low:+.4f} to {change.high:+.4f} | "
            f"{sum(hits[name])} of {len(judged)} | {verdicts[name].count('better')} | {verdicts[name].count('worse')} |"
        )
    correlations = [
        rank_correlation({name: found.bits[name] for name in SOURCES}, {name: known[name] for name in SOURCES})
        for found, known in zip(judged, truths)
    ]
    noise = {f"noise-{share}": float(share) for share in NOISE if share}  # noise-0 and its twin share their worth
    planted = [rank_correlation({name: found.bits[name] for name in noise}, noise) for found in judged]
    held = mean(hit for each in hits.values() for hit in each)
    null = mean(verdict == "not shown" for name in NULL for verdict in verdicts[name])
    signs = mean(verdict == "better" for name in GOOD for verdict in verdicts[name])
    errors = [stdev(each.bits[name] for each in of_others[0]) / math.sqrt(len(of_others[0])) for name in names]
    print()
    for name, each in (("the truth, 20 sources", correlations), (f"the noise, {len(noise)} sources", planted)):
        print(f"rank correlation with {name}: {min(each):.3f} at least, {mean(each):.3f} on average")
    intervals = sum(map(len, hits.values()))
    print(f"intervals that hold the truth: {held:.3f} of {intervals}; the truth is known to {max(errors):.4f}")
    print(f"stages that do nothing: {null:.3f} of {len(NULL) * len(judged)} not shown to do anything")
    worse = verdicts[BAD].count("worse")
    print(f"good stages: {signs:.3f} of {len(GOOD) * len(judged)} better; the bad one: {worse} worse")
    print(f"mixes that follow: {[each.mix for each in judged].count('better')} of {len(judged)} better than it is")
    return int(min(correlations) < 0.9 or held < 0.9 or null < 0.9)
