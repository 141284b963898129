"""The attempts at a unit: how the next one is made, by how the last ones ended.

A first attempt notes nothing. If it ends without a commit (its worker died, memory ran out, something raised an error),
the next ones put fewer documents through the steps at a time and say, before each step, where they are. So the end of
such an attempt names some records. These alone are tried then, in ever smaller parts, each time by a process in which
nothing else has happened, until one record, or the smallest range that its reader can cut, is left.

That record is quarantined when it, tried alone, has ended ENDS_TO_QUARANTINE attempts in a row. A worker that somebody
kills at another place says nothing about a record, and the records of one that happened to be killed do no harm when
they are tried: so a unit whose workers are killed at random loses none. Where records do no harm alone, the unit fails
after as many attempts as others do.
"""

from dataclasses import dataclass, field, replace

from corpusmill.execute import Failure
from corpusmill.execute.failures import Ended
from corpusmill.execute.task import StageTask
from corpusmill.store.units import AttemptPosition, QuarantinedRecord, RetryPolicy, Unit

CAREFUL_ROWS = (128, 8)  # documents at a time in the second attempt, and in all after it
PROBE_PARTS = 16  # that records are cut into when they are tried
ENDS_TO_QUARANTINE = 2  # attempts that a record must have ended, tried alone …
KILLS_TO_QUARANTINE = 3  # … if they ended by SIGKILL, which may have come from people as well
MAX_QUARANTINED = 100  # records of a unit: if there are more, it is not about single records
MAX_PROBES = 24  # until a record is found, at most; six levels and the confirmations are fewer


@dataclass
class Attempts:
    """One unit, on its way to a commit.

    most     attempts that may end without one, beside those that try records; counted anew when a record was set aside
    failure  the end, if there were that many
    """

    task: StageTask
    unit: Unit
    most: int
    failure: Failure | None = None
    care: RetryPolicy = field(init=False)  # of the next attempt
    _ended: int = 0
    _probes: int = 0  # that ended without a result for the whole unit, since the last record was set aside
    _harmless: bool = False  # whether records that were at work did no harm when they were tried alone
    _suspect: AttemptPosition | None = None  # what ended the last ones, tried alone
    _times: int = 0

    def __post_init__(self) -> None:
        self.care = RetryPolicy(self.task.aside.get(self.unit.key, ()))

    def probe_passed(self) -> None:
        """The records that were tried did no harm."""
        self._suspect, self._harmless = None, True
        self._retry_whole_unit()

    def ended(self, ended: Ended, at: AttemptPosition | None) -> QuarantinedRecord | None:
        """An attempt ended without a commit, and was there. Returns what has been set aside for it, if anything.

        `failure` says if there is to be no other attempt, else `care` how it is to be made.
        """
        if self.care.probe is not None:
            return self._probe_ended(ended, at)
        self._ended += 1
        if self._ended >= self.most:
            self.failure = Failure(self.unit, ended.error + self._in_vain(), ended.traceback)
        elif at is not None and ended.kind and self._may_set_aside:
            self._probe(at)
        else:
            self._retry_whole_unit()
        return None

    def _probe_ended(self, ended: Ended, at: AttemptPosition | None) -> QuarantinedRecord | None:
        probed = self.care.probe
        assert probed
        self._probes += 1
        inside = at is not None and at.part == probed.part and at.reading == probed.reading
        if at is None or not inside or not ended.kind or self._probes >= MAX_PROBES:
            # It was killed from outside, or on its way there: if it ended of itself, it will do so again.
            self._retry_whole_unit()
            return None
        self._times = self._times + 1 if self._suspect and self._suspect.span == at.span else 1
        self._suspect = at
        if at.single and self._times >= (KILLS_TO_QUARANTINE if ended.is_kill else ENDS_TO_QUARANTINE):
            return self._set_aside(QuarantinedRecord(at, ended.kind_at(at), ended.cause))
        self._probe(at)
        return None

    def _set_aside(self, record: QuarantinedRecord) -> QuarantinedRecord:
        records = (*self.care.aside, record)
        self.task.run.stage(self.task.folder).set_aside(self.unit.key, records)
        self.care = RetryPolicy(records, CAREFUL_ROWS[0])
        self._ended, self._probes, self._suspect, self._harmless = 0, 0, None, False
        return record

    @property
    def _may_set_aside(self) -> bool:
        return len(self.care.aside) < MAX_QUARANTINED

    def _probe(self, at: AttemptPosition) -> None:
        self.care = replace(self.care, probe=at, rows=max(1, -(-at.count // PROBE_PARTS)))

    def _retry_whole_unit(self) -> None:
        """The whole unit, with care."""
        rows = CAREFUL_ROWS[min(max(self._ended, 1), len(CAREFUL_ROWS)) - 1]
        self.care = replace(self.care, probe=None, rows=rows)

    def _in_vain(self) -> str:
        if not self._may_set_aside:
            return f"; {len(self.care.aside)} records of this unit were set aside before, and no more may be"
        if self._harmless:
            return "; none of the records at work then, tried alone, ends its worker each time"
        return ""
