"""Papers as LaTeX sources: files in folders, or archives as arXiv gives them."""

import io
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from corpusmill.errors import InputError, RecordError
from corpusmill.formats.latex import MAX_BRACES, group, most_open, without_comments
from corpusmill.read import FilePiece, PageKind
from corpusmill.read._bytes import Damaged, blocks, endings
from corpusmill.read._documents import DocumentBatches, FileReader, as_json
from corpusmill.read._lines import TooLong
from corpusmill.read._trees import StrictTarInfo
from corpusmill.read.text import KINDS
from corpusmill.storage import FileInfo, has_ending, is_local, local_path, open_read

SOURCES = (".tex", ".ltx", ".latex", ".sty", ".cls")
CLASS = re.compile(r"\\document(?:class|style)\b")
BEGINS = re.compile(r"\\begin\s*\{document\}")
INCLUDES = re.compile(
    r"\\(input|include|subfile|subfileinclude|import|subimport|usepackage|RequirePackage)\b\s*(?:\[[^\]]{0,1000}\])?\s*"
)
BARE = re.compile(r"[^\s{}\\%]+")  # of \input name
ARXIV = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?)?\d{7}|\d{4}\.\d{4,5}")
OLD_ARXIV = re.compile(r"([a-z-]+)(?:\.[A-Z]{2})?(\d{7})")
MAIN_NAMES = ("main", "ms", "paper", "article", "manuscript", "root")
MAX_DEPTH = 16  # of files that include files
Lookup = Callable[[str], str | None]


