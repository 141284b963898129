"""A crawl of any size, made of real pages: python -m benchmarks.crawl --warc DIR/*.warc.gz --pages 500000 --out FOLDER

    crawl-00000.warc.gz …   5,000 pages each: a request, a response and a metadata record, each its own gzip member
    truth.json              how many pages, hosts and copies there are, what they were made of, a digest of every file

A page is a real one, with other words. Its markup, scripts, attributes, short texts (menus, footers) and the length of
each text are those of the real page. Words are exchanged for others of the same language, charset and case, of a
frequency between half and twice theirs; the commonest words, two fifths of a text, stay. So rules, language model and
tokenizer see what they see in real pages, and two pages of one template share hardly any five words in a row.

What a crawl has beyond its pages follows laws, those of CC-MAIN-2024-42 by Common Crawl's own statistics:

- sites: a page is of the site of rank r with a probability that falls with r ** -0.66 up to rank 500, as the shares of
  the 500 largest sites do, and with r ** -0.82 up to the last of 38.3 million. Pages of a site share a template and the
  words of its short texts; one site in five has a second template.
- languages: LANGUAGES. Those for which there are too few real pages share what is left.
- charsets: .933 are UTF-8, the others what the real pages are in; whether it is said is taken from the real page.
- copies: .028 are another page byte for byte under another address. Near copies, COPIES of the pages, which Common
  Crawl does not count, have the share and kinds that corpora report after exact copies are gone; families of copies
  follow a power law.
- damage: real responses that are no HTML keep their share; one page in 200 is cut off, one in 500 has damaged bytes.

Same pages, size and libraries: same bytes, whatever the number of processes.
"""

import argparse
import hashlib
import json
import re
import sys
from base64 import b32encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
from fastwarc.warc import ArchiveIterator, WarcRecordType
from isal import isal_zlib
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.lang import detect_fast

PER_FILE = 5_000
# Share of pages, in per cent: CC-MAIN-2024-42.
LANGUAGES = {
    "en": 43.42, "ru": 6.04, "de": 5.30, "ja": 5.04, "zh": 4.81, "es": 4.54, "fr": 4.40, "it": 2.53, "pt": 2.31,
    "nl": 1.81, "pl": 1.81, "tr": 1.24, "id": 1.12, "cs": 1.06, "vi": 1.05, "ko": 0.74, "fa": 0.71, "ar": 0.67,
    "sv": 0.66, "uk": 0.60, "ro": 0.60, "el": 0.57, "hu": 0.56, "da": 0.46, "th": 0.41, "fi": 0.34, "no": 0.31,
}  # fmt: skip
FEWEST = 5  # real pages of a language that is drawn for itself
LARGE, SITES = 500, 38_300_000
SLOPES = 0.66, 0.82
LARGEST = 0.00307  # of the pages: the site of rank 1 by the law of the largest
UTF_8 = 0.933
SECOND = 0.2  # of the sites have a second template
EXACT = 0.028
COPIES = 0.08
CUT, DAMAGED = 0.005, 0.002
EXCHANGED = 0.7  # of the words that are not among the commonest
COMMON = 0.4  # of the words of a language, which stay
LONG = 8  # words of a text that is the page's own; of shorter ones the site decides

SKIPPED = re.compile(rb"(?is)<!--.*?-->|<(script|style|noscript|textarea|svg|template)\b.*?</\1\s*>|<[^>]*>")
WORD = re.compile(rb"&#?\w+;|([A-Za-z\x80-\xff][A-Za-z\x80-\xff']*)")
OWN = re.compile(rb"(?i)<(?:title|h1)\b[^>]*>$")
CHARSET = re.compile(rb"(?i)(charset\s*=\s*[\"']?)[\w-]+")
STOPS = re.compile(rb"[.!?]\s")


