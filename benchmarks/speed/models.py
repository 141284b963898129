"""The models and indexes that choose documents, one core: each on the texts that it is given in a run."""

import gzip
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import fasttext
import numpy as np
import orjson
import pyarrow as pa

from benchmarks import samples
from benchmarks.calibration import slowness
from benchmarks.common import Figure, Workload, row, table, thread_seconds
from corpusmill import assets
from corpusmill.models.fasttext import FastText
from corpusmill.models.language import Identifier
from corpusmill.models.toxicity import TOXICITY_EN, WORDS_EN, ToxicityModel
from corpusmill.models.wide import LID_176
from corpusmill.steps.annotate.perplexity import Perplexity
from corpusmill.steps.annotate.quality import Quality
from corpusmill.steps.annotate.toxicity import AnnotateToxicity
from corpusmill.steps.decontaminate.ngrams import Ngrams
from corpusmill.steps.filter.language import FilterLanguage
from corpusmill.text.lexicon import find_words, read_words
from corpusmill.train.lm import LmSettings, train

ITEMS, DECONTAMINATION = 30_000, 50.0  # items of benchmarks; MB/s per core
QUALITY = 50.0  # MB/s per core
LEXICON = 100.0  # MB/s per core
LANGUAGE, CHARACTERS = 25_000.0, 1000  # texts/s per core, of so many characters
BY_LID_WIDE = 90.0  # MB/s per core, see `calibration.slowness`


def run(workload: Workload, runs: int, scratch: Path, data: Path | None = None) -> list[Figure]:
    scratch.mkdir(parents=True, exist_ok=True)
    print(f"## models: CPU time of one thread, median of {runs}\n")
    figures = [figure for part in PARTS for figure in part(workload, runs, scratch)]
    return figures + language(samples.all_kinds(workload).texts if data is None else labelled(data), runs)


def labelled(data: Path) -> list[str]:
    """News in 128 languages."""
    with gzip.open(data / "lang" / "ntrex_docs.jsonl.gz", "rb") as lines:
        return [orjson.loads(line)["text"] for line in lines]


def language(texts: list[str], runs: int) -> list[Figure]:
    """Texts of 1,000 characters per second, by our scorer and by the fastText library; and whether they agree."""
    texts = [text[:CHARACTERS] for text in texts if len(text) >= CHARACTERS]
    column = pa.array(texts, pa.large_string())
    model = assets.load(LID_176, FastText.load)
    library = fasttext.load_model(str(assets.locate(LID_176)))
    lines = [text.replace("\n", " ") for text in texts]  # it takes no others
    ours = len(texts) / thread_seconds(lambda: model.predict(column, 1), runs)
    whole = len(texts) / thread_seconds(lambda: Identifier(model=LID_176).columns(column), runs)
    theirs = len(texts) / thread_seconds(lambda: [library.predict(line) for line in lines], 1)
    label, score = (part[:, 0] for part in model.predict(column, 1))
    expected = [library.predict(line) for line in lines]
    known = np.flatnonzero(label >= 0)
    same = np.mean([model.labels[label[i]] == expected[i][0][0].removeprefix("__label__") for i in known])
    apart = max(abs(float(score[i]) - float(expected[i][1][0])) for i in known)
    table(f"lid.176.ftz, {len(texts):,} texts of {CHARACTERS:,} characters", "texts/s per core")
    row("scores", f"{ours:,.0f}")
    row("with windows and runner-up, as the steps do", f"{whole:,.0f}")
    row("the fastText library", f"{theirs:,.0f}")
    print(f"\nThe library's label: {100 * same:.3f} %; scores differ by {apart:.1e} at most\n")
    return [
        Figure("models: language", whole, "texts/s", LANGUAGE),
        Figure("models: language, labels as the library's", 100 * float(same), "%", 99.99, digits=3),
        Figure("models: language, difference of scores", apart, "", 1e-4, "below", digits=6),
    ]


