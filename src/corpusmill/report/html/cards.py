"""Documents on the page: one with the reasons why it goes, or two that are nearly the same, side by side."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import Any

from corpusmill.report.html.markup import Html, join, tag
from corpusmill.report.numbers import number
from corpusmill.report.rules import Bound, because
from corpusmill.report.visible import excerpt, one_line

TEXT = 900  # characters of a text that are shown
URL = 160
WORDS = 160  # words of each of two texts that are compared and shown
BEFORE = 24  # of them before the first difference
RULES = 8  # failing rules that are named


def document(entry: Mapping[str, Any], bounds: Mapping[str, Bound]) -> Html:
    """A document: where it comes from, the rules that it fails, the beginning of its text."""
    return tag("div", address(entry), why(entry, bounds), text(entry["text"]), class_="document")


def address(entry: Mapping[str, Any]) -> Html:
    """Where a document comes from. Never a link: what is in a crawl is not to be opened by a slip."""
    place = f"{PurePath(entry['file'] or '').name}:{entry['position']}"
    url = tag("b", tag("bdi", excerpt(one_line(entry["url"]), URL))) if entry["url"] else None
    length = number(entry["tokens"]) + " tokens" if entry["tokens"] is not None else number(entry["bytes"]) + " bytes"
    parts = [url, f"{entry['source']} {place}", length, f"id {entry['id']}"]
    return tag("div", join([part for part in parts if part is not None], " · "), class_="address")


def why(entry: Mapping[str, Any], bounds: Mapping[str, Bound]) -> Html | None:
    """The rules that a document fails, each with what was measured and the bound."""
    if not entry["reasons"]:
        return None
    said = [
        tag("span", because(reason, entry["signals"], bounds), class_=None if i else "first")
        for i, reason in enumerate(entry["reasons"][:RULES])
    ]
    more = len(entry["reasons"]) - RULES
    return tag("div", *said, tag("span", f"and {more} more") if more > 0 else None, class_="why")


def text(whole: str) -> Html:
    if not whole.strip():
        return tag("div", "no text", class_="text none")
    return tag("div", excerpt(whole, TEXT), class_="text", dir="auto")


def pair(found: Mapping[str, Any]) -> Html:
    """A document that goes beside the twin that stays, from shortly before the first word that differs."""
    gone, stays = found["document"], found["duplicate_of"]
    if gone["text"] == stays["text"]:
        both = [tag("div", tag("h4", what), address(entry)) for what, entry in (("goes", gone), ("stays", stays))]
        return tag("div", tag("div", *both, class_="two"), text(gone["text"]), class_="reason")
    sides = zip(("goes", "stays"), (gone, stays), differences(gone["text"], stays["text"]))
    both = [
        tag("div", tag("h4", what), address(entry), tag("div", words, class_="text", dir="auto"))
        for what, entry, words in sides
    ]
    alike = f"similarity {found['similarity']:.3f}"
    return tag("div", tag("div", alike, class_="soft"), tag("div", *both, class_="two"), class_="reason")


def differences(left: str, right: str) -> tuple[Html, Html]:
    """Both texts word by word, with the words marked that the other does not have there."""
    a, b = left.split(), right.split()
    same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    start = max(0, same - BEFORE) if same < max(len(a), len(b)) else 0
    a_part, b_part = a[start : start + WORDS], b[start : start + WORDS]
    said: tuple[list[Html], list[Html]] = ([], [])
    for kind, a_low, a_high, b_low, b_high in SequenceMatcher(None, a_part, b_part, autojunk=False).get_opcodes():
        for words, side in ((a_part[a_low:a_high], said[0]), (b_part[b_low:b_high], said[1])):
            run = " ".join(words)
            if run:
                side.append(tag("mark", run) if kind != "equal" else tag("span", run))
    return _cut(said[0], start, len(a)), _cut(said[1], start, len(b))


def _cut(parts: list[Html], start: int, words: int) -> Html:
    before = f"[{number(start)} words alike] … " if start else ""
    return join([before, join(parts, " "), " …" if words > start + WORDS else ""])
