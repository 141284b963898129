"""The licence of a source file or of a repository, as an SPDX identifier: by its tag, its text, or a notice that names
it.

A text is compared with those of the SPDX list by sketches, the lowest hashes of their word 3-grams (Broder 1997, "On
the resemblance and containment of documents"). A notice ("licensed under the Apache License, Version 2.0") is found by
the names of the list. Where neither is clear the answer is None: a wrong licence is worse than none.
"""

import json
import lzma
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from corpusmill import assets

ASSET = "licences"
SKETCH = 200  # hashes of a licence at most: the standard error of a containment of .9 is .02
MAX_CHARACTERS = 400_000  # characters of a file of licences that are looked at
SOURCE_CHARACTERS = 12_000  # characters of a source file in which its licence is looked for
MIN_SHARED = 0.75  # of a licence's 3-grams must be in a text that is it
TITLE_CHARACTERS = 300  # characters of a text in which its title stands
SKETCH_ERROR = 0.015  # of the similarity of two sketches
VERSION_WORDS = 30  # words after the name of a licence among which its version may stand
How = Literal["tag", "text", "notice"]

TAG = re.compile(r"SPDX-License-Identifier:\s*([^\r\n]+)")
EXPRESSION = re.compile(r"\(*[A-Za-z0-9][\w.+-]*\)*(?:\s+(?:AND|OR|WITH|and|or|with)\s+\(*[A-Za-z0-9][\w.+:-]*\)*)*")
WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)*\+?")
PLACEHOLDER = re.compile(r"<[^<>\n]{1,60}>|\[[^\[\]\n]{1,60}\]")
COPYRIGHT = re.compile(
    r"^[^\w\n]*(?:copyright\b(?!\s+(?:notice|holder|owner|law|licen|interest|and))|\(c\)|©).{0,200}$"
    r"|^[^\w\n]*all rights reserved\W*$",
    re.M | re.I,
)
VERSION = re.compile(r"v?(\d+(?:\.\d+)*)\+?")
LATER = re.compile(r"\b(?:any|or)(?: \(?at your option\)?,?)? (?:later|newer|subsequent)(?: version)?\b|\bor later\b")
SPELT = {"licence": "license", "licenced": "licensed", "licences": "licenses", "sublicence": "sublicense"}
DROPPED = frozenset({"the", "version", "v", "ver"})
MAY_NAME = re.compile(r"licen[sc]e|copying|public ?domain|redistribut|permission (?:is|to)\b", re.I)
CALLED_SO = re.compile(r"(?<![\w+.])[+.]*+([a-z0-9][a-z0-9+.]*+)(?:[- ]style)?\s++licen[sc]e\b")
ADDRESS = re.compile(r"(?:opensource|spdx)\.org/licen[sc]es?/([A-Za-z0-9.+-]*[A-Za-z0-9+])")
COMMONS = re.compile(
    r"creativecommons\.org/(?:licenses/([a-z]{2}(?:-[a-z]{2}){0,2})/(\d\.\d)(?:/([a-z]{2,3})(?![\w-]))?|(publicdomain/zero/1\.0))",
    re.I,
)
# Exceptions that are added to the GPL, by words that no licence has.
EXCEPTIONS = (
    ("Classpath-exception-2.0", re.compile(r"linking this library statically or dynamically|\bclasspath exception")),
    ("Autoconf-exception-generic", re.compile(r"(?:script|output)s? (?:that is |generated )?by autoconf|of autoconf")),
    ("Bison-exception-2.2", re.compile(r"bison parser skeleton|bison parser generator")),
    ("Font-exception-2.0", re.compile(r"create a document which uses this font")),
    ("GCC-exception-3.1", re.compile(r"gcc runtime library exception")),
    ("GCC-exception-2.0", re.compile(r"compiled version of this file (?:in|with)to? |combination with other programs")),
)
# What the list calls otherwise than notices do. The LGPL was named Library before version 2.1 and Lesser since; notices
# have both names for every version. Of CC0 there is one version.
_LGPL = "gnu library general public|gnu lesser general public|gnu library or lesser general public|gnu lesser public"
_LGPL += "|lesser gnu general public|lesser general public|library general public"
_CC0 = "cc0|cc0 public domain|cc0 1.0|cc0 universal|creative commons cc0|creative commons zero|cc zero"
CALLED_NAMES = (
    *((phrase, version, f"LGPL-{version}") for phrase in _LGPL.split("|") for version in ("2.0", "2.1", "3.0")),
    *((phrase, "", "CC0-1.0") for phrase in _CC0.split("|")),
)


