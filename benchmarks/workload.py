"""Build the workload that the benchmarks share: python -m benchmarks.workload --out build/workload

    docs-0000.jsonl …   270,000 documents in 8 files, 470 MB: {"text", "url"}
    truth.json          planted copies: document numbers, true Jaccard; the kind of every document; a digest of every
                        file
    slice/              a tenth of it with a truth of its own, copies kept together with what they are copies of
    warc/               8 WARC files with 500 HTML pages each

A third each of documentation text and of source code, a fifth of raw HTML, 7.6 % text in other languages, 4 % spam.
It is not a typical crawl: it is heavy on markup and code, so that measures of text meet hard cases, and light on prose.

The material is Debian packages (PACKAGES), fetched with apt-get into --cache, or found unpacked in --packages: 114 MB
to download, 2.6 GB unpacked. On a system without apt-get, unpack them elsewhere (`dpkg-deb -x`, or `ar x` and `tar`).
The same packages, libraries and scale give the same bytes, whatever the number of processes. `--scale 4` gives 2 GB
in 32 files: there the material is used several times, in other orders and with words exchanged.
"""

import argparse
import hashlib
import html
import json
import math
import pickle
import re
import shutil
import subprocess
import sys
import time
import zlib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson
import xxhash
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.lang import detect_fast

PACKAGES = {  # name -> version that the digests in RESULTS.md belong to; 114 MB to download
    "rust-doc": "1.63.0+dfsg1-2",
    "scala-doc": "2.11.12-5",
    "libfastutil-java-doc": "8.5.11+dfsg-1",
    "ghc-doc": "9.0.2-4",
    "cppreference-doc-en-html": "20170409-2",
    "golang-1.19-src": "1.19.8-2",
    "rust-src": "1.63.0+dfsg1-2",
    "gnome-user-docs": "43.0-2",
    "debian-reference-de": "2.100",
    "debian-reference-es": "2.100",
    "debian-reference-fr": "2.100",
    "debian-reference-ja": "2.100",
    "debian-reference-zh-cn": "2.100",
    "lilypond-doc-html-de": "2.24.1-2",
    "lilypond-doc-html-es": "2.24.1-2",
    "lilypond-doc-html-fr": "2.24.1-2",
    "lilypond-doc-html-ja": "2.24.1-2",
}
FILES = 8  # at scale 1
DOCUMENTS = 33_750  # a file
PAGES = 500  # a WARC file
EXACT, NEAR = 0.0505, 0.0953  # shares of all documents
KINDS = {"text": 0.33, "code": 0.33, "html": 0.224, "other": 0.076, "spam": 0.04}
MEDIAN, SIGMA = 1090, 1.05  # of the log-normal lengths that are aimed at, in characters
SHORTEST, LONGEST = 60, 40_000
JOINED = 4000  # characters that a text has at least before documents are cut from it
BLOCK = 200  # characters that a block has at least, but for the last one of a file
SLICE = 10  # one in so many groups of copies is in the slice
GRAM = 5


