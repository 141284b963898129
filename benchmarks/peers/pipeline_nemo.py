"""NeMo Curator on CPU, for benchmarks/peers/pipelines.py; runs in an environment of its own and knows nothing of
corpusmill.

    python pipeline_nemo.py run|tell SETTINGS.json

Its heuristic filters for English with their defaults, as its documentation lists them, after its filter on language;
JSON lines, and tokens in Megatron's format, on Ray Data. Its deduplication runs on GPUs alone and is left out, and it
has no step for personal data.

`tell` writes what `run` did to the file `answer`, see pipelines.py; it is not timed.
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ray
from nemo_curator.backends.ray_data import RayDataExecutor
from nemo_curator.pipeline import Pipeline
from nemo_curator.stages.text.filters import ScoreFilter
from nemo_curator.stages.text.filters.fasttext import FastTextLangId
from nemo_curator.stages.text.filters.heuristic import (
    BulletsFilter,
    CommonEnglishWordsFilter,
    EllipsisFilter,
    MeanWordLengthFilter,
    NonAlphaNumericFilter,
    SymbolsToWordsFilter,
    WordCountFilter,
    WordsWithoutAlphabetsFilter,
)
from nemo_curator.stages.text.filters.heuristic.repetition import (
    RepeatedLinesByCharFilter,
    RepeatedLinesFilter,
    RepeatedParagraphsByCharFilter,
    RepeatedParagraphsFilter,
    RepeatingDuplicateNGramsFilter,
    RepeatingTopNGramsFilter,
)
from nemo_curator.stages.text.io.reader import JsonlReader
from nemo_curator.stages.text.io.writer import JsonlWriter
from nemo_curator.stages.text.io.writer.megatron_tokenizer import MegatronTokenizerWriter

PROCESSORS = 2  # logical ones for each worker: actors hold one as long as they live
MOST_COMMON = {2: 0.2, 3: 0.18, 4: 0.16}
DUPLICATED = {n: round(0.15 - 0.01 * (n - 5), 2) for n in range(5, 11)}


def run(settings: dict[str, Any]) -> None:
    work, out = Path(settings["work"]), Path(settings["out"])
    tokenizer = work / "tokenizer"
    for folder in (tokenizer, out):
        folder.mkdir(parents=True, exist_ok=True)
    (tokenizer / "tokenizer.json").write_bytes(Path(settings["tokenizer"]).read_bytes())
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>"}
    (tokenizer / "tokenizer_config.json").write_text(json.dumps(names), "utf-8")
    rules = [
        FastTextLangId(model_path=settings["language_model"], lang="en"),
        WordCountFilter(),
        MeanWordLengthFilter(),
        SymbolsToWordsFilter(),
        BulletsFilter(),
        EllipsisFilter(),
        CommonEnglishWordsFilter(),
        WordsWithoutAlphabetsFilter(),
        NonAlphaNumericFilter(),
        RepeatedLinesFilter(),
        RepeatedParagraphsFilter(),
        RepeatedLinesByCharFilter(),
        RepeatedParagraphsByCharFilter(),
        *(RepeatingTopNGramsFilter(n=n, max_repeating_ngram_ratio=most) for n, most in MOST_COMMON.items()),
        *(
            RepeatingDuplicateNGramsFilter(n=n, max_repeating_duplicate_ngram_ratio=most)
            for n, most in DUPLICATED.items()
        ),
    ]
    documents = str(out / "documents")
    lines = JsonlReader(file_paths=settings["files"], files_per_partition=1, fields=["text", "url"])
    # A writer ends a pipeline, so tokens take a second one, which reads what the first has written.
    again = JsonlReader(file_paths=documents, files_per_partition=1, fields=["text"])
    tokens = MegatronTokenizerWriter(path=str(out / "tokens"), model_identifier=str(tokenizer), append_eod=True)
    processors = PROCESSORS * settings["workers"]
    for stages in ([lines, ScoreFilter(filter_obj=rules), JsonlWriter(path=documents)], [again, tokens]):
        pipeline = Pipeline(name="pipeline")
        for stage in stages:
            pipeline.add_stage(stage)
        ray.init(num_cpus=processors, include_dashboard=False, logging_level="error", _temp_dir=settings["ray"])
        pipeline.run(RayDataExecutor())  # which ends Ray


def tell(settings: dict[str, Any]) -> None:
    files = sorted((Path(settings["out"]) / "documents").iterdir())
    kept = [json.loads(line)["url"] for file in files for line in file.read_bytes().splitlines()]
    answer = {"version": version("nemo-curator"), "kept": kept, "compared": None, "duplicates": None}
    Path(settings["answer"]).write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    {"run": run, "tell": tell}[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text("utf-8")))
