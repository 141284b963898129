"""Does `markup: markdown` keep the structure of pages? Judged on documentation with its reStructuredText beside it.

    python -m benchmarks.quality.markdown --docs FOLDER

FOLDER holds what packages of documentation made by Sphinx hold: pages, and `_sources` with a source for each. Packages
of Debian are got so: apt-get download sphinx-doc python-click-doc …, and dpkg-deb -x each into FOLDER. Sources that
take text from elsewhere (autodoc) are left out. By kind,

    recall      the share of the source's headings, items, cells, pieces of code and formulae that are marked as such
    precision   the share of what is marked as such whose words are in the source

Words are compared, without the markup inside them.
"""

import argparse
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.common import row, table
from corpusmill.steps.extract.blocks import Blocks

Items = dict[str, list[str]]  # kind -> texts
KINDS = ("heading", "item", "cell", "code", "formula")
UNDERLINE = re.compile(r"([=\-~^\"'`*+#.:<>])\1{2,}\s*$")
ITEM = re.compile(r"(?:[-*+]|\d+\.|#\.)\s+(\S.*)")
FORMULA = re.compile(r":math:`([^`]+)`")
# References whose words are made elsewhere: titles of other pages, names without their modules.
MADE_ELSEWHERE = re.compile(r":(?:ref|doc|numref|pep|rfc):`[^`<]*`|:[\w:+-]+:`[~!]|\|\w+\|")
TARGET = re.compile(r"(?<=[^\s`])\s+<[^<>`]+>(?=`)")  # of a reference with words of its own
LITERAL = re.compile(r"\.\. (?:code-block|code|sourcecode|parsed-literal|highlight)::|.*::\s*$")
OUTPUT = re.compile(r"\.\. (?:ipython|plot)::")  # what is printed on the page is not what is in the source
FROM_ELSEWHERE = re.compile(
    r"^\s*\.\. (?:auto|cmake-module|jinja:|toctree|literalinclude|include|click|plot|only|ifconfig)", re.M
)
FIELD = " – "  # ":param int size: its size" is shown as "size (int) – its size"
WORD = re.compile(r"\w+")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, required=True)
    pages = list(pages_with_source(parser.parse_args().docs))
    if not pages:
        print("no page with a source in _sources is there", file=sys.stderr)
        return 2
    print(f"{len(pages)} pages of documentation\n")
    table("kind", "in the sources", *(f"{name}: {what}" for name in ENGINES for what in ("recall", "precision")))
    sources = [of_source(source) for _, source in pages]
    marked = {name: [of_markdown(engine(html)) for html, _ in pages] for name, engine in ENGINES.items()}
    for kind in KINDS:
        cells = []
        for name in ENGINES:
            cells += [f"{share:.3f}" for share in scored(kind, sources, marked[name], [text for _, text in pages])]
        row(kind, sum(len(each[kind]) for each in sources), *cells)
    return 0


def pages_with_source(folder: Path) -> Iterator[tuple[bytes, str]]:
    for source in sorted([*folder.rglob("_sources/**/*.rst"), *folder.rglob("_sources/**/*.rst.txt")]):
        root = next(parent for parent in source.parents if parent.name == "_sources")
        stem = str(source.relative_to(root)).removesuffix(".txt").removesuffix(".rst")
        page = root.parent / f"{stem}.html"
        text = source.read_text("utf-8", "replace")
        if page.is_file() and not FROM_ELSEWHERE.search(text):
            yield page.read_bytes(), text


def plain(text: str) -> str:
    """The words of a text."""
    text = TARGET.sub("", re.sub(r":[\w:+-]+:(?=`)", "", text)).replace("\\", "")
    text = re.sub(r"(?<=[\w`])__?(?!\w)", "", text)  # references
    return " ".join(WORD.findall(text.lower()))


