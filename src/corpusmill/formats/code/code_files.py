"""What a file of a source tree is: its language, and whether it was generated, minified, copied in, or is a test.

Languages are those of GitHub Linguist, found in its order: by the whole name of the file, by the interpreter that its
first line names, by its ending, and, where several languages share that, by Linguist's patterns over the text.
"""

import json
import lzma
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill import assets

ASSET = "code-languages"
HEAD_CHARACTERS = 50_000  # characters that patterns are tried on, as Linguist does
KINDS = ("programming", "markup", "prose", "data")
ORDER = {kind: place for place, kind in enumerate(KINDS)}
SHEBANG = re.compile(r"#!\s*(\S+)(?:[ \t]+(.*))?")
ANYTHING = re.compile(r"^\((?:\.\*\??|\[\^\\s\]\*)\)")
MINIFIED = 110  # characters of a line on average
MAY_BE_MINIFIED = frozenset({"JavaScript", "CSS", "TypeScript", "HTML", "JSON", "SVG"})

GENERATED_NAME = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lock|deno\.lock|Cargo\.lock"
    r"|Cargo\.toml\.orig|Gemfile\.lock|composer\.lock|poetry\.lock|pdm\.lock|uv\.lock|Pipfile\.lock|pixi\.lock"
    r"|Gopkg\.lock|glide\.lock|go\.sum|go\.work\.sum|flake\.lock|mix\.lock|pubspec\.lock|Podfile\.lock"
    r"|Cartfile\.resolved"
    r"|\.pnp\.c?js|MODULE\.bazel\.lock|gradlew(?:\.bat)?|mvnw(?:\.cmd)?|\.terraform\.lock\.hcl)$"
    r"|(?:_pb2(?:_grpc)?\.pyi?|\.pb(?:\.gw)?\.(?:go|cc|h|swift|dart)|_pb\.(?:js|ts|d\.ts|rb)|\.pbobjc\.[hm])$"
    r"|\.(?:designer\.(?:cs|vb)|g\.cs|g\.i\.cs|g\.dart|freezed\.dart|gr\.dart|generated\.\w+|nib|xcworkspacedata)$"
    r"|(?:^|/)(?:__generated__|generated|autogen|node_modules)/"
    r"|zz_generated[._]\w+\.go$|_string\.go$|\.(?:js|css)\.map$",
    re.I,
)
GENERATED_LINE = re.compile(
    r"code generated\b.*\bdo not edit|@generated\b|\bautomatically[- ]generated\b|\bauto-?generated\b"
    r"|generated (?:automatically )?by (?:the )?(?:protocol buffer|protoc|grpc|thrift|swig|antlr|bison|flex|jflex"
    r"|javacc|cython|coffeescript|autoconf|automake|cmake|gyp|qt|moc|uic|rake|dart|haxe|peg\.?js|pegjs|ragel)\b"
    r"|\bgenerated\b.{0,60}\b(?:do not|don't) (?:edit|modify|change)"
    r"|(?:do not|don't) (?:edit|modify|change).{0,60}\bgenerated\b"
    r"|this (?:file|code|source) (?:is|was|has been) generated\b",
    re.I,
)
TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|testdata|test[-_]data|e2e|androidTest|unittests?)/"
    r"|(?:^|/)(?:test_[^/]*\.py|conftest\.py)$"
    r"|(?:[._-](?:test|tests|spec|specs|e2e|cy)|_unittest)\.\w+$"
    r"|(?:^|/)(?:Test[A-Z]\w*|\w*[a-z0-9](?:Tests?|TestCase|Spec|IT))\.(?:java|kt|scala|groovy|cs|swift|php|m|mm)$"
)


@dataclass(frozen=True)
class LanguageRule:
    """One language of an ending that several share: every list must have a pattern in the text, and `none` must not."""

    language: str
    every: tuple[str, ...]
    none: str | None

    def fits(self, head: pa.StringArray) -> bool:
        """Whether the head of a file is in this language. The patterns are RE2's, which is linear."""
        return all(_occurs(pattern, head) for pattern in self.every) and not (self.none and _occurs(self.none, head))


def _occurs(pattern: str, text: pa.StringArray) -> bool:
    return bool(pc.match_substring_regex(text, pattern)[0].as_py())


@dataclass(frozen=True)
class LanguageLists:
    """Linguist's lists: language -> kind; names of files, interpreters, endings and aliases in lower case."""

    kinds: Mapping[str, str]
    files: Mapping[str, tuple[str, ...]]
    interpreters: Mapping[str, tuple[str, ...]]
    endings: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, str]
    rules: Mapping[str, list[dict[str, Any]]]
    vendored: re.Pattern[str]
    documentation: re.Pattern[str]


@dataclass(frozen=True)
class Marks:
    """What a file is beside its language."""

    is_generated: bool
    is_minified: bool
    is_vendored: bool
    is_test: bool
    is_documentation: bool


def language_of(path: str, text: str) -> str | None:
    """Linguist's name of a file's language; None if neither its name nor its first line tells."""
    lists = languages()
    name = path.rpartition("/")[2]
    if len(matches := lists.files.get(name, ())) == 1:
        return matches[0]
    if (interpreter := interpreter_of(text)) and len(matches := lists.interpreters.get(interpreter, ())) == 1:
        return matches[0]
    lowered = name.lower()
    starts = [at for at, letter in enumerate(lowered) if letter == "."]
    for at in starts:  # the longest ending first: ".d.ts" before ".ts"
        if candidates := lists.endings.get(lowered[at:]):
            head = text[:HEAD_CHARACTERS].encode("utf-8", "replace").decode()
            return _chosen(lowered[at:], candidates, head)
    return matches[0] if matches else None


