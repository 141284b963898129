"""Targets: readers of wikis, forums, papers, books, PDF and code, and of documents with signals beside them.

What is packed, a book or an archive of code, is changed inside half of the time, and else as the bytes that it is.
"""

import gzip
import io
import json
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.case import Files, Wrong
from fuzz.mutate import BYTES, JSON, NUMBERS, mutated, replaced
from fuzz.seeds import packed, prose

Members = dict[str, bytes]
NAMES = {
    "mediawiki": "case.xml",
    "stackexchange": "Posts.xml",
    "latex": "case.tex",
    "epub": "case.epub",
    "docx": "case.docx",
    "pdf": "case.pdf",
    "code": "case.tar",
}
XML = [
    (r"<[^>]*>", ["<", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "<!--", "<![CDATA[", "</page>", "<page>", "<row", "&a;", ""]),
    (r'"([^"]*)"', ['""', '"', "'", '"99999999999999999999"', '"-1"', '"\x00"', '"2024-13-45"']),
    (r">([^<]+)<", [">", ">&#x110000;<", ">&#0;<", "></", ">\ufffe<"]),
]
KNOWN: dict[str, list[tuple[str, list[str]]]] = {
    "mediawiki": XML,
    "stackexchange": XML,
    "epub": [*XML, (r'href="([^"]*)"', ['href="../../../etc/passwd"', 'href="%00"', 'href="a.xhtml#b"'])],
    "docx": [*XML, (r'val="([^"]*)"', ['val="-1"', 'val="99999999999999999999"', 'val="bullet"', 'val="A"'])],
    "latex": [
        (r"\\(\w+)", ["\\input", "\\begin", "\\end", "\\newcommand", "\\def", "\\", "\\include{main}"]),
        (r"[{}$%\[\]]", ["{", "}", "{{{{", "$", "$$", "%", "\\%", "[", "]"]),
    ],
    "pdf": [
        (r"(\d+)", NUMBERS),
        (r"<<|>>|\[|\]|R", ["<<", ">>", "[", "]", "R", "null", "stream", "endobj"]),
        (r"/(\w+)", ["/Kids", "/Parent", "/Count", "/Filter /FlateDecode", "/Length"]),
    ],
    "code": [(r"\w+", ["import x", "\\", "\0", "license", "MIT"]), (r"[\"{}\[\],:]", ['"', "{", "}", "[[[[", ","])],
}


@cache
def seeds(format_: str) -> tuple[bytes | Members, ...]:
    random = Random(format_)
    return tuple(globals()[f"_{format_}"](random))


def _mediawiki(random: Random) -> list[bytes]:
    head = (
        '<mediawiki xml:lang="de"><siteinfo><dbname>madewiki</dbname><base>https://made.org/wiki/Start</base>'
        '<namespaces><namespace key="6">Datei</namespace></namespaces></siteinfo>\n'
    )
    pages = [
        f"<page><title>Page {n}</title><ns>0</ns><id>{n}</id><revision><id>{n}</id><timestamp>2024-05-01T00:00:00Z"
        f'</timestamp><model>wikitext</model><text xml:space="preserve">{prose(random)} [[a|b]] &lt;ref>x&lt;/ref>'
        "</text></revision></page>\n"
        for n in range(5)
    ]
    twice = pages[0].replace("</page>", pages[1].partition("<id>1</id>")[2])
    return [f"{head}{''.join(body)}</mediawiki>".encode() for body in (pages, [twice, '<page><redirect title="a"/>'])]


def _stackexchange(random: Random) -> list[bytes]:
    question = f'<row Id="1" PostTypeId="1" Score="3" Title="T" Tags="&lt;a&gt;" Body="&lt;p&gt;{prose(random)}" />'
    answers = "".join(
        f'<row Id="{n}" PostTypeId="2" ParentId="1" CreationDate="2012-05-01T10:00:00.000" Score="{n}" Body="b{n}" />\n'
        for n in range(2, 6)
    )
    return [f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{question}\n{answers}</posts>'.encode()]


def _latex(random: Random) -> list[bytes]:
    paper = (
        "\\documentclass[a4paper]{article}\n\\newcommand{\\R}[1][x]{\\mathbb{R}#1}\n\\title{On boats}\n\\begin{document}\n"
        f"\\section{{Ways}}\\label{{w}} {prose(random)}~\\cite{{a}} in $\\R^2$ % a comment\n\\input{{case}}\n"
        "\\begin{itemize}\\item one \\item two\\end{itemize}\n\\begin{verbatim}%\\end{document}\\end{verbatim}\n\\end{document}"
    )
    return [paper.encode(), paper.replace("document}", "document} ").encode("latin-1")]


def _epub(random: Random) -> list[Members]:
    package = (
        '<package><metadata><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">T</dc:title></metadata><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine>'
        "</package>"
    )
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/b.opf"/></rootfiles></container>',
        "OPS/b.opf": package,
        "OPS/a.xhtml": f"<html><head><title>x</title></head><body><p>{prose(random)}</p></body></html>",
    }
    return [{name: content.encode() for name, content in members.items()}]


