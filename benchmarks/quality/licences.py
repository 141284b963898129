"""How often the licence of a text or a header is right.

    python -m benchmarks.quality.licences --data DIR

DIR holds `neardup/license_texts.jsonl.gz`: texts with the licences that people gave them. They are divided by
licence: half train, a quarter dev, a quarter test. Licences that the SPDX list has not are counted apart: of those the
only right answer is none.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

from corpusmill.formats.code.licence_texts import licence_list, licence_of_text

PARTS = ("train", "train", "dev", "test")
GPL_WITH = {
    "Classpath-exception-2.0": "classpath-exception",
    "Autoconf-exception-generic": "autoconf-exception",
    "Bison-exception-2.2": "bison-exception",
    "Font-exception-2.0": "font-exception",
    "GCC-exception-2.0": "GCC-exception",
    "GCC-exception-3.1": "GCC-exception",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for one in records(parser.parse_args().data / "neardup" / "license_texts.jsonl.gz"):
        labels = one["labels"]
        kind = one["id"].partition("/")[0].lower() if one["kind"] == "reference" else "in the wild"
        in_list = all(label.lower() in licence_list().every for label in labels)
        part = PARTS[crc32((labels[0] if labels else one["id"]).encode()) % 4]
        found = licence_of_text(one["text"])
        name = plain(found.name) if found else None
        right = name in labels if labels and in_list else name is None
        key = (part, kind, "listed" if in_list else "not in the list")
        counts.setdefault(key, Counter())["right" if right else "none" if name is None else "wrong"] += 1
    print(f"{'part':6} {'texts':12} {'licence':16} {'right':>6} {'none':>6} {'wrong':>6}")
    for (part, kind, listed), count in sorted(counts.items()):
        print(f"{part:6} {kind:12} {listed:16} {count['right']:6} {count['none']:6} {count['wrong']:6}")


def plain(name: str) -> str:
    """An identifier as the labels have it: GPL-2.0 for GPL-2.0-or-later, with exceptions by their old names."""
    base, _, exception = name.partition(" WITH ")
    base = base.removesuffix("-only").removesuffix("-or-later")
    return f"{base}-with-{GPL_WITH.get(exception, exception)}" if exception else base


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
