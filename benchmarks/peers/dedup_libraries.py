"""gaoya, rensa and datasketch, for benchmarks/peers/dedup.py; runs in an environment of its own, knows nothing of
corpusmill.

    python dedup_libraries.py HOW KEPT.json ANSWER.json FILES.jsonl …

Each removes near copies with 5-grams of lower-cased words, 14 bands of 8 and an estimated similarity of at least 0.8. A
document is dropped as the duplicate of an earlier one that is kept. `gaoya`, `rensa` and `datasketch` do it in the
fastest way that the library offers, and on two threads or processes even where its documentation has none;
`gaoya-documented` and `rensa-documented` in a loop over documents, as their documentation does. KEPT: numbers of the
kept documents, counted over all files. ANSWER, written after it:

    {"version": …, "ended": when KEPT was there, in seconds since 1970,
     "duplicates": [[dropped document, kept one that it is similar to], …]}
"""

import json
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson

NGRAM, BANDS, ROWS, THRESHOLD = 5, 14, 8, 0.8
LANES, SEED, PROCESSES = BANDS * ROWS, 42, 2
Duplicates = list[tuple[int, int]]


def main(name: str, kept_file: str, answer_file: str, *files: str) -> None:
    ways = {
        "gaoya": gaoya,
        "gaoya-documented": gaoya_documented,
        "rensa": rensa,
        "rensa-documented": rensa_documented,
        "datasketch": datasketch,
    }
    kept, named_later = ways[name]([Path(file) for file in files])
    Path(kept_file).write_bytes(orjson.dumps(kept))
    answer = {"version": version(name.partition("-")[0]), "ended": time.time(), "duplicates": list(named_later)}
    Path(answer_file).write_text(json.dumps(answer), "utf-8")


def texts_of(file: Path) -> list[str]:
    return [orjson.loads(line)["text"] for line in file.read_bytes().splitlines()]


def gaoya_index(**options: str) -> Any:
    from gaoya.minhash import MinHashStringIndex

    return MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=BANDS,
        band_size=ROWS,
        analyzer="word",
        lowercase=True,
        ngram_range=(NGRAM, NGRAM),
        **options,
    )


def gaoya(files: list[Path]) -> tuple[list[int], Iterator[tuple[int, int]]]:
    """Its own words and 5-grams, made by Rust on as many threads as there are cores: all are inserted, then asked for.

    A text of fewer than 5 words has no 5-gram, and all such texts are alike to it.
    """
    index = gaoya_index(id_container="smallvec")
    parts, number = [], 0
    for file in files:
        texts = texts_of(file)
        index.par_bulk_insert_docs(list(range(number, number + len(texts))), texts)
        parts.append(texts)
        number += len(texts)
    dropped = [False] * number
    duplicates: Duplicates = []
    number = 0
    for texts in parts:
        for candidates in index.par_bulk_query(texts, return_similarity=True):
            for other, _ in candidates:  # the most alike first
                if other < number and not dropped[other]:
                    dropped[number] = True
                    duplicates.append((number, other))
                    break
            number += 1
    return [i for i, gone in enumerate(dropped) if not gone], iter(duplicates)


def gaoya_documented(files: list[Path]) -> tuple[list[int], Iterator[tuple[int, int]]]:
    """`query` and `insert_document`, one document after the other."""
    index = gaoya_index()
    kept: list[int] = []
    duplicates: Duplicates = []
    number = 0
    for file in files:
        for text in texts_of(file):
            if candidates := index.query(text):
                duplicates.append((number, min(candidates)))
            else:
                index.insert_document(number, text)
                kept.append(number)
            number += 1
    return kept, iter(duplicates)


def shingles(text: str) -> list[str]:
    words = text.lower().split()
    if len(words) <= NGRAM:
        return [" ".join(words)]
    return [" ".join(gram) for gram in zip(*(words[i:] for i in range(NGRAM)))]


def rensa(files: list[Path]) -> tuple[list[int], Iterator[tuple[int, int]]]:
    """R-MinHash of the whole set; 5-grams and sketches in two processes, `RMinHashDeduplicator` in this one."""
    from rensa import RMinHashDeduplicator

    index = RMinHashDeduplicator(THRESHOLD, LANES, True, BANDS, SEED)
    kept: list[int] = []
    gone: list[tuple[int, Any]] = []
    number = 0
    with get_context("fork").Pool(PROCESSES) as pool:
        for sketches in pool.imap(rensa_sketches, files):
            stays = index.add_pairs([(str(number + i), sketch) for i, sketch in enumerate(sketches)])
            kept += [number + i for i, stay in enumerate(stays) if stay]
            gone += [(number + i, sketches[i]) for i, stay in enumerate(stays) if not stay]
            number += len(sketches)
    # Which kept document each duplicates is asked for afterwards.
    return kept, ((goes, min(map(int, index.get_duplicates(sketch)))) for goes, sketch in gone)


def rensa_documented(files: list[Path]) -> tuple[list[int], Iterator[tuple[int, int]]]:
    """`RMinHash.update` and `RMinHashDeduplicator.add`, one document after the other."""
    from rensa import RMinHash, RMinHashDeduplicator

    index = RMinHashDeduplicator(THRESHOLD, LANES, True, BANDS, SEED)
    kept: list[int] = []
    gone: list[tuple[int, Any]] = []
    number = 0
    for file in files:
        for text in texts_of(file):
            sketch = RMinHash(LANES, SEED)
            sketch.update(shingles(text))
            if index.add(str(number), sketch):
                kept.append(number)
            else:
                gone.append((number, sketch))
            number += 1
    return kept, ((goes, min(map(int, index.get_duplicates(sketch)))) for goes, sketch in gone)


def rensa_sketches(file: Path) -> Any:
    from rensa import RMinHash

    return RMinHash.from_token_sets([shingles(text) for text in texts_of(file)], LANES, SEED)


def datasketch(files: list[Path]) -> tuple[list[int], Iterator[tuple[int, int]]]:
    """`MinHash.bulk` with xxHash in two processes, `MinHashLSH` in this one; `MinHash.jaccard` checks candidates."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=LANES, params=(BANDS, ROWS))
    sketches: dict[int, Any] = {}
    duplicates: Duplicates = []
    number = 0
    with get_context("fork").Pool(PROCESSES) as pool:
        for of_file in pool.imap(datasketch_sketches, files):
            for sketch in of_file:
                alike = ((sketch.jaccard(sketches[other]), -other) for other in index.query(sketch))
                similarity, other = max(alike, default=(0.0, 0))
                if similarity >= THRESHOLD:
                    duplicates.append((number, -other))
                else:
                    index.insert(number, sketch, check_duplication=False)
                    sketches[number] = sketch
                number += 1
    return list(sketches), iter(duplicates)


def datasketch_sketches(file: Path) -> Any:
    from datasketch import MinHash
    from xxhash import xxh32_intdigest

    sets = ([gram.encode() for gram in shingles(text)] for text in texts_of(file))
    return MinHash.bulk(sets, num_perm=LANES, hashfunc=xxh32_intdigest)


if __name__ == "__main__":
    main(*sys.argv[1:])
