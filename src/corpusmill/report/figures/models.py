"""What language models were asked, by step, and what part of the output they have written."""

from dataclasses import dataclass, replace
from typing import Any

from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables, identifier
from corpusmill.steps import AsksModel, MakesDocuments

MODELS_HEAD = ("step", "model", "documents", "questions", "prompt tokens", "answer tokens", "USD", "failed")
SYNTHETIC_HEAD = ("source", "model", "prompt", "documents", "share", "text")


@dataclass(frozen=True)
class ModelUse:
    """A step that asks a model.

    documents       that it asked about, or made
    questions, prompt_tokens, answer_tokens   for these
    usd             None where the recipe has no `prices`
    failed          documents that the model gave no answer for, or none that fits: not in the counts before
    """

    step: str
    model: str
    documents: int
    questions: int
    prompt_tokens: int
    answer_tokens: int
    usd: float | None
    failed: int


@dataclass(frozen=True)
class Synthetic:
    """Documents of the output that a model has written by one prompt.

    share   of the bytes of the output's text
    """

    source: str
    model: str
    prompt: str
    documents: int
    bytes: int
    share: float = 0.0


def model_uses(tables: RunTables) -> list[ModelUse]:
    """Every step that asks a model, in their order. Where signals of dropped documents are not stored
    (`run.measure_dropped`), of kept documents alone."""
    uses = []
    for index, (stage, labels) in enumerate(tables.passes):
        for label in labels:
            step = tables.steps.get(label)
            if not isinstance(step, AsksModel) or f"{label}.questions" not in tables.columns(index):
                continue
            counts = (f"{label}.{name}" for name in ("questions", "prompt_tokens", "answer_tokens"))
            sums = (f"coalesce(sum({identifier(name)}), 0)::BIGINT" for name in counts)
            asked = identifier(f"{label}.questions")
            query = f"SELECT count({asked}), {', '.join(sums)} FROM ({tables.table('signals', index)})"
            ((documents, questions, prompt_tokens, answer_tokens),) = tables.tuples(query)
            usd = step.server.cost(prompt_tokens, answer_tokens) if step.server.prices else None
            failed = sum(tables.files.facts(stage).get("failed", {}).get(label, {}).values())
            uses.append(
                ModelUse(label, step.server.model, documents, questions, prompt_tokens, answer_tokens, usd, failed)
            )
    return uses


def synthetic(tables: RunTables) -> list[Synthetic]:
    """What of the output models have written, by step and prompt."""
    makers = {label: step for label, step in tables.steps.items() if _writes(step)}
    if not makers or not tables.passes:
        return []
    last = len(tables.passes) - 1
    kept = f"SELECT id, bytes FROM ({tables.table('signals', last)}) WHERE dropped_by IS NULL"
    ((total,),) = tables.tuples(f"SELECT coalesce(sum(bytes), 0)::BIGINT FROM ({kept})")
    written = []
    for index, (_, labels) in enumerate(tables.passes):
        for label in (label for label in labels if label in makers):
            step, prompt = makers[label], identifier(f"{label}.prompt")
            made = f"SELECT id, {prompt} AS prompt FROM ({tables.table('signals', index)}) WHERE {prompt} IS NOT NULL"
            query = f"SELECT prompt, count(*), sum(bytes)::BIGINT FROM ({made}) JOIN ({kept}) USING (id) GROUP BY 1"
            written += [Synthetic(step.source, step.server.model, *row) for row in tables.tuples(f"{query} ORDER BY 1")]
    return [replace(entry, share=entry.bytes / max(total, 1)) for entry in written]


def models_table(uses: list[ModelUse]) -> list[list[str]]:
    """A row for each step, as MODELS_HEAD names them."""
    return [
        [
            use.step,
            use.model,
            *map(number, (use.documents, use.questions, use.prompt_tokens, use.answer_tokens)),
            "–" if use.usd is None else f"{use.usd:,.2f}" if use.usd >= 0.01 else f"{use.usd:.1g}",
            number(use.failed),
        ]
        for use in uses
    ]


def synthetic_table(entries: list[Synthetic]) -> list[list[str]]:
    """A row for each prompt, as SYNTHETIC_HEAD names them."""
    return [
        [entry.source, entry.model, entry.prompt, number(entry.documents), share(entry.share, 1), size(entry.bytes)]
        for entry in entries
    ]


def _writes(step: Any) -> bool:
    return isinstance(step, AsksModel) and isinstance(step, MakesDocuments)
