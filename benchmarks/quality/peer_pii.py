"""Secrets, personal data and telephone numbers in the cases of other projects' tests, and false alarms.

Rules, recognisers and sentences are divided by a hash of their name, or of the template of the sentence: forms were
chosen with one half; the other was looked at once, and its errors were read then, so it is no longer unseen.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import Figure, row, table
from benchmarks.quality import made_phones
from corpusmill.steps.personal_data import KNOWN, NAMED, Kind, find
from corpusmill.text.secrets import checks

SECRETS_BAR, PHONE_PRECISION, PHONE_RECALL = 0.95, 0.95, 0.80
KIND_OF: dict[str, Kind] = {
    "CREDIT_CARD": "card",
    "CRYPTO": "wallet",
    "EMAIL_ADDRESS": "email",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip",
    "MAC_ADDRESS": "mac",
    "PHONE_NUMBER": "phone",
    "US_SSN": "ssn",
}


def run(data: Path) -> list[Figure]:
    figures = [*gitleaks(data), *phones(data), *entities(data)] if (data / "vectors").is_dir() else phones(data)
    figures += made_phones.run()
    false_alarms(data)
    return figures


def half(name: str) -> str:
    return "test" if sha256(name.encode()).digest()[0] % 2 else "development"


def cases(data: Path, peer: str) -> Iterator[dict[str, Any]]:
    with gzip.open(data / "vectors" / f"{peer}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def spans(text: str, kinds: tuple[Kind, ...]) -> list[list[int]]:
    """First character and end of what is found in one text."""
    raw = text.encode()
    found = find(pa.array([text], pa.large_string()), kinds, public_only=False).spans.tolist()
    return [[len(raw[:start].decode()), len(raw[:end].decode())] for _, _, start, end in found]


def gitleaks(data: Path) -> list[Figure]:
    """Is a secret found where gitleaks' rules must find one, and nothing where they must not? The keys that gitleaks
    lists by their values as published, which ship, decide some of the latter, so it is asked without them, too."""
    print("## secrets: cases of gitleaks' tests, by rule\n")
    table("half", "positives", "found", "negatives", "left alone", "left alone without the list of published keys")
    with patch.object(checks, "published", frozenset[str]):
        without, _ = of_rules(data, both_kinds=False)
    right, of = of_rules(data, both_kinds=False)
    for part in ("development", "test"):
        (found, left), (positives, negatives) = ([c[part, kind] for kind in (True, False)] for c in (right, of))
        alone = f"{left / negatives:.4f}", f"{without[part, False] / negatives:.4f}"
        row(part, f"{positives:,}", f"{found / positives:.4f}", f"{negatives:,}", *alone)
    print()
    both, _ = of_rules(data, both_kinds=True)
    print("Asked for both kinds in every case, as gitleaks has all of its rules on:\n")
    table("half", "positives found", "negatives left alone")
    for part in ("development", "test"):
        row(part, *(f"{both[part, kind] / of[part, kind]:.4f}" for kind in (True, False)))
    print()
    return [
        Figure(f"secrets, gitleaks, test rules: {what}", rights["test", found] / of["test", found], "", bar, digits=4)
        for what, found, rights, bar in (
            ("positives found", True, right, SECRETS_BAR),
            ("negatives left alone", False, right, SECRETS_BAR),
            ("negatives left alone, without the list of published keys", False, without, None),
            ("positives found, asked for both kinds", True, both, SECRETS_BAR),
            ("negatives left alone, asked for both kinds", False, both, SECRETS_BAR),
        )
    ]


def of_rules(data: Path, both_kinds: bool) -> tuple[Counter[tuple[str, bool]], Counter[tuple[str, bool]]]:
    """By half, and whether something is to be found: how many are right, and how many there are. Cases of a vendor's
    format are asked for `secret` alone, unless for both kinds, as gitleaks has all of its rules on."""
    right, all_of = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for case in cases(data, "gitleaks"):
        kinds: tuple[Kind, ...] = ("secret",) if case["family"] and not both_kinds else ("secret", "credential")
        key = half(case["parameters"]["rule"]), bool(case["expected"]["found"])
        all_of[key] += 1
        right[key] += bool(spans(case["input"]["text"], kinds)) == key[1]
    return right, all_of


def template(record: dict[str, Any]) -> str:
    text: str = record["text"]
    for span in sorted(record["spans"], key=lambda span: -span["start"]):
        text = text[: span["start"]] + span["type"] + text[span["end"] :]
    return text.lower()


def phones(data: Path) -> list[Figure]:
    """Telephone numbers in Presidio's sentences: most in national form, of countries that are not named."""
    hits, reported, labelled = Counter[str](), Counter[str](), Counter[str]()
    with gzip.open(data / "pii" / "presidio_synth_v2.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            part = half(template(record))
            wanted = {(s["start"], s["end"]) for s in record["spans"] if s["type"] == "PHONE_NUMBER"}
            found = {(start, end) for start, end in spans(record["text"], ("phone",))}
            hits[part] += len(wanted & found)
            reported[part] += len(found)
            labelled[part] += len(wanted)
    print("## telephone numbers: Presidio's sentences, by template\n")
    table("half", "labelled", "found", "precision", "recall")
    for part in ("development", "test"):
        values = hits[part] / max(1, reported[part]), hits[part] / labelled[part]
        row(part, f"{labelled[part]:,}", f"{reported[part]:,}", *(f"{value:.4f}" for value in values))
    print()
    values = hits["test"] / max(1, reported["test"]), hits["test"] / labelled["test"]
    return [
        Figure(f"personal data, presidio templates, phone: {what}", value, "", bar, digits=4)
        for what, value, bar in zip(("precision", "recall"), values, (PHONE_PRECISION, PHONE_RECALL))
    ]


def entities(data: Path) -> list[Figure]:
    """Presidio's own tests: the same spans, or as many."""
    right, all_of = Counter[str](), Counter[str]()
    for case in cases(data, "presidio"):
        entity = case["parameters"].get("entity", "")
        kind = KIND_OF.get(entity) or next((known for known in KNOWN if known == entity.lower()), None)
        if kind is None:
            continue
        found, wanted = spans(case["input"]["text"], (kind,)), case["expected"].get("spans")
        all_of[half(case["parameters"]["recognizer"])] += 1
        right[half(case["parameters"]["recognizer"])] += (
            len(found) == case["expected"]["count"] if wanted is None else found == wanted
        )
    print("## personal data: cases of Presidio's tests, by recogniser\n")
    table("half", "cases", "equal")
    for part in ("development", "test"):
        row(part, f"{all_of[part]:,}", f"{right[part] / all_of[part]:.4f}")
    print()
    return [Figure("personal data, cases of presidio, test: equal", right["test"] / all_of["test"], "", None, digits=4)]


def ordinary(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Text that nobody made for this, by kind."""
    yield "encyclopedia", [t for t in pq.read_table(data / "text" / "wikitext2_valid.parquet")["text"].to_pylist() if t]
    for name, path, field in (
        ("novels", "text/standardebooks_chapters.jsonl.gz", "text"),
        ("news, 128 languages", "lang/ntrex_docs.jsonl.gz", "text"),
        ("code", "code/code_files.jsonl.gz", "text"),
        ("Usenet", "text/20newsgroups_train.jsonl.gz", "text"),
    ):
        with gzip.open(data / path, "rt", encoding="utf-8") as lines:
            yield name, [json.loads(line)[field] for line in lines]
    pages: list[str] = []
    for file in sorted((data / "warc" / "crawl").glob("*.wet.gz")):
        records = gzip.decompress(file.read_bytes()).decode("utf-8", "replace").split("WARC/1.0\r\n")
        pages += [record.partition("\r\n\r\n")[2] for record in records if "conversion" in record[:400]]
    yield "web pages", pages


def false_alarms(data: Path) -> None:
    """What is found in a million words of ordinary text; in novels and encyclopedias all of it is wrong."""
    print("## personal data: found in a million words of ordinary text\n")
    table("text", "words", *NAMED)
    for name, texts in ordinary(data):
        words = sum(len(text.split()) for text in texts)
        found = find(pa.array(texts, pa.large_string()), NAMED, public_only=True)
        counts = Counter(found.kinds[kind] for _, kind, *_ in found.spans.tolist())
        row(name, f"{words:,}", *(f"{counts[kind] * 1e6 / words:.1f}" for kind in NAMED))
    print()