@dataclass(frozen=True)
class LicenceMatch:
    """A licence that was found: an SPDX identifier or expression, and by what."""

    name: str
    how: How


@dataclass(frozen=True)
class LicenceList:
    """The licences of the SPDX list.

    ids      of those with a text of their own
    grams    (licences,) the number of their 3-grams
    sizes    (licences,) hashes in their sketches
    hashes   all sketches, one after the other
    owner    (hashes,) the licence of each
    texts    identifiers that have the text of another one -> that one
    names    words of a name -> its versions, as text without trailing zeros -> identifier
    every    all identifiers, in lower case -> as they are written
    """

    ids: tuple[str, ...]
    grams: NDArray[np.int64]
    sizes: NDArray[np.int64]
    hashes: NDArray[np.uint32]
    owner: NDArray[np.int32]
    names: Mapping[tuple[str, ...], Mapping[str, str]]
    every: Mapping[str, str]
    texts: Mapping[str, str]


def licence_of_text(text: str) -> LicenceMatch | None:
    """The licence that a file of licences (LICENSE, COPYING) holds: the one whose text it is, else the one it names."""
    text = text[:MAX_CHARACTERS]
    if tag := tagged(text):
        return tag
    return _compared(text)


def _compared(text: str) -> LicenceMatch | None:
    if name := matched(text, MIN_SHARED):
        return LicenceMatch(_with_exception(name, text), "text")
    name = noticed(text) or addressed(text) or called(text)
    return LicenceMatch(_with_exception(name, text), "notice") if name else None


def _with_exception(name: str, text: str) -> str:
    """The identifier, with the exception that the text adds to a licence of the GPL's family."""
    if not re.match(r"[AL]?GPL-\d", name) or "exception" in name:
        return name
    normalized = " ".join(normal_words(text))
    exception = next((identifier for identifier, pattern in EXCEPTIONS if pattern.search(normalized)), None)
    return f"{name if name.endswith('-or-later') else name + '-only'} WITH {exception}" if exception else name


def addressed(text: str) -> str | None:
    """The licence whose page at opensource.org, spdx.org or creativecommons.org a text links to, if it is one."""
    every = licence_list().every
    identifiers = {every.get(page.lower().removesuffix(".html")) for page in ADDRESS.findall(text)}
    for kind, version, country, zero in COMMONS.findall(text):
        name = "cc0-1.0" if zero else "-".join(filter(None, ("cc", kind, version, country)))
        identifiers.add(every.get(name.lower()))
    return identifiers.pop() if len(identifiers) == 1 else None


def called(text: str) -> str | None:
    """The licence of one word that a text calls one: "the MIT license"."""
    identifiers = (licence_list().names.get((name_word,), {}).get("") for name_word in CALLED_SO.findall(text.lower()))
    return next((name for name in identifiers if name), None)


def licence_of_source(text: str) -> LicenceMatch | None:
    """The licence that a source file names in its beginning."""
    head = text[:SOURCE_CHARACTERS]
    if not MAY_NAME.search(head):
        return None
    if tag := tagged(head):
        return tag
    comment = opening_comment(head)
    if not MAY_NAME.search(comment):
        return None
    return _compared(comment)


def opening_comment(head: str) -> str:
    """The lines of a source file before the first one of code: comments, docstrings and blank lines, 400 at most."""
    comment_lines: list[str] = []
    inside = ""
    for line in head.split("\n")[:400]:
        bare = line.strip()
        if inside:
            comment_lines.append(bare)
            if inside in bare:
                inside = ""
            continue
        opened = next(((a, b) for a, b in BLOCKS if bare.startswith(a)), None)
        if opened:
            text = bare[len(opened[0]) :]
            comment_lines.append(text)
            inside = "" if opened[1] in text else opened[1]
        elif not bare or bare.startswith(LINE_COMMENTS):
            comment_lines.append(bare)
        else:
            break
    return "\n".join(comment_lines)


