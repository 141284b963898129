"""Documents, bytes and tokens in and out of each step, and the reasons for what was dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corpusmill.display import table
from corpusmill.errors import MissingExtraError, RunError
from corpusmill.report.numbers import plural
from corpusmill.store.facts import Facts, total
from corpusmill.store.units import Results

if TYPE_CHECKING:  # 50 ms of import that questions to a run need not wait for
    from corpusmill.engine.plan.plan import RunPlan

FLOW_COLUMNS = ("documents_in", "documents_out", "bytes_in", "bytes_out", "tokens_in", "tokens_out")
EMPTY_FLOW = dict.fromkeys(FLOW_COLUMNS, 0)  # of a source all of whose documents a step failed on
UNCOUNTED_COLUMNS = ("uncounted_in", "uncounted_out")
MAX_REASONS_IN_ROW = 3  # in a row of a table, the most frequent ones
PACKED_NUMBERS = ("rows", "tokens", "padding", "cut_documents", "discarded_tokens", "context")


@dataclass(frozen=True)
class WaterfallRow:
    """One step.

    Bytes are those of the texts, before and after the step itself; of a page until its text is extracted, of HTML.
    Tokens are counted once a document and pass: of a kept document in the text as it leaves the pass, of a dropped one
    in the text that came to the step that dropped it. At a step where the text was another one, its tokens are in
    proportion to its bytes there; they are exact for every text that no later step of the pass changes. A page has none
    until its text is extracted.

    `failed` are documents that the step could not process. `uncounted_in` and `uncounted_out` are those of
    documents_in and documents_out whose tokens were not counted and are not in tokens_in and tokens_out: with
    `run.measure_dropped` other than "all", those that the pass drops, unless the pass before has counted the same text.
    """

    step: str
    documents_in: int
    documents_out: int
    bytes_in: int
    bytes_out: int
    tokens_in: int
    tokens_out: int
    failed: int
    reasons: Mapping[str, int]  # first failing rule -> documents
    sources: Mapping[str, Mapping[str, int]]  # source -> the same numbers; `passed_through` where it is not for it
    passed_through: int = 0  # of documents_in and documents_out: those of sources that the step is not for
    uncounted_in: int = 0
    uncounted_out: int = 0
    made: int = 0  # of documents_in: those that the step itself made of others


@dataclass(frozen=True, repr=False)
class Waterfall:
    """All of a run: in a terminal and in a notebook a table, with a row per step.

    read      source -> records, documents, bytes (of its files as stored, mostly compressed), skipped (kind ->
              records), expected and dead (kind -> records)
    rows      the steps in order
    packed    of the training shards: tokens, rows, padding and so on; empty if there are none
    written   of what is written of tokens without packing, by writer: name -> number
    """

    read: Mapping[str, Mapping[str, Any]]
    rows: tuple[WaterfallRow, ...]
    packed: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def documents_in(self) -> int:
        return sum(source["documents"] for source in self.read.values())

    @property
    def documents_out(self) -> int:
        return self.rows[-1].documents_out if self.rows else self.documents_in

    @property
    def counts_tokens(self) -> bool:
        """Whether the run has counted tokens at all."""
        return any(row.tokens_in or row.tokens_out for row in self.rows)

    @property
    def counts_all_tokens(self) -> bool:
        """Whether those of dropped documents, too."""
        return self.counts_tokens and not any(row.uncounted_in for row in self.rows)

    def check(self) -> None:
        """Raises RunError unless every record is a document, a skipped record or a dead letter, and every input
        document of a step is kept, dropped for a reason or a dead letter."""
        for name, source in self.read.items():
            counted = source["documents"] + sum(sum(source[kind].values()) for kind in ("skipped", "expected", "dead"))
            if counted != source["records"]:
                raise RunError(f"{name}: {source['records']} records were read, and {counted} are accounted for")
        before = self.documents_in
        for row in self.rows:
            dropped = sum(row.reasons.values())
            if before + row.made != row.documents_in or row.documents_in != row.documents_out + dropped + row.failed:
                raise RunError(
                    f"{row.step}: {before + row.made} input documents expected, {row.documents_in} counted; "
                    f"{row.documents_out} kept, {dropped} dropped and {row.failed} failed"
                )
            for name, source in row.sources.items():
                if source.get("passed_through", source["documents_out"]) != source["documents_out"]:
                    raise RunError(f"{row.step} is not for {name}, and not all of its documents passed through")
            before = row.documents_out

    def in_short(self) -> str:
        """Documents in and out, in words."""
        share = 100 * self.documents_out / max(self.documents_in, 1)
        return f"{plural(self.documents_in, 'document')} in, {self.documents_out:,} kept ({share:.1f} %)"

    def steps_table(self) -> tuple[list[str], list[list[str | int]]]:
        """Head and rows of a table with a row per step; how many documents were dropped for each reason is one
        column."""
        head = ["step", "in", "kept", "dropped", "reasons"]
        rows: list[list[str | int]] = []
        for row in self.rows:
            reasons = [f"{reason} {count:,}" for reason, count in row.reasons.items()]
            remainder = [f"{len(reasons) - MAX_REASONS_IN_ROW} more"] if len(reasons) > MAX_REASONS_IN_ROW else []
            failed = [f"failed {row.failed:,}"] if row.failed else []
            shown = ", ".join([*failed, *reasons[:MAX_REASONS_IN_ROW], *remainder])
            rows.append([row.step, row.documents_in, row.documents_out, sum(row.reasons.values()), shown])
        return head, rows

    def to_pandas(self) -> Any:
        """A row per step, with the numbers of `WaterfallRow`, and reasons as a dict. Raises MissingExtraError without
        pandas."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise MissingExtraError("Waterfall.to_pandas()", libraries=["pandas"]) from None
        numbers = [name for name in WaterfallRow.__dataclass_fields__ if name not in ("step", "sources")]
        return pd.DataFrame(
            {name: [getattr(row, name) for row in self.rows] for name in numbers},
            index=pd.Index([row.step for row in self.rows], name="step"),
        )

    def __repr__(self) -> str:
        head, rows = self.steps_table()
        cells = [head, *([f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = [
            "  ".join(cell.rjust(w) if 0 < i < 4 else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths)))
            for row in cells
        ]
        return "\n".join([f"<Waterfall: {self.in_short()}>", *(f"  {line.rstrip()}" for line in lines)])

    def _repr_html_(self) -> str:
        return table(f"Waterfall: {self.in_short()}", *self.steps_table())

    def funnel(self) -> list[dict[str, Any]]:
        """Each step's share of what came to it, and of the whole input."""
        return [
            {
                "step": row.step,
                "documents_in": row.documents_in,
                "documents_out": row.documents_out,
                "share_of_step": round(row.documents_out / max(row.documents_in, 1), 6),
                "share_of_input": round(row.documents_out / max(self.documents_in, 1), 6),
            }
            for row in self.rows
        ]

    def to_json(self) -> dict[str, Any]:
        rows = [{name: getattr(row, name) for name in WaterfallRow.__dataclass_fields__} for row in self.rows]
        for row in rows:
            for name in (
                "passed_through",
                "made",
                *UNCOUNTED_COLUMNS,
            ):  # as in `sources`, only where there is something to say
                if not row[name]:
                    del row[name]
        writers = {"written": self.written} if self.written else {}
        return {"read": self.read, "steps": rows, "packed": self.packed, **writers}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> "Waterfall":
        return Waterfall(
            record["read"],
            tuple(WaterfallRow(**row) for row in record["steps"]),
            record["packed"],
            record.get("written", {}),
        )


def waterfall(plan: "RunPlan", results: Mapping[str, Results]) -> Waterfall:
    """The waterfall of a run from the facts of its stages."""
    facts = {name: stage.facts for name, stage in results.items()}
    first = facts[plan.passes[0].stage]
    read = {source.source: _source(first.get("read", {}).get(source.source, {})) for source in plan.recipe.read}
    rows = tuple(row for info in plan.passes for row in rows_of(info.labels, facts[info.stage]))
    shards = facts.get("shards", {})  # there is no shard of nothing, and there are no rows without packing
    packed = {name: shards[name] for name in PACKED_NUMBERS} if "rows" in shards else {}
    writers = {name: stage["written"] for name, stage in facts.items() if "written" in stage}
    return Waterfall(read, rows, packed, writers)


def special_tokens_per_document(tokenized: Facts, last: WaterfallRow) -> int:
    """Special tokens per document, BOS and EOS.

    tokenized   what the stage `tokens` counted; 1 is returned if there was none
    last        the last step: its output is tokenized
    """
    if not tokenized.get("documents"):
        return 1
    return int((tokenized["tokens"] - last.tokens_out) // tokenized["documents"])


def _source(facts: Facts) -> Facts:
    kinds = {name: dict(sorted(facts.get(name, {}).items())) for name in ("skipped", "expected", "dead")}
    seldom = {name: facts[name] for name in ("unread_dates", "broken_texts") if facts.get(name)}
    return {**{name: facts.get(name, 0) for name in ("records", "documents", "bytes")}, **seldom, **kinds}


def rows_of(labels: tuple[str, ...], facts: Facts) -> list[WaterfallRow]:
    """The rows of a pass, from the last step to the first.

    The pass counts only documents that no step failed on; one that failed at a step passed those before it.
    """
    rows: list[WaterfallRow] = []
    later: dict[str, int] = {}  # source -> documents that a later step of the pass failed on
    for label in reversed(labels):
        failed = facts.get("failed", {}).get(label, {})
        sources = {}
        flows = dict.fromkeys((*later, *failed), EMPTY_FLOW) | facts.get("steps", {}).get(label, {})
        for source, flow in sorted(flows.items()):
            after = later.get(source, 0)
            failed_from_here = after + failed.get(source, 0)
            sources[source] = flow | {
                "documents_in": flow["documents_in"] + failed_from_here,
                "documents_out": flow["documents_out"] + after,
            }
            if "passed_through" in flow:
                sources[source]["passed_through"] = sources[source]["documents_in"]
        for source, count in failed.items():
            later[source] = later.get(source, 0) + count
        flow = {name: sum(source[name] for source in sources.values()) for name in FLOW_COLUMNS}
        reasons = total(facts.get("reasons", {}).get(label, {}).values())
        ordered = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
        flow |= {name: sum(source.get(name, 0) for source in sources.values()) for name in UNCOUNTED_COLUMNS}
        passed = sum(source.get("passed_through", 0) for source in sources.values())
        rows.append(
            WaterfallRow(
                label,
                **flow,
                failed=sum(failed.values()),
                reasons=ordered,
                sources=sources,
                passed_through=passed,
                made=sum(facts.get("made", {}).get(label, {}).values()),
            )
        )
    return rows[::-1]
