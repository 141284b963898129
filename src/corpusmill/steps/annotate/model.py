"""What does a language model say of a document?"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.assets.extras import MODELS, Extra
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.inference.prompts import TEXT_PLACE, asset_of, prompt_text, read_json
from corpusmill.inference.questions import Answer, Question, Refusal, Sampling
from corpusmill.inference.schema import Field, Fields, fields_of, parsed, schema_of
from corpusmill.inference.server import Server
from corpusmill.steps import Columns
from corpusmill.store.units import Resources
from corpusmill.tokens.sampling import in_sample, share_of

TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
SHORT = Sampling(max_tokens=512)
COUNTS = ("questions", "prompt_tokens", "answer_tokens")


@dataclass(frozen=True, kw_only=True)
class Model:
    """Ask a language model about each document, and keep what it says as signals.

        annotate/model:
          server: {url: http://localhost:8000/v1, model: Qwen/Qwen3-4B-Instruct-2507}
          prompt: "How much does this page teach? ... {text}"
          fields: {score: {type: integer, min: 0, max: 5}}

    `prompt` has `{text}` where the document is inserted, or is the name of a file that has. The server is one of
    OpenAI's protocol; it is sent a JSON Schema of the fields, and need not obey it: each answer is parsed and checked.
    One that does not fit is asked for once more, with what is wrong; if that does not fit either, the document is a
    dead letter.
    `schema` names a file with a JSON Schema instead of `fields`: an object of numbers, booleans and texts.

    Signals: the fields; `questions`, two where one was asked again; `prompt_tokens` and `answer_tokens` as the server
    counts them. They are None for documents outside of `sample`, a share drawn by a hash of their ids. To score all
    documents by what a sample teaches: `corpusmill train quality`.

    Each answer is written as it arrives, and never asked for again: not after a kill, nor by another recipe in the
    folder, nor for an equal text. The step has a pass of its own, which sees what earlier steps have kept.

    Source: Penedo et al. 2024 (FineWeb-Edu), arXiv:2406.17557, section 4; Propella-1, arXiv:2602.12414
    """

    server: Server
    prompt: str  # with {text} where the document is inserted, or a file
    fields: Fields = ()  # what the answer holds
    schema: str | None = None  # a file with the JSON Schema of the answer, instead of fields
    sampling: Sampling = SHORT
    max_chars: int = 12_000  # of a document that the model is shown, the first ones
    sample: float | str = 1.0  # share of the documents that are asked about
    seed: int = 0  # of the sample

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(dict(self.fields).items()))
        object.__setattr__(self, "sample", share_of(self.sample, "sample"))
        if bool(self.fields) == bool(self.schema):
            raise RecipeError(
                "say what the answer holds, with fields: {score: {type: integer, min: 0, max: 5}} or schema"
            )
        names = [name for name, _ in self.answer_fields]
        if taken := sorted({*names} & {*COUNTS}):
            raise RecipeError(f"{taken[0]} is a signal of every answer; rename the field")
        if self.max_chars < 1:
            raise RecipeError(f"need max_chars >= 1, got {self.max_chars}")
        prompt_text(self.prompt)

    @property
    def answer_fields(self) -> tuple[tuple[str, Field], ...]:
        """The fields of an answer."""
        return fields_of(read_json(self.schema), self.schema) if self.schema else self.fields

    def signals(self, docs: pa.RecordBatch) -> Columns:
        wanted = self.answer_fields
        rows: list[dict[str, Any]] = [{} for _ in range(len(docs))]
        chosen = self._chosen(docs)
        questions = [self._question(docs["text"][row].as_py(), wanted) for row in chosen]
        for row, values in zip(chosen, self._values(questions, wanted)):
            if isinstance(values, Refusal):
                raise DocumentError(values.reason)
            rows[row] = values
        kinds = [*((name, TYPES[field.type]) for name, field in wanted), *((name, pa.int64()) for name in COUNTS)]
        return {name: pa.array([row.get(name) for row in rows], kind) for name, kind in kinds}

    def questions(self, docs: pa.RecordBatch) -> list[Question]:
        """What it would ask about all of these documents, whatever the sample."""
        wanted = self.answer_fields
        return [self._question(text, wanted) for text in docs["text"].to_pylist() if (text or "").strip()]

    @property
    def extras(self) -> tuple[Extra, ...]:
        return (MODELS,)

    @property
    def assets(self) -> tuple[str, ...]:
        return tuple(name for name in (asset_of(self.prompt), self.schema) if name)

    @property
    def own_pass(self) -> Resources | None:
        return Resources()

    def identity(self) -> Any:
        """What of it matters for results: the prompt and the schema as they are, not where the server is."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {
            "server": self.server.identity,
            "prompt": prompt_text(self.prompt),
            "sampling": self.sampling.payload(),
        }
        values |= {"fields": schema_of(self.answer_fields)}
        del values["schema"]
        return {"class": "annotate/model", **values}

    def _chosen(self, docs: pa.RecordBatch) -> list[int]:
        """Which documents are asked about: those of the sample that have a text."""
        drawn = in_sample(docs["id"], float(self.sample), self.seed, "annotate/model.sample")
        return [row for row in np.flatnonzero(drawn).tolist() if (docs["text"][row].as_py() or "").strip()]

    def _question(self, text: str, wanted: Fields) -> Question:
        prompt = prompt_text(self.prompt).replace(TEXT_PLACE, text[: self.max_chars])
        return Question(self.server.model, (("user", prompt),), self.sampling, schema_of(wanted))

    def _values(self, questions: list[Question], wanted: Fields) -> list[dict[str, Any] | Refusal]:
        """What the model says, or why it says nothing that fits."""
        if not questions:
            return []
        from corpusmill.inference.client import ask

        outcomes: list[dict[str, Any] | Refusal] = []
        again: dict[int, Question] = {}  # number of the question -> the one that follows it
        for number, answer in enumerate(ask(self.server, questions)):
            values = answer if isinstance(answer, Refusal) else parsed(answer.text, wanted)
            if isinstance(values, str):
                assert not isinstance(answer, Refusal)
                correction = (
                    ("assistant", answer.text),
                    ("user", f"{values} Answer again, with the JSON object alone."),
                )
                question = questions[number]
                again[number] = replace(question, messages=question.messages + correction)
                values = {}
            outcomes.append(_counted(values, answer))
        for number, answer in zip(again, ask(self.server, list(again.values())) if again else []):
            values = answer if isinstance(answer, Refusal) else parsed(answer.text, wanted)
            if isinstance(values, str):
                values = Refusal(f"the answer does not fit, asked twice: {values}")
            outcomes[number] = _counted(values, answer, outcomes[number])
        return outcomes


def _counted(
    values: dict[str, Any] | Refusal, answer: Answer | Refusal, earlier: dict[str, Any] | Refusal | None = None
) -> dict[str, Any] | Refusal:
    """The values with the counts of the answer, and those of an earlier one."""
    if isinstance(values, Refusal) or isinstance(answer, Refusal):
        return values
    before = earlier if isinstance(earlier, dict) else {}
    counts = {"questions": 1, "prompt_tokens": answer.prompt_tokens, "answer_tokens": answer.answer_tokens}
    return values | {name: before.get(name, 0) + count for name, count in counts.items()}
