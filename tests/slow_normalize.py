"""What `clean/normalize` does, read aloud: one regular expression after another."""

import html
import re
import unicodedata
from html.entities import html5
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
LINE_END = r"\r\n?|[\x0b\x0c\x{85}\x{2028}\x{2029}]"
INVISIBLE = (
    r"[\x00-\x08\x0e-\x1f\x7f-\x{84}\x{86}-\x{9f}\x{ad}\x{200b}\x{2060}-\x{2064}\x{feff}"
    r"\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{206f}\x{fff9}-\x{fffb}\x{fdd0}-\x{fdef}\x{fffe}\x{ffff}]"
)
SPACES = r"[\x{a0}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]"
LOOKS_ASCII = (
    dict.fromkeys(map(ord, "‘’‚‛′"), "'")
    | dict.fromkeys(map(ord, "“”„‟″«»"), '"')
    | dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
    | dict.fromkeys(map(ord, "⁄∕"), "/")
)


def slow_normalize(texts: pa.LargeStringArray, step: Any) -> pa.LargeStringArray:
    """The documents as a step with these parameters changes them."""
    if step.entities:
        texts = each(texts, lambda text: ENTITY.sub(character, text))
    if step.controls:
        texts = replaced(replaced(texts, LINE_END, "\n"), INVISIBLE, "")
    if step.form is not None:
        texts = each(texts, lambda text: unicodedata.normalize(step.form, text))
    if step.ascii:
        texts = each(texts, in_ascii)
    if step.spaces:
        texts = replaced(replaced(texts, SPACES, " "), r"[ \t]+\n", "\n")
        texts = replaced(texts, r"([^ \t\n])[ \t]{2,}", r"\1 ")
        texts = pc.ascii_rtrim(pc.ascii_ltrim(texts, characters="\n"), characters=" \t\n")
    if not step.indentation:
        texts = pc.replace_substring(replaced(texts, r"(\A|\n)[ \t]+", r"\1"), "\t", " ")
    if step.max_blank_lines is not None:
        most = "\n" * (step.max_blank_lines + 1)
        texts = pc.replace_substring_regex(texts, f"{most}\n+", most)
    return texts


def replaced(texts, pattern, replacement):
    return pc.replace_substring_regex(texts, pattern, replacement)


def each(texts, change):
    return pa.array([text if text is None else change(text) for text in texts.to_pylist()], texts.type)


def character(match):
    entity = match[0]
    return html.unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity


def in_ascii(text):
    return unicodedata.normalize("NFKD", text).translate(LOOKS_ASCII).encode("ascii", "ignore").decode()
