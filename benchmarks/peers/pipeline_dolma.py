"""Dolma's toolkit, for benchmarks/peers/pipelines.py; runs in an environment of its own and knows nothing of
corpusmill.

    python pipeline_dolma.py run|tell SETTINGS.json

As its documentation has it: taggers write attributes beside the documents (`gopher_v2`, personal data, English by
fastText); a Bloom filter tags every text that was seen before; the mixer drops by Gopher's bounds, replaces personal
data and leaves out what was tagged; tokens are written with GPT-2's tokenizer. The commands are called in this
process, as `dolma` does it. Its tagger for languages fetches its model, so here one of ours hands it the file.

`tell` writes what `run` did to the file `answer`, see pipelines.py; it is not timed.
"""

import gzip
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nltk

nltk.download = lambda *_, **__: False  # of a model that no step here uses; it waits for the network

from dolma.cli.__main__ import main as dolma  # noqa: E402
from dolma.core.ft_tagger import BaseFastTextTagger  # noqa: E402
from dolma.core.registry import TaggerRegistry  # noqa: E402
from dolma.taggers.language import FastTextEnglishOnlyLanguageDocumentTagger  # noqa: E402

SETTINGS: dict[str, Any] = json.loads(Path(sys.argv[2]).read_text("utf-8"))  # here, for the taggers' processes too
TAGS = "tags"
# Gopher's bounds, on the names of `gopher_v2`; a tagger's value stands third in [start, end, value].
LEAST = {
    "word_count": 50,
    "median_word_length": 3,
    "fraction_of_words_with_alpha_character": 0.8,
    "required_word_count": 2,
}
MOST = {
    "word_count": 100_000,
    "median_word_length": 10,
    "symbol_to_word_ratio": 0.1,
    "fraction_of_lines_starting_with_bullet_point": 0.9,
    "fraction_of_lines_ending_with_ellipsis": 0.3,
    "fraction_of_duplicate_lines": 0.3,
    "fraction_of_characters_in_duplicate_lines": 0.2,
    **{f"fraction_of_characters_in_most_common_{n}grams": most for n, most in ((2, 0.2), (3, 0.18), (4, 0.16))},
    **{f"fraction_of_characters_in_duplicate_{n}grams": round(0.15 - 0.01 * (n - 5), 2) for n in range(5, 11)},
}
ENGLISH = 0.5  # the score of Dolma 1.7
PERSONAL = {
    "EMAIL_ADDRESS": "|||EMAIL_ADDRESS|||",
    "PHONE_NUMBER": "|||PHONE_NUMBER|||",
    "IP_ADDRESS": "|||IP_ADDRESS|||",
}


@TaggerRegistry.add("english")
class English(FastTextEnglishOnlyLanguageDocumentTagger):  # type: ignore[misc]  # it has no types
    def __init__(self) -> None:
        BaseFastTextTagger.__init__(self, model_path=SETTINGS["language_model"], model_mode=self.DOCUMENT_LEVEL_TAGGER)


def run(settings: dict[str, Any]) -> None:
    work, workers = Path(settings["work"]), settings["workers"]
    documents = work / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    for file in map(Path, settings["files"]):
        with file.open("rb") as lines, gzip.open(documents / f"{file.stem}.json.gz", "wb", compresslevel=1) as out:
            for number, line in enumerate(lines):
                record = json.loads(line)
                named = {
                    "id": f"{file.stem}-{number}",
                    "text": record["text"],
                    "source": "web",
                    "metadata": {"url": record["url"]},
                }
                out.write(json.dumps(named, ensure_ascii=False).encode() + b"\n")
    carry_out("tag", {"documents": [f"{documents}/*"], "experiment": TAGS, "processes": workers,
                      "taggers": ["english", "gopher_v2", "pii_regex_with_counts_fast_v2"]})  # fmt: skip
    carry_out(
        "dedupe",
        {
            "documents": [f"{documents}/*"],
            "dedupe": {"name": "copies", "documents": {"attribute_name": "copy", "key": "$.text"}},
            "bloom_filter": {
                "file": str(work / "bloom"),
                "read_only": False,
                "estimated_doc_count": settings["documents"],
                "desired_false_positive_rate": 1e-6,
            },
            "processes": workers,
        },
    )
    gopher = f"{TAGS}__gopher_v2__"
    beyond = [f"$.attributes[?(@.{gopher}{name} && @.{gopher}{name}[0][2] < {least})]" for name, least in LEAST.items()]
    beyond += [f"$.attributes[?(@.{gopher}{name} && @.{gopher}{name}[0][2] > {most})]" for name, most in MOST.items()]
    carry_out(
        "mix",
        {
            "streams": [
                {
                    "name": "kept",
                    "documents": [f"{documents}/*"],
                    "attributes": [TAGS, "copies"],
                    "output": {"path": str(Path(settings["out"]) / "documents")},
                    "filter": {
                        "include": [f"$.attributes[?(@.{TAGS}__english__en[0][2] > {ENGLISH})]"],
                        "exclude": [*beyond, "$.attributes[?(@.copy && @.copy[0][2] >= 1.0)]"],
                    },
                    "span_replacement": [
                        {
                            "span": f"$.attributes.{TAGS}__pii_regex_with_counts_fast_v2__{kind}",
                            "min_score": 0.5,
                            "replacement": replacement,
                        }
                        for kind, replacement in PERSONAL.items()
                    ],
                }
            ],
            "processes": workers,
        },
    )
    carry_out(
        "tokens",
        {
            "documents": [str(Path(settings["out"]) / "documents")],
            "destination": str(Path(settings["out"]) / "tokens"),
            "tokenizer": {"name_or_path": settings["tokenizer"], "eos_token_id": 50256, "pad_token_id": 50256},
            "processes": workers,
            "dtype": "uint16",
        },
    )


def carry_out(command: str, options: dict[str, Any]) -> None:
    file = Path(sys.argv[2]).with_name(f"{command}.json")
    file.write_text(json.dumps(options), "utf-8")
    dolma(["-c", str(file), command])


def tell(settings: dict[str, Any]) -> None:
    work = Path(settings["work"])
    kept = [json.loads(line)["metadata"]["url"] for line in lines_of(Path(settings["out"]) / "documents")]
    documents, tags = (lines_of(work / folder) for folder in ("documents", "attributes/copies"))
    texts: dict[str, str] = {}
    duplicates = []
    compared = []
    for document, tag in zip(map(json.loads, documents), map(json.loads, tags), strict=True):
        assert document["id"] == tag["id"]
        url = document["metadata"]["url"]
        compared.append(url)
        first = texts.setdefault(document["text"], url)
        if tag["attributes"].get("copy"):
            duplicates.append((url, first))
    answer = {"version": version("dolma"), "kept": kept, "compared": compared, "duplicates": duplicates}
    Path(settings["answer"]).write_text(json.dumps(answer), "utf-8")


def lines_of(folder: Path) -> list[bytes]:
    files = sorted(file for file in folder.iterdir() if file.name.endswith(".gz"))
    return [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]


if __name__ == "__main__":
    {"run": run, "tell": tell}[sys.argv[1]](SETTINGS)
