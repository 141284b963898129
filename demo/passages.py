"""Passages of running text for the demo's pages, cut from the sources in fixed order.

A passage keeps the paragraphs of its source. Text with an e-mail or an IP address is left out, so that the only ones in
the demo are the planted ones.
"""

import gzip
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

# name in the folder of sources -> first digits of its SHA-256, origin
SOURCES = {
    "standardebooks_chapters.jsonl.gz": ("b569a00e", "chapters of three Standard Ebooks productions: {id, book, text}"),
    "1661-8.txt.gz": ("126c0c40", "Project Gutenberg's text file no. 1661, gzipped"),
    "us_inaugural.jsonl.gz": ("c604ce31", "the `inaugural` corpus of NLTK: {id, text}"),
    "tinyshakespeare.txt.gz": ("75ba7760", "plays of Shakespeare in one text file, gzipped"),
    "udhr2.zip": ("0796c314", "the `udhr2` corpus of NLTK, as it is"),
    "boost_1.74_vs_1.81_docs.jsonl.gz": ("f26bd5b1", "text of Boost's HTML documentation: {id, text}"),
    "code_files.jsonl.gz": ("f49a111f", "files of attrs, requests, express and gin: {repo, path, language, text}"),
}
PROSE = Path(__file__).parent / "prose"
BOOKS = {
    "herman-melville_moby-dick": "Moby-Dick",
    "jane-austen_pride-and-prejudice": "Pride and Prejudice",
    "mary-shelley_frankenstein": "Frankenstein",
}
PRIVATE = re.compile(r"\S@\S|\b\d{1,3}(\.\d{1,3}){3}\b|\b[0-9a-f]{1,4}(:[0-9a-f]{0,4}){3,7}\b|::\d")
STRAIGHT = str.maketrans("“”‘’", "\"\"''", "\u2060\u200a\ufeff")


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Some paragraphs that belong together."""

    title: str
    paragraphs: tuple[str, ...]
    origin: str  # a key of the table of licences in README.md
    lang: str = "eng"  # ISO 639-3
    section: str = "reading"

    @property
    def words(self) -> int:
        return sum(len(p.split()) for p in self.paragraphs)


def check(folder: Path) -> None:
    """Raises SystemExit with every source file that is missing or differs from the one the demo was built from."""
    wrong = []
    for name, (digest, what) in SOURCES.items():
        path = folder / name
        if not path.exists():
            wrong.append(f"  {name}: missing; {what}")
        elif not (actual := hashlib.sha256(path.read_bytes()).hexdigest()).startswith(digest):
            wrong.append(f"  {name}: its SHA-256 begins {actual[:8]}, expected {digest}; {what}")
    if wrong:
        raise SystemExit(
            f"{folder}: the demo cannot be built from these sources\n" + "\n".join(wrong) + "\n"
            "demo/README.md has the origin of each file. The files that are made can be used without these sources."
        )


def cut(paragraphs: list[str], rng: Random, low: int, high: int) -> Iterator[list[str]]:
    """Consecutive paragraphs in runs of about `low` to `high` words, mostly short ones; the rest is left out."""
    run: list[str] = []
    words, wanted = 0, 0
    for paragraph in paragraphs:
        if not run:
            wanted = round(low * (high / low) ** (rng.random() ** 1.3))
        run.append(paragraph)
        words += len(paragraph.split())
        if words >= wanted:
            yield run
            run, words = [], 0


def paragraphs_of(text: str) -> list[str]:
    """Paragraphs between blank lines, each on one line."""
    return [" ".join(p.split()) for p in re.split(r"\n\s*\n", text) if p.strip()]


def rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def books(folder: Path, rng: Random) -> Iterator[Passage]:
    """Three novels of Standard Ebooks and the adventures of Sherlock Holmes."""
    for row in rows(folder / "standardebooks_chapters.jsonl.gz"):
        _number, *body = paragraphs_of(row["text"])
        title = f"{BOOKS[row['book']]}, {row['id'].rsplit('/', 1)[1].replace('-', ' ')}"
        if body and len(body[0]) < 60 and not re.search(r"[.!?”]$", body[0]):
            title = f"{title}: {body.pop(0)}"
        for page, run in enumerate(cut(body, rng, 150, 680), 1):
            keep_curly = rng.random() < 0.3
            yield Passage(
                title=f"{title}, page {page}",
                paragraphs=tuple(p if keep_curly else p.translate(STRAIGHT) for p in run),
                origin="standard-ebooks",
                section="novels",
            )
    text = gzip.decompress((folder / "1661-8.txt.gz").read_bytes()).decode("latin-1").replace("\r\n", "\n")
    text = text.split("To Sherlock Holmes she is always", 1)[1].split("End of the Project Gutenberg", 1)[0]
    body = [
        p for p in paragraphs_of("To Sherlock Holmes she is always" + text) if not re.fullmatch(r"[A-Z .'IVX-]+", p)
    ]
    for page, run in enumerate(cut(body, rng, 150, 640), 1):
        yield Passage(
            title=f"The man in Baker Street, instalment {page}",
            paragraphs=tuple(run),
            origin="gutenberg",
            section="detective stories",
        )


def speeches(folder: Path, rng: Random) -> Iterator[Passage]:
    """Inaugural addresses up to 1961."""
    for row in rows(folder / "us_inaugural.jsonl.gz"):
        year, name = row["id"].removesuffix(".txt").split("-")
        if int(year) > 1961:
            continue
        for part, run in enumerate(cut(paragraphs_of(row["text"]), rng, 150, 640), 1):
            yield Passage(
                title=f"{name}, {year}: the address, part {part}",
                paragraphs=tuple(run),
                origin="us-government",
                section="speeches",
            )


def plays(folder: Path, rng: Random) -> Iterator[Passage]:
    """Scenes of Shakespeare, one verse per line."""
    text = gzip.decompress((folder / "tinyshakespeare.txt.gz").read_bytes()).decode()
    speeches = [s.strip() for s in text.split("\n\n") if s.strip()]
    for number, run in enumerate(cut(speeches, rng, 80, 400), 1):
        yield Passage(
            title=f"Plays, scene {number}",
            paragraphs=tuple(line for speech in run for line in speech.split("\n")),
            origin="shakespeare",
            section="theatre",
        )


def manuals(folder: Path, rng: Random) -> Iterator[Passage]:
    """Sections of the documentation of requests, attrs, gin and express, with their markup."""
    for row in rows(folder / "code_files.jsonl.gz"):
        markdown = row["language"] in ("Markdown", "reStructuredText")
        if not markdown or row["repo"] == "iipc/jwarc" or "/" not in row["path"] or ".github" in row["path"]:
            continue
        # paragraphs keep their line breaks, as in a scraped README
        body = [p.strip("\n") for p in re.split(r"\n\s*\n", row["text"]) if p.strip()]
        project = row["repo"].split("/")[1]
        for part, run in enumerate(cut(body, rng, 200, 700), 1):
            if PRIVATE.search("\n".join(run)):
                continue
            yield Passage(
                title=f"{project}: {Path(row['path']).stem.replace('-', ' ')}, section {part}",
                paragraphs=tuple(run),
                origin=project,
                section="manuals",
            )


def boost(folder: Path) -> Iterator[tuple[Passage, Passage]]:
    """Pages of Boost's documentation that differ between two releases, if they are mostly prose."""
    texts = {row["id"]: row["text"] for row in rows(folder / "boost_1.74_vs_1.81_docs.jsonl.gz")}
    for name in sorted(texts):
        other = "b" + name[1:]
        if name[0] != "a" or other not in texts or texts[name] == texts[other]:
            continue
        if (
            not 900 < len(texts[name]) < 6000
            or len(texts[other]) > 7000
            or "Distributed under the Boost" not in texts[name]
        ):
            continue
        if PRIVATE.search(texts[name]) or PRIVATE.search(texts[other]):
            continue
        both = []
        for text in (texts[name], texts[other]):
            lines = tuple(line.strip() for line in text.split("\n")[1:] if line.strip())
            both.append(Passage(title=lines[0], paragraphs=lines, origin="boost", section="manuals"))
        yield both[0], both[1]


