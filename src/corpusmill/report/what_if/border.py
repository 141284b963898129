"""The documents that would be newly kept or dropped and are nearest to the threshold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.report.rules import evidence
from corpusmill.report.tables import ORIGIN_COLUMNS
from corpusmill.report.what_if.saved import Saved, Sizes
from corpusmill.steps.verdict import Bound


@dataclass(frozen=True)
class Border:
    """A document that would be newly kept or dropped, and how near it is to the threshold.

    newly       what it would be: "kept" or "dropped"
    reason      the first that drops it: in the run, if it would be kept; with the changes, if it would be dropped
    values      what that reason is judged by
    threshold   the new one, or the old one where the rule is switched off; None if the reason has none
    """

    id: str
    source: str
    file: str
    position: int
    url: str | None
    newly: Literal["kept", "dropped"]
    reason: str
    values: Mapping[str, Any]
    threshold: float | None


class Nearest:
    """The documents nearest to the threshold, for each side and reason.

    bounds   of the rules of the changed recipe; then those of the run, for rules that are switched off
    limit    documents per side and reason
    """

    def __init__(self, bounds: Sequence[Mapping[str, Bound]], limit: int) -> None:
        self.bounds = bounds
        self.limit = limit
        # (side, reason) -> (distance, unit, row); side 0 would be newly kept, side 1 newly dropped.
        self._near: dict[tuple[int, str], list[tuple[float, int, int]]] = {}

    def add(
        self,
        unit: int,
        saved: Saved,
        before: NDArray[np.int64],
        after: NDArray[np.int64],
        reasons: Sequence[str | None],
    ) -> None:
        """Remember the nearest of a unit; the earlier ones of a tie. The arguments are those of Count.add."""
        for side, (own, other_side) in enumerate(((before, after), (after, before))):
            moved = np.flatnonzero((own > 0) & (other_side == 0))
            for code in np.unique(own[moved]).tolist():
                rows = moved[own[moved] == code]
                reason = str(reasons[code])
                distance = self._distance(saved, rows, reason)
                nearest = np.argsort(distance, kind="stable")[: self.limit]
                remembered = self._near.setdefault((side, reason), [])
                remembered += [(float(distance[at]), unit, int(rows[at])) for at in nearest]
                remembered[:] = sorted(remembered)[: self.limit]

    def _distance(self, saved: Saved, rows: NDArray[np.int64], reason: str) -> NDArray[np.float64]:
        bound = self._bound(reason)
        if bound is None:
            return np.zeros(len(rows))
        values = saved.read(bound.signal).take(pa.array(rows)).cast(pa.float64())
        distance: NDArray[np.float64] = np.abs(values.to_numpy(zero_copy_only=False) - bound.threshold)
        return distance

    def _bound(self, reason: str) -> Bound | None:
        return next((bounds[reason] for bounds in self.bounds if reason in bounds), None)

    def documents(self, paths: Sequence[str], sizes: Sizes) -> Iterator[Border]:
        """The documents that were remembered, those newly kept first, by reason, the nearest first.

        paths   the signals of each unit
        """
        for (side, reason), remembered in sorted(self._near.items()):
            bound = self._bound(reason)
            step = reason.partition(".")[0]
            for _, unit, row in remembered:
                saved = Saved(paths[unit], sizes)
                names = [bound.signal] if bound else [name for name in saved.names if name.startswith(f"{step}.")]
                signals = saved.row(row, names)
                yield Border(
                    **saved.row(row, ORIGIN_COLUMNS),
                    newly="dropped" if side else "kept",
                    reason=reason,
                    values=evidence(reason, signals, {reason: bound} if bound else {}),
                    threshold=bound.threshold if bound else None,
                )
