"""Make src/corpusmill/data/toxicity-en.toxicity from the model of alt-profanity-check, and enter it in MANIFEST.json.

    pip install alt-profanity-check==1.9.1       (with the scikit-learn that it asks for)
    python scripts/make_toxicity.py [--check TEXTS.jsonl.gz …]

The package (MIT: Victor Zhou, Menelaos Kotoglou, Dimitrios Mistriotis) holds a TfidfVectorizer and a
CalibratedClassifierCV of five linear SVMs, pickled for one version of scikit-learn. What ships here is their numbers.
Running this again gives the same bytes. With --check, the scores of texts, and of all their sentences, are compared
with the package's own, and the largest difference is printed; it must be below 1e-5.
"""

import argparse
import gzip
import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
from train_quality import DATA, enter

from corpusmill.models.model_file import write_model
from corpusmill.models.toxicity import FORMAT, TOXICITY_EN, ToxicityModel

PACKAGE = "alt-profanity-check"
ATOL = 1e-5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", nargs="*", type=Path, default=[], help="packed JSON lines with a text in each")
    options = parser.parse_args()
    path = DATA / f"{TOXICITY_EN}.toxicity"
    write(path)
    enter(
        TOXICITY_EN,
        {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "source": f"scripts/make_toxicity.py from {PACKAGE} {version(PACKAGE)}",
            "licence": "MIT",
            "note": "tells insults and obscenities in English by their words; the file holds a card",
        },
    )
    print(f"{path}: {path.stat().st_size:,} bytes")
    texts = [text for file in options.check for text in read(file)]
    if texts:
        check(path, texts)


def write(path: Path) -> None:
    from profanity_check.profanity_check import model, vectorizer

    assert vectorizer.token_pattern == r"(?u)\b\w\w+\b" and vectorizer.lowercase and vectorizer.norm == "l2"
    assert vectorizer.ngram_range == (1, 1) and not vectorizer.sublinear_tf and vectorizer.strip_accents is None
    words = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    weights, bias = [], []
    for calibrated in model.calibrated_classifiers_:
        (sigmoid,) = calibrated.calibrators
        # scikit-learn says 1 / (1 + exp(a * f + b)) of the SVM's f = w x + c.
        weights.append(-sigmoid.a_ * calibrated.estimator.coef_[0])
        bias.append(-sigmoid.a_ * calibrated.estimator.intercept_[0] - sigmoid.b_)
    card = {
        "kind": "toxicity",
        "from": f"{PACKAGE} {version(PACKAGE)}, a TfidfVectorizer and {len(weights)} calibrated linear SVMs "
        "of scikit-learn",
        "licence": "MIT License. Copyright (c) 2018 Victor Zhou, 2021 Menelaos Kotoglou, and Dimitrios Mistriotis",
        "data": "as its authors say: English tweets (t-davidson/hate-speech-and-offensive-language) and comments on "
        "Wikipedia (the Toxic Comment Classification Challenge), 200,000 together, labelled by people",
        "note": "Knows single words and nothing of what they mean together. docs/guide/toxicity.md has its scores.",
    }
    write_model(
        path,
        FORMAT,
        card,
        {
            "words": np.frombuffer("\n".join(words).encode(), np.uint8),
            "idf": vectorizer.idf_.astype(np.float32),
            "weights": np.stack(weights, axis=1).astype(np.float32),
            "bias": np.array(bias, np.float32),
        },
    )


def check(path: Path, texts: list[str]) -> None:
    from profanity_check import predict_prob

    model = ToxicityModel.load(path)
    pieces = pa.array(texts, pa.large_string())
    scored = model.score(pieces)
    parts = [text.encode() for text in texts]
    sentences = [
        parts[d][start:end].decode()
        for d in range(len(texts))
        for start, end in scored.spans[scored.offsets[d] : scored.offsets[d + 1]].tolist()
    ]
    for name, given, ours in (("texts", texts, scored.documents), ("sentences", sentences, scored.sentences)):
        there = ~np.isnan(ours)
        away = np.abs(predict_prob(given) - ours)[there]
        print(f"{there.sum():,} {name}: largest difference {away.max():.1e}, {(away > ATOL).sum()} above {ATOL}")


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [record["text"] for record in map(json.loads, lines)]


if __name__ == "__main__":
    main()
