"""Build the demo crawl: python demo/make.py --sources DIR

Writes {pages.warc.gz, pages.warc.wet.gz, extra.jsonl.gz} into the package, where they ship, and TRUTH.json here: the
same bytes each time.
TRUTH.json lists what was planted: duplicates, near-duplicates, encodings, personal data, broken records.
"""

import argparse
import hashlib
import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import archive
import junk
import pages
import passages
from passages import Passage

HERE = Path(__file__).parent
WARC, WET, JSONL = FILES = ("pages.warc.gz", "pages.warc.wet.gz", "extra.jsonl.gz")
NEAR = 0.5  # pairs with at least this Jaccard are in the truth
SITES = {
    "news": (
        "www.harbour-gazette.example",
        "valley-observer.example",
        "www.evening-post.example",
        "tramway-news.example",
    ),
    "blog": ("thelongshelf.example", "notes.millpond.example", "bread-and-ink.example", "nightferry.example"),
    "plain": ("www.oldtexts.example", "reading-room.example", "users.campus.example"),
    "manual": ("docs.toolbox.example", "manuals.example"),
    "forum": ("forum.workshop.example", "talk.allotment.example"),
}
TRANSLATED = ("rights.{}.example", "www.courier-{}.example", "{}.library.example")
CODES = {
    "eng": "en", "fra": "fr", "deu": "de", "spa": "es", "ita": "it", "por": "pt", "nld": "nl", "rus": "ru", "ukr": "uk",
    "pol": "pl", "ces": "cs", "tur": "tr", "ara": "ar", "jpn": "ja", "zho": "zh", "kor": "ko", "swe": "sv", "ell": "el",
    "hin": "hi", "vie": "vi",
}  # fmt: skip
LATIN = [
    ("iso-8859-1", "header"),
    ("utf-8", "header"),
    ("windows-1252", "meta"),
    ("utf-8", "none"),
    ("iso-8859-1", "none"),
    ("utf-8", "meta"),
]
CENTRAL = [("iso-8859-2", "meta"), ("utf-8", "header"), ("windows-1250", "header")]
CYRILLIC = [
    ("windows-1251", "header"),
    ("utf-8", "none"),
    ("windows-1251", "meta"),
    ("windows-1251", "none"),
    ("utf-8", "header"),
]
CHARSETS = {
    **dict.fromkeys(
        ("fra", "deu", "spa", "ita", "por", "nld", "swe", "dan", "nob", "fin", "isl", "cat", "glg", "eus"), LATIN
    ),
    **dict.fromkeys(("pol", "ces", "slk", "hun", "hrv", "slv"), CENTRAL),
    **dict.fromkeys(("ukr", "bul", "mkd", "bel", "srp"), CYRILLIC),
    "rus": [*CYRILLIC, ("koi8-r", "meta")],
    "jpn": [("shift_jis", "header"), ("euc-jp", "meta"), ("utf-8", "none"), ("shift_jis", "meta")],
    "zho": [("gbk", "meta"), ("utf-8", "header"), ("gb18030", "header"), ("big5", "meta")],
    "kor": [("euc-kr", "header"), ("utf-8", "meta")],
    "ell": [("iso-8859-7", "meta"), ("utf-8", "header")],
    "tur": [("windows-1254", "header"), ("utf-8", "none")],
    "ara": [("windows-1256", "meta"), ("utf-8", "header")],
    "heb": [("windows-1255", "header"), ("utf-8", "header")],
    "eng": [
        ("utf-8", "header"),
        ("utf-8", "meta"),
        ("utf-8", "header"),
        ("windows-1252 as iso-8859-1", "header"),
        ("utf-8", "none"),
    ],
}
OTHERS = [("utf-8", "header"), ("utf-8", "none")]
BEFORE = ("Skip to content", "Home", "News", "Culture", "Travel", "Sign in", "Search", "Menu", "Subscribe")
AFTER = (
    "Share this article", "3 comments", "12 comments", "Related articles", "Read more", "Back to top",
    "Terms of use | Privacy policy",
    "We use cookies to improve your experience. By continuing to use this site you agree to our cookie policy.",
    "All rights reserved.", "Previous Next", "Sign up for our newsletter",
)  # fmt: skip
FRAMES = (
    "This text first appeared in our Sunday edition and is printed here with kind permission of the editors.",
    "Editor's note: an earlier version of this page gave the wrong date, which has since been put right.",
    "Readers who would like to go on will find the next part in the archive, with everything that came before it.",
    "The opinions given here are those of the writer, and they are not always those of the people who print them.",
    "If you have enjoyed reading this then please tell a friend about it, or better still read it aloud to them.",
    "A recording of this page, read slowly and with feeling, can be borrowed from the library for two weeks at a time.",
    "From our correspondent on the coast, who sends us a few pages every week, and now and then a box of herrings.",
)
SMALL_WORDS = (
    "quite",
    "perhaps",
    "indeed",
    "now",
    "rather",
    "also",
    "surely",
    "once",
    "again",
    "even",
    "almost",
    "truly",
)


