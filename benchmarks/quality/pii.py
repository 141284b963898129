"""Are personal data found, and nothing else? Labelled sentences, made ones with look-alikes, names in the news."""

import gzip
import importlib.util
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from benchmarks.common import Figure, row, table
from benchmarks.quality import made_pii, peer_pii
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.steps.annotate.pii import AnnotatePii
from corpusmill.steps.personal_data import NAMED, PersonalData
from corpusmill.steps.redact._plausible import NameRules
from corpusmill.steps.redact.names import ENGLISH, find

BAR = 0.98  # precision and recall
ADDRESS_BAR = 0.95  # precision
BARRED = ("email", "ip", "card", "iban", "ssn")
EACH = 1500  # made sentences with a value of each kind
WITHOUT = 12_000  # made sentences that only have look-alikes
KIND_OF = {
    "EMAIL_ADDRESS": "email",
    "IP_ADDRESS": "ip",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "PHONE_NUMBER": "phone",
}
PART_OF_ADDRESS = re.compile(r"\d+|(?:Suite|Apt\.?) \d+", re.IGNORECASE)
NAME_OF = {"PERSON": "person", "GPE": "place", "STREET_ADDRESS": "place"}

Spans = set[tuple[str, int, int, int]]  # kind, text, first character, end
Sentences = Iterator[tuple[str, list[tuple[str, int, int]]]]  # text, and kind, first character, end


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    """Precision and recall of each kind: a span counts if its kind, its first and its last character are right."""
    figures = []
    for name, sentences in (
        ("made", made_pii.sentences(EACH, WITHOUT)),
        ("presidio", presidio(data, KIND_OF)),
    ):
        texts, wanted = made_pii.labelled(sentences)
        print(f"## personal data: {len(texts):,} sentences, {name}, {len(wanted):,} labelled spans\n")
        figures += scores(name, wanted, patterns(texts), BARRED)
    figures += addresses(data)
    figures += peer_pii.run(data)
    names(data)
    return figures


def scores(name: str, wanted: Spans, reported: Spans, barred: tuple[str, ...] = ()) -> list[Figure]:
    table("kind", "labelled", "found", "precision", "recall")
    figures = []
    for kind in sorted({kind for kind, *_ in wanted}):
        these, those = ({span for span in spans if span[0] == kind} for spans in (wanted, reported))
        precision, recall = len(these & those) / max(1, len(those)), len(these & those) / len(these)
        row(kind, f"{len(these):,}", f"{len(those):,}", f"{precision:.4f}", f"{recall:.4f}")
        for what, value in (("precision", precision), ("recall", recall)):
            bar = BAR if kind in barred else None
            figures.append(Figure(f"personal data, {name}, {kind}: {what}", value, "", bar, digits=4))
    print()
    return figures


def patterns(texts: list[str]) -> Spans:
    """What annotate/pii finds, of every kind."""
    columns = {name: pa.nulls(len(texts), DOCUMENT.field(name).type) for name in DOCUMENT.names}
    columns["id"] = pa.array([document_id("labelled", str(i)) for i in range(len(texts))])
    columns["text"] = pa.array(texts, pa.large_string())
    docs = pa.RecordBatch.from_pydict(columns, schema=DOCUMENT)
    spans = AnnotatePii(kinds=NAMED, spans=True).signals(docs)["spans"].to_pylist()
    return {
        (span["kind"], number, *characters(text, span["start"], span["end"]))
        for number, text in enumerate(texts)
        for span in spans[number]
    }


def characters(text: str, start: int, end: int) -> tuple[int, int]:
    """The same span, counted in characters."""
    raw = text.encode()
    return len(raw[:start].decode()), len(raw[:end].decode())


