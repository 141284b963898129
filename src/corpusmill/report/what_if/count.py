"""How many documents, bytes and tokens each reason drops, in the run and with the changes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpusmill.engine.work.proportion import in_proportion
from corpusmill.report.waterfall import WaterfallRow, rows_of
from corpusmill.report.what_if.saved import Saved, Sizes, grouped
from corpusmill.store.facts import Facts, add


@dataclass(frozen=True)
class TextAmount:
    """How much text. Bytes are those at the end of the pass; tokens are 0 where the recipe has no tokenizer, or
    they were not counted."""

    documents: int = 0
    bytes: int = 0
    tokens: int = 0

    def __add__(self, other: "TextAmount") -> "TextAmount":
        return TextAmount(self.documents + other.documents, self.bytes + other.bytes, self.tokens + other.tokens)

    def __sub__(self, other: "TextAmount") -> "TextAmount":
        return TextAmount(self.documents - other.documents, self.bytes - other.bytes, self.tokens - other.tokens)


Kept = tuple[TextAmount, TextAmount]  # by the run; and with the changes


class Count:
    """Sums over the units of a pass, in the run (side 0) and with the changes (side 1).

    flow       (reason in the run, reason now, source) -> documents, those whose tokens are not counted, and tokens and
               bytes in each version of the text
    kept       (source, language) -> what the pass keeps
    newly      reason -> what only the changes keep; reason -> what only the run kept
    language   the column of languages, None if no step identifies them
    only       label -> sources, of the steps that are for some sources only
    pages      (version, source) of those that have no text yet in this version, and so no tokens
    counted    whether the run has counted tokens
    """

    def __init__(
        self,
        labels: Sequence[str],
        language: str | None,
        only: Mapping[str, Sequence[str]],
        pages: Collection[tuple[int, str]] = (),
        counted: bool = True,
    ) -> None:
        self.labels = labels
        self.only = only
        self.pages = pages
        self.counted = counted
        self.language = language
        self.flow: dict[tuple[str | None, str | None, str], NDArray[np.int64]] = {}
        self.kept: dict[tuple[str, str], Kept] = {}
        self.newly: tuple[dict[str, TextAmount], dict[str, TextAmount]] = ({}, {})

    def add(
        self, saved: Saved, before: NDArray[np.int64], after: NDArray[np.int64], reasons: Sequence[str | None]
    ) -> None:
        """Add a unit.

        before, after   (documents,) the code of what drops each document, in the run and with the changes
        reasons         the reason of each code
        """
        source, sources = saved.coded("source")
        language, languages = saved.coded(self.language) if self.language else (np.zeros_like(source), [None])
        groups, row = grouped(
            (before, len(reasons)), (after, len(reasons)), (source, len(sources)), (language, len(languages))
        )
        size = [saved.size(version).to_numpy() for version in range(len(saved.sizes.columns))]
        step_of_code = [self.labels.index(why.partition(".")[0]) if why else len(self.labels) for why in reasons]
        # The version whose tokens were counted: the one that was dropped, or the last.
        version = np.array([saved.sizes.version[step] for step in step_of_code], np.int64)[before]
        for at, name in sorted(self.pages):  # of a page, the first text that was extracted
            if name in sources:
                version[(version == at) & (source == sources.index(name))] += 1
        counted_size = np.stack(size)[version, np.arange(saved.rows)]
        tokens = [in_proportion(saved.numbers("tokens"), version_size, counted_size) for version_size in size]
        for at, name in self.pages:
            if name in sources:
                tokens[at][source == sources.index(name)] = 0
        uncounted = saved.read("tokens").is_null().to_numpy(zero_copy_only=False) & self.counted
        measures = [None, uncounted, *tokens, *size]
        # Sums of whole numbers in float64 are exact below 2**53 bytes.
        totals = np.stack([np.bincount(row, m, len(groups)) for m in measures], axis=1).astype(np.int64)
        for (was, now, at, spoken), total in zip(groups.tolist(), totals):
            group = (sources[at] or "", languages[spoken] or "none")
            self._add_group(reasons[was], reasons[now], group, total)

    def _add_group(self, was: str | None, now: str | None, group: tuple[str, str], total: NDArray[np.int64]) -> None:
        key = (was, now, group[0])
        self.flow[key] = self.flow.get(key, np.zeros_like(total)) + total
        amount = TextAmount(int(total[0]), int(total[-1]), int(total[1 + (len(total) - 2) // 2]))
        old, new = self.kept.get(group, (TextAmount(), TextAmount()))
        self.kept[group] = (old if was else old + amount, new if now else new + amount)
        if bool(was) != bool(now):
            side = self.newly[0 if was else 1]
            reason = was or now or ""
            side[reason] = side.get(reason, TextAmount()) + amount

    def rows(self, side: int, sizes: Sizes, failed: Mapping[str, Mapping[str, int]]) -> tuple[WaterfallRow, ...]:
        """The waterfall of the pass.

        failed   step -> source -> documents that the step could not process, which saved no columns
        """
        facts: Facts = {"failed": failed}
        for key, total in self.flow.items():
            reason, source = key[side], key[2]
            dropped_at = self.labels.index(reason.partition(".")[0]) if reason else len(self.labels)
            documents, uncounted, *amounts = total.tolist()
            tokens, size = amounts[: len(amounts) // 2], amounts[len(amounts) // 2 :]
            for index, label in enumerate(self.labels):
                reached, passed = dropped_at >= index, dropped_at > index
                for name, value, counts in (
                    ("documents_in", documents, reached),
                    ("documents_out", documents, passed),
                    ("bytes_in", size[sizes.version[index]], reached),
                    ("bytes_out", size[sizes.version[index + 1]], passed),
                    ("tokens_in", tokens[sizes.version[index]], reached),
                    ("tokens_out", tokens[sizes.version[index + 1]], passed),
                ):
                    add(facts, "steps", label, source, name, count=value if counts else 0)
                for name, counts in (("uncounted_in", reached), ("uncounted_out", passed)):
                    if uncounted and counts:
                        add(facts, "steps", label, source, name, count=uncounted)
                if source not in self.only.get(label, (source,)):
                    add(facts, "steps", label, source, "passed_through", count=documents if reached else 0)
            if reason:
                step, _, rule = reason.partition(".")
                add(facts, "reasons", step, source, rule, count=documents)
        return tuple(rows_of(tuple(self.labels), facts))

    def all_kept(self) -> Kept:
        return _sum(self.kept.values())

    def kept_by_source(self) -> dict[str, Kept]:
        return self._kept_by(0)

    def kept_by_language(self) -> dict[str, Kept]:
        """Empty if no step identifies languages."""
        return self._kept_by(1) if self.language else {}

    def _kept_by(self, part: int) -> dict[str, Kept]:
        names = sorted({key[part] for key in self.kept})
        groups = {name: _sum(both for key, both in self.kept.items() if key[part] == name) for name in names}
        return dict(sorted(groups.items(), key=lambda item: -item[1][0].documents))


def _sum(many: Iterable[Kept]) -> Kept:
    before = after = TextAmount()
    for was, now in many:
        before, after = before + was, after + now
    return before, after
