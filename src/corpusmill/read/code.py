"""Source trees: folders and archives of repositories."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.errors import RecipeError, RecordError, StorageError, did_you_mean
from corpusmill.formats.code.code_files import KINDS, find_language, kind_of, language_of, languages, marks_of
from corpusmill.formats.code.gitignore import LONGEST_PATH, Attributes, Ignored
from corpusmill.formats.code.imports import RepositoryPaths, go_module, in_order, needed_by
from corpusmill.formats.code.licence_texts import MAX_CHARACTERS, licence_of_source, of_files
from corpusmill.read import END, FilePiece, _lines, whole_file
from corpusmill.read._bytes import sniff
from corpusmill.read._documents import DocumentBatches, FileReader, as_json, check_choice
from corpusmill.read._notebooks import NotANotebook, as_text, kernel_language
from corpusmill.read._trees import ARCHIVES, ENDING, Tree, TreeFile, TreeTooLarge, find_trees, open_tree
from corpusmill.read.text import decode
from corpusmill.storage import FileInfo, PassedOver, printable

FAULTS = {**_lines.KINDS, TreeTooLarge: "too_large"}
LICENCES = ("license", "licence", "copying", "unlicense", "mit-license", "apache-license", "gpl-license")
BINARY_CHECK_BYTES = 8000  # bytes in which a zero says that a file is binary, as git has it
NOTEBOOK = ".ipynb"


@dataclass(frozen=True, kw_only=True)
class CodeReader(FileReader):
    """Documents from repositories: folders, tar archives (plain, gzip, bz2, xz, zstd) and zip archives.

    document    a `file`, or the `repository`: its files one after the other
    order       of the files of a repository: by `path`, or by `dependency`, every file after those that it imports
                (Python, JavaScript and TypeScript, Java and Kotlin, Go, Rust, C and C++)
    before_file the line before each file of a repository, with {path} and {repository} in it
    languages   names of GitHub Linguist, or aliases of them (python, c++): other files are left out
    kinds       of languages to read, where `languages` names none: programming, markup, prose, data
    ignore      patterns of files to leave out, as lines of a .gitignore in the root
    notebooks   Jupyter's as a `script` with the prose in comments, as `markdown`, or as `json`, untouched

    A folder is a repository if it has `.git`, or holds any file but archives; else the folders and archives in it are
    looked at. Files that `.gitignore` names are left out; links are not followed.

    `metadata` has `repository`, `path`, `commit` (of a clone, or of an archive by `git archive` or GitHub), `language`,
    `licence` (SPDX, of the file), `repository_licence` (SPDX, of LICENSE and COPYING), and `is_generated`,
    `is_minified`, `is_vendored`, `is_test`, `is_documentation`, which `annotate/metadata` makes signals of;
    `.gitattributes` has the last word. A repository as one document has `files`, with `start` and `end` of each in
    characters, and `languages`.

    A document's position is the number of its file in the order of paths, its id a hash of repository and path.
    Counted, no documents: `ignored`, `binary`, `blank`, `unknown_language`, `other_language`. Faults: `bad_notebook`,
    `truncated`, `damaged`, `window_too_large`; `too_large` and `empty_file` are expected. Folders, zip and plain tar
    archives are split between workers at files; a compressed tar is one piece, and takes its decompressed size of disk
    meanwhile. A repository of more than `max_document_mb` becomes several documents, cut between files.

    Source: Kocetkov et al. 2022, "The Stack", arXiv:2211.15533; Guo et al. 2024, "DeepSeek-Coder", arXiv:2401.14196,
    section 2.2 (order of dependency); GitHub Linguist
    """

    document: Literal["file", "repository"] = "file"  # what a document is
    order: Literal["path", "dependency"] = "path"
    before_file: str = "# file: {path}\n"
    languages: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = ("programming", "markup", "prose")  # of languages
    ignore: tuple[str, ...] = ()
    notebooks: Literal["script", "markdown", "json"] = "script"
    max_mb: float = 4.0  # of a file
    max_document_mb: float = 32.0  # of a repository as one document
    max_repository_mb: float = 4096.0  # of an archive, decompressed
    step = "read/code"
    suffixes = ARCHIVES  # and folders
    begins: ClassVar = {b"PK\x03\x04": "a ZIP archive: unpack it first, unless it is a repository"}
    assets: ClassVar[tuple[str, ...]] = ("code-languages", "licences")

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("document", self.document, ("file", "repository")),
            ("order", self.order, ("path", "dependency")),
            ("notebooks", self.notebooks, ("script", "markdown", "json")),
            *(("kinds", kind, KINDS) for kind in self.kinds),
        ):
            check_choice(name, value, choices)
        if self.order == "dependency" and self.document == "file":
            raise RecipeError("order: dependency is of a repository as one document: add document: repository")
        for name in ("max_mb", "max_document_mb", "max_repository_mb"):
            if getattr(self, name) <= 0:
                raise RecipeError(f"need {name} > 0, got {getattr(self, name)}")
        try:
            self.before_file.format(path="a", repository="b")
        except (KeyError, IndexError, ValueError) as error:
            raise RecipeError(
                f"before_file may have {{path}} and {{repository}} in it, got {self.before_file!r}"
            ) from error
        for name in self.languages or ():
            if find_language(name) is None:
                suggestion = did_you_mean(name, languages().kinds) or "."
                raise RecipeError(f'"{name}" is no language of GitHub Linguist{suggestion}')
        for field in ("languages", "kinds", "ignore"):
            value = getattr(self, field)
            object.__setattr__(self, field, None if value is None else tuple(value))

    def find_files(self, paths: Sequence[str], passed_over: PassedOver | None = None) -> list[FileInfo]:
        """The repositories that paths name."""
        return find_trees(paths, passed_over)

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        pieces: list[FilePiece] = []
        for file in files:
            cut = self.document == "file" and file.size > target_bytes
            pieces += self._cuts(file, target_bytes) if cut and can_be_cut(file) else [whole_file(file)]
        return pieces

    def _cuts(self, file: FileInfo, target_bytes: int) -> list[FilePiece]:
        """Runs of files of about `target_bytes`; of an archive, of bytes that they take in it, about."""
        try:
            with open_tree(file, self._limit()) as tree:
                sizes = [entry.size for entry in tree.entries]
        except RecordError:
            return [whole_file(file)]
        share = file.size / max(1, sum(sizes))
        cuts, size = [0], 0.0
        for number, entry_size in enumerate(sizes):
            if size >= target_bytes:
                cuts.append(number)
                size = 0.0
            size += entry_size * share
        ends = [*cuts[1:], END]
        return [FilePiece(file, start, stop, int(sum(sizes[start:stop]) * share)) for start, stop in zip(cuts, ends)]

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        try:
            with open_tree(piece.file, self._limit()) as tree:
                yield from self._read(tree, docs)
                if tree.broken is not None and piece.stop > len(tree.entries):
                    docs.unreadable(len(tree.entries), tree.broken, FAULTS)
        except RecordError as error:
            docs.unreadable(0, error, FAULTS)

    def _read(self, tree: Tree, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        repository = Repository(self, tree, docs)
        if self.document == "file":
            for position in repository.range():
                if (file := repository.file(position)) is not None:
                    own_id = f"{docs.piece.file.name}/{file.about['path']}"
                    docs.add(
                        position, text=file.text, given=own_id, metadata=as_json({**repository.about, **file.about})
                    )
                yield from docs.full()
            return
        for number, part in enumerate(repository.parts(int(self.max_document_mb * 1e6))):
            about = {**repository.about, "files": part.files, "languages": dict(part.languages), "part": number}
            docs.add(
                part.position,
                text="".join(part.texts),
                given=f"{docs.piece.file.name}#{number}",
                metadata=as_json(about),
            )
            yield from docs.full()

    def _limit(self) -> int:
        return int(self.max_repository_mb * 1e6)


def can_be_cut(file: FileInfo) -> bool:
    """Whether parts of it can be read without what is before them: of a compressed tar they cannot."""
    return file.is_folder or sniff(file.path) in ("", "zip")


@dataclass(frozen=True)
class File:
    """A file that is read: its text, and its own metadata."""

    text: str
    about: dict[str, Any]


class RepositoryPart:
    """Files of a repository that make one document."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.texts: list[str] = []
        self.files: list[dict[str, Any]] = []
        self.languages: Counter[str] = Counter()
        self.characters = 0
        self.bytes = 0

    def add(self, before: str, file: File) -> None:
        if self.texts and not self.texts[-1].endswith("\n"):
            before = f"\n{before}"
        start = self.characters + len(before)
        end = start + len(file.text)
        self.texts += [before, file.text]
        self.files.append({**file.about, "start": start, "end": end})
        self.languages[file.about["language"]] += len(file.text)
        self.characters = end
        self.bytes += len(before) + len(file.text.encode("utf-8", "replace"))