@dataclass
class Material:
    """What one output file is made from: for each kind the blocks of each source file, and HTML files for the WARC."""

    blocks: dict[str, list[list[str]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    pages: list[str] = field(default_factory=list)


# --- packages


def fetch(cache: Path) -> Path:
    """Downloads and unpacks what is not in the cache yet. Returns the folder with one folder per package.

    Raises SystemExit, with what is needed, if a tool is missing or a package is not to be had.
    """
    debs, unpacked = cache / "debs", cache / "packages"
    for folder in (debs, unpacked):
        folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in PACKAGES if not (unpacked / name).exists()]
    to_download = [name for name in missing if not list(debs.glob(f"{name}_*.deb"))]
    for tool, packages, files in (("apt-get", to_download, debs), ("dpkg-deb", missing, None)):
        if packages and shutil.which(tool) is None:
            raise SystemExit(f"{tool} is not installed, and {needed(packages, files, unpacked)}")
    if to_download:
        print(f"downloading {len(to_download)} of {len(PACKAGES)} packages into {debs}", flush=True)
    for name in to_download:
        version = PACKAGES[name]
        if why := download(f"{name}={version}", debs):
            print(f"{name} {version} is not to be had; another version gives other digests", file=sys.stderr)
            if download(name, debs):
                raise SystemExit(
                    f"apt-get download {name} failed: {why}\nIs there a network, and a source of Debian packages in "
                    f"/etc/apt? `apt-get update` reads it. Else {needed(to_download, debs, unpacked)}"
                )
    for name in missing:
        (deb,) = debs.glob(f"{name}_*.deb")
        half = unpacked / f"{name}.partial"  # a package that was cut off is not taken for a whole one
        shutil.rmtree(half, ignore_errors=True)
        if subprocess.run(["dpkg-deb", "-x", deb, half], check=False).returncode:
            raise SystemExit(f"{deb}: dpkg-deb cannot unpack it. If it was cut off, remove it, and run this again.")
        half.rename(unpacked / name)
    return unpacked


def needed(packages: Sequence[str], debs: Path | None, unpacked: Path) -> str:
    """How to get packages by other means; `debs` is None where their files are of no use."""
    versions = ", ".join(f"{name} {PACKAGES[name]}" for name in packages)
    return (
        f"these Debian packages are needed (Debian 12; none is installed, only unpacked): {versions}. Put "
        + (f"their files into {debs}, or " if debs else "")
        + f"each unpacked into {unpacked}/NAME, from any mirror or another machine; or name a folder that holds them "
        "unpacked: python -m benchmarks.workload --packages DIR"
    )


def download(package: str, folder: Path) -> str:
    """Why it failed; empty if it did not."""
    done = subprocess.run(
        ["apt-get", "download", "-q", package], cwd=folder, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}")


def source_files(packages: Path) -> list[Path]:
    """Every file that is material, in an order that depends on nothing but its path in the package."""
    missing = [name for name in PACKAGES if not (packages / name).is_dir()]
    if missing:
        raise SystemExit(
            f"{packages}: no folder {', '.join(missing)}. Each package is expected unpacked in a folder of its name."
        )
    wanted = {".html", ".page", ".go", ".rs"}
    paths = [
        path
        for name in PACKAGES
        for path in (packages / name).rglob("*")
        if path.suffix in wanted and path.is_file() and not path.is_symlink()
    ]
    return sorted(paths, key=lambda path: (draw(path, packages), str(path)))


def draw(path: Path, packages: Path, salt: str = "") -> int:
    return xxhash.xxh3_64_intdigest(f"{salt}{path.relative_to(packages)}".encode())


# --- material: source files cut into blocks


def blocks(text: str, between: str) -> list[str]:
    """The pieces between blank lines, or lines, joined until a block has BLOCK characters."""
    pieces = re.split(r"\n\s*\n", text) if between == "\n\n" else text.split("\n")
    parts: list[str] = []
    block = ""
    for piece in pieces:
        if piece.strip():
            block = f"{block}{between}{piece}" if block else piece
            if len(block) >= BLOCK:
                parts.append(block)
                block = ""
    return [*parts, block] if block else parts


def read(path: Path, packages: Path) -> tuple[str, list[str], str]:
    """(kind, blocks, page) of a source file; a page only where the file is fit for the WARC."""
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    package = path.relative_to(packages).parts[0]
    if path.suffix in (".go", ".rs"):
        return "code", blocks(re.sub(r"\A(\s*//.*\n)+", "", text), "\n\n"), ""  # without the licence at its head
    if path.suffix == ".page":  # Mallard: XML, translated under /usr/share/help/LANGUAGE/
        if {"C", "en_GB"} & set(path.parts):
            return "", [], ""
        plain = html.unescape(re.sub(r"<[^>]*>", "", text))
        return "other", blocks("\n".join(line.strip() for line in plain.split("\n")), "\n\n"), ""
    page = text if 1000 < len(text) < 100_000 else ""
    if package.startswith(("debian-reference", "lilypond")):
        plain = extract_plain_text(text, main_content=True)
        return ("", [], page) if detect_fast(plain)[0] == "en" else ("other", blocks(plain, "\n\n"), page)
    if draw(path, packages, "raw") % 8 == 0:
        return "html", blocks(text[max(0, text.find("<body")) :], "\n"), page
    return "text", blocks(extract_plain_text(text, main_content=True), "\n\n"), page


def gather(job: tuple[list[Path], Path, Path]) -> np.ndarray:
    """Write one output file's share of the sources to `where`, and return the hashes of its blocks in order."""
    paths, packages, where = job
    material = Material()
    for path in paths:
        kind, pieces, page = read(path, packages)
        if pieces:
            material.blocks[kind].append(pieces)
        if page and len(material.pages) < PAGES and draw(path, packages, "page") % 4 == 0:
            material.pages.append(page)
    with where.open("wb") as file:
        pickle.dump(material, file)
    return np.array(
        [
            xxhash.xxh3_64_intdigest(block.encode())
            for kind in KINDS
            for pieces in material.blocks[kind]
            for block in pieces
        ],
        np.uint64,
    )


def first_seen(hashes: list[np.ndarray]) -> list[np.ndarray]:
    """For each share, which of its blocks do not occur before it: what the sources hold twice is used once."""
    _, first = np.unique(np.concatenate(hashes), return_index=True)
    owned = np.zeros(sum(map(len, hashes)), bool)
    owned[first] = True
    return np.split(owned, np.cumsum([len(share) for share in hashes])[:-1])


def keep_owned(material: Material, owned: np.ndarray) -> None:
    """Takes out the blocks that another share has; `owned` is in the order of the hashes that `gather` returns."""
    at = 0
    for kind in KINDS:
        kept = []
        for pieces in material.blocks[kind]:
            mask = owned[at : at + len(pieces)]
            at += len(pieces)
            if mine := [block for block, own in zip(pieces, mask) if own]:
                kept.append(mine)
        material.blocks[kind] = kept


# --- documents


def vocabulary(material: Material) -> list[str]:
    """The 3,000 words that the documentation of this share uses most."""
    counts: Counter[str] = Counter()
    for pieces in material.blocks["text"][:400]:
        for block in pieces:
            counts.update(re.findall(r"\b[A-Za-z]{3,14}\b", block))
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3000]]


