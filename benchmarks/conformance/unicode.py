"""The test files of the Unicode standard: normal forms by clean/normalize, words and sentences by our text code."""

import bz2
from dataclasses import dataclass
from pathlib import Path
from unicodedata import category

import pyarrow as pa

from benchmarks.common import Figure, row, table
from corpusmill.steps.clean.normalize import in_form
from corpusmill.text.sentences import sentence_spans
from corpusmill.text.stats import document_stats


@dataclass(frozen=True)
class Tested:
    """x of y, and what was asked."""

    name: str
    equal: int
    of: int
    asked: str


def run(folder: Path) -> list[Tested]:
    """All that the folder has. Raises SystemExit if there is no NormalizationTest.txt."""
    return [*(normal_forms(folder, form) for form in ("NFC", "NFKC")), words(folder), sentences(folder)]


def normal_forms(folder: Path, form: str) -> Tested:
    """Each line has five strings: its source, and its NFC, NFD, NFKC and NFKD; nine equations follow for two forms."""
    columns = [column.split(";")[:5] for column in lines(folder / "NormalizationTest.txt")]
    strings = [["".join(chr(int(point, 16)) for point in text.split()) for text in row] for row in columns]
    # Python's Unicode may be older than the file: what it does not know has no form there.
    strings = [row for row in strings if all(category(character) != "Cn" for text in row for character in text)]
    # NFC(c1) = NFC(c2) = NFC(c3) = c2, NFC(c4) = NFC(c5) = c4; NFKC of all = c4.
    wanted = [(1, 1, 1, 3, 3) if form == "NFC" else (3,) * 5] * len(strings)
    given = [text for row in strings for text in row]
    expected = [row[at] for row, places in zip(strings, wanted) for at in places]
    found = in_form(pa.array(given, pa.large_string()), form).to_pylist()  # type: ignore[arg-type]
    equal = sum(one == other for one, other in zip(found, expected))
    return Tested(f"normal form {form}", equal, len(expected), "clean/normalize")


def words(folder: Path) -> Tested:
    """How many words a text has: segments with a letter or number there, what white space separates here."""
    texts, parts = broken(folder / "auxiliary" / "WordBreakTest.txt")
    wanted = [sum(any(map(str.isalnum, part)) for part in each) for each in parts]
    found = document_stats(pa.array(texts, pa.large_string()))["content_words"].tolist()
    equal = sum(one == other for one, other in zip(found, wanted))
    return Tested("word breaks", equal, len(wanted), "words between white space, another definition: marks are joined")


def sentences(folder: Path) -> Tested:
    """The sentences, without the white space around them."""
    texts, parts = broken(folder / "auxiliary" / "SentenceBreakTest.txt")
    spans, offsets = sentence_spans(pa.array(texts, pa.large_string()))
    equal = 0
    for number, (text, each) in enumerate(zip(texts, parts)):
        raw = text.encode()
        ours = [raw[a:b].decode() for a, b in spans[offsets[number] : offsets[number + 1]].tolist()]
        equal += ours == [part.strip() for part in each if part.strip()]
    return Tested(
        "sentence breaks", equal, len(texts), "sentences, another definition: LF ends one, and no letter need follow"
    )


def broken(path: Path) -> tuple[list[str], list[list[str]]]:
    """Texts, and the parts of each: "÷ 0061 × 0062 ÷" is one part of two characters. Surrogates are left out."""
    texts, parts = [], []
    for line in lines(path):
        each = [
            "".join(chr(int(point, 16)) for point in part.replace("×", " ").split())
            for part in line.strip("÷ ").split("÷")
        ]
        if not any("\ud800" <= character <= "\udfff" for character in "".join(each)):
            texts.append("".join(each))
            parts.append(each)
    return texts, parts


def lines(path: Path) -> list[str]:
    """Lines without comments and headings; of the file, or of the file compressed by bzip2."""
    packed = path.with_name(f"{path.name}.bz2")
    if not path.is_file() and not packed.is_file():
        raise SystemExit(f"{path}: not there. Unpack the Debian package unicode-data, or fetch it from unicode.org.")
    text = path.read_text("utf-8") if path.is_file() else bz2.decompress(packed.read_bytes()).decode()
    kept = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in kept if line and not line.startswith("@")]


def figures(tested: list[Tested]) -> list[Figure]:
    table("Unicode", "equal", "of")
    for each in tested:
        row(each.name, f"{each.equal:,}", f"{each.of:,}")
    print()
    return [
        Figure(f"Unicode, {each.name}", each.equal / each.of, "", 1.0, digits=6)
        for each in tested
        if "normal" in each.name
    ]