def _chosen(ending: str, candidates: tuple[str, ...], head: str) -> str:
    if len(candidates) == 1:
        return candidates[0]
    text = pa.array([head])
    for rule in _rules(ending):
        if rule.language in candidates and rule.fits(text):
            return rule.language
    return candidates[0]


def interpreter_of(text: str) -> str | None:
    """The interpreter that a script's first line names, without its version: "python" for "#!/usr/bin/env python3".

    >>> interpreter_of("#!/usr/bin/env -S python3.11 -u\\n"), interpreter_of("#!/bin/bash"), interpreter_of("x")
    ('python3', 'bash', None)
    """
    match = SHEBANG.match(text)
    if match is None:
        return None
    words = [match[1].rpartition("/")[2], *(match[2] or "").split()]
    if words[0] == "env":
        words = [argument for argument in words[1:] if not argument.startswith("-") and "=" not in argument]
    name = words[0].rpartition("/")[2] if words else ""
    interpreters = languages().interpreters
    bare = name.rstrip(string.digits)
    for shorter in (name, bare.removesuffix(".") if bare != name else name, name.rstrip(f"{string.digits}.")):
        if shorter.lower() in interpreters:
            return shorter.lower()
    return name.lower() or None


def kind_of(language: str | None) -> str | None:
    """programming, markup, prose or data."""
    return languages().kinds.get(language) if language else None


def marks_of(path: str, text: str, language: str | None) -> Marks:
    """What a file is, by its path and its text."""
    lists = languages()
    minified = is_minified(path, text, language)
    return Marks(
        is_generated=minified or GENERATED_NAME.search(path) is not None or says_generated(text),
        is_minified=minified,
        is_vendored=lists.vendored.search(path) is not None,
        is_test=TEST.search(path) is not None,
        is_documentation=lists.documentation.search(path) is not None,
    )


def is_minified(path: str, text: str, language: str | None) -> bool:
    """By its name, or by lines of more than 110 characters on average, of languages that are minified."""
    if re.search(r"[.-]min\.(?:js|css|mjs|cjs|html)$", path):
        return True
    if language not in MAY_BE_MINIFIED - {"JSON", "HTML"}:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    return bool(lines) and sum(map(len, lines)) / len(lines) > MINIFIED


def says_generated(text: str) -> bool:
    """Whether a comment among the first 12 lines that are not blank says so."""
    line_count = 0
    for line in text[:4000].split("\n"):
        if not (bare := line.strip()):
            continue
        line_count += 1
        if line_count > 12:
            return False
        if bare[0] in "/#*;-<%!'\"@(" and GENERATED_LINE.search(bare):
            return True
    return False


def find_language(name: str) -> str | None:
    """The language that a name or an alias of it means, in any case: "cpp" is C++."""
    return languages().aliases.get(name.lower())


@lru_cache(1)
def languages() -> LanguageLists:
    return assets.load(ASSET, _read)


def _read(path: Path) -> LanguageLists:
    linguist = json.loads(lzma.decompress(path.read_bytes()))
    kinds = {name: about[0] for name, about in linguist["languages"].items()}
    files: dict[str, list[str]] = {}
    interpreters: dict[str, list[str]] = {}
    endings: dict[str, list[tuple[int, int, int, str]]] = {}
    aliases: dict[str, str] = {}
    for name, (kind, own, names, programs, others) in linguist["languages"].items():
        for alias in others:
            aliases.setdefault(alias.lower(), name)
        for item in names:
            files.setdefault(item, []).append(name)
        for item in programs:
            interpreters.setdefault(item.lower(), []).append(name)
        for rank, ending in enumerate(own):
            # Where no pattern decides: whose main ending it is, then programs before data, then the shortest name.
            endings.setdefault(ending.lower(), []).append((rank > 0, ORDER[kind], len(name), name))
    aliases |= {name.lower(): name for name in kinds}
    rules = {ending.lower(): item["rules"] for item in linguist["rules"] for ending in item["extensions"]}
    return LanguageLists(
        kinds,
        {name: tuple(languages_of) for name, languages_of in files.items()},
        {name: tuple(languages_of) for name, languages_of in interpreters.items()},
        {ending: tuple(item[-1] for item in sorted(languages_of)) for ending, languages_of in endings.items()},
        aliases,
        rules,
        # What may be long before the name that counts says nothing in a search, and takes the square of a path.
        re.compile("|".join(f"(?:{re.sub(ANYTHING, '', pattern)})" for pattern in linguist["vendored"])),
        re.compile("|".join(f"(?:{pattern})" for pattern in linguist["documentation"])),
    )


@lru_cache(512)
def _rules(ending: str) -> tuple[LanguageRule, ...]:
    return tuple(map(_rule, languages().rules.get(ending, ())))


def _rule(rule: Mapping[str, Any]) -> LanguageRule:
    required = tuple(map(_any, rule["all"]))
    return LanguageRule(str(rule["language"]), required, _any(rule["not"]) if rule["not"] else None)


def _any(patterns: list[str]) -> str:
    return "(?m)" + (patterns[0] if len(patterns) == 1 else "|".join(f"(?:{pattern})" for pattern in patterns))