@dataclass(frozen=True, kw_only=True)
class LatexReader(FileReader):
    """Papers: each is one document, whose `raw` is the source of the main file with the files that it includes and its
    own packages in their places, and without comments. `extract/latex` expands macros and takes the rest off.

    A `.tex` file with \\documentclass is a paper, with the files that it includes from its folder and below; others are
    counted as `included_file`. A tar archive is a paper, or holds papers as gzip or tar files, as the bulk archives of
    arXiv do; a gzip file may be a single source. Of several main files the one named main, ms, paper and the like is
    taken, or else the largest. `metadata` has the paper's name and main file; where the name is an arXiv number, `url`
    is its page there.

    Faults: `truncated`, `damaged`. Expected dead letters: `no_main_file` (a PDF, a paper in plain TeX), `too_large`,
    `empty_file`. Missing included files are left out. An archive is one piece; nothing is unpacked to disk.
    """

    max_mb: float = 16.0  # of the sources of a paper; larger ones become dead letters
    step = "read/latex"
    gives = PageKind("LaTeX sources", "extract/latex")
    suffixes = (*endings("tex", "tar"), ".tgz", ".gz")

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        limit = int(self.max_mb * 1e6)
        name = posixpath.basename(piece.file.name.replace("\\", "/"))
        if has_ending(name, (".tex",)):
            self._file(piece.file, docs, limit)
        else:
            stream = _Stream(blocks(piece.file.path))
            try:
                if stream.is_tar():
                    yield from self._archive(stream, _stem(name), docs, limit)
                else:
                    data = stream.read(limit + 1)
                    if len(data) > limit:
                        raise TooLong(f"the source has more than {limit} bytes")
                    _add(docs, 0, _stem(name), {name.removesuffix(".gz"): data}, limit)
            except (RecordError, tarfile.TarError, EOFError) as error:
                self._dead(docs, stream.position, error)

    def _file(self, file: FileInfo, docs: DocumentBatches, limit: int) -> None:
        try:
            with open_read(file.path) as opened:
                data = opened.read(limit + 1)
            if len(data) > limit:
                raise TooLong(f"the file has more than {limit} bytes")
            text = _text(data)
            if not CLASS.search(without_comments(text)):
                docs.counts.skip("included_file")
                return
            folder = posixpath.dirname(file.path.replace("\\", "/"))
            budget = [limit]

            def read_near(path: str) -> str | None:
                try:
                    if is_local(file.path) and not _is_inside(Path(local_path(file.path)).parent, path):
                        return None
                    with open_read(posixpath.join(folder, path)) as opened:
                        data = opened.read(budget[0] + 1)
                except (InputError, OSError, ValueError):  # ValueError: a null character, which no name has
                    return None
                budget[0] -= len(data)
                if budget[0] < 0:
                    raise TooLong(f"the files of the paper have more than {limit} bytes")
                return _text(data)

            name = posixpath.basename(file.name.replace("\\", "/"))
            _document(docs, 0, _stem(name), name, assembled(text, "", read_near, limit))
        except RecordError as error:
            self._dead(docs, 0, error)

    def _archive(self, stream: "_Stream", paper: str, docs: DocumentBatches, limit: int) -> Iterator[pa.RecordBatch]:
        """The paper that an archive is, or the papers that are in it."""
        sources: dict[str, bytes] = {}
        budget, papers = limit, 0
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|", tarinfo=StrictTarInfo) as archive:
            while (member := archive.next()) is not None:
                cast(Any, archive).members.clear()  # of which each takes a kilobyte
                if not member.isfile():
                    continue
                name = posixpath.normpath(member.name)
                at = member.offset
                if member.issparse():
                    docs.dead(at, "damaged", f"{name} is stored as a sparse file, which is not read")
                elif name.endswith((".gz", ".tgz", ".tar")):
                    papers += 1
                    self._inner(_member_content(archive, member, limit), at, name, docs, limit)
                elif name.lower().endswith(SOURCES):
                    budget -= member.size
                    if budget >= 0:
                        sources[name] = _member_content(archive, member, limit) or b""
                elif (
                    name.endswith(".pdf") and "/" in name and not sources and _is_arxiv(_stem(posixpath.basename(name)))
                ):
                    papers += 1  # in the bulk archives: a paper without a source
                    docs.dead(at, "no_main_file", f"{name} is not a LaTeX source", expected=True)
                yield from docs.full()
        if budget < 0:
            docs.dead(0, "too_large", f"the files of the paper have more than {limit} bytes", expected=True)
        elif sources or not papers:
            _add(docs, 0, paper, sources, limit)

    def _inner(self, data: bytes | None, at: int, name: str, docs: DocumentBatches, limit: int) -> None:
        """A paper that is a member of an archive: gzip of a source, or of an archive, or an archive."""
        paper = _stem(posixpath.basename(name))
        try:
            if data is None:
                raise TooLong(f"{name} has more than {limit} bytes")
            if data.startswith(b"\x1f\x8b"):
                data = _gunzipped(data, 4 * limit)
            if not _Stream(iter([data])).is_tar():
                _add(docs, at, paper, {paper + ".tex": data}, limit)
                return
            sources: dict[str, bytes] = {}
            budget = limit
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:", tarinfo=StrictTarInfo) as archive:
                while (member := archive.next()) is not None:
                    cast(Any, archive).members.clear()
                    if member.isfile() and not member.issparse() and member.name.lower().endswith(SOURCES):
                        budget -= member.size
                        if budget < 0:
                            raise TooLong(f"the files of {name} have more than {limit} bytes")
                        sources[posixpath.normpath(member.name)] = _member_content(archive, member, limit) or b""
            _add(docs, at, paper, sources, limit)
        except (RecordError, tarfile.TarError, EOFError) as error:
            self._dead(docs, at, error)

    def _dead(self, docs: DocumentBatches, at: int, error: Exception) -> None:
        kind = KINDS.get(type(error), "damaged") if isinstance(error, RecordError) else "damaged"
        if isinstance(error, tarfile.TarError):
            kind = "truncated" if re.search("unexpected end|truncated|empty", str(error)) else "damaged"
        docs.dead(at, kind, str(error), expected=kind == "too_large")


class _Stream:
    """A file to read from once, of blocks."""

    def __init__(self, stream_blocks: Iterator[bytes]) -> None:
        self._more = stream_blocks
        self._buffer = b""
        self.position = 0

    def _fill(self, count: int) -> None:
        parts, have = [self._buffer], len(self._buffer)
        while have < count and (block := next(self._more, b"")):
            parts.append(block)
            have += len(block)
        self._buffer = b"".join(parts)

    def is_tar(self) -> bool:
        self._fill(512)
        return self._buffer[257:262] == b"ustar"

    def read(self, count: int) -> bytes:
        self._fill(count)
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        self.position += len(data)
        return data


def _gunzipped(data: bytes, limit: int) -> bytes:
    member = zlib.decompressobj(31)
    try:
        out = member.decompress(data, limit + 1)
    except zlib.error as error:
        raise Damaged(f"the gzip data is damaged: {error}") from error
    if len(out) > limit:
        raise TooLong(f"it holds more than {limit} bytes")
    if not member.eof:
        raise Damaged("the gzip data is cut off")
    return out


def _member_content(archive: tarfile.TarFile, member: tarfile.TarInfo, limit: int) -> bytes | None:
    """The content of a member; None if it has more bytes than the limit."""
    opened = archive.extractfile(member)
    if opened is None or member.size > limit:
        return None
    return opened.read()


