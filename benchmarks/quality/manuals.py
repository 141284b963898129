"""How many words of manuals an extractor keeps, and how many of those it keeps are the manual's.

    python -m benchmarks.quality.manuals [MANUAL …] [--pages N]

Six manuals, made by five programs (Sphinx, Apache's XSLT, AsciiDoc, DocBook, BoostBook), are fetched as Debian packages
by apt-get into build/manuals and only unpacked. What a manual's text is, is said by the element that its program puts
it into, as XPath, less lists of links that it puts there, too: no extractor is asked. Of each manual so many pages are
drawn by a hash of their paths. Left out are pages of fewer than FEWEST words and those of which more than half are
links: indexes, tables of contents.

recall      the share of the manual's words that are kept, over all pages together
precision   the share of the kept words that are the manual's

Words are runs of letters and digits in lower case, compared as bags page by page. The pages are of none of the sets
that models are trained on.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lxml import html

from benchmarks.common import ROOT, Figure, row, table, verdict
from benchmarks.quality.extraction import bag, peer_texts
from benchmarks.workload import download
from corpusmill.steps.extract.blocks import Blocks

CACHE = ROOT / "build" / "manuals"
PAGES = 60  # of a manual
FEWEST = 50  # words of a page
RECALL, PRECISION = 0.93, 0.97
# Elements that stand within a line: what is beside any other is another word.
INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)


@dataclass(frozen=True)
class Manual:
    """A manual in a Debian package.

    package   its name; one that only depends on the package of the current version will do
    pages     pattern of the files of its pages
    text      XPath of the elements that hold the text
    without   XPath, below these, of what is no text: links to other parts, to other languages, a form for comments
    """

    package: str
    pages: str
    text: str
    without: str = ".//script"


MANUALS = {
    "Python (Sphinx)": Manual("python3-doc", "usr/share/doc/python3*[0-9]/html/**/*.html", '//*[@role="main"]'),
    "CMake (Sphinx)": Manual("cmake-doc", "usr/share/doc/cmake-data/html/**/*.html", '//*[@role="main"]'),
    "Apache": Manual(
        "apache2-doc",
        "usr/share/doc/apache2-doc/manual/en/**/*.html",
        '//*[@id="page-content"]',
        './/script | .//*[@id="quickview" or @class="toplang" or @class="bottomlang"] | '
        './/*[@class="section"][h2/a[@id="comments_section"]]',
    ),
    "git (AsciiDoc)": Manual(
        "git-doc", "usr/share/doc/git-doc/**/*.html", '//*[@id="header"] | //*[@id="content"] | //*[@id="footnotes"]'
    ),
    "PostgreSQL (DocBook)": Manual(
        "postgresql-doc",
        "usr/share/doc/postgresql-doc-*/html/*.html",
        '//body/div[not(@class="navheader" or @class="navfooter")]',
    ),
    "Boost (BoostBook)": Manual(
        "libboost-doc",
        "usr/share/doc/libboost1*-doc/**/*.html",
        '//body[div[@class="spirit-nav"]]/div[not(@class="spirit-nav")]',
    ),
}


@dataclass(frozen=True)
class Page:
    raw: bytes
    manual: Manual

    @cached_property
    def elements(self) -> list[Any]:
        """Those that hold the text, without what is none."""
        tree = html.document_fromstring(self.raw, parser=html.HTMLParser(encoding="utf-8"))
        elements: list[Any] = tree.xpath(self.manual.text)
        for element in elements:
            for part in element.xpath(self.manual.without):
                if part.getparent() is not None:
                    part.drop_tree()
        return elements

    @property
    def text(self) -> str:
        return "\n".join("".join(pieces(element)) for element in self.elements)

    @property
    def linked(self) -> int:
        """Words in links to other pages and places."""
        links = (link for element in self.elements for link in element.iter("a") if link.get("href"))
        return sum(bag("".join(pieces(link))).total() for link in links)

    @property
    def is_text(self) -> bool:
        words = bag(self.text).total()
        return words >= FEWEST and 2 * self.linked <= words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MANUAL", help=f"the begin of a name: {', '.join(MANUALS)}")
    parser.add_argument("--pages", type=int, default=PAGES, help="of a manual; 0: all")
    options = parser.parse_args()
    chosen = {name for name in MANUALS if not options.names or name.lower().startswith(tuple(options.names))}
    if not chosen:
        parser.error(f"there is no such manual; there are {', '.join(MANUALS)}")
    return verdict(judge(chosen, options.pages))


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    """Recall and precision of extract/blocks by manual; none where no Debian packages are to be had."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("## manuals\n\nleft out: they come as Debian packages, and apt-get and dpkg-deb are not here\n")
        return []
    return judge(set(MANUALS), PAGES)