@dataclass(frozen=True, kw_only=True)
class Doc:
    """A document for one of the three files; `lines` is its text."""

    file: str
    url: str
    date: str
    title: str
    lines: tuple[str, ...]
    lang: str
    origin: str
    kind: str
    style: str = "news"
    edit: str | None = None  # how a planted near copy was made
    source: str | None = None  # ref of the document that this is a copy of
    private: tuple[tuple[str, str], ...] = field(default=())

    @property
    def ref(self) -> str:
        return f"{self.file} {self.url}"

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or f"page-{zlib.crc32(title.encode()) % 100000}"


def some_day(rng: Random) -> str:
    moment = datetime(2023, 1, 9, tzinfo=UTC) + timedelta(seconds=rng.randrange(58_000_000))
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Crawl:
    """Collects documents and ensures that every address is used once."""

    def __init__(self) -> None:
        self.docs: list[Doc] = []
        self.urls: set[str] = set()

    def add(
        self, passage: Passage, kind: str, file: str, style: str, site: str, rng: Random,
        private: tuple[tuple[str, str], ...] = (),
    ) -> None:  # fmt: skip
        """Adds the passage as a document under a path of the site's style, some with boilerplate around the text."""
        path = slug(passage.title)
        if style == "news":
            path = f"{rng.randint(2019, 2024)}/{rng.randint(1, 12):02}/{path}.html"
        elif style == "forum":
            path = f"thread/{rng.randint(1000, 9999)}-{path}"
        elif style == "plain":
            path = f"{passage.section.split('/')[0].replace(' ', '_')}/{path}.htm"
        elif style == "manual":
            path = f"{passage.origin.replace(' ', '-')}/{path}.html"
        url = f"https://{site}/{path}"
        while url in self.urls:
            url = f"https://{site}/{path}?id={rng.randint(100, 99999)}"
        self.urls.add(url)
        doc = Doc(
            file=file, url=url, date=some_day(rng), title=passage.title, lines=passage.paragraphs, lang=passage.lang,
            origin=passage.origin, kind=kind, style=style, private=private,
        )  # fmt: skip
        if rng.random() < {WARC: 0, WET: 0.6, JSONL: 0.2}[file]:
            before = (*rng.sample(BEFORE, rng.randint(2, 6)), passage.title)
            doc = replace(doc, lines=(*before, *doc.lines, *rng.sample(AFTER, rng.randint(1, 5))))
        self.docs.append(doc)


