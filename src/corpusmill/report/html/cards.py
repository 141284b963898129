"""Documents on the page: one with the rules that it fails, or two near-duplicates side by side."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import Any

from corpusmill.report.html.markup import HtmlText, join, tag
from corpusmill.report.numbers import number
from corpusmill.report.rules import because
from corpusmill.report.visible import excerpt, not_stored, one_line
from corpusmill.steps.verdict import Bound

MAX_TEXT_CHARS = 900  # characters of a text that are shown
MAX_URL_CHARS = 160
MAX_COMPARED_WORDS = 160  # words of each of two texts that are compared and shown
WORDS_BEFORE_DIFFERENCE = 24  # of them before the first difference
MAX_NAMED_RULES = 8  # failing rules that are named


def document(entry: Mapping[str, Any], bounds: Mapping[str, Bound]) -> HtmlText:
    """A document: where it comes from, the rules that it fails, the beginning of its text."""
    full_text = entry["text"]
    body = tag("div", not_stored(entry), class_="text none") if full_text is None else text(full_text)
    return tag("div", address(entry), why(entry, bounds), body, class_="document")


def address(entry: Mapping[str, Any]) -> HtmlText:
    """Where a document is from. Never a link: a URL of a crawl must not be opened by accident."""
    location = f"{PurePath(entry['file'] or '').name}:{entry['position']}"
    url = tag("b", tag("bdi", excerpt(one_line(entry["url"]), MAX_URL_CHARS))) if entry["url"] else None
    if entry["tokens"] is None:
        length = f"{number(entry['bytes'])} bytes"
    else:
        length = f"{'about ' * bool(entry.get('dropped_by'))}{number(entry['tokens'])} tokens"
    parts = [url, f"{entry['source']} {location}", length, f"id {entry['id']}"]
    return tag("div", join([part for part in parts if part is not None], " · "), class_="address")


def why(entry: Mapping[str, Any], bounds: Mapping[str, Bound]) -> HtmlText | None:
    """The rules that a document fails, each with what was measured and the bound."""
    if not entry["reasons"]:
        return None
    rules = [
        tag("span", because(reason, entry["signals"], bounds), class_=None if i else "first")
        for i, reason in enumerate(entry["reasons"][:MAX_NAMED_RULES])
    ]
    remaining = len(entry["reasons"]) - MAX_NAMED_RULES
    return tag("div", *rules, tag("span", f"and {remaining} more") if remaining > 0 else None, class_="why")


def text(full_text: str) -> HtmlText:
    if not full_text.strip():
        return tag("div", "no text", class_="text none")
    return tag("div", excerpt(full_text, MAX_TEXT_CHARS), class_="text", dir="auto")


def pair(entry: Mapping[str, Any], titles: tuple[str, str] = ("duplicate", "kept")) -> HtmlText:
    """A duplicate beside the document that is kept, from shortly before the first word that differs.

    entry    as from `samples.pairs`
    titles   of the two
    """
    duplicate, kept_document = entry["document"], entry["duplicate_of"]
    sides = tuple(zip(titles, (duplicate, kept_document)))
    if duplicate["text"] == kept_document["text"]:
        both = [tag("div", tag("h4", title), address(side)) for title, side in sides]
        return tag("div", tag("div", *both, class_="two"), text(duplicate["text"]), class_="reason")
    both = [
        tag("div", tag("h4", title), address(side), tag("div", words, class_="text", dir="auto"))
        for (title, side), words in zip(sides, differences(duplicate["text"], kept_document["text"]))
    ]
    similarity = f"similarity {entry['similarity']:.3f}"
    if entry.get("lost") is not None:
        similarity += f", {entry['lost']:.1%} of the n-grams of the first are missing from the second"
    return tag("div", tag("div", similarity, class_="soft"), tag("div", *both, class_="two"), class_="reason")


def differences(first_text: str, second_text: str) -> tuple[HtmlText, HtmlText]:
    """Both texts word by word, with the words marked in which they differ."""
    a, b = first_text.split(), second_text.split()
    same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    start = max(0, same - WORDS_BEFORE_DIFFERENCE) if same < max(len(a), len(b)) else 0
    a_part, b_part = a[start : start + MAX_COMPARED_WORDS], b[start : start + MAX_COMPARED_WORDS]
    parts: tuple[list[HtmlText], list[HtmlText]] = ([], [])
    for kind, a_low, a_high, b_low, b_high in SequenceMatcher(None, a_part, b_part, autojunk=False).get_opcodes():
        for words, side in ((a_part[a_low:a_high], parts[0]), (b_part[b_low:b_high], parts[1])):
            run = " ".join(words)
            if run:
                side.append(tag("mark", run) if kind != "equal" else tag("span", run))
    return _cut(parts[0], start, len(a)), _cut(parts[1], start, len(b))


def _cut(parts: list[HtmlText], start: int, words: int) -> HtmlText:
    before = f"[{number(start)} identical words omitted] … " if start else ""
    return join([before, join(parts, " "), " …" if words > start + MAX_COMPARED_WORDS else ""])