def judge(names: set[str], most: int) -> list[Figure]:
    print("## manuals: six that no model was trained on\n")
    engines = {"blocks": Blocks().html_text, **{name: of_bytes(text) for name, text in peer_texts().items()}}
    figures = []
    table("manual", "pages", "words", *(f"{engine}: {what}" for engine in engines for what in ("recall", "precision")))
    for name in (name for name in MANUALS if name in names):
        pages = drawn(fetch(MANUALS[name]), MANUALS[name], most)
        gold = [bag(page.text) for page in pages]
        cells = []
        for engine, text in engines.items():
            recall, precision = shares(gold, [bag(text(page.raw)) for page in pages])
            cells += [f"{recall:.3f}", f"{precision:.3f}"]
            if engine == "blocks":
                figures.append(Figure(f"manual of {name}: recall of words", recall, "", RECALL, digits=3))
                figures.append(Figure(f"manual of {name}: their precision", precision, "", PRECISION, digits=3))
        row(name, len(pages), f"{sum(words.total() for words in gold):,}", *cells)
    print()
    return figures


def of_bytes(text: Callable[[str], str]) -> Callable[[bytes], str]:
    return lambda page: text(page.decode("utf-8", "replace"))


def shares(gold: list[Counter[str]], texts: list[Counter[str]]) -> tuple[float, float]:
    """Recall and precision of words, over all pages together."""
    both = sum((want & have).total() for want, have in zip(gold, texts, strict=True))
    wanted, had = (sum(words.total() for words in side) for side in (gold, texts))
    return both / max(wanted, 1), both / max(had, 1)


def drawn(folder: Path, manual: Manual, most: int) -> list[Page]:
    """The first pages of text by a hash of their paths below the package."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.glob(manual.pages) if path.is_file())
    # Without numbers: another version of the package has them elsewhere in its paths.
    names.sort(key=lambda name: hashlib.sha256(re.sub(r"[\d.]+", "", name).encode()).digest())
    pages = []
    for name in names:
        page = Page((folder / name).read_bytes(), manual)
        if page.is_text:
            pages.append(page)
        if most and len(pages) == most:
            break
    if not pages:
        raise SystemExit(f"{folder}: no page of {manual.package} has text at {manual.text}; its program has changed")
    return pages


def pieces(element: Any) -> Iterator[str]:
    """The text of an element, without its tail; "\\n" where a block, cell or line begins or ends."""
    if not isinstance(element.tag, str):
        return  # a comment
    block = element.tag not in INLINE
    yield "\n" if block else ""
    yield element.text or ""
    for child in element:
        yield from pieces(child)
        yield child.tail or ""
    yield "\n" if block else ""


def fetch(manual: Manual) -> Path:
    """The folder of the unpacked package, fetched if it is not there. Raises SystemExit if it cannot be had."""
    folder = CACHE / manual.package
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    package = current(manual.package)
    if not list(CACHE.glob(f"{package}_*.deb")) and (why := download(package, CACHE)):
        raise SystemExit(f"apt-get download {package} failed: {why}\n`apt-get update` reads what there is.")
    half = CACHE / f"{manual.package}.partial"  # a package that was cut off is not taken for a whole one
    shutil.rmtree(half, ignore_errors=True)
    (deb,) = CACHE.glob(f"{package}_*.deb")
    subprocess.run(["dpkg-deb", "-x", deb, half], check=True)
    half.rename(folder)
    return folder


def current(package: str) -> str:
    """The package of the current version, where this one only depends on it: "libboost1.74-doc" for "libboost-doc"."""
    command = ["apt-cache", "depends", "--important", package]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    named = [line.partition("Depends:")[2].strip() for line in lines if "Depends:" in line]
    stem = package.removesuffix("-doc").rstrip("0123456789")
    return next((name for name in named if name.startswith(stem) and "-doc" in name), package)


if __name__ == "__main__":
    raise SystemExit(main())
