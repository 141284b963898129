"""Blind review: documents of a pass to judge, with what the run decided hidden; how far people and run agree, and the
precision and recall of the pass by these marks.

A round has as many documents that the pass dropped as it kept, where there are enough: the first by id. They come in
the order of a hash of their ids. In that of the ids, which are hashes, too, the side of which the run has fewer would
come last. A mark is a line of REVIEW in the run's folder.

    {"id": …, "file": …, "position": …, "stage": "pass-1", "mark": "keep", "kept": false,
     "reasons": ["c4.curly_bracket"], "at": "2026-01-31T12:00:00+00:00"}
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from corpusmill.errors import InputError
from corpusmill.inspect.accuracy import Accuracy, Side
from corpusmill.inspect.listing import Listing
from corpusmill.inspect.marks import MAX_TEXT_SHOWN
from corpusmill.report.samples import text_of
from corpusmill.report.tables import ID_ORDER, placeholders
from corpusmill.report.visible import visible
from corpusmill.steps.keys import ADDRESS

REVIEW_FILE = "review.jsonl"
DOCUMENTS_PER_ROUND = 20  # documents
REVIEW_MARKS = ("keep", "drop", "unsure")
AT_ADDRESS = "id = ? AND file IS NOT DISTINCT FROM ? AND position IS NOT DISTINCT FROM ?"


@dataclass(frozen=True)
class Agreement:
    """How far marks agree with a stage, or with one rule of it.

    name      of the stage or rule
    marked    documents with a mark that is not "unsure"
    agree     of these, those where both keep or both drop; of a rule: where it fires and the mark is "drop", or neither
    fired     of these, those that the stage drops, or for which the rule fires
    kappa     Cohen's, from -1 to 1: 0 is what chance gives; None where one side has given only one answer
    """

    name: str
    marked: int
    agree: int
    fired: int
    kappa: float | None


class Review:
    """The marks of a run. Raises InputError if its folder is not on this machine."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.tables = listing.tables
        self._lock = Lock()

    @property
    def path(self) -> Path:
        folder = self.tables.files.folder
        if not folder.is_local:
            raise InputError(f"{folder.place}: marks are saved in the run's folder, which must be on this machine")
        return folder.path / REVIEW_FILE

    def round(self, stage: str, documents: int = DOCUMENTS_PER_ROUND) -> list[dict[str, Any]]:
        """The next documents of a pass that have no mark yet, without anything that tells what became of them; each
        has a text. Empty if all have a mark. So many `documents` are those of as many rounds as have them together, if
        both sides have half of them."""
        number = self._number(stage)
        marked_ids = [mark["id"] for mark in self.marks() if mark["stage"] == stage]
        sides = [self._kept_documents(number, marked_ids, documents)]
        sides.append(self._dropped_documents(number, marked_ids, documents))
        half = documents // 2
        few = min(map(len, sides))
        per_side = half if few >= half else documents - few
        drawn = sorted((entry for side in sides for entry in side[:per_side]), key=lambda entry: _hash(entry["id"]))
        return [entry | {"stage": stage} for entry in drawn]

    def text(self, stage: str, id: str, file: str, position: int) -> str:
        """The text of a document as a pass has kept or dropped it. Of a round each is asked for alone: to read one
        takes milliseconds, to read twenty, which are in as many files, a second."""
        number, units = self._number(stage), self.listing.units(id)
        for kind in ("docs", "dropped"):
            text = text_of(self.tables, kind, number, AT_ADDRESS, [id, file, position], units)
            if text is not None:
                return visible(text[:MAX_TEXT_SHOWN])
        raise InputError(f'{stage} has no stored text of a document with the id "{id}" from {file} at {position}')

    def _kept_condition(self, number: int) -> tuple[str, list[str]]:
        """Whether a pass kept a document, whatever later ones did with it: SQL and its parameters."""
        later = [label for _, own in self.tables.passes[number + 1 :] for label in own]
        lost = "NOT kept AND dropped_by IS NULL"  # by a later pass, unless it is said below
        if number and "lost" in dict(self.listing.facets["outcome"]):
            dead = self.tables.tables("dead", range(1, number + 1))
            same = " AND ".join(f"dead.{name} IS NOT DISTINCT FROM listed.{name}" for name in ADDRESS)
            lost += f" AND NOT EXISTS (FROM ({dead}) dead WHERE {same})"
        return f"(kept OR {_among(later)} OR ({lost}))", later

    def _dropped_condition(self, number: int) -> tuple[str, list[str]]:
        """Whether a pass dropped a document: SQL and its parameters."""
        labels = list(self.tables.passes[number][1])
        return _among(labels), labels

    def _kept_documents(self, number: int, marked_ids: Sequence[str], n: int) -> list[dict[str, Any]]:
        """The first documents that a pass kept."""
        where, values = self._kept_condition(number)
        return self.listing.first(f"{where} AND {_unseen(marked_ids)}", [*values, *marked_ids], n)

    def _dropped_documents(self, number: int, marked_ids: Sequence[str], n: int) -> list[dict[str, Any]]:
        """The first documents that a pass dropped, of those whose text is stored."""
        among, labels = self._dropped_condition(number)
        below = self.tables.files.texts_below
        where, values = f"{among} AND {_unseen(marked_ids)}", [*labels, *marked_ids]
        if below is None or not self.tables.has_texts("dropped", number):
            return self.listing.first(where, values, n)
        documents = self.listing.first(f"id < ? AND {where}", [below, *values], n)
        if len(documents) == n:
            return documents
        # Others are stored as well, at random places; there are few, so that looking for them takes little.
        ids = self.tables.tuples(
            f"SELECT id FROM ({self.tables.table('dropped', number)}) WHERE text NOTNULL AND {_unseen(marked_ids)} "
            f"ORDER BY {ID_ORDER} LIMIT {n}",
            marked_ids,
        )
        stored = f"id IN {placeholders(ids)}" if ids else "false"
        return self.listing.first(f"{stored} AND {where}", [*(id for (id,) in ids), *values], n)

    def mark(self, stage: str, id: str, file: str, position: int, mark: str) -> None:
        """Keep what somebody says of a document. Of two marks of a document the later counts."""
        if mark not in REVIEW_MARKS:
            raise InputError(f'a mark must be one of {", ".join(REVIEW_MARKS)}; got "{mark}"')
        number = self._number(stage)
        signals = self.tables.table("signals", number, units=self.listing.units(id))
        rows = self.tables.tuples(f"SELECT reasons FROM ({signals}) WHERE {AT_ADDRESS} LIMIT 1", [id, file, position])
        if not rows:
            raise InputError(f'{stage} has no document with the id "{id}" from {file} at {position}')
        reasons = rows[0][0].split(",") if rows[0][0] else []
        record = {"id": id, "file": file, "position": position, "stage": stage, "mark": mark, "kept": not reasons}
        record |= {"reasons": reasons, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        with self._lock, self.path.open("ab+") as out:
            out.seek(0)
            out.truncate(out.read().rfind(b"\n") + 1)  # a process that was killed as it wrote has left half a line
            out.write(json.dumps(record).encode() + b"\n")

    def marks(self) -> list[dict[str, Any]]:
        """The last mark of each document of each stage, in order. Raises InputError if a line is not a mark."""
        marks: dict[tuple[Any, ...], dict[str, Any]] = {}
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                key = record["stage"], record["id"], record["file"], record["position"]
                record["mark"], record["kept"], record["reasons"]
            except (ValueError, KeyError, TypeError):
                if number == len(lines):  # of a process that was killed as it wrote
                    continue
                raise InputError(f"{self.path}:{number}: not a review mark: {line[:80]}") from None
            marks.pop(key, None)
            marks[key] = record
        return list(marks.values())

    def agreement(self) -> list[Agreement]:
        """By stage, and after each by those of its rules that fire on a marked document, most marks first."""
        agreements = []
        marks = [mark for mark in self.marks() if mark["mark"] != "unsure"]
        for stage in dict.fromkeys(mark["stage"] for mark in marks):
            own = [mark for mark in marks if mark["stage"] == stage]
            drops = [mark["mark"] == "drop" for mark in own]
            agreements.append(agreement(stage, drops, [not mark["kept"] for mark in own]))
            rules = dict.fromkeys(reason for mark in own for reason in mark["reasons"])
            by_rule = [agreement(rule, drops, [rule in mark["reasons"] for mark in own]) for rule in rules]
            agreements += sorted(by_rule, key=lambda rule: (-rule.fired, rule.name))
        return agreements

    def accuracy(self) -> list[Accuracy]:
        """Of the passes of this run that have marks, in their order."""
        marks = [mark for mark in self.marks() if mark["mark"] != "unsure"]
        stages = {mark["stage"] for mark in marks}
        return [self._accuracy(stage, marks) for stage, _ in self.tables.passes if stage in stages]

    def _accuracy(self, stage: str, marks: Sequence[dict[str, Any]]) -> Accuracy:
        number = self._number(stage)
        sides = []
        for is_kept, (where, values) in (
            (True, self._kept_condition(number)),
            (False, self._dropped_condition(number)),
        ):
            good = [mark["mark"] == "keep" for mark in marks if (mark["stage"], mark["kept"]) == (stage, is_kept)]
            sides.append(Side(self.listing.count(where, values), len(good), sum(good)))
        return Accuracy(stage, *sides)

    def _number(self, stage: str) -> int:
        stages = [name for name, _ in self.tables.passes]
        if stage not in stages:
            raise InputError(f'{self.tables.folder}: there is no pass "{stage}". The passes are: {", ".join(stages)}.')
        return stages.index(stage)


def _among(labels: Sequence[str]) -> str:
    """Whether one of these steps drops a document of the list, as SQL with parameters."""
    return f"dropped_by::VARCHAR IN {placeholders(labels)}" if labels else "false"


def _hash(id: str) -> bytes:
    return hashlib.sha256(id.encode()).digest()


def _unseen(marked_ids: Sequence[str]) -> str:
    """Whether a document is none of these, as SQL with parameters."""
    return f"id NOT IN {placeholders(marked_ids)}" if marked_ids else "true"


def agreement(name: str, answers: Sequence[bool], other_answers: Iterable[bool]) -> Agreement:
    """Cohen's kappa (1960, Educational and Psychological Measurement 20) of two who answer yes or no.

    >>> agreement("x", [True, True, False, False], [True, False, False, False])
    Agreement(name='x', marked=4, agree=3, fired=1, kappa=0.5)
    """
    pairs = list(zip(answers, other_answers))
    n, agree = len(pairs), sum(a == b for a, b in pairs)
    yes, fired = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    by_chance = (yes * fired + (n - yes) * (n - fired)) / n**2 if n else 1.0
    kappa = (agree / n - by_chance) / (1 - by_chance) if 0 < yes < n and 0 < fired < n else None
    return Agreement(name, n, agree, fired, kappa)
