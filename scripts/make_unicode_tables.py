"""Make src/corpusmill/data/unicode.npz from the Unicode database of this Python, and enter it in the manifest.

    python3.11 scripts/make_unicode_tables.py

Run it on a Python whose database is UNICODE (3.11 has 14.0); the file is the same whoever makes it.
"""

import hashlib
import io
import json
import os
import sys
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNICODE = "14.0.0"
FOLDER = Path(__file__).parent.parent / "src" / "corpusmill" / "data"
BLOCK = 128

# What these are: corpusmill.text.unicode.punctuation and .terminal.
PUNCTUATION = """
0-8 B-1F 21-2F 3A-40 5B-60 7B-9F AB B4 BB 2013-2014 2019 201C-201E 2026 2236 2501 25BA 3001-3002 3008-300D 3010-3011
FF01 FF05 FF08-FF09 FF0C FF0E FF11 FF1A-FF1B FF1F FF5E"""
TERMINAL = """
21 2E 3F 589 61D-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 104A-104B 1362 1367-1368 166E 1735-1736 17D4-17D6
17D9-17DA 1803 1809 1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F 1B7D-1B7E 1C3B-1C3C 1C7E-1C7F 203C-203D 2047-2049 2E2E
2E3C 2E53-2E54 3002 A4FF A60E-A60F A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB FE52
FE56-FE57 FF01 FF0E FF1F FF61 10A56-10A57 10F55-10F59 10F86-10F89 11047-11048 110BE-110C1 11141-11143 111C5-111C6
111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 1144B-1144C 115C2-115C3 115C9-115D7 11641-11642 1173C-1173E 11944
11946 11A42-11A43 11A9B-11A9C 11C41-11C42 11EF7-11EF8 11F43-11F44 16A6E-16A6F 16AF5 16B37-16B38 16B44 16E98 1BC9F
1DA88"""
POINTS = ".,،٫⎖⎗⎘"  # decimal separators


def main() -> None:
    if unicodedata.unidata_version != UNICODE:
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}; run the script with one that has {UNICODE}")
    punctuation, terminal = code_points(PUNCTUATION), code_points(TERMINAL)
    class_index, class_blocks = two_stages(class_bits(punctuation, terminal))
    kinds, places, pool = fold_values(punctuation)
    fold_index, both = two_stages(kinds.astype(np.int64) << 32 | places)
    contents = {
        "version": np.array(UNICODE),
        "punctuation": np.array(sorted(punctuation), np.int32),
        "terminal": np.array(sorted(terminal), np.int32),
        "class_index": class_index,
        "class_blocks": class_blocks,
        "fold_index": fold_index,
        "fold_kinds": (both >> 32).astype(np.uint8),
        "fold_places": (both & 0xFFFFFFFF).astype(np.int32),
        "fold_pool": np.frombuffer(pool, np.uint8),
    }
    write(FOLDER / "unicode.npz", contents)
    enter(
        "unicode",
        FOLDER / "unicode.npz",
        source=f"scripts/make_unicode_tables.py on the Unicode Character Database {UNICODE}",
        licence="Unicode-3.0",
        note="classes, folding and punctuation of every code point",
    )


def code_points(ranges: str) -> set[int]:
    points: set[int] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        points |= set(range(int(first, 16), int(last or first, 16) + 1))
    return points


def class_bits(punctuation: set[int], terminal: set[int]) -> NDArray[np.uint16]:
    from corpusmill.text import unicode as u

    bits = np.zeros(sys.maxunicode + 1, np.uint16)
    for cp in range(sys.maxunicode + 1):
        c = chr(cp)
        category = unicodedata.category(c)
        bits[cp] = (
            u.SPACE * c.isspace()
            | u.BREAK * (len(f"a{c}b".splitlines()) == 2)
            | u.ALPHA * c.isalpha()
            | u.ALNUM * c.isalnum()
            | u.DIGIT * c.isdecimal()
            | u.UPPER * c.isupper()
            | u.LOWER * (c.islower() or category == "Lt")
            | u.CONTENT * (cp not in punctuation and cp not in terminal)
            | u.TERMINAL * (cp in terminal)
            | u.MARK * (category[0] == "P" or c in "$+<=>^`|~")
            | u.SPECIAL * (category[0] not in "LMN" and not c.isspace())
        )
    return bits


def fold_values(punctuation: set[int]) -> tuple[NDArray[np.uint8], NDArray[np.int64], bytes]:
    """(kind of every code point, place of what it folds to, pool of those)."""
    from corpusmill.text import unicode as u

    kinds, places, pool = np.zeros(sys.maxunicode + 1, np.uint8), np.zeros(sys.maxunicode + 1, np.int64), bytearray()
    seen: dict[bytes, int] = {}
    for cp in range(sys.maxunicode + 1):
        if 0xD800 <= cp < 0xE000:
            continue
        c = chr(cp)
        # str.lower shows the two properties that it decides final sigma by, and Python has no other name for them.
        cased = f"1{c}Σ".lower().endswith("ς")
        ignored = f"A{c}Σ".lower().endswith("ς") and not cased
        kinds[cp] = (
            u.GAP * (c.isspace() or cp in punctuation)
            | u.NUMBER * c.isdecimal()
            | u.POINT * (c in POINTS)
            | u.CASED * cased
            | u.IGNORED * ignored
        )
        folded = "".join(m for m in unicodedata.normalize("NFD", c.lower()) if unicodedata.category(m) != "Mn").encode()
        if folded != c.encode():
            kinds[cp] |= u.MAPPED
            if folded not in seen:
                seen[folded] = len(pool)
                pool += folded
            places[cp] = seen[folded] << 8 | len(folded)
    return kinds, places, bytes(pool)


def two_stages(values: NDArray[Any]) -> tuple[NDArray[np.uint16], NDArray[Any]]:
    """(index of blocks, the distinct blocks end to end), with the block of ASCII first."""
    blocks, index = np.unique(values.reshape(-1, BLOCK), axis=0, return_inverse=True)
    index = index.reshape(-1)
    order = np.concatenate([[index[0]], np.delete(np.arange(len(blocks)), index[0])])
    rank = np.argsort(order)
    return rank[index].astype(np.uint16), np.ascontiguousarray(blocks[order].reshape(-1))


def write(path: Path, arrays: dict[str, NDArray[np.generic]]) -> None:
    """An .npz whose bytes depend on nothing but the arrays."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content.getvalue())


def enter(name: str, path: Path, **entry: str) -> None:
    manifest = FOLDER / "MANIFEST.json"
    entries = json.loads(manifest.read_text("utf-8"))
    entries[name] = {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), **entry}
    scratch = manifest.with_suffix(".json.new")
    scratch.write_text(json.dumps(entries, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    os.replace(scratch, manifest)  # noqa: PTH105


if __name__ == "__main__":
    main()