BLOCKS = (("/*", "*/"), ("<!--", "-->"), ('"""', '"""'), ("'''", "'''"), ('r"""', '"""'), ("{-", "-}"), ("(*", "*)"),
          ("=begin", "=end"), ("<%--", "--%>"), ("--[[", "]]"), ("<#", "#>"))  # fmt: skip
LINE_COMMENTS = ("#", "//", "--", ";", "%", "!", "'", '"', "*", "REM ", "rem ", "dnl ", "<?", "<!DOCTYPE",
                 "package ", "..", "@echo")  # fmt: skip


def tagged(text: str) -> LicenceMatch | None:
    """What SPDX-License-Identifier says, if that is an expression of known licences."""
    match = TAG.search(text)
    expression = EXPRESSION.match(match[1].strip()) if match else None
    if expression is None:
        return None
    identifiers = licence_list().every
    words = expression[0].split()
    parts: list[str] = []
    for number, term in enumerate(words):
        bare = term.strip("()")
        if bare.upper() in ("AND", "OR", "WITH"):
            parts.append(bare.upper())
        elif bare.lower() in identifiers:
            parts.append(term.replace(bare, identifiers[bare.lower()]))
        elif bare.startswith(("LicenseRef-", "DocumentRef-")) or (number and words[number - 1].upper() == "WITH"):
            parts.append(term)
        else:
            return None
    return LicenceMatch(" ".join(parts), "tag")


def normal_words(text: str) -> list[str]:
    """The words of a licence's text as they are compared: without copyright lines, placeholders and punctuation."""
    lowered = COPYRIGHT.sub(" ", PLACEHOLDER.sub(" ", text)).lower()
    return [SPELT.get(token, token) for token in WORD.findall(lowered)]


def grams(words: list[str]) -> set[int]:
    """Hashes of 3 words in a row, 32 bits."""
    return {crc32(" ".join(words[at : at + 3]).encode()) for at in range(len(words) - 2)}


def matched(text: str, share: float) -> str | None:
    """The licence whose text is nearest to this one, of those of which `share` is in it.

    Nearest by the Dice coefficient of 3-grams, so that a licence that is a part of another one loses to that. One that
    is nearly as near and is named in the title wins; of several within the error of sketches, the shortest name does.
    """
    text_grams = grams(normal_words(text))
    if len(text_grams) < 10:
        return None
    licences = licence_list()
    text_hashes = np.fromiter(text_grams, np.uint32, len(text_grams))
    shared = np.bincount(
        licences.owner[np.isin(licences.hashes, text_hashes, kind="sort")], minlength=len(licences.ids)
    )
    contained = shared / licences.sizes
    dice = 2 * contained * licences.grams / (licences.grams + len(text_grams))
    dice[contained < share] = 0
    best = float(dice.max())
    if best == 0:
        return None
    titled = noticed(text[:TITLE_CHARACTERS])
    title = licences.texts.get(titled, titled) if titled else None
    if title in licences.ids and dice[licences.ids.index(title)] >= 0.85 * best:
        return title
    return licences.ids[int((dice >= best - SKETCH_ERROR).argmax())]  # of equals the one with the shortest name


def noticed(text: str) -> str | None:
    """The licence that a notice names first; None if that has several versions and none is said."""
    words = _name_words(text)
    names = licence_list().names
    longest = max(map(len, names))
    at = 0
    while at < len(words):
        for size in range(min(longest, len(words) - at), 0, -1):
            versions = names.get(tuple(words[at : at + size]))
            if (
                versions is not None
                and (size > 1 or "" not in versions)
                and (name := _version(versions, _around(words, at, at + size)))
            ):
                return _or_later(name, " ".join(words[at : at + size + 2 * VERSION_WORDS]))
        at += 1
    return None