class Repository:
    """One tree as it is read: which files are documents, and what is known of all of them."""

    def __init__(self, reader: CodeReader, tree: Tree, docs: DocumentBatches) -> None:
        self.reader = reader
        self.tree = tree
        self.docs = docs
        self.limit = int(reader.max_mb * 1e6)
        self.ignored = Ignored(self._texts_named(".gitignore"), reader.ignore)
        self.attributes = Attributes(self._texts_named(".gitattributes"))
        self.wanted = None if reader.languages is None else {find_language(name) for name in reader.languages}
        licence = of_files(self._licences())
        self.about: dict[str, Any] = {
            "repository": tree.remote or printable(ENDING.sub("", docs.piece.file.name)),
            "commit": tree.commit,
            "repository_licence": licence.name if licence else None,
        }

    def range(self) -> range:
        """The numbers of the files of this piece."""
        return range(self.docs.piece.start, min(self.docs.piece.stop, len(self.tree.entries)))

    def file(self, position: int, quiet: bool = False) -> File | None:
        """The file of a number, None if it is none that is read: then that is counted, unless `quiet`."""
        entry = self.tree.entries[position]
        try:
            return self._file(entry)
        except NotRead as reason:
            if not quiet:
                self._count(position, entry, reason)
        return None

    def _count(self, position: int, entry: TreeFile, reason: "NotRead") -> None:
        if reason.said is None:
            self.docs.counts.skip(reason.kind)
        else:
            name = entry.path if len(entry.path) <= LONGEST_PATH else f"{entry.path[:80]}…"
            self.docs.dead(position, reason.kind, f"{name}: {reason.said}", expected=reason.kind == "too_large")

    def _file(self, entry: TreeFile) -> File:
        if len(entry.path) > LONGEST_PATH:
            raise NotRead(
                "too_large", f"its path has {len(entry.path)} characters, and at most {LONGEST_PATH} are read"
            )
        if self.ignored.is_ignored(entry.path):
            raise NotRead("ignored")
        if entry.size > self.limit:
            raise NotRead("too_large", f"the file has {entry.size} bytes, and at most {self.limit} are read")
        data = self._bytes(entry)
        if b"\0" in data[:BINARY_CHECK_BYTES] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise NotRead("binary")
        if entry.path.endswith(NOTEBOOK) and self.reader.notebooks != "json":
            text, language = self._notebook(data)
        else:
            text = decode(data, "utf-8")
            language = language_of(entry.path, text)
        attributes = self.attributes.of_path(entry.path)
        language = find_language(attributes.get("linguist-language", "").replace("-", " ")) or language
        if not text.strip():
            raise NotRead("blank")
        self._check_language(language)
        licence = licence_of_source(text)
        marks = asdict(marks_of(entry.path, text, language))
        for name in ("generated", "vendored", "documentation"):
            if (value := attributes.get(f"linguist-{name}")) is not None:
                marks[f"is_{name}"] = value != "false"
        about = {
            "path": printable(entry.path),
            "language": language,
            "licence": licence.name if licence else None,
            **marks,
        }
        return File(text, about)

    def _check_language(self, language: str | None) -> None:
        if self.wanted is not None:
            if language not in self.wanted:
                raise NotRead("other_language")
        elif language is None:
            raise NotRead("unknown_language")
        elif kind_of(language) not in self.reader.kinds:
            raise NotRead("other_language")

    def _notebook(self, data: bytes) -> tuple[str, str | None]:
        try:
            kernel = kernel_language(data)
            language = find_language(kernel) or "Python"
            if self.reader.notebooks == "markdown":
                return as_text(data, "markdown", language), "Markdown"
            return as_text(data, "script", language), language
        except NotANotebook as error:
            raise NotRead("bad_notebook", str(error)) from error

    def parts(self, limit: int) -> Iterator[RepositoryPart]:
        """The files of the repository as documents of up to `limit` bytes, in the order that the reader is given."""
        part: RepositoryPart | None = None
        quiet = self.reader.order == "dependency"  # they were counted when their imports were read
        for position in self._order():
            if (file := self.file(position, quiet)) is None:
                continue
            before = self.reader.before_file.format(path=file.about["path"], repository=self.about["repository"])
            if part is not None and part.bytes + len(file.text) > limit:
                yield part
                part = None
            part = part or RepositoryPart(position)
            part.add(before, file)
        if part is not None:
            yield part

    def _order(self) -> Sequence[int]:
        numbers = self.range()
        if self.reader.order == "path":
            return numbers
        paths = {self.tree.entries[number].path: number for number in numbers}
        modules = {path.rpartition("/")[0]: text for path, text in self._texts("go.mod")}
        files = RepositoryPaths(
            paths, {folder: module for folder, text in modules.items() if (module := go_module(text))}
        )
        needs: dict[str, list[str]] = {}
        for path, number in paths.items():
            if (file := self.file(number)) is not None:
                needs[path] = needed_by(path, file.text, file.about["language"], files)
        return [paths[path] for path in in_order(list(needs), needs)]

    def _texts_named(self, name: str) -> dict[str, str]:
        """Folder -> text of the files of a name."""
        return {path.rpartition("/")[0]: text for path, text in self._texts(name)}

    def _texts(self, name: str) -> Iterator[tuple[str, str]]:
        for entry in self.tree.entries:
            is_read = entry.size <= self.limit and len(entry.path) <= LONGEST_PATH
            if is_read and entry.path.rpartition("/")[2] == name:
                yield entry.path, self._text(entry)

    def _licences(self) -> Iterator[tuple[str, str]]:
        for entry in self.tree.entries:
            if "/" not in entry.path and entry.path.lower().startswith(LICENCES) and entry.size <= MAX_CHARACTERS:
                yield entry.path, self._text(entry)

    def _text(self, entry: TreeFile) -> str:
        try:
            return self._bytes(entry).decode("utf-8", "replace")
        except NotRead:
            return ""

    def _bytes(self, entry: TreeFile) -> bytes:
        try:
            return self.tree.read(entry)
        except StorageError:
            raise
        except (RecordError, OSError) as error:
            raise NotRead("damaged", str(error)) from error


class NotRead(Exception):
    """Why a file is no document: a kind, and what is said if it is a dead letter."""

    def __init__(self, kind: str, reason: str | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.said = reason


Code = CodeReader  # its name before 1.0