def _docx(random: Random) -> list[Members]:
    spaces = 'xmlns:w="made:w" xmlns:m="made:m"'
    relation = '<Relationship Id="{0}" Type="made/{0}" Target="{1}"/>'
    note = '<w:footnote w:id="1"><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnote>'
    body = (
        f'<w:p><w:pPr><w:pStyle w:val="A"/></w:pPr><w:r><w:t>{prose(random)}</w:t></w:r></w:p><w:p><w:pPr><w:numPr>'
        '<w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>an item</w:t><w:footnoteReference w:id="1"/>'
        '</w:r></w:p><w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>a cell</w:t></w:r></w:p>'
        "</w:tc></w:tr></w:tbl><w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>x</m:t></m:r>"
        "</m:den></m:f></m:oMath></w:p>"
    )
    members = {
        "_rels/.rels": f"<Relationships>{relation.format('officeDocument', 'w/d.xml')}</Relationships>",
        "w/_rels/d.xml.rels": "<Relationships>"
        + "".join(relation.format(kind, f"{kind}.xml") for kind in ("styles", "numbering", "footnotes"))
        + "</Relationships>",
        "w/d.xml": f"<w:document {spaces}><w:body>{body}</w:body></w:document>",
        "w/styles.xml": f'<w:styles {spaces}><w:style w:styleId="A"><w:name w:val="heading 1"/><w:basedOn w:val="A"/>'
        '<w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>',
        "w/numbering.xml": f'<w:numbering {spaces}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="1"><w:numFmt '
        'w:val="decimal"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>',
        "w/footnotes.xml": f"<w:footnotes {spaces}>{note}</w:footnotes>",
    }
    return [{name: content.encode() for name, content in members.items()}]


def _pdf(random: Random) -> list[bytes]:
    drawn = f"BT /F1 10 Tf 50 700 Td ({prose(random)}) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Count 1 /Kids [5 0 R] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> /Contents 4 0 R >>",
    ]
    out, starts = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        starts.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{start:010d} 00000 n \n" for start in starts)
    tail = f"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return [f"{out}xref\n0 6\n0000000000 65535 f \n{table}{tail}".encode()]


def _code(random: Random) -> list[Members]:
    notebook = {"cells": [{"cell_type": "code", "source": ["x = 1\n"]}], "metadata": {}, "nbformat": 4}
    members = {
        "repo/LICENSE": "MIT License\n\nPermission is hereby granted",
        "repo/.gitignore": "*.log\nout/\n!keep\n[a-",
        "repo/.gitattributes": "*.py linguist-generated\n",
        "repo/a.py": f"# SPDX-License-Identifier: MIT\nimport b\n# {prose(random)}\n",
        "repo/src/b.js": "import x from './a'\n",
        "repo/n.ipynb": json.dumps(notebook),
        "repo/go.mod": "module made.org/x\n",
    }
    return [{name: content.encode() for name, content in members.items()}]