def _around(words: list[str], start: int, stop: int) -> list[str]:
    """Where the version of a name may stand: "version 2.1 of the NAME", or in the words after it."""
    before = [words[start - 2]] if start >= 2 and words[start - 1] == "of" else []
    return before + words[stop : stop + VERSION_WORDS]


def _version(versions: Mapping[str, str], after: list[str]) -> str | None:
    """The identifier of the version that stands first in the words after a name."""
    for token in after:
        number = VERSION.fullmatch(token)
        if number and (name := versions.get(_plain(number[1]))):
            return name
    return versions.get("")


def _or_later(name: str, notice: str) -> str:
    identifiers = licence_list().every
    for ending in ("-or-later",) if LATER.search(notice) else ():
        if (later := identifiers.get(f"{name}{ending}".lower())) is not None:
            return later
    return name


def base_and_version(name: str) -> tuple[str, str]:
    """The name of a licence as notices have it, and its version, "" if it has none.

    >>> base_and_version("GNU General Public License v2.0 only"), base_and_version("Apache License 2.0")
    (('gnu general public', '2'), ('apache', '2'))
    """
    words = _name_words(name)
    if "w/" in name.lower() or " with " in name.lower():
        return "", ""
    while words and words[-1] in ("only", "later", "or"):
        words.pop()
    version = ""
    if words and (number := VERSION.fullmatch(words[-1])):
        version = _plain(number[1])
        words.pop()
    return " ".join(words), version


def _name_words(text: str) -> list[str]:
    """Words as names of licences are compared: "the", "version" and "license" left out, "v2.0" as "2.0"."""
    words = []
    for token in WORD.findall(text.lower().replace("-", " ").replace('"', "")):
        spelled = SPELT.get(token, token)
        if spelled not in DROPPED and spelled not in ("license", "licenses"):
            number = VERSION.fullmatch(spelled)
            words.append(number[1] if number else spelled)
    return words


def _plain(number: str) -> str:
    """A version without the zeros at its end: "2.0" as "2"."""
    return re.sub(r"(?:\.0)+$", "", number)


@lru_cache(1)
def licence_list() -> LicenceList:
    return assets.load(ASSET, _read)


def _read(path: Path) -> LicenceList:
    spdx = json.loads(lzma.decompress(path.read_bytes()))
    ids = tuple(name for name in sorted(spdx, key=lambda each: (len(each), each)) if "low" in spdx[name])
    sketches = [np.cumsum(np.array(spdx[name]["low"], np.int64)).astype(np.uint32) for name in ids]
    sizes = np.array([len(sketch) for sketch in sketches], np.int64)
    hashes = np.concatenate(sketches)
    names: dict[tuple[str, ...], dict[str, str]] = {}
    for name in sorted(spdx, key=lambda each: (len(each), each)):
        words = tuple(spdx[name]["name"].split())
        if words:
            names.setdefault(words, {}).setdefault(spdx[name]["version"], name)
    for phrase, version, name in CALLED_NAMES:
        names.setdefault(tuple(phrase.split()), {}).setdefault(_plain(version), name)
    return LicenceList(
        ids,
        np.array([spdx[name]["grams"] for name in ids], np.int64),
        sizes,
        hashes,
        np.repeat(np.arange(len(ids), dtype=np.int32), sizes),
        names,
        {name.lower(): name for name in spdx},
        {name: about["text"] for name, about in spdx.items() if "text" in about},
    )


def of_files(files: Iterable[tuple[str, str]]) -> LicenceMatch | None:
    """The licence of a repository: that of its files of licences, (path, text), joined by AND if they are several.

    Of LICENSE-MIT and LICENSE-APACHE, names that say which of two holds, the answer is MIT OR Apache-2.0.
    """
    methods: dict[str, How] = {}
    choices = 0
    for path, text in files:
        if (licence := licence_of_text(text)) is not None:
            methods.setdefault(licence.name, licence.how)
            choices += bool(re.search(r"licen[sc]e[-_.](?:mit|apache|bsd|gpl|lgpl|mpl|unlicense)", path, re.I))
    if not methods:
        return None
    joined = (" OR " if choices >= 2 else " AND ").join(sorted(methods))
    return LicenceMatch(joined, next(iter(methods.values())))