def code(folder: Path, rng: Random) -> Iterator[Passage]:
    """The head of a source file, with its indentation."""
    for row in rows(folder / "code_files.jsonl.gz"):
        if (
            row["language"] not in ("Python", "JavaScript", "Go")
            or row["repo"] == "iipc/jwarc"
            or row["path"].startswith(".")
        ):
            continue
        lines = row["text"].split("\n")[: rng.randint(40, 110)]
        text = "\n".join(lines).rstrip()[:4000]
        if len(text) > 600 and not PRIVATE.search(text):
            yield Passage(
                title=row["path"], paragraphs=(text,), origin=row["repo"].split("/")[1], lang="eng", section="code"
            )


# file of the corpus -> ISO 639-3; the large languages are cut into more pages
LARGE = {
    "fra": "fra", "deu": "deu", "spa": "spa", "ita": "ita", "por_PT": "por", "nld": "nld", "rus": "rus", "ukr": "ukr",
    "pol": "pol", "ces": "ces", "tur": "tur", "arb": "ara", "jpn": "jpn", "cmn_hans": "zho", "cmn_hant": "zho",
    "kor": "kor", "swe": "swe", "ell_monotonic": "ell", "hin": "hin", "vie": "vie",
}  # fmt: skip
SMALL = {
    "slk": "slk", "hun": "hun", "ron": "ron", "bul": "bul", "srp_cyrl": "srp", "hrv": "hrv", "slv": "slv", "heb": "heb",
    "pes_1": "fas", "urd": "urd", "ben": "ben", "tam": "tam", "mar": "mar", "guj": "guj", "pan": "pan",
    "kan": "kan", "mal": "mal", "tha": "tha", "ind": "ind", "dan": "dan", "nob": "nob", "fin": "fin", "est": "est",
    "lav": "lav", "lit": "lit", "isl": "isl", "gle": "gle", "cym": "cym", "eus": "eus", "cat": "cat", "glg": "glg",
    "afr": "afr", "swh": "swa", "som": "som", "yor": "yor", "zul": "zul", "amh": "amh", "hye": "hye", "kat": "kat",
    "kaz": "kaz", "mkd": "mkd", "als": "sqi", "mlt": "mlt", "epo": "epo", "lat": "lat", "tgl": "tgl", "mya": "mya",
    "khm": "khm", "nep": "nep", "bel": "bel", "azj_latn": "aze",
}  # fmt: skip