def exchanged(text: str, rate: float, words: list[str], rng: Random) -> str:
    """The text with about one in 1/rate of its words exchanged for another; white space is kept."""
    pieces = re.split(r"(\s+)", text)  # words at even places
    places = [i for i in range(0, len(pieces), 2) if pieces[i]]
    if not places:
        return text
    at = -1
    while True:
        at += 1 + int(math.log(1 - rng.random()) / math.log(1 - rate))
        if at >= len(places):
            return "".join(pieces)
        pieces[places[at]] = rng.choice(words)


def streams(files: list[list[str]], between: str, words: list[str], rng: Random) -> Iterator[str]:
    """Endless texts to cut documents from: first the source files, small ones joined, then blocks mixed and changed."""
    rng.shuffle(files)
    text = ""
    for pieces in files:
        text = between.join([text, *pieces]) if text else between.join(pieces)
        if len(text) >= JOINED:
            yield text
            text = ""
    loose = [block for pieces in files for block in pieces]
    while True:
        rng.shuffle(loose)
        for at in range(0, len(loose), 40):
            yield between.join(exchanged(block, 0.12, words, rng) for block in loose[at : at + 40])


def cut(texts: Iterator[str], rng: Random) -> Iterator[str]:
    """Documents of log-normal length, cut at line ends where there is one near, else between words."""
    for text in texts:
        at = 0
        while len(text) - at >= SHORTEST:
            aim = at + min(LONGEST, max(SHORTEST, int(MEDIAN * math.exp(SIGMA * rng.gauss(0, 1)))))
            end = len(text)
            if aim < end - SHORTEST:
                end = text.find("\n", aim, aim + 200)
                if end < 0:
                    end = text.find(" ", aim, aim + 200)
                if end < 0:
                    end = aim
            piece = text[at:end].strip("\n")
            at = end
            lines = piece.split("\n")
            if len(piece) >= SHORTEST and 2 * len(set(lines)) > len(lines):  # tables of zeros are in the sources
                yield piece