@dataclass
class Vocabulary:
    """Words of a language in one charset: those written alike (lower, Capital, other) beside each other, the commonest
    first. ``of[w]`` is the place where the words of w's kind begin, ``many[w]`` their number."""

    words: list[bytes]
    stays: np.ndarray
    of: np.ndarray
    many: np.ndarray

    @classmethod
    def count(cls, counts: Counter[bytes]) -> "Vocabulary":
        kinds: dict[str, list[bytes]] = defaultdict(list)
        for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            kinds["lower" if word.islower() else "title" if word.istitle() else "other"].append(word)
        words = [word for kind in sorted(kinds) for word in kinds[kind]]
        sizes = [len(kinds[kind]) for kind in sorted(kinds)]
        share = np.cumsum(sorted(counts.values(), reverse=True)) / max(1, counts.total())
        least = sorted(counts.values(), reverse=True)[int(np.searchsorted(share, COMMON))] if counts else 0
        return cls(
            words,
            np.array([counts[word] > least for word in words], bool),
            np.repeat(np.cumsum([0, *sizes[:-1]]), sizes),
            np.repeat(sizes, sizes),
        )

    def exchanged(self, ids: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
        """(n,) ids of words, some of them exchanged for others whose rank is between half and twice theirs."""
        chosen = np.flatnonzero((rng.random(len(ids)) < rate) & ~self.stays[ids])
        before = ids[chosen]
        rank = (before - self.of[before] + 1) * np.exp2(rng.uniform(-1, 1, len(chosen)))
        after = ids.copy()
        after[chosen] = self.of[before] + np.minimum(rank.astype(np.int64), self.many[before]) - 1
        lowest: np.ndarray = np.maximum(after, self.of[after])
        return lowest


@dataclass
class Template:
    """A real page: what stands before each of its words, and after the last.

    ids     (words,) of its vocabulary
    own     (words,) whether a word is in a text that is the page's own
    starts  words with which a sentence of a text of the page's own begins: where parts are cut out
    """

    head: bytes
    between: list[bytes]
    ids: np.ndarray
    own: np.ndarray
    starts: np.ndarray
    vocabulary: tuple[str, str]


@dataclass
class Material:
    """templates   by language, in UTF-8; and those in another charset, as they are
    vocabularies   by language and charset
    others         whole responses that are no HTML
    counts         of the real pages: by language, and of responses that are no HTML"""

    templates: dict[str, list[Template]] = field(default_factory=lambda: defaultdict(list))
    raw: dict[str, list[Template]] = field(default_factory=lambda: defaultdict(list))
    vocabularies: dict[tuple[str, str], Vocabulary] = field(default_factory=dict)
    others: list[tuple[bytes, bytes]] = field(default_factory=list)
    pages: int = 0

    @property
    def languages(self) -> tuple[list[str], np.ndarray]:
        """Names with their chance; "" is any other."""
        names = [name for name in LANGUAGES if len(self.templates.get(name, ())) >= FEWEST]
        shares = [LANGUAGES[name] / 100 for name in names]
        return [*names, ""], np.array([*shares, 1 - sum(shares)])

    @property
    def rest(self) -> list[str]:
        """The languages that are not drawn for themselves."""
        return sorted(set(self.templates) - set(self.languages[0])) or ["en"]


def read(paths: Iterable[Path]) -> Material:
    """The real pages of WARC files, each once."""
    material, seen = Material(), set()
    counts: dict[tuple[str, str], Counter[bytes]] = defaultdict(Counter)
    found: list[tuple[Template, list[bytes]]] = []
    for path in paths:
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                http = record.http_headers
                body = record.reader.read()
                digest = hashlib.sha1(body).digest()
                if not http or digest in seen:
                    continue
                seen.add(digest)
                kind = http.get("Content-Type") or ""
                head = f"HTTP/1.1 {(http.status_line or '').partition(' ')[2]}\r\nContent-Type: {kind}\r\n".encode()
                if http.status_code != 200 or "html" not in kind.lower() or b"\0" in body or len(body) < 200:
                    material.others.append((head, body))
                    continue
                material.pages += 1
                charset = detect_encoding(body) or "utf-8"
                text = bytes_to_str(body, charset)
                language = detect_fast(extract_plain_text(text))[0]
                versions = [("utf-8", CHARSET.sub(rb"\1utf-8", head), CHARSET.sub(rb"\1utf-8", text.encode(), count=1))]
                if charset != "utf-8":
                    versions.append((charset, head, body))
                for name, said, data in versions:
                    template, words = divided(said, data, (language, name))
                    counts[template.vocabulary].update(words)
                    found.append((template, words))
    for key, counted in counts.items():
        material.vocabularies[key] = Vocabulary.count(counted)
    numbers = {key: {word: i for i, word in enumerate(v.words)} for key, v in material.vocabularies.items()}
    for template, words in found:
        number = numbers[template.vocabulary]
        template.ids = np.array([number[word] for word in words], np.int64)
        (material.templates if template.vocabulary[1] == "utf-8" else material.raw)[template.vocabulary[0]].append(
            template
        )
    return material


def divided(head: bytes, body: bytes, vocabulary: tuple[str, str]) -> tuple[Template, list[bytes]]:
    between: list[bytes] = []
    words: list[bytes] = []
    own: list[bool] = []
    starts: list[int] = []
    after = 0  # where what stands before the next word begins
    at = 0
    for tag in [*SKIPPED.finditer(body), None]:
        end = tag.start() if tag else len(body)
        inside = [word for word in WORD.finditer(body, at, end) if word[1]]
        is_own = len(inside) >= LONG or bool(OWN.search(body, max(0, at - 200), at))
        for word in inside:
            gap = body[after : word.start()]
            if is_own and (word is inside[0] or STOPS.search(gap)):
                starts.append(len(words))
            between.append(gap)
            words.append(word[1])
            own.append(is_own)
            after = word.end()
        at = tag.end() if tag else end
    between.append(body[after:])
    empty = np.zeros(0, np.int64)
    return Template(head, between, empty, np.array(own, bool), np.array(starts, np.int64), vocabulary), words


Kind = Literal["page", "exact", "near", "other"]
EDITS = ("words", "part", "end", "site", "insert")


class Crawl:
    """Which page has which number: everything follows from the number and the size of the crawl."""

    def __init__(self, material: Material, pages: int) -> None:
        self.material, self.pages = material, pages
        self.known: dict[int, tuple[list[Template], str]] = {}
        rng = generator("crawl", pages)
        self.sites = ranks(rng.random(pages))
        share = len(material.others) / (material.pages + len(material.others))
        kinds = rng.random(pages)
        bounds = np.cumsum([EXACT, COPIES, share])
        self.kinds = np.searchsorted(bounds, kinds, "right")  # 0 exact, 1 near, 2 no HTML, 3 a page
        self.kinds[0] = 3
        self.of = np.minimum((rng.random(pages) ** 3 * pages).astype(np.int64), pages - 1)
        self.originals = np.flatnonzero(self.kinds == 3)
        words = [word for (_, charset), v in material.vocabularies.items() if charset == "utf-8" for word in v.words]
        plain = {word.decode().lower() for word in words if word.isascii() and word.isalpha() and len(word) > 3}
        self.names = sorted(plain) or ["site"]

    def original(self, number: int) -> int:
        """The page that a copy is of: few have many copies."""
        return int(self.originals[self.of[number] * len(self.originals) // self.pages])

    def site(self, rank: int) -> tuple[list[Template], str]:
        """Its templates and its host."""
        if (known := self.known.get(rank)) is None:
            known = self.known[rank] = self._site(generator("site", rank), rank)
        return known

    def _site(self, rng: np.random.Generator, rank: int) -> tuple[list[Template], str]:
        names, chances = self.material.languages
        language = names[int(np.searchsorted(np.cumsum(chances), rng.random()))]
        language = language or self.material.rest[int(rng.integers(len(self.material.rest)))]
        raw = self.material.raw.get(language)
        pool = raw if raw and rng.random() > UTF_8 else self.material.templates[language]
        chosen = [pool[int(rng.integers(len(pool)))] for _ in range(1 + (rng.random() < SECOND))]
        name = "-".join(self.names[int(rng.integers(len(self.names)))] for _ in range(2))
        return chosen, f"{name}-{rank % 1000}.example"

    def response(self, number: int) -> tuple[str, bytes, bytes]:
        """Address, HTTP header without its end, body."""
        kind, rank = int(self.kinds[number]), int(self.sites[number])
        rng = generator("page", number)
        host = self.site(rank)[1]
        address = f"https://{host}/{int(rng.integers(1 << 40)):x}.html"
        if kind == 2:
            head, body = self.material.others[int(rng.integers(len(self.material.others)))]
            return address, head, body
        content = number if kind == 3 else self.original(number)
        edit = EDITS[int(rng.integers(len(EDITS)))] if kind == 1 else ""
        if kind == 0:
            address = f"https://{self.site(int(self.sites[content]))[1]}/{content:x}.html?ref={number}"
        head, body = self.page(content, rank if edit == "site" else int(self.sites[content]), edit, rng)
        if kind:
            if rng.random() < CUT:
                body = body[: int(len(body) * rng.uniform(0.1, 0.95))]
            if rng.random() < DAMAGED and body:
                data = bytearray(body)
                for place in rng.integers(len(data), size=20):
                    data[place] = int(rng.integers(256))
                body = bytes(data)
        return address, head, body

    def page(self, content: int, site: int, edit: str, rng: np.random.Generator) -> tuple[bytes, bytes]:
        """The page of a number as a site has it.

        content   decides on the words of long texts
        site      on those of short ones
        edit      how a near copy differs, by draws of `rng`
        """
        templates = self.site(int(self.sites[content]))[0]
        template = templates[content % len(templates)]
        vocabulary = self.material.vocabularies[template.vocabulary]
        ids = vocabulary.exchanged(template.ids, EXCHANGED, generator("words", content))
        of_site = vocabulary.exchanged(template.ids, EXCHANGED, generator("menu", site))
        ids = np.where(template.own, ids, of_site)
        if edit == "words":
            ids = vocabulary.exchanged(ids, float(0.01 * 5 ** rng.random()), rng)
        pieces: list[bytes] = [b""] * (2 * len(ids) + 1)
        pieces[0::2] = template.between
        words = vocabulary.words
        pieces[1::2] = [words[i] for i in ids.tolist()]
        starts = template.starts
        if edit in ("part", "end", "insert") and len(starts) > 9:
            many = max(1, int(len(starts) * rng.uniform(0.02, 0.15)))
            first = len(starts) - 1 - many if edit == "end" else int(rng.integers(len(starts) - many))
            begin, end = int(starts[first]), int(starts[first + many])
            for at in range(2 * begin + 1, 2 * end + 1):
                text = pieces[at]
                if edit == "insert":
                    if at % 2:  # other words of the page, before its own
                        pieces[at] = words[int(ids[int(rng.integers(len(ids)))])] + b" " + text
                elif at % 2 or b"<" not in text:
                    pieces[at] = b""
        return template.head, b"".join(pieces)


def ranks(uniform: np.ndarray) -> np.ndarray:
    """(pages,) ranks of their sites, by the two laws."""
    low, high = SLOPES
    large = LARGEST * np.arange(1, LARGE + 1) ** -low
    edges = np.cumsum(large)
    within = edges[-1]
    rest = (uniform - within) / (1 - within)
    begin, last = float(LARGE) ** (1 - high), float(SITES) ** (1 - high)
    far = (begin + np.clip(rest, 0, 1) * (last - begin)) ** (1 / (1 - high))
    return np.where(uniform < within, np.searchsorted(edges, uniform) + 1, far.astype(np.int64) + 1)


def generator(what: str, number: int) -> np.random.Generator:
    seed = int.from_bytes(hashlib.blake2b(f"{what} {number}".encode(), digest_size=8).digest(), "little")
    return np.random.Generator(np.random.SFC64(seed))


def records(number: int, address: str, head: bytes, body: bytes) -> bytes:
    """A request, the response, and metadata, as a crawl has them."""
    day, second = number % 28 + 1, number % 60
    date = f"2024-10-{day:02}T{number % 24:02}:{number // 60 % 60:02}:{second:02}Z"
    payload = "sha1:" + b32encode(hashlib.sha1(body).digest()).decode()
    response = head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    host, _, path = address.removeprefix("https://").partition("/")
    request = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: made\r\n\r\n".encode()
    parts = [
        ("request", "application/http; msgtype=request", "", request),
        ("response", "application/http; msgtype=response", f"WARC-Payload-Digest: {payload}\r\n", response),
        ("metadata", "application/warc-fields", "", b"fetchTimeMs: 100\r\n"),
    ]
    out = []
    for kind, content, more, block in parts:
        name = hashlib.blake2b(f"{number} {kind}".encode(), digest_size=16).hexdigest()
        lines = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{name[:8]}-{name[8:12]}-{name[12:16]}-"
            f"{name[16:20]}-{name[20:]}>\r\nWARC-Date: {date}\r\nWARC-Target-URI: {address}\r\n{more}"
            f"Content-Type: {content}\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        packer = isal_zlib.compressobj(2, isal_zlib.DEFLATED, 31)
        out.append(packer.compress(lines.encode() + block + b"\r\n\r\n") + packer.flush())
    return b"".join(out)


_crawl: Crawl | None = None  # of this process, and of those that are forked from it


def write(job: tuple[Path, range]) -> dict[str, Any]:
    path, numbers = job
    assert _crawl is not None
    digest, size, html = hashlib.sha256(), 0, 0
    with path.open("wb") as stream:
        for number in numbers:
            address, head, body = _crawl.response(number)
            data = records(number, address, head, body)
            digest.update(data)
            size, html = size + len(data), html + len(body)
            stream.write(data)
    return {"file": path.name, "bytes": size, "html": html, "sha256": digest.hexdigest()}


def build(warc: Sequence[Path], pages: int, out: Path, processes: int) -> dict[str, Any]:
    """Writes the crawl, unless it is there; its truth."""
    truth = out / "truth.json"
    if truth.is_file() and json.loads(truth.read_bytes())["pages"] == pages:
        return dict(json.loads(truth.read_bytes()))
    out.mkdir(parents=True, exist_ok=True)
    numbers = range(pages)
    jobs = [
        (out / f"crawl-{i:05}.warc.gz", numbers[i * PER_FILE : (i + 1) * PER_FILE])
        for i in range(-(-pages // PER_FILE))
    ]
    global _crawl  # noqa: PLW0603 - read once, for all processes
    _crawl = Crawl(read(sorted(warc)), pages)
    with get_context("fork").Pool(processes) as pool:
        files = list(pool.imap(write, jobs))
    kinds = Counter(("exact", "near", "other", "page")[kind] for kind in _crawl.kinds.tolist())
    said = {
        "pages": pages, "hosts": len(np.unique(_crawl.sites)), **dict(kinds),
        "real_pages": _crawl.material.pages, "bytes": sum(f["bytes"] for f in files),
        "html": sum(f["html"] for f in files), "files": files,
    }  # fmt: skip
    truth.write_text(json.dumps(said, indent=1), "utf-8")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warc", type=Path, nargs="+", required=True, help="WARC files of real pages")
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    said = build(options.warc, options.pages, options.out, options.processes)
    print(json.dumps({name: value for name, value in said.items() if name != "files"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
