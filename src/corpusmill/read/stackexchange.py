"""Questions and answers of Stack Exchange's data dumps."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, RecordError
from corpusmill.read import END, HTML_PAGES, FilePiece, whole_file
from corpusmill.read._bytes import endings, sniff
from corpusmill.read._documents import DocumentBatches, FileReader, as_json, check_choice
from corpusmill.read._lines import lines
from corpusmill.read.text import KINDS
from corpusmill.storage import FileInfo

MAX_PIECES = 16  # of a file: each reads all of it for the answers to its questions, which costs half of parsing it once
BUCKET = 8 << 20  # bytes of questions that are put together at a time, roughly, with their answers
MAX_BUCKETS = 256  # files that are open at a time
ROW_ID = re.compile(rb'\sId="(\d{1,18})"')
PARENT = re.compile(rb'\sParentId="(\d{1,18})"')
KIND = re.compile(rb'\sPostTypeId="(\d{1,3})"')
SITE = re.compile(r"(?:^|/)([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?:/|$)")
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TAGS = re.compile(r"[^<>|]+")
QUESTION, ANSWER = b"1", b"2"
LARGEST = 1 << 63
# Of what was written before the data said it: the licence by the day (stackoverflow.com/help/licensing).
LICENCES = (("2011-04-08", "CC BY-SA 2.5"), ("2018-05-02", "CC BY-SA 3.0"), ("9999", "CC BY-SA 4.0"))
Row = dict[str, str]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class StackexchangeReader(FileReader):
    """Questions with their answers, from the `Posts.xml` of a site of Stack Exchange.

    A question is a document: `raw` is HTML with its title, its text, and its answers under headings; `extract/blocks`
    with `favour: all` keeps all of it. `url` is made of the site, which `site` names or a folder or file of the path
    (`cooking.stackexchange.com/Posts.xml`); `metadata` keeps question_id, title, tags, score, answers (with id, score
    and whether accepted) and the licences of the posts.

    order           of the answers: `accepted` before others and then by score, `score`, or `date`
    min_score       questions below are counted as `low_score`
    min_answer_score, max_answers   which answers are taken, the first of the order
    answered        questions without an answer that is taken are counted as `no_answer`

    Faults: `bad_xml` (also of a question whose number an earlier one has), `truncated`, `damaged`. Answers are counted
    as `answer`, other posts as `other_post`. A large file that is not compressed is split by questions, into 16 pieces
    at most, each of which reads all of the file and sorts its posts into temporary files, so memory is bounded.
    """

    order: Literal["accepted", "score", "date"] = "accepted"  # of the answers
    min_score: int | None = None  # of a question
    min_answer_score: int | None = None  # of an answer
    max_answers: int | None = None  # of a question
    answered: bool = True  # leave out questions without answers
    site: str | None = None  # cooking.stackexchange.com; null: as the path says
    max_mb: float = 16.0  # of a post
    step = "read/stackexchange"
    gives = HTML_PAGES
    suffixes = tuple(f"Posts{ending}" for ending in endings("xml"))

    def __post_init__(self) -> None:
        check_choice("order", self.order, ("accepted", "score", "date"))
        if self.max_mb <= 0 or (self.max_answers is not None and self.max_answers < 0):
            raise RecipeError(f"need max_mb > 0 and max_answers >= 0, got {self.max_mb} and {self.max_answers}")

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        pieces: list[FilePiece] = []
        for file in files:
            if file.size <= target_bytes or sniff(file.path):
                pieces.append(whole_file(file))
                continue
            count = min(MAX_PIECES, -(-file.size // max(1, target_bytes)))
            cuts = [file.size * i // count for i in range(count)] + [END]
            pieces += [FilePiece(file, a, b, min(b, file.size) - a) for a, b in pairwise(cuts)]
        return pieces

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        site_match = None if self.site else SITE.search(piece.file.path.replace("\\", "/").lower())
        site = self.site or (site_match[1] if site_match else "")
        limit = int(self.max_mb * 1e6)
        questions = _questions(piece, limit, docs)
        if len(questions.positions):
            with tempfile.TemporaryDirectory(prefix="corpusmill-posts-") as folder:
                for number in range(_distribute(piece, limit, questions, Path(folder), docs)):
                    for position, question, answers in _bucket(Path(folder, str(number)), docs):
                        self._document(position, question, answers, site, docs)
                        yield from docs.full()

    def _document(self, at: int, question: Row, answers: list[Row], site: str, docs: DocumentBatches) -> None:
        number = question.get("Id", "")
        if self.min_score is not None and _score(question) < self.min_score:
            docs.counts.skip("low_score")
            return
        accepted = question.get("AcceptedAnswerId", "")
        good = [row for row in answers if self.min_answer_score is None or _score(row) >= self.min_answer_score]
        good.sort(key=lambda row: (self._rank(row, accepted), row.get("CreationDate", ""), _number(row, "Id")))
        answers_used = good[: self.max_answers]
        if self.answered and not answers_used:
            docs.counts.skip("no_answer")
            return
        title = question.get("Title", "")
        parts = [f"<h1>{escape(title)}</h1>", question.get("Body", "")]
        for row in answers_used:
            sign = " (accepted)" if accepted and row.get("Id") == accepted else ""
            parts += [f"<h2>Answer{sign}</h2>", row.get("Body", "")]
        about: dict[str, Any] = {
            "question_id": _number(question, "Id"),
            "title": title,
            "tags": TAGS.findall(question.get("Tags", "")),
            "score": _score(question),
            "answers": [
                {
                    "id": _number(row, "Id"),
                    "score": _score(row),
                    "accepted": bool(accepted) and row.get("Id") == accepted,
                }
                for row in answers_used
            ],
            "licences": sorted({licence(row) for row in [question, *answers_used]} - {""}),
        }
        body = "\n".join(parts)
        docs.add(
            at,
            raw=f"<html><head><title>{escape(title)}</title></head><body>{body}</body></html>".encode(
                "utf-8", "replace"
            ),
            charset="utf-8",
            given=f"{site}:{number}",
            url=f"https://{site}/questions/{number}" if site else None,
            date=question.get("CreationDate") or None,
            metadata=as_json(about),
        )

    def _rank(self, row: Row, accepted: str) -> tuple[bool, int]:
        if self.order == "date":
            return False, 0
        return self.order == "score" or row.get("Id") != accepted, -_score(row)


def licence(row: Row) -> str:
    """The licence of a post: what the data says, or else by its day; "" where that is not known."""
    if stated := row.get("ContentLicense", ""):
        return stated
    day = DAY.match(row.get("CreationDate", ""))
    return next((name for until, name in LICENCES if day[0] < until), "") if day else ""


def _score(row: Row) -> int:
    return _number(row, "Score")


def _number(row: Row, name: str) -> int:
    try:
        number = int(row.get(name, "0"))
    except ValueError:
        return 0
    return number if abs(number) < LARGEST else 0


def _rows(piece: FilePiece, limit: int) -> Iterator[tuple[int, bytes | RecordError]]:
    """(position, line) of the lines of a piece that are rows, or cannot be read. A row begins its line, so no document
    type stands before it."""
    for position, line in lines(piece, limit):
        if isinstance(line, RecordError) or line.lstrip().startswith(b"<row "):
            yield position, line


class Questions(NamedTuple):
    """The questions of a piece, in the order of the file, and how to find one by its number."""

    positions: Numbers
    by_number: Numbers  # places in `positions`, in the order of the numbers
    numbers: Numbers  # sorted


def _questions(piece: FilePiece, limit: int, docs: DocumentBatches) -> Questions:
    """The questions of a piece. Rows that are none are counted here, and what cannot be read is told."""
    numbers: list[int] = []
    positions: list[int] = []
    for position, line in _rows(piece, limit):
        if isinstance(line, RecordError):
            docs.unreadable(position, line, KINDS)
            continue
        kind_of, number = KIND.search(line), ROW_ID.search(line)
        if kind_of is None or number is None:
            docs.dead(position, "bad_xml", "the row has no Id or no PostTypeId")
        elif kind_of[1] == QUESTION:
            numbers.append(int(number[1]))
            positions.append(position)
        else:
            docs.counts.skip("answer" if kind_of[1] == ANSWER else "other_post")
    ids = np.array(numbers, np.int64)
    order = np.argsort(ids, kind="stable").astype(np.int64)
    return Questions(np.array(positions, np.int64), order, ids[order])


def _distribute(piece: FilePiece, limit: int, questions: Questions, folder: Path, docs: DocumentBatches) -> int:
    """Write each post of the piece's questions to the file of its bucket; returns how many buckets there are.

    Buckets are ranges of positions, so that documents come out in the order of the file. Of questions of one number the
    first of the file counts, or each would take all answers.
    """
    many = len(questions.positions)
    has_come = np.zeros(many, bool)  # by the first place of a number: whether a question of that number has come
    count = int(min(MAX_BUCKETS, max(1, -(-piece.size // BUCKET)), many))
    files = [Path(folder, str(number)).open("wb") for number in range(count)]  # noqa: SIM115 - closed below
    try:
        for position, line in _rows(FilePiece(piece.file), limit):
            if isinstance(line, RecordError) or (kind := KIND.search(line)) is None:
                continue
            is_question = kind[1] == QUESTION
            name = ROW_ID if is_question else PARENT
            if kind[1] not in (QUESTION, ANSWER) or (match := name.search(line)) is None:
                continue
            number = int(match[1])
            first = int(np.searchsorted(questions.numbers, number))
            if first == many or questions.numbers[first] != number:  # of another piece
                continue
            place = int(questions.by_number[first])
            if is_question and piece.start <= position < piece.stop:
                if has_come[first]:
                    docs.dead(position, "bad_xml", f"an earlier question has the number {number}, too")
                    continue
                place = int(np.searchsorted(questions.positions, position))
            has_come[first] |= is_question
            if not is_question or piece.start <= position < piece.stop:
                files[place * count // many].write(b"%d %s\n" % (position, line.strip()))
    finally:
        for file in files:
            file.close()
    return count


def _bucket(path: Path, docs: DocumentBatches) -> Iterator[tuple[int, Row, list[Row]]]:
    """(position, question, its answers) of the questions in a file of posts."""
    questions: list[tuple[int, Row]] = []
    answers: dict[str, list[Row]] = {}
    with path.open("rb") as file:
        for line in file:
            at, _, data = line.partition(b" ")
            try:
                row: Row = dict(ElementTree.fromstring(data.decode("utf-8", "replace")).attrib)
            except ElementTree.ParseError as error:
                docs.dead(int(at), "bad_xml", f"the row is not XML: {error}")
                continue
            if row.get("PostTypeId") == "1":
                questions.append((int(at), row))
            else:
                answers.setdefault(row.get("ParentId", ""), []).append(row)
    path.unlink()
    for position, row in questions:
        yield position, row, answers.get(row.get("Id", ""), [])


Stackexchange = StackexchangeReader  # its name before 1.0