def declaration(folder: Path) -> Iterator[Passage]:
    """The Universal Declaration of Human Rights in many languages, a few articles per page."""
    with zipfile.ZipFile(folder / "udhr2.zip") as files:
        present = set(files.namelist())
        for names, pages, kept in ((LARGE, 9, 8), (SMALL, 3, 2)):
            for name, lang in names.items():
                if f"udhr2/{name}.txt" not in present:
                    continue
                lines = [line.strip() for line in files.read(f"udhr2/{name}.txt").decode("utf-8").split("\n")]
                title, *body = [line for line in lines if line]
                body = [line for line in body if not PRIVATE.search(line)]
                size = -(-len(body) // pages)
                for page, start in enumerate(range(0, kept * size, size), 1):
                    yield Passage(
                        title=f"{title} ({page})",
                        paragraphs=tuple(body[start : start + size]),
                        origin="udhr",
                        lang=lang,
                        section="law",
                    )


TWO_LETTERS = {
    "fr": "fra", "de": "deu", "es": "spa", "it": "ita", "pt": "por", "nl": "nld", "ru": "rus", "ja": "jpn", "zh": "zho",
    "ar": "ara", "pl": "pol", "uk": "ukr",
}  # fmt: skip


def own(name: str) -> list[Passage]:
    """The texts in prose/NAME.txt. Each begins with a line `= title | section`, or `= lang | title | section`."""
    passages = []
    for text in re.split(r"^= ", (PROSE / f"{name}.txt").read_text("utf-8"), flags=re.M)[1:]:
        head, _, body = text.partition("\n")
        *lang, title, section = head.split(" | ")
        lines = body.strip().split("\n") if name == "recipes" else paragraphs_of(body)
        passages.append(
            Passage(
                title=title,
                paragraphs=tuple(lines),
                origin="written for the demo",
                lang=TWO_LETTERS[lang[0]] if lang else "eng",
                section=section,
            )
        )
    return passages