def gather(sources: Path) -> Crawl:
    """Every document except the planted duplicates."""
    crawl = Crawl()
    rng = Random("demo/gather")

    def spread(group: list[Passage], kind: str, styles: tuple[str, ...], share: tuple[int, int, int]) -> None:
        """`share`: how many of the passages, counted from the first, are put into each file."""
        files = [file for file, count in zip(FILES, share) for _ in range(count)]
        rng.shuffle(files)
        for number, (passage, file) in enumerate(zip(group, files)):
            style = styles[number % len(styles)]
            if passage.lang == "eng":
                site = rng.choice(SITES[style])
            else:
                site = rng.choice(TRANSLATED).format(CODES.get(passage.lang, passage.lang))
            crawl.add(passage, kind, file, style, site, rng)

    def shuffled(group: list[Passage]) -> list[Passage]:
        rng.shuffle(group)
        return group

    reading = ("news", "blog", "plain", "news", "blog")
    spread(shuffled(list(passages.books(sources, rng))), "prose", reading, (205, 215, 215))
    spread(shuffled(list(passages.speeches(sources, rng))), "prose", ("plain", "news"), (40, 60, 60))
    spread(shuffled(passages.own("articles")), "prose", ("news", "blog"), (18, 6, 6))
    spread(shuffled(passages.own("threads")), "forum", ("forum",), (8, 1, 1))
    spread(shuffled(passages.own("recipes")), "recipe", ("blog",), (6, 1, 1))
    spread(shuffled(list(passages.manuals(sources, rng))), "manual", ("manual",), (20, 13, 15))
    spread(shuffled(list(passages.plays(sources, rng))), "play", ("plain",), (8, 14, 14))
    spread(shuffled(list(passages.code(sources, rng))), "code", ("blog", "manual"), (9, 8, 21))
    spread(shuffled(passages.own("languages")), "other language", ("news", "blog"), (6, 3, 3))
    spread(shuffled(list(passages.declaration(sources))), "other language", ("plain", "news", "blog"), (90, 90, 80))
    spread(list(junk.products(38, rng)), "shop", ("blog", "news"), (18, 10, 10))
    spread(
        shuffled(list(junk.thin([doc.title for doc in crawl.docs], rng))),
        "thin",
        ("news", "blog", "plain"),
        (26, 14, 10),
    )

    releases = rng.sample(list(passages.boost(sources)), 21)
    for number, pair in enumerate(releases):
        for release, passage in zip(("1_74", "1_81"), pair):
            crawl.add(passage, "manual", FILES[number % 3], "manual", f"docs.example/{release}", rng)
    for passage in junk.spam(60, rng):
        crawl.add(passage, "spam", rng.choice(FILES), "blog", rng.choice(junk.BLOCKED), rng)
    used = {doc.lines for doc in crawl.docs}
    rest = [p for p in passages.books(sources, Random("demo/more")) if 150 < p.words < 500 and p.paragraphs not in used]
    rng.shuffle(rest)
    taken = {line for doc in crawl.docs for line in doc.lines if len(line) > 40}
    rest = [p for p in rest if not taken & set(p.paragraphs)]
    for sentence, private in junk.personal(rng):
        passage = rest.pop()
        crawl.add(
            replace(passage, paragraphs=(*passage.paragraphs, sentence)), "personal data", rng.choice(FILES), "news",
            rng.choice(SITES["news"]), rng, tuple(private),
        )  # fmt: skip
    for number in range(6):  # good prose at addresses that a block list drops
        crawl.add(rest.pop(), "blocked address", FILES[number % 3], "blog", junk.BLOCKED[number], rng)
    for file in (WET, JSONL):
        passage = rest.pop()
        line = "He wrote <|endoftext|> under the last line, as if that had ever ended anything."
        crawl.add(
            replace(passage, paragraphs=(*passage.paragraphs, line)), "prose", file, "blog", SITES["blog"][0], rng
        )
    return crawl


def grams(text: str) -> set[tuple[str, ...]]:
    """The word 5-grams of the lower-cased text split at white space; a shorter text is one gram."""
    words = text.lower().split()
    return {tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4))}


