"""How much of a document its PDF gives back: python -m benchmarks.quality.pdf_paragraphs FILE.pdf FOLDER_OF_HTML

The folder holds the same document as HTML, made of the same sources. Of its paragraphs of 20 words or more, the share
that is in the text of the PDF, white space and the form of quotes aside, and the share that is a line of it, alone and
whole. Beside `read: pdf`, what PDFium gives by itself.
"""

import argparse
import importlib
from pathlib import Path
from typing import Any

from benchmarks.common import heading
from corpusmill.read import ReadCounts
from corpusmill.read.pdf import PdfReader
from corpusmill.steps.extract.blocks import Blocks
from corpusmill.storage import stat

LEAST_WORDS = 20
SAME = str.maketrans({"“": '"', "”": '"', "’": "'", "‘": "'"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("html", type=Path)
    options = parser.parse_args()
    wanted = paragraphs(options.html)
    heading(f"{options.pdf.name}, {len(wanted)} paragraphs", "benchmarks.quality.pdf_paragraphs")
    print("| | in the text | as a line |\n|---|---:|---:|")
    for name, text in (("`read: pdf`", ours(options.pdf)), ("PDFium by itself", plain(options.pdf))):
        whole, lines = same(text), {same(line) for line in text.split("\n")}
        inside, alone = (sum(part in where for part in wanted) / len(wanted) for where in (whole, lines))
        print(f"| {name} | {inside:.3f} | {alone:.3f} |")


def paragraphs(folder: Path) -> set[str]:
    step = Blocks()
    lines = (line for page in sorted(folder.rglob("*.html")) for line in step.html_text(page.read_bytes()).split("\n"))
    return {same(line) for line in lines if len(line.split()) >= LEAST_WORDS}


def ours(pdf: Path) -> str:
    reader, counts = PdfReader(), ReadCounts()
    pieces = reader.split([stat(str(pdf))], 1 << 40)
    return "".join(batch["text"][0].as_py() for piece in pieces for batch in reader.read(piece, "pdf", counts))


def plain(pdf: Path) -> str:
    document: Any = importlib.import_module("pypdfium2").PdfDocument(pdf)
    return "\n".join(document[number].get_textpage().get_text_range() for number in range(len(document)))


def same(text: str) -> str:
    return " ".join(text.translate(SAME).split())


if __name__ == "__main__":
    main()