def spam(words: list[str], rng: Random) -> Iterator[str]:
    """Shouting, one line over and over, random characters, keyword lists, link farms."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789/|+#=~?! "
    while True:
        some = rng.choices(words, k=rng.randint(4, 9))
        size = int(MEDIAN * math.exp(SIGMA * rng.gauss(0, 0.7)))
        kind = rng.randrange(5)
        if kind == 0:
            line = " ".join(some).upper() + " !!! "
            yield (line * (size // len(line) + 2)).strip()
        elif kind == 1:
            line = f"Buy {some[0]} {some[1]} now, best {some[2]} {some[3]} online!\n"
            yield (line * (size // len(line) + 2)).strip()
        elif kind == 2:
            yield "".join(rng.choices(letters, k=max(SHORTEST, size))).strip() + "."
        elif kind == 3:
            yield ", ".join(f"{rng.choice(words)} {rng.choice(some)}" for _ in range(size // 14 + 5))
        else:
            yield "\n".join(
                f"{rng.choice(words)} {rng.choice(words)} http://{rng.choice(words).lower()}.example/{rng.randrange(10**6)}"
                for _ in range(size // 50 + 3)
            )


def originals(material: Material, count: int, rng: Random) -> tuple[list[str], str]:
    """`count` documents and the first letters of their kinds."""
    words = vocabulary(material)
    makers = {
        kind: spam(words, rng)
        if kind == "spam"
        else cut(streams(material.blocks[kind], "\n" if kind == "html" else "\n\n", words, Random(rng.random())), rng)
        for kind in KINDS
    }
    kinds = rng.choices(list(KINDS), list(KINDS.values()), k=count)
    return [next(makers[kind]) for kind in kinds], "".join(kind[0] for kind in kinds)


# --- copies


@dataclass(frozen=True)
class Layout:
    """Which documents of every file are copies, and of what. Every process works it out alike."""

    files: int

    def copies(self, file: int) -> dict[int, str]:
        """place in the file -> "exact" or "near"."""
        rng = Random(f"copies {file}")
        places = rng.sample(range(1, DOCUMENTS), round(DOCUMENTS * EXACT) + round(DOCUMENTS * NEAR))
        exact = round(DOCUMENTS * EXACT)
        return {place: "exact" if i < exact else "near" for i, place in enumerate(places)}

    def places(self, file: int) -> list[int]:
        """Places of the originals, in order."""
        copies = self.copies(file)
        return [place for place in range(DOCUMENTS) if place not in copies]


def near_copy(text: str, words: list[str], rng: Random) -> tuple[str, str]:
    """A changed copy, and how: words exchanged, a head and foot of other words, the end cut off."""
    kind = rng.choices(("words", "hf", "words+hf", "words+hf+trunc", "hf+trunc"), (44, 33, 12.5, 7.5, 3))[0]
    if "trunc" in kind:
        text = text[: int(len(text) * rng.uniform(0.8, 0.97))]
    if "words" in kind:
        rate, before = 0.003 * 12 ** rng.random(), text
        while text == before:  # at a low rate a short text is often spared
            text = exchanged(before, rate, words, rng)
    if "hf" in kind:
        head, foot = (" ".join(rng.choices(words, k=rng.randint(2, 8))) for _ in range(2))
        text = f"{head}\n\n{text}\n\n{foot}"
    return text, kind


def grams(text: str) -> set[tuple[str, ...]]:
    """Word 5-grams of the lower-cased text, words being what white space separates; a shorter text is one gram."""
    words = text.lower().split()
    return {tuple(words[i : i + GRAM]) for i in range(max(1, len(words) - GRAM + 1))}


def jaccard(a: str, b: str) -> float:
    left, right = grams(a), grams(b)
    return len(left & right) / len(left | right)


# --- writing


def write_originals(job: tuple[int, int, Path, np.ndarray]) -> dict[str, Any]:
    """The originals of one file, for the copies to be made from; its WARC file."""
    file, files, work, owned = job
    with (work / f"material-{file:04}").open("rb") as stream:
        material: Material = pickle.load(stream)
    keep_owned(material, owned)
    rng = Random(f"originals {file}")
    words = vocabulary(material)
    documents, kinds = originals(material, len(Layout(files).places(file)), rng)
    encoded = [document.encode() for document in documents]
    (work / f"originals-{file:04}").write_bytes(b"".join(encoded))
    np.save(work / f"ends-{file:04}.npy", np.cumsum([len(document) for document in encoded]))
    warc = write_warc(work.parent / "warc" / f"pages-{file:04}.warc.gz", material.pages, words, Random(f"warc {file}"))
    return {"words": words, "kinds": kinds, "warc": warc}


def write_warc(path: Path, pages: list[str], words: list[str], rng: Random) -> dict[str, Any]:
    """One response record a page, each its own gzip member."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = []
    for number, page in enumerate(pages):
        body = page.encode()
        charset = "; charset=utf-8" if number % 3 else ""
        block = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/html{charset}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        digest = hashlib.sha1(block).hexdigest()
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{digest[:8]}-{digest[8:12]}-{digest[12:16]}-"
            f"{digest[16:20]}-{digest[20:32]}>\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
            f"WARC-Target-URI: {address(words, rng)}/p{number:05}\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        parts.append(packer.compress(head.encode() + block + b"\r\n\r\n") + packer.flush())
    data = b"".join(parts)
    path.write_bytes(data)
    return {"pages": len(pages), "html": sum(len(page.encode()) for page in pages), **facts(data)}