def jaccard(a: set[tuple[str, ...]], b: set[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b)


def edited(lines: tuple[str, ...], kind: str, wanted: float, lang: str, rng: Random) -> tuple[str, ...]:
    """A near-duplicate whose Jaccard index with the original is roughly `wanted`."""
    total = sum(len(line.split()) for line in lines)
    if kind == "cut":
        keep = []
        for line in lines:
            keep.append(line)
            if sum(len(k.split()) for k in keep) >= wanted * total:
                break
        return tuple(keep)
    if kind == "frame":
        extra = rng.sample(FRAMES, min(len(FRAMES), max(1, round(total * (1 - wanted) / wanted / 20))))
        return (*extra[: len(extra) // 2], *lines, *extra[len(extra) // 2 :])
    survives = 2 * wanted / (1 + wanted)  # share of the 5-grams that must be left alone
    rate = 1 - survives ** (1 / 4.5)
    new = []
    for line in lines:
        words = []
        for word in line.split(" "):
            if rng.random() >= rate:
                words.append(word)
            elif lang == "eng" and rng.random() < 0.6:
                words += [rng.choice(SMALL_WORDS), word]
        new.append(" ".join(words))
    return tuple(line for line in new if line)


def plant(crawl: Crawl) -> list[tuple[str, str]]:
    """Adds near-duplicates, exact duplicates and later captures. Returns the pairs of later captures."""
    rng = Random("demo/plant")
    spaced = {doc.lang for doc in crawl.docs} - {"zho", "jpn", "tha", "khm", "mya"}
    english = [d for d in crawl.docs if d.kind in ("prose", "forum") and sum(len(x.split()) for x in d.lines) > 120]
    other = [d for d in crawl.docs if d.kind == "other language" and d.lang in spaced and len(d.text.split()) > 120]
    bases = rng.sample(english, 112) + rng.sample(other, 20)
    kinds = ("words", "words", "frame", "words", "cut")
    mirrors = ("mirror.harbour.example", "www.daily-digest.example", "clippings.example", "feeds.aggregator.example")
    for number, base in enumerate(bases):
        wanted = 0.6 + 0.38 * ((number * 7) % 39) / 38
        file = base.file if number % 2 else rng.choice(FILES)
        original = grams(base.text)
        for kind in (kinds[number % 5], "words"):  # a cut may be far from `wanted`, changed words are not
            lines = edited(base.lines, kind, wanted, base.lang, rng)
            if 0.58 <= jaccard(original, grams("\n".join(lines))) < 0.99:
                break
        url = f"https://{rng.choice(mirrors)}/{rng.choice(('read', 'copy', 'item'))}/{number:03}-{slug(base.title)}"
        crawl.docs.append(
            replace(
                base, file=file, url=url, date=some_day(rng), lines=lines, kind="near copy", edit=kind, source=base.ref
            )
        )
    copies = rng.sample(
        [d for d in crawl.docs if d.kind in ("prose", "other language", "manual", "shop") and len(d.text) > 200], 72
    )
    for number, base in enumerate(copies):
        for again in range(2 if number % 6 == 0 else 1):
            url = (
                f"{base.url}{'&' if '?' in base.url else '?'}utm_source=newsletter{again or ''}",
                f"https://{rng.choice(mirrors)}/exact/{number:03}-{again}",
                f"{base.url.replace('https://', 'https://print.').replace('print.www.', 'print.')}",
            )[(number + again) % 3]
            file = base.file if number % 3 else rng.choice(FILES)
            crawl.docs.append(replace(base, file=file, url=url, date=some_day(rng), kind="exact copy", source=base.ref))
    later = []
    for base in rng.sample([d for d in crawl.docs if d.kind == "prose" and d.file == WARC and not d.source], 10):
        lines = (
            *base.lines,
            f"Changed on {rng.randint(1, 28)} November 2024: a misprint in the first line was put right.",
        )
        crawl.docs.append(
            replace(
                base, file=JSONL, date=f"2024-11-{rng.randint(25, 30)}T08:00:00Z", lines=lines, kind="later capture"
            )
        )
        later.append((base.ref, crawl.docs[-1].ref))
    return later


def same_and_near(docs: list[Doc]) -> tuple[list[list[str]], list[dict[str, object]]]:
    """Groups of documents with the same words, and every pair of groups with a Jaccard index of at least NEAR."""
    groups: dict[tuple[str, ...], list[Doc]] = defaultdict(list)
    for doc in docs:
        groups[tuple(doc.text.lower().split())].append(doc)
    members = list(groups.values())
    firsts = [group[0] for group in members]
    sets = [grams(doc.text) for doc in firsts]
    by_gram: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, group_grams in enumerate(sets):
        for gram in group_grams:
            by_gram[gram].append(number)
    pairs = {(a, b) for numbers in by_gram.values() for i, a in enumerate(numbers) for b in numbers[i + 1 :]}
    near = []
    for a, b in sorted(pairs):
        similarity = jaccard(sets[a], sets[b])
        if similarity >= NEAR:
            planted = edit(members[a], members[b]) or edit(members[b], members[a])
            near.append({"a": firsts[a].ref, "b": firsts[b].ref, "jaccard": round(similarity, 6), "edit": planted})
    return [[doc.ref for doc in group] for group in members if len(group) > 1], near


def edit(originals: list[Doc], copies: list[Doc]) -> str | None:
    """How one of the copies was made from one of the originals; None if it was not."""
    refs = {doc.ref for doc in originals}
    return next((doc.edit for doc in copies if doc.edit and doc.source in refs), None)


def encode(doc: Doc, turn: int) -> tuple[bytes, str, str, str | None]:
    """The page's bytes, their encoding, who declares it (header, meta, none), and the charset of the header."""
    choices = CHARSETS.get(doc.lang, OTHERS)
    encoding, declared = choices[turn % len(choices)]
    actual, _, named = encoding.partition(" as ")
    named = named or actual
    meta = f'<meta charset="{named}">' if declared == "meta" else ""
    if turn % 2 and meta:
        meta = f'<meta http-equiv="Content-Type" content="text/html; charset={named}">'
    rng = Random(f"demo/page/{doc.url}")
    site = urlsplit(doc.url).hostname or ""
    html = pages.STYLES[doc.style](site, doc.title, doc.lines, doc.lang, CODES.get(doc.lang, doc.lang), meta, rng)
    return html.encode(actual, "xmlcharrefreplace"), actual, declared, named if declared == "header" else None


class Warc:
    """A file of gzip members; knows the offset of each."""

    def __init__(self, title: str) -> None:
        self.parts: list[bytes] = []
        self.at = 0
        block = f"software: corpusmill demo\r\nformat: WARC File Format 1.0\r\ndescription: {title}\r\n".encode()
        self.write(
            archive.record("warcinfo", title, "2024-12-01T00:00:00Z", block, Content_Type="application/warc-fields")
        )

    def write(self, record: bytes, *, keep: float = 1.0) -> int:
        """Adds a record as one member, or only the first part of that member. Returns its offset."""
        start = self.at
        data = archive.member(record)
        data = data[: round(len(data) * keep)]
        self.parts.append(data)
        self.at += len(data)
        return start


def response(doc: Doc, head: list[tuple[str, str]], body: bytes, status: str = "200 OK") -> bytes:
    block = archive.http(status, head, body)
    return archive.record(
        "response", f"response {doc.url} {doc.date}", doc.date, block, WARC_Target_URI=doc.url,
        WARC_IP_Address="192.0.2.80", WARC_Payload_Digest=archive.digest(body),
        Content_Type="application/http; msgtype=response",
    )  # fmt: skip


def write_warc(docs: list[Doc], truth: dict[str, list[dict[str, object]]]) -> bytes:
    """Responses with their requests and metadata, other records of crawlers, and five broken records."""
    rng = Random("demo/warc")
    warc = Warc("pages.warc.gz of the corpusmill demo")
    turns: Counter[str] = Counter()
    last = len(docs) - 1
    for number, doc in enumerate(docs):
        body, actual, declared, header = encode(doc, turns[doc.lang])
        turns[doc.lang] += 1
        if number in (40, 41) and doc.lang == "eng":
            body, declared = b"\xef\xbb\xbf" + body.decode(actual).encode("utf-8"), "mark"
            actual, header = "utf-8-sig", None
        elif number == 42:
            body, actual, declared, header = body.decode(actual).encode("utf-16"), "utf-16", "mark", None
        content_type = "text/html" + (f"; charset={header}" if header else "")
        if (actual, declared) != ("utf-8", "header"):
            truth["charsets"].append({"ref": doc.ref, "encoding": actual, "declared": declared, "named": header or ""})
        head = [
            ("Date", "Sun, 01 Dec 2024 00:00:00 GMT"),
            ("Server", rng.choice(("nginx", "Apache", "cloud-front"))),
            ("Content-Type", content_type),
        ]
        transfer = ""
        sent = body
        if number % 9 == 4:
            sent, transfer = archive.member(body), "gzip"
            head.append(("Content-Encoding", "gzip"))
        elif number % 61 == 7:
            sent, transfer = zlib.compress(body, 9), "deflate"
            head.append(("Content-Encoding", "deflate"))
        if number % 10 == 3 or number % 90 == 4:
            sent, transfer = archive.chunked(sent, rng.choice((512, 1000, 4096))), f"{transfer} chunked".strip()
            head.append(("Transfer-Encoding", "chunked"))
        else:
            head.append(("Content-Length", str(len(sent))))
        if transfer:
            truth["transfer"].append({"ref": doc.ref, "encoding": transfer})
        status = "404 Not Found" if "/page-not-found" in doc.url else "200 OK"
        if number % 4 == 0:
            path = doc.url.split("/", 3)[3]
            asked = f"GET /{path} HTTP/1.1\r\nHost: {urlsplit(doc.url).hostname}\r\nUser-Agent: demo-crawler\r\n\r\n"
            warc.write(archive.record(
                "request", f"request {doc.url}", doc.date, asked.encode(), WARC_Target_URI=doc.url,
                Content_Type="application/http; msgtype=request",
            ))  # fmt: skip
        record = response(doc, head, sent, status)
        if number == last // 4:
            at = warc.write(record, keep=0.6)
            truth["broken"].append({"file": WARC, "offset": at, "kind": "truncated member", "ref": doc.ref})
        elif number == last // 2:
            record = re.sub(rb"(?<=\r\n)Content-Length: \d+(?=\r\n\r\nHTTP)", b"Content-Length: 99999", record)
            at = warc.write(record)
            truth["broken"].append({"file": WARC, "offset": at, "kind": "content length too large", "ref": doc.ref})
        elif number == last * 3 // 4:
            at = warc.write(record.replace(b"WARC/1.0\r\nWARC-Type", b"WRAC/1.0\r\nWARC-Type", 1))
            truth["broken"].append({"file": WARC, "offset": at, "kind": "no WARC header", "ref": doc.ref})
        elif number == last // 3:
            wrong = body[:200] + b"\0" * 8
            at = warc.write(response(doc, [("Content-Type", content_type), ("Content-Encoding", "gzip")], wrong))
            truth["broken"].append(
                {"file": WARC, "offset": at, "kind": "body is not the gzip it claims", "ref": doc.ref}
            )
        elif number == last // 5:
            at = warc.write(response(doc, [("Content-Type", content_type), ("Content-Length", "0")], b""))
            truth["broken"].append({"file": WARC, "offset": at, "kind": "empty body", "ref": doc.ref})
        else:
            warc.write(record)
        if number % 4 == 0:
            fields = (
                f"fetchTimeMs: {rng.randint(20, 900)}\r\ncharset-detected: {actual}\r\nlanguages-cld2: {doc.lang}\r\n"
            )
            warc.write(archive.record(
                "metadata", f"metadata {doc.url}", doc.date, fields.encode(), WARC_Target_URI=doc.url,
                Content_Type="application/warc-fields",
            ))  # fmt: skip
        if number % 45 == 20:
            extra_records(warc, number // 45, rng, truth)
    return b"".join(warc.parts)


def extra_records(warc: Warc, turn: int, rng: Random, truth: dict[str, list[dict[str, object]]]) -> None:
    """A record that is not a page."""
    site = "https://www.harbour-gazette.example"
    date = some_day(rng)
    prices = json.dumps([{"id": n, "price": rng.randint(5, 99), "stock": rng.randint(0, 9)} for n in range(40)])
    moved = "<html><head><title>Moved</title></head><body><p>This page has moved.</p></body></html>"
    kinds = [
        (f"{site}/img/{turn}.png", "200 OK", "image/png", archive.picture(40, 30, turn)),
        (f"{site}/api/prices/{turn}", "200 OK", "application/json", prices.encode()),
        (f"{site}/static/site.{turn}.css", "200 OK", "text/css", b"body { margin: 0 } .ad { display: none }\n" * 9),
        (
            f"{site}/static/app.{turn}.js",
            "200 OK",
            "application/javascript",
            b"(function () { console.log('hello'); })();\n" * 9,
        ),
        (f"{site}/robots.txt?{turn}", "200 OK", "text/plain", b"User-agent: *\nDisallow: /login\nAllow: /\n"),
        (f"{site}/old/{turn}", "301 Moved Permanently", "text/html", moved.encode()),
        (
            f"{site}/broken/{turn}",
            "500 Internal Server Error",
            "text/html",
            b"<html><body><h1>Internal Server Error</h1></body></html>",
        ),
    ]
    url, status, kind, body = kinds[turn % len(kinds)]
    doc = Doc(
        file=WARC, url=url, date=date, title="", lines=(), lang="eng", origin="written for the demo", kind="other"
    )
    head = [("Content-Type", kind), ("Content-Length", str(len(body)))]
    if status.startswith("301"):
        head.append(("Location", f"{site}/"))
    warc.write(response(doc, head, body, status))
    truth["other_records"].append({"ref": doc.ref, "status": int(status[:3]), "content_type": kind})
    if turn % 3 == 0:
        block = archive.http("200 OK", [("Content-Type", "text/html")], b"")
        warc.write(archive.record(
            "revisit", f"revisit {turn}", date, block, WARC_Target_URI=f"{site}/",
            WARC_Payload_Digest=archive.digest(b""),
            WARC_Profile="http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
            Content_Type="application/http; msgtype=response",
        ))  # fmt: skip
        truth["other_records"].append({"ref": f"{WARC} {site}/", "status": 200, "content_type": "revisit"})


def write_wet(docs: list[Doc], truth: dict[str, list[dict[str, object]]]) -> bytes:
    """Conversion records, four of them broken."""
    warc = Warc("pages.warc.wet.gz of the corpusmill demo")
    broken = {
        len(docs) // 6: "malformed utf-8",
        len(docs) // 3: "malformed utf-8",
        len(docs) // 2: "empty text",
        len(docs) * 2 // 3: "truncated member",
    }
    for number, doc in enumerate(docs):
        text = doc.text.encode()
        kind = broken.get(number)
        if kind == "malformed utf-8":
            text = (
                text[:150].decode("utf-8", "ignore").encode()
                + b" caf\xe9 \xff\xfe \xe2\x82 "
                + text[150:].decode("utf-8", "ignore").encode()
            )
        elif kind == "empty text":
            text = b""
        record = archive.record(
            "conversion", f"conversion {doc.url} {doc.date}", doc.date, text, WARC_Target_URI=doc.url,
            WARC_Refers_To=archive.record_id(f"response {doc.url} {doc.date}"),
            WARC_Identified_Content_Language=doc.lang, WARC_Block_Digest=archive.digest(text),
            Content_Type="text/plain",
        )  # fmt: skip
        at = warc.write(record, keep=0.5 if kind == "truncated member" else 1.0)
        if kind:
            truth["broken"].append({"file": WET, "offset": at, "kind": kind, "ref": doc.ref})
    return b"".join(warc.parts)


def write_jsonl(docs: list[Doc], truth: dict[str, list[dict[str, object]]]) -> bytes:
    """One JSON object per line with more columns than a reader needs, and eight bad lines."""
    rng = Random("demo/jsonl")
    lines: list[bytes] = []
    bad = {
        "not whole json": b'{"id": "bad-1", "text": "This line breaks off in the middle of a sen',
        "not an object": b'["a list", "is not", "a document"]',
        "no text column": b'{"id": "bad-3", "url": "https://www.evening-post.example/bad-3", "body_length": 812}',
        "text is null": b'{"id": "bad-4", "url": "https://www.evening-post.example/bad-4", "text": null}',
        "text is a number": b'{"id": "bad-5", "url": "https://www.evening-post.example/bad-5", "text": 1742}',
        "empty text": b'{"id": "bad-6", "url": "https://www.evening-post.example/bad-6", "text": ""}',
        "text of spaces": b'{"id": "bad-7", "url": "https://www.evening-post.example/bad-7", "text": " \\n\\t "}',
        "malformed utf-8": b'{"id": "bad-8", "url": "https://www.evening-post.example/bad-8", "text": "The caf\xe9."}',
    }
    places = {(number + 1) * len(docs) // 10: kind for number, kind in enumerate(bad)}
    for number, doc in enumerate(docs):
        if kind := places.get(number):
            truth["broken"].append({"file": JSONL, "line": len(lines) + 1, "kind": kind})
            lines.append(bad[kind])
        row = {
            "id": f"extra-{number:04}",
            "text": doc.text,
            "url": doc.url,
            "date": doc.date[:10] if number % 3 else doc.date,
            "lang": doc.lang,
            "source": doc.origin,
            "score": round(rng.betavariate(5, 2) if doc.kind == "prose" else rng.betavariate(2, 4), 4),
            "tags": sorted(
                rng.sample(("archive", "culture", "import", "long", "verified", "weekly"), rng.randint(0, 3))
            ),
            "meta": {"site": urlsplit(doc.url).hostname, "words": len(doc.text.split())},
        }
        lines.append(json.dumps(row, ensure_ascii=number % 7 == 0).encode())
    data = b"\n".join(lines) + b"\n"
    return archive.member(data)


def build(sources: Path, out: Path, truth_in: Path) -> None:
    passages.check(sources)
    crawl = gather(sources)
    later = plant(crawl)
    rng = Random("demo/order")
    rng.shuffle(crawl.docs)
    by_file = {file: [doc for doc in crawl.docs if doc.file == file] for file in FILES}
    lists: dict[str, list[dict[str, object]]] = {
        name: [] for name in ("charsets", "transfer", "other_records", "broken")
    }
    written = {
        WARC: write_warc(by_file[WARC], lists),
        WET: write_wet(by_file[WET], lists),
        JSONL: write_jsonl(by_file[JSONL], lists),
    }
    broken = {entry["ref"] for entry in lists["broken"] if "ref" in entry}
    whole = [doc for doc in crawl.docs if doc.ref not in broken]
    exact, near = same_and_near(whole)
    files = {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "documents": len(by_file[name])}
        for name, data in written.items()
    }
    kinds, languages, origins = (
        Counter(getattr(doc, name) for doc in crawl.docs) for name in ("kind", "lang", "origin")
    )
    truth = {
        "about": [
            "A ref is `FILE URL`. The text of a WET or JSONL document is its text as it stands; that of a page is what "
            "stands in the element id=text.",
            "exact: groups with the same words. near: every pair whose word 5-grams, of the lower-cased text split at "
            "white space, have a Jaccard >= 0.5; one document stands for each exact group.",
            "edit says how the copy of a planted pair was made; pairs with null arose by themselves.",
            "Documents with a broken record are left out of exact and near.",
        ],
        "files": files,
        "kinds": dict(kinds.most_common()),
        "languages": dict(languages.most_common()),
        "origins": dict(origins.most_common()),
        "exact": exact,
        "near": near,
        "later_captures": later,
        "personal_data": [{"ref": d.ref, "kind": k, "value": v} for d in whole for k, v in d.private],
        "literal_endoftext": [doc.ref for doc in whole if "<|endoftext|>" in doc.text],
        "blocked_domains": list(junk.BLOCKED),
        **lists,
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, data in written.items():
        (out / name).write_bytes(data)
    (truth_in / "TRUTH.json").write_text(dump(truth), "utf-8")
    print(f"{out}: {len(crawl.docs)} documents, {sum(map(len, written.values())) / 1e6:.2f} MB")
    for name, facts in files.items():
        print(f"  {name:20} {facts['documents']:5} documents {facts['bytes']:9,} bytes  {facts['sha256']}")
    print("  kinds:", dict(kinds.most_common()))
    print("  languages:", len(languages), "of them English", languages["eng"])
    print("  origins:", dict(origins.most_common()))
    print(f"  {len(exact)} exact groups, {len(near)} near pairs, {len(lists['broken'])} broken records")


def dump(truth: Mapping[str, object]) -> str:
    """JSON with one list entry per line."""
    parts = []
    for key, value in truth.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in value)
            parts.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the demo crawl from its source texts.")
    parser.add_argument("--sources", type=Path, required=True, help="folder with the files that demo/README.md lists")
    parser.add_argument("--out", type=Path, default=HERE.parent / "src" / "corpusmill" / "data" / "demo")
    parser.add_argument("--truth", type=Path, default=HERE, help="folder of TRUTH.json")
    options = parser.parse_args()
    build(options.sources, options.out, options.truth)