def _zip(members: Members) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def _tar(members: Members) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Source:
    """Every record of a file is a document, a dead letter, or skipped, whatever the file is."""

    def __init__(self, format_: str) -> None:
        self.format = format_
        self.name = f"read-{format_}"

    def prepare(self, base: Path) -> None:
        from corpusmill import read

        self.readers = [read.find(self.format)()]
        if self.format == "code":
            self.readers.append(read.find("code")(document="repository", order="dependency"))
        if self.format == "epub":
            self.readers.append(read.find("epub")(document="chapter"))

    def plain(self) -> list[Files]:
        return [self._files(seeds(self.format)[0], Random(0))]

    def make(self, random: Random) -> Files:
        seed = random.choice(seeds(self.format))
        if isinstance(seed, bytes):
            return self._files(self._changed(random, seed), random)
        if random.random() < 0.5:
            name = random.choice(list(seed))
            return self._files({**seed, name: self._changed(random, seed[name])}, random)
        ((name, data),) = self._files(seed, random).items()
        return {name: mutated(random, data, [data], BYTES)}

    def _changed(self, random: Random, data: bytes) -> bytes:
        if random.random() < 0.6:
            for _ in range(random.choice((1, 2, 4))):
                data = replaced(random, data, *random.choice(KNOWN[self.format]))
            return data
        return mutated(random, data, [data], BYTES)

    def _files(self, seed: bytes | Members, random: Random) -> Files:
        name = NAMES[self.format]
        if isinstance(seed, dict):
            if self.format in ("epub", "docx") or random.random() < 0.5:
                return {"case.zip" if self.format == "code" else name: _zip(seed)}
            return {name: _tar(seed)}
        if self.format in ("mediawiki", "stackexchange") and random.random() < 0.5:
            how = random.choice(("gz", "bz2"))
            return {f"{name}.{how}": packed(seed, how, random.choice((1, 2)))}
        if self.format == "latex" and random.random() < 0.4:
            return {"case.tar.gz": gzip.compress(_tar({"main.tex": seed, "case.tex": seed[200:]}), mtime=0)}
        return {name: seed}

    def check(self, folder: Path) -> str:
        from corpusmill.errors import InputError

        (path,) = folder.iterdir()
        try:
            for reader in self.readers:
                self._read(reader, str(path))
        except InputError:
            return "refused"
        return "right"

    def _read(self, reader: Any, path: str) -> None:
        from corpusmill.read import ReadCounts, files_at

        counts = ReadCounts()
        documents = letters = 0
        for target in (1 << 20, 200):
            for piece in reader.split(files_at(reader, [path]), target):
                for batch in reader.read(piece, "made", counts):
                    batch.validate(full=True)
                    documents += len(batch)
                    letters += len(counts.drain())
        letters += len(counts.drain())
        found = documents + letters + sum(counts.skipped.values())
        if found != counts.records or documents != counts.documents or letters != counts.dead_letters:
            raise Wrong(f"{counts.records} records, and {documents} documents, {letters} letters, {counts.skipped}")


class Beside(Source):
    """Documents are joined with the signals of their own record, or are dead letters, whatever the files are."""

    def __init__(self, format_: str) -> None:
        self.format = format_
        self.name = f"read-{format_}"

    def prepare(self, base: Path) -> None:
        from corpusmill import read

        parts = {"parts": ("quality_signals", "duplicates", "minhash")} if self.format == "redpajama" else {}
        self.reader = read.find(self.format)(**parts)

    def plain(self) -> list[Files]:
        return [self._layout(Random(0))]

    def make(self, random: Random) -> Files:
        files = self._layout(random)
        name = random.choice(list(files))
        data = files[name]
        if name.endswith(".gz") and random.random() < 0.7:
            lines = gzip.decompress(data)
            how = random.random()
            if how < 0.4:
                lines = replaced(random, lines, r'("[^"\n]*"|\d+)', JSON + NUMBERS)
            elif how < 0.7:
                kept = lines.splitlines(keepends=True)
                kept.insert(random.randrange(len(kept)), kept.pop(random.randrange(len(kept))))
                lines = b"".join(kept[: random.choice((len(kept), len(kept) - 1))])
            else:
                lines = mutated(random, lines, [lines], BYTES)
            return {**files, name: gzip.compress(lines, mtime=0)}
        return {**files, name: mutated(random, data, [data], BYTES)}

    def _layout(self, random: Random) -> Files:
        rows = [{"id": f"d{n}", "raw_content" if self.format == "redpajama" else "text": f"text {n}"} for n in range(9)]
        files = {"documents/a/0.json.gz": _lines(rows)}
        if self.format == "dolma":
            for tagger in ("one", "two"):
                said = [{"id": f"d{n}", "attributes": {"x": [[0, 6, n]]}} for n in range(9)]
                files[f"attributes/{tagger}/a/0.json.gz"] = _lines(said)
            return files
        ids = [f"a/0.json.gz/{n}" for n in range(9)]
        signals = [{"id": name, "quality_signals": {"x": [[0, 6, n]]}} for n, name in enumerate(ids)]
        files["quality_signals/a/0.signals.json.gz"] = _lines(signals)
        files["duplicates/a/0.duplicates.parquet"] = _table(doc_id=ids[2:4])
        files["minhash/a/0.minhash.parquet"] = _table(id=ids, signature=[[bytes([n])] for n in range(9)])
        return files

    def check(self, folder: Path) -> str:
        from corpusmill.errors import InputError
        from corpusmill.read import ReadCounts

        counts = ReadCounts()
        documents = 0
        try:
            for piece in self.reader.split(self.reader.find_files([str(folder)]), 1 << 20):
                for batch in self.reader.read(piece, "made", counts):
                    batch.validate(full=True)
                    documents += len(batch)
        except InputError:
            return "refused"
        if documents + counts.dead_letters + sum(counts.skipped.values()) != counts.records:
            raise Wrong(f"{counts.records} records, {documents} documents, {counts.dead_letters} dead letters")
        return "right"


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows), mtime=0)


def _table(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


def targets() -> list[Any]:
    return [*map(Source, NAMES), Beside("dolma"), Beside("redpajama")]