def facts(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def address(words: list[str], rng: Random) -> str:
    host, section, page = (rng.choice(words).lower() for _ in range(3))
    return f"https://{rng.choice(('www.', ''))}{host}.example/{section}/{page}-{rng.randrange(10_000)}"


def write_documents(job: tuple[int, int, Path, list[str], list[str]]) -> dict[str, Any]:
    """One file of the workload and of the slice: its originals, and copies of originals of any file."""
    file, files, work, words, kinds = job
    layout = Layout(files)
    copies = layout.copies(file)
    places = [layout.places(other) for other in range(files)]
    ends = [np.load(work / f"ends-{other:04}.npy") for other in range(files)]
    streams = [(work / f"originals-{other:04}").open("rb") for other in range(files)]

    def original(other: int, index: int) -> str:
        start = int(ends[other][index - 1]) if index else 0
        streams[other].seek(start)
        return streams[other].read(int(ends[other][index]) - start).decode()

    rng = Random(f"documents {file}")
    lines, sliced, here = [], [], []
    exact, near = [], []
    index = 0
    for place in range(DOCUMENTS):
        number = source = file * DOCUMENTS + place
        if place not in copies:
            text, kind = original(file, index), kinds[file][index]
            index += 1
        else:
            while True:
                other, chosen = rng.randrange(files), rng.randrange(len(places[0]))
                text = original(other, chosen)
                if copies[place] == "exact" or len(text.split()) >= 20:
                    break
            source, kind = other * DOCUMENTS + places[other][chosen], kinds[other][chosen]
            if copies[place] == "exact":
                exact.append([number, source])
            else:
                changed, how = near_copy(text, words, rng)
                near.append([number, source, round(jaccard(text, changed), 6), how])
                text = changed
        here.append(kind)
        line = orjson.dumps({"text": text, "url": f"{address(words, rng)}/d{number:07}"})
        lines.append(line)
        if in_slice(source):
            sliced.append(line)
    for stream in streams:
        stream.close()
    out = {}
    for name, some in ((f"docs-{file:04}.jsonl", lines), (f"slice/docs-{file:04}.jsonl", sliced)):
        data = b"\n".join(some) + b"\n"
        (work.parent / name).write_bytes(data)
        out[name] = {"documents": len(some), **facts(data)}
    return {"files": out, "exact": exact, "near": near, "kinds": "".join(here)}


def in_slice(original: int) -> bool:
    """Whether this original, and with it its copies, is in the slice."""
    return xxhash.xxh3_64_intdigest(b"slice %d" % original) % SLICE == 0


# --- all of it


def truth_of(
    results: list[dict[str, Any]], pages: dict[str, Any], keep: Callable[[int], bool] | None
) -> dict[str, Any]:
    """The truth of the whole, or of the documents whose original is to be kept."""
    exact = [pair for result in results for pair in result["exact"] if not keep or keep(pair[1])]
    near = [pair for result in results for pair in result["near"] if not keep or keep(pair[1])]
    copied = {pair[0]: pair[1] for pair in [*exact, *near]}
    every = "".join(result["kinds"] for result in results)
    all_copied = {pair[0]: pair[1] for result in results for pair in [*result["exact"], *result["near"]]}
    numbers = [n for n in range(len(every)) if not keep or keep(all_copied.get(n, n))]
    kinds = Counter(every[number] for number in numbers)
    prefix = "slice/" if keep else "docs-"
    return {
        "note": "A document's number follows /d at the end of its url. Copies stand anywhere, before or after their "
        "source. Only planted copies are listed: the sources have near copies of their own, most of them in "
        "markup and tables.",
        "documents": len(numbers),
        "kinds": {kind: kinds[kind[0]] for kind in KINDS},
        "exact_share": round(len(exact) / len(numbers), 4),
        "near_share": round(len(near) / len(numbers), 4),
        "copies": len(copied),
        "near_by_jaccard": histogram(pair[2] for pair in near),
        "files": {n: f for result in results for n, f in result["files"].items() if n.startswith(prefix)}
        | ({} if keep else pages),
        "exact_fields": ["copy", "source"],
        "exact": exact,
        "near_fields": [
            "copy",
            "source",
            f"Jaccard of word {GRAM}-grams of the lower-cased text, split at white space",
            "edit",
        ],
        "near": near,
        "kind_of_each": "".join(every[number] for number in numbers),
    }


def histogram(values: Iterable[float]) -> dict[str, int]:
    edges = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    names = ["below 0.3", *(f"{low} to {high}" for low, high in zip(edges, [*edges[1:], 1.0]))]
    counts = Counter(bisect(edges, value) for value in values)
    return {name: counts[place] for place, name in enumerate(names)}


def build(packages: Path, out: Path, scale: int, processes: int) -> None:
    started = time.monotonic()
    files = FILES * scale
    work = out / "work"
    shutil.rmtree(work, ignore_errors=True)
    for folder in (work, out / "slice", out / "warc"):
        folder.mkdir(parents=True, exist_ok=True)
    paths = source_files(packages)
    print(f"{len(paths):,} source files of {len(PACKAGES)} packages", flush=True)
    with get_context("spawn").Pool(processes) as pool:
        shares = [(paths[file::files], packages, work / f"material-{file:04}") for file in range(files)]
        hashes = pool.map(gather, shares, chunksize=1)
        print(f"{time.monotonic() - started:4.0f} s  {sum(map(len, hashes)):,} blocks read", flush=True)
        owned = first_seen(hashes)
        jobs = [(file, files, work, owned[file]) for file in range(files)]
        made = pool.map(write_originals, jobs, chunksize=1)
        print(
            f"{time.monotonic() - started:4.0f} s  "
            f"{sum(int(o.sum()) for o in owned):,} of them different, originals cut",
            flush=True,
        )
        kinds = [one["kinds"] for one in made]
        results = pool.map(
            write_documents, [(n, files, work, made[n]["words"], kinds) for n in range(files)], chunksize=1
        )
    pages = {f"warc/pages-{file:04}.warc.gz": one["warc"] for file, one in enumerate(made)}
    # The truth of the whole comes last: where it is, all is there.
    for where, truth in ((out / "slice", truth_of(results, pages, in_slice)), (out, truth_of(results, pages, None))):
        (where / "truth.json").write_text(json.dumps(truth) + "\n")
        report(where, truth)
    shutil.rmtree(work)
    print(f"built in {time.monotonic() - started:.0f} s")


def report(where: Path, truth: dict[str, Any]) -> None:
    print(
        f"\n{where}: {truth['documents']:,} documents, {sum(f['bytes'] for f in truth['files'].values()) / 1e6:.1f} MB"
    )
    for name, file in truth["files"].items():
        print(f"  {name:24} {file.get('documents', file.get('pages')):7,} {file['bytes']:12,} bytes  {file['sha256']}")
    for key in ("kinds", "exact_share", "near_share", "near_by_jaccard"):
        print(f"  {key}: {truth[key]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the workload that the benchmarks share.")
    parser.add_argument("--out", type=Path, default=Path("build/workload"))
    parser.add_argument("--cache", type=Path, default=Path("build/packages"), help="where packages are kept")
    parser.add_argument("--packages", type=Path, help="folder with the packages unpacked, each in a folder of its name")
    parser.add_argument("--scale", type=int, default=1, help="4 for 2 GB")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    build(options.packages or fetch(options.cache), options.out, options.scale, options.processes)