def of_source(source: str) -> Items:
    """What a text in reStructuredText has of each kind: of items the first line, without its last word, which may be
    hyphenated or the beginning of a link."""
    items: Items = defaultdict(list)
    lines = source.expandtabs().split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        after = lines[at + 1] if at + 1 < len(lines) else ""
        indent = len(line) - len(line.lstrip())
        if line.strip().startswith(".. list-table::"):
            block, at = indented(lines, at + 1, indent)
            cells = re.findall(r"^(?:\* | {2})- (.*)$", block, re.M)
            items["cell"] += [cell for cell in cells if plain(cell)]
            continue
        if LITERAL.match(line.strip()) or line.strip() == ".. math::":
            block, at = indented(lines, at + 1, indent)
            kind = "formula" if "math::" in line else "code"
            if not re.match(r"\s*\.\. (?!code|sourcecode|math)", line):  # other directives hold text
                items[kind].append(block)
                continue
            at -= len(block.split("\n")) - 1
            continue
        if OUTPUT.match(line.strip()):
            _, at = indented(lines, at + 1, indent)
            continue
        if line.lstrip().startswith(">>>"):  # a session, up to an empty line
            block, at = session(lines, at)
            items["code"].append(block)
            continue
        if indent == 0 and line.strip() and UNDERLINE.match(after) and len(after.strip()) >= len(line.strip()):
            if not UNDERLINE.match(line):
                items["heading"].append(line)
            at += 2
            continue
        if line.lstrip().startswith("|") and line.rstrip().endswith("|"):
            items["cell"] += [cell for cell in line.strip().strip("|").split("|") if plain(cell)]
        elif (match := ITEM.match(line.strip())) and indent < 8:
            items["item"].append(match[1].rpartition(" ")[0] or match[1])
        items["formula"] += FORMULA.findall(line)
        at += 1
    return {kind: [text for text in items[kind] if plain(text) and not elsewhere(kind, text)] for kind in KINDS}


def elsewhere(kind: str, text: str) -> bool:
    return kind in ("heading", "item", "cell") and bool(MADE_ELSEWHERE.search(text))


def session(lines: list[str], at: int) -> tuple[str, int]:
    """An interactive session of Python and what it prints, and the line after it."""
    end = at
    while end < len(lines) and lines[end].strip():
        end += 1
    return textwrap.dedent("\n".join(lines[at:end])), end


def indented(lines: list[str], at: int, indent: int) -> tuple[str, int]:
    """The block below a directive, without its options, and the line after it."""
    block: list[str] = []
    while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > indent):
        if not re.match(r"\s+:[\w-]+:", lines[at]) or block:
            block.append(lines[at])
        at += 1
    return textwrap.dedent("\n".join(block)).strip(), at


def of_markdown(text: str) -> Items:
    items: Items = defaultdict(list)

    def code(match: "re.Match[str]") -> str:
        items["code"].append(match[2])
        return "\n"

    text = re.sub(r"^ *(`{3,})\w*\n(.*?)^ *\1$", code, text, flags=re.M | re.S)
    items["formula"] += re.findall(r"\$\$?([^$]+)\$", text)
    for line in re.sub(r"^(?:> )+", "", text, flags=re.M).split("\n"):
        if match := re.match(r"#+ (?:[\d.]+ )?(.*)", line):
            items["heading"].append(match[1])
        elif line.startswith("|"):
            items["cell"] += [cell for cell in line.strip("|").split("|") if plain(cell)]
        elif match := ITEM.match(line.strip()):
            items["item"].append(match[1])
    return items


def scored(kind: str, sources: list[Items], marked: list[Items], texts: list[str]) -> tuple[float, float]:
    """(recall, precision) of a kind, over all pages."""
    wanted = found = given = right = 0
    for source, made, text in zip(sources, marked, texts, strict=True):
        have = [plain(each) for each in made[kind]]
        everything, whole = "\n".join(have), plain(text)
        wanted += len(source[kind])
        found += sum(plain(each) in everything for each in source[kind])
        given += sum(bool(plain(each.rpartition(FIELD)[2])) for each in made[kind])
        right += sum(words in whole for each in made[kind] if (words := plain(each.rpartition(FIELD)[2])))
    return found / max(1, wanted), right / max(1, given)


def _trafilatura(page: bytes) -> str:
    import trafilatura

    return trafilatura.extract(page.decode("utf-8", "replace"), output_format="markdown", include_tables=True) or ""


ENGINES: dict[str, Callable[[bytes], str]] = {
    "blocks": Blocks(markup="markdown").html_text,
    "blocks, favour: recall": Blocks(markup="markdown", favour="recall").html_text,
    "trafilatura": _trafilatura,
}

if __name__ == "__main__":
    sys.exit(main())