def _add(docs: DocumentBatches, at: int, paper: str, sources: dict[str, bytes], limit: int) -> None:
    """The document of a paper, or why there is none."""
    texts = {name: _text(data) for name, data in sources.items()}
    main = main_file(texts)
    if main is None:
        docs.dead(at, "no_main_file", f"no source of {paper} has \\documentclass", expected=True)
        return
    text = assembled(texts[main], posixpath.dirname(main), texts.get, limit)
    _document(docs, at, paper, main, text)


def _document(docs: DocumentBatches, at: int, paper: str, main: str, text: str) -> None:
    old = OLD_ARXIV.fullmatch(paper)
    number = f"{old[1]}/{old[2]}" if old else paper
    url = f"https://arxiv.org/abs/{number}" if _is_arxiv(paper) and not paper.isdigit() else None
    raw = text.encode("utf-8", "replace")
    docs.add(at, raw=raw, charset="utf-8", url=url, metadata=as_json({"paper": paper, "main": main}))


def _is_arxiv(name: str) -> bool:
    return ARXIV.fullmatch(name) is not None


def _stem(name: str) -> str:
    """A paper's name, by that of its file."""
    return re.sub(r"(?:\.(?:tar|tgz|gz|bz2|xz|tex|pdf))+$", "", name)


def _is_inside(folder: Path, path: str) -> bool:
    """Whether a path leads to a file in a folder: not to a pipe, and by no link to elsewhere."""
    place = (folder / path).resolve()
    return place.is_relative_to(folder.resolve()) and place.is_file()


def _text(data: bytes) -> str:
    """UTF-8, or else Latin-1, in which sources were written before."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def main_file(texts: dict[str, str]) -> str | None:
    """The name of the file that the others are included in: with \\documentclass, best with \\begin{document}, named as
    such files are, the nearest to the top, the largest."""

    def rank(name: str) -> tuple[bool, bool, int, int, str]:
        stem = posixpath.splitext(posixpath.basename(name))[0].lower()
        return (not BEGINS.search(texts[name]), stem not in MAIN_NAMES, name.count("/"), -len(texts[name]), name)

    candidates = [
        name
        for name, text in texts.items()
        if not name.lower().endswith((".sty", ".cls")) and CLASS.search(without_comments(text))
    ]
    return min(candidates, key=rank, default=None)


def assembled(text: str, folder: str, lookup: Lookup, limit: int) -> str:
    """A source without comments, and with the files that it includes in their places.

    lookup   a path inside the paper -> the text of that file, None if there is none
    Raises TooLong if it grows beyond `limit` characters.
    """
    budget = [limit]

    def insert(text: str, folder: str, depth: int, outside: frozenset[str]) -> str:
        text = without_comments(text)
        budget[0] -= len(text)
        if budget[0] < 0:
            raise TooLong(f"the source with what it includes has more than {limit} characters")
        if (count := most_open(text)) > MAX_BRACES:
            raise Damaged(f"{count} braces are open at a time, more than {MAX_BRACES}")
        parts: list[str] = []
        at = 0
        while match := INCLUDES.search(text, at):
            parts.append(text[at : match.start()])
            at = match.end()
            how = match[1]
            operand = group(text, at)
            if operand is None and how == "input" and (bare := BARE.match(text, at)):
                operand = bare[0], bare.end()
            if operand is None or depth >= MAX_DEPTH:
                parts.append(match[0])
                continue
            file_names, at = operand
            below = folder
            if how.endswith("import"):
                below = posixpath.join(folder, file_names.strip())
                second = group(text, at)
                file_names, at = second if second else ("", at)
            possible = (".sty",) if how in ("usepackage", "RequirePackage") else ("", ".tex", ".ltx")
            for name in file_names.split(",") if possible == (".sty",) else [file_names]:
                for ending in possible:
                    path = posixpath.normpath(posixpath.join(below, name.strip().strip('"') + ending))
                    if not name.strip() or path.startswith(("..", "/")) or ":" in path or path in outside:
                        continue
                    if (included := lookup(path)) is not None:
                        inner = insert(
                            included, below if how.endswith("import") else folder, depth + 1, outside | {path}
                        )
                        # Of a file with a preamble of its own (subfile), what it says.
                        begin, end = BEGINS.search(inner), inner.rfind("\\end{document}")
                        inner = (
                            inner[begin.end() : end if end > 0 else None] if begin and CLASS.search(inner) else inner
                        )
                        parts.append(inner)
                        break
        return "".join([*parts, text[at:]])

    return insert(text, folder, 0, frozenset())


Latex = LatexReader  # its name before 1.0
