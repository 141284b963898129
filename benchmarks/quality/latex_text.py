"""How much of a document its LaTeX source gives: python -m benchmarks.quality.latex_text FOLDER [--peer PYTHON]

The folder holds manuals of TeX Live as Debian packs them, NAME.tex or NAME.tex.gz beside NAME.pdf (texlive-science-doc,
texlive-latex-recommended-doc …). What PDFium reads in the PDF is the truth, which is nobody's own: of the runs of five
words of letters in the text that a tool makes of the source, the share that is in the PDF (precision); of those in the
PDF, the share that is in the text (recall); means over the documents. Tables of contents, indexes, running heads and
what packages print are in no source, so nothing reaches a recall of 1. Peers, in an environment of their own: pandoc
(pypandoc_binary) and pylatexenc.
"""

import argparse
import gzip
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.common import heading
from corpusmill.errors import DocumentError
from corpusmill.read import ReadCounts
from corpusmill.read.latex import LatexReader as Reader
from corpusmill.steps.extract.latex import Latex
from corpusmill.storage import stat

RUN = 5  # words
LEAST = 500  # runs in a PDF: shorter ones are left out
WORD = re.compile(r"[^\W\d_]{2,}")
HYPHEN = re.compile(r"(?<=[a-z])[-\u00ad\u2010\ufffe\x02]\s*\n\s*(?=[a-z])")
FORMULA = re.compile(r"\$[^$]*\$")
PEERS = {
    "pandoc": "import pypandoc; say = lambda t: pypandoc.convert_text(t, 'plain', 'latex', extra_args=['--wrap=none'])",
    "pylatexenc": "from pylatexenc.latex2text import LatexNodes2Text; say = LatexNodes2Text().latex_to_text",
}
LOOP = """
import json, sys
for line in sys.stdin:
    try: text = say(json.loads(line))
    except Exception as error: text = None
    print(json.dumps(text), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peer", type=Path, help="the python of an environment with pypandoc_binary and pylatexenc")
    parser.add_argument("--each", action="store_true", help="print every document")
    options = parser.parse_args()
    pairs = {source: runs(_pdf(pdf)) for source, pdf in sorted(_pairs(options.folder).items())}
    pairs = {source: wanted for source, wanted in pairs.items() if len(wanted) >= LEAST}
    heading(f"{options.folder.name}, {len(pairs)} documents", "benchmarks.quality.latex_text")
    sources = {path: _source(path) for path in pairs}
    texts: dict[str, list[str | None]] = {
        f"extract/latex, {markup}": [_ours(path, markup) for path in pairs] for markup in ("text", "markdown")
    }
    if options.peer:
        texts |= {name: _theirs(options.peer, code, list(sources.values())) for name, code in PEERS.items()}
    print("| | precision | recall | F1 | median F1 | F1 below .5 | without text |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, found in texts.items():
        scores = [_score(runs(text or ""), wanted) for text, wanted in zip(found, pairs.values())]
        precision, recall, f1 = (fmean(column) for column in zip(*scores))
        every = [each for _, _, each in scores]
        low, empty = sum(each < 0.5 for each in every), sum(not text for text in found)
        print(f"| {name} | {precision:.3f} | {recall:.3f} | {f1:.3f} | {median(every):.3f} | {low} | {empty} |")
        if options.each:
            for path, (p, r, f) in sorted(zip(pairs, scores), key=lambda one: one[1][2]):
                print(f"    {f:.2f} {p:.2f} {r:.2f} {path.name}", file=sys.stderr)


def _pairs(folder: Path) -> dict[Path, Path]:
    """source -> PDF, of sources that are whole documents."""
    found = {}
    for path in [*folder.rglob("*.tex"), *folder.rglob("*.tex.gz")]:
        pdf = path.with_name(path.name.removesuffix(".gz").removesuffix(".tex") + ".pdf")
        if pdf.is_file() and "\\begin{document}" in _source(path):
            found[path] = pdf
    return found


def _source(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")


def _pdf(path: Path) -> str:
    document: Any = importlib.import_module("pypdfium2").PdfDocument(path)
    text = "\n".join(document[number].get_textpage().get_text_range() for number in range(len(document)))
    return HYPHEN.sub("", text.replace("\r\n", "\n"))


def _ours(path: Path, markup: Any) -> str | None:
    reader, counts, step = Reader(), ReadCounts(), Latex(markup=markup)
    for piece in reader.split([stat(str(path))], 1 << 40):
        for batch in reader.read(piece, "latex", counts):
            try:
                return step.page_text(batch["raw"][0].as_py(), batch["charset"][0].as_py())
            except DocumentError:
                return None
    return None


def _theirs(python: Path, code: str, sources: list[str]) -> list[str | None]:
    asked = "".join(json.dumps(source) + "\n" for source in sources)
    command = [str(python), "-c", f"import sys; sys.setrecursionlimit(100000)\n{code}\n{LOOP}"]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def runs(text: str) -> set[tuple[str, ...]]:
    """Runs of words of letters, formulae left out where they are marked."""
    words = [word.lower() for word in WORD.findall(FORMULA.sub(" ", text))]
    return set(zip(*(words[at:] for at in range(RUN))))


def _score(found: set[tuple[str, ...]], wanted: set[tuple[str, ...]]) -> tuple[float, float, float]:
    both = len(found & wanted)
    precision, recall = both / max(1, len(found)), both / max(1, len(wanted))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


if __name__ == "__main__":
    main()