def decontamination(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """MB/s of text searched for items that are as long as those of benchmarks and made of the same words, shuffled."""
    sample = samples.all_kinds(workload)
    path = scratch / "items.jsonl"
    random = np.random.default_rng(5)
    words = np.array(" ".join(sample.texts[:5000]).split())
    lengths = random.integers(8, 90, ITEMS)  # 49 on average, as MMLU, LAMBADA, ARC and ten more together
    with path.open("wb") as file:
        for number, length in enumerate(lengths):
            question = " ".join(words[random.integers(0, len(words), length)])
            file.write(orjson.dumps({"id": number, "question": question, "answer": None}) + b"\n")
    print(f"- {sample}\n- {ITEMS:,} items of {lengths.sum():,} words\n")
    table("decontaminate/ngrams", "MB/s per core")
    figures = []
    for ngram, shortest in ((8, 8), (8, 5), (13, 8)):
        step = Ngrams(benchmarks=str(path), ngram=ngram, shortest=shortest)
        speed = sample.speed(step.transform, runs)
        name = f"{ngram} words, shortest {shortest}"
        row(name, f"{speed:,.0f}")
        figures.append(Figure(f"models: decontaminate/ngrams, {name}", speed, "MB/s", DECONTAMINATION))
    print()
    return figures


def perplexity(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Training on the first 100 MB of the workload, and scoring of other text with the model."""
    texts: list[str] = []
    size = 0
    for file in workload.files:
        with file.open("rb") as lines:
            for line in lines:
                texts.append(orjson.loads(line)["text"])
                size += len(texts[-1].encode("utf-8", "replace"))
                if size >= 100e6:
                    break
        if size >= 100e6:
            break
    column = pa.array(texts, pa.large_string())
    start = time.perf_counter()
    model = train(column, LmSettings(), {})
    seconds = time.perf_counter() - start
    model.save(scratch / "workload.lm")
    sample = samples.all_kinds(workload)
    step = Perplexity(model=str(scratch / "workload.lm"))
    speed = sample.speed(step.signals, runs)
    table("annotate/perplexity", "", "")
    row(
        f"train lm on {size / 1e6:.0f} MB, order 3",
        f"{seconds:.1f} s",
        f"{(scratch / 'workload.lm').stat().st_size / 1e6:,.0f} MB",
    )
    row("score", f"{speed:.0f} MB/s per core", "")
    print()
    return [
        Figure("models: train lm on 100 MB", seconds, "s", 60.0, "below"),
        Figure("models: annotate/perplexity", speed, "MB/s", 20.0),
    ]


def quality(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """MB/s of text scored by the model that ships, and by a fastText model, which is lid.176 here."""
    sample = samples.all_kinds(workload)
    speed = sample.speed(Quality().signals, runs)
    fasttext = sample.speed(Quality(model=LID_176, good="en").signals, 1)
    table("annotate/quality", "MB/s per core")
    row("the model that ships", f"{speed:,.0f}")
    row("a fastText model of 176 labels and character n-grams", f"{fasttext:,.0f}")
    print()
    return [Figure("models: annotate/quality", speed, "MB/s", QUALITY)]


def toxicity(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """MB/s of text looked through for a list of words, scored by the model that ships, and both, as in a run."""
    sample = samples.all_kinds(workload)
    words, model = assets.load(WORDS_EN, read_words), assets.load(TOXICITY_EN, ToxicityModel.load)
    lexicon = sample.speed(lambda batch: find_words(batch["text"], words), runs)
    scored = sample.speed(lambda batch: model.score(batch["text"]), runs)
    both = sample.speed(AnnotateToxicity().signals, runs)
    table("annotate/toxicity", "MB/s per core")
    row(f"the list of {len(words.start) - 1} words, written forms too", f"{lexicon:,.0f}")
    row("the model, by document and by sentence", f"{scored:,.0f}")
    row("all signals", f"{both:,.0f}")
    print()
    return [
        Figure("models: annotate/toxicity, the list", lexicon, "MB/s", LEXICON),
        Figure("models: annotate/toxicity, all signals", both, "MB/s"),
    ]


def lid_wide(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """MB/s of text by the signals of filter/language, and beside it, in turns, the loop of `calibration`."""
    sample = samples.all_kinds(workload)
    pairs = [(sample.speed(FilterLanguage().signals, 1), slowness()) for _ in range(max(runs, 3))]
    speed, slow = median(speed for speed, _ in pairs), median(slow for _, slow in pairs)
    table("filter/language by lid.wide, 3 windows of 200 characters", "")
    row("MB/s per core", f"{speed:.1f}")
    row("the calibration loop, times what it takes on the machine of the bars", f"{slow:.2f}")
    print()
    return [Figure("models: filter/language by lid.wide, by the calibration loop", speed * slow, "MB/s", BY_LID_WIDE)]


PARTS: tuple[Callable[[Workload, int, Path], list[Figure]], ...] = (
    decontamination,
    perplexity,
    quality,
    toxicity,
    lid_wide,
)
