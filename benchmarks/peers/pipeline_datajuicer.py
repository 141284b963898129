"""Data-Juicer, for benchmarks/peers/pipelines.py; runs in an environment of its own and knows nothing of corpusmill.

    python pipeline_datajuicer.py run|tell SETTINGS.json

Its command on a configuration like those that it publishes for web text, with their thresholds: fixes of Unicode,
punctuation and white space, links, e-mail and IP addresses; language at 0.8; shares of alphanumeric and special
characters, length of lines, words and text, repetition of characters and words; MinHash with the operator's defaults,
256 permutations at 0.7. Filters on stop words, flagged words and perplexity are left out, whose files it downloads.
The language model is laid where it looks for the one that it would download.

`tell` writes what `run` did to the file `answer`, see pipelines.py; it is not timed. For which document another went,
Data-Juicer does not say.
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

STEPS: list[dict[str, Any]] = [
    {"clean_email_mapper": {}},
    {"clean_ip_mapper": {}},
    {"clean_links_mapper": {}},
    {"fix_unicode_mapper": {}},
    {"punctuation_normalization_mapper": {}},
    {"whitespace_normalization_mapper": {}},
    {"alphanumeric_filter": {"tokenization": False, "min_ratio": 0.6, "max_ratio": 0.99}},
    {"average_line_length_filter": {"max_len": 1500}},
    {"character_repetition_filter": {"rep_len": 10, "max_ratio": 0.3}},
    {"language_id_score_filter": {"lang": "en", "min_score": 0.8}},
    {"maximum_line_length_filter": {"max_len": 5000}},
    {"special_characters_filter": {"max_ratio": 0.4}},
    {"text_length_filter": {"max_len": 100000}},
    {"words_num_filter": {"lang": "en", "tokenization": False, "min_num": 20, "max_num": 20000}},
    {"word_repetition_filter": {"lang": "en", "tokenization": False, "rep_len": 10, "max_ratio": 0.3}},
    {"document_minhash_deduplicator": {"tokenization": "space", "window_size": 5, "lowercase": True}},
]


def run(settings: dict[str, Any]) -> None:
    work = Path(settings["work"])
    for folder in (work / "models", work / "input", Path(settings["out"])):
        folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(settings["language_model"], work / "models" / "lid.176.bin")
    for file in map(Path, settings["files"]):
        (work / "input" / file.name).symlink_to(file)
    process(settings, STEPS, Path(settings["out"]) / "documents.jsonl")


def process(settings: dict[str, Any], steps: list[dict[str, Any]], export: Path) -> None:
    work = Path(settings["work"])
    file = work / f"{export.stem}.yaml"
    configuration = {
        "project_name": "pipeline",
        "dataset_path": str(work / "input"),
        "export_path": str(export),
        "work_dir": str(work / export.stem),
        "np": settings["workers"],
        "open_tracer": False,
        "use_cache": False,
        "process": steps,
    }
    file.write_text(json.dumps(configuration), "utf-8")  # JSON is YAML, too
    command = Path(sys.executable).with_name("dj-process")
    models = {"DATA_JUICER_MODELS_CACHE": str(work / "models")}
    subprocess.run([command, "--config", file], check=True, env=os.environ | models)


def tell(settings: dict[str, Any]) -> None:
    """What came to deduplication is found out by doing everything before it again."""
    filtered = Path(settings["work"]) / "filtered.jsonl"
    process(settings, STEPS[:-1], filtered)
    kept, compared = urls(Path(settings["out"]) / "documents.jsonl"), urls(filtered)
    gone = sorted(set(compared) - set(kept))
    answer = {
        "version": version("py-data-juicer"),
        "kept": kept,
        "compared": compared,
        "duplicates": [[url, None] for url in gone],
    }
    Path(settings["answer"]).write_text(json.dumps(answer), "utf-8")


def urls(file: Path) -> list[str]:
    with file.open("rb") as lines:
        return [json.loads(line)["url"] for line in lines]


if __name__ == "__main__":
    {"run": run, "tell": tell}[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text("utf-8")))