def presidio(data: Path, kind_of: dict[str, str]) -> Sentences:
    with gzip.open(data / "pii" / "presidio_synth_v2.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            spans = [span for span in record["spans"] if span["type"] in kind_of]
            yield record["text"], [(kind_of[span["type"]], span["start"], span["end"]) for span in spans]


def addresses(data: Path) -> list[Figure]:
    """Postal addresses in Presidio's sentences, in halves by a hash of their number: forms were made with the first,
    and the errors in the second were never read. One character in common is enough, because the labels take an address
    apart in some sentences, and have its town in others. Labels that are only a number, or a unit, are left out of
    recall."""
    halves: dict[str, list[tuple[str, list[tuple[str, int, int]]]]] = {"development": [], "test": []}
    for number, sentence in enumerate(presidio(data, {"STREET_ADDRESS": "address"})):
        halves["test" if sha256(str(number).encode()).digest()[0] % 2 else "development"].append(sentence)
    print("## personal data: postal addresses, presidio; one character in common is enough\n")
    table("half", "labelled streets and boxes", "found", "precision", "recall")
    figures = []
    for half, sentences in halves.items():
        texts, wanted = made_pii.labelled(sentences)
        reported = {span for span in patterns(texts) if span[0] == "address"}
        whole = {span for span in wanted if not PART_OF_ADDRESS.fullmatch(texts[span[1]][span[2] : span[3]])}
        precision, recall = touched(reported, wanted), touched(whole, reported)
        row(half, f"{len(whole):,}", f"{len(reported):,}", f"{precision:.4f}", f"{recall:.4f}")
        for what, value, bar in (("precision", precision, ADDRESS_BAR), ("recall", recall, None)):
            if half == "test":
                figures.append(Figure(f"personal data, presidio, address: {what}", value, "", bar, digits=4))
    print()
    return figures


def names(data: Path) -> None:
    """Names of people and places, by the model that the extra brings: strictly, and where one character is enough."""
    if importlib.util.find_spec("spacy") is None:
        print("## names: left out, the extra pii-names is not installed\n")
        return
    for name, sentences in (("presidio", presidio(data, NAME_OF)), ("Reuters news, CoNLL-2003", conll(data))):
        texts, wanted = made_pii.labelled(sentences)
        print(f"## names: {name}, {ENGLISH}\n")
        reported = of_names(find(pa.array(texts, pa.large_string()), ("person", "place"), ENGLISH, NameRules(2, ())))
        scores(name, wanted, reported)
        table("kind", "labelled and touched by a found one", "found and touching a labelled one")
        for kind in ("person", "place"):
            these, those = ({span for span in spans if span[0] == kind} for spans in (wanted, reported))
            row(kind, f"{touched(these, those):.4f}", f"{touched(those, these):.4f}")
        print()


def of_names(data: PersonalData) -> Spans:
    texts = data.texts.to_pylist()
    return {
        (data.kinds[kind], number, *characters(texts[number], start, end))
        for number, kind, start, end in data.spans.tolist()
    }


def touched(spans: Spans, by: Spans) -> float:
    """The share of spans that have a character in common with one of the others."""
    covered = {(number, at) for _, number, start, end in by for at in range(start, end)}
    hits = sum(any((number, at) in covered for at in range(start, end)) for _, number, start, end in spans)
    return hits / len(spans)


def conll(data: Path) -> Sentences:
    """The stories, with their people and places."""
    words: list[tuple[str, str]] = []
    with gzip.open(data / "pii" / "conll2003_en_valid.conll.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("-DOCSTART-"):
                yield story(words)
                words = []
            elif not line.strip():
                words.append(("\n", "O"))
            else:
                word, *_, label = line.split()
                words.append((word, label))
    yield story(words)


def story(words: list[tuple[str, str]]) -> tuple[str, list[tuple[str, int, int]]]:
    """The words with blanks between them, and the spans of what BIO labels call a person or a place."""
    text, before = "", "O"
    spans: list[tuple[str, int, int]] = []
    for word, label in words:
        kind = {"PER": "person", "LOC": "place"}.get(label[2:])
        start = len(text)
        text += word if word == "\n" else f"{word} "
        if kind and label[:2] == "I-" and before[2:] == label[2:]:
            spans[-1] = (kind, spans[-1][1], start + len(word))
        elif kind:
            spans.append((kind, start, start + len(word)))
        before = label
    return text, spans
