"""What would a language model make of this document?"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.assets.extras import MODELS, Extra
from corpusmill.errors import RecipeError
from corpusmill.inference import faithful
from corpusmill.inference.pieces import pieces
from corpusmill.inference.prompts import TEXT_PLACE, asset_of, prompt_text
from corpusmill.inference.questions import Answer, Question, Refusal, Sampling
from corpusmill.inference.server import Server
from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_WIDE
from corpusmill.schema import CANARY, DOCUMENT, document_id
from corpusmill.steps import Columns, MadeDocuments
from corpusmill.steps.verdict import Rule, failing, join_reasons
from corpusmill.store.units import Resources
from corpusmill.tokens.sampling import in_sample, share_of

SIGNALS = {
    "made_from": pa.string(),
    "rewritten": pa.bool_(),
    "prompt": pa.string(),
    "is_cut": pa.bool_(),
    "ratio": pa.float64(),
    "other_language": pa.bool_(),
    "numbers_kept": pa.float64(),
    "names_kept": pa.float64(),
    "questions": pa.int64(),
    "prompt_tokens": pa.int64(),
    "answer_tokens": pa.int64(),
}
LONG = Sampling()
MADE = "made"  # the name in the metadata of a made document: from what, by which model and prompt


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    """Make new documents of documents with a language model, and keep them beside these or in their place.

        generate/rewrite:
          server: {url: http://localhost:8000/v1, model: HuggingFaceTB/SmolLM2-1.7B-Instruct}
          prompts: [question_answer, distil]

    Prompts that ship: wikipedia, question_answer, distil, facts, table, code, faq. Others are texts with `{text}` where
    the document goes, or files. Each prompt makes a document of each, with the source `source`, behind it; its file,
    position and url are those of the original, and its metadata say under `made` from which document, by which model
    and prompt. A document of more than `max_chars` is cut between paragraphs, and what is made of the pieces is joined.

    Dropped of what is made, the rest being kept: `cut` answers that ended at `sampling.max_tokens`; `other_language`
    than the original's, by lid.wide, unless `same_language` is off; `min_ratio` and `max_ratio` by characters beside
    those of the original; and, where they are set, `min_numbers_kept` and `min_names_kept`, the share of its different
    numbers and names that are still there. With `instead`, an original is dropped as `rewritten` if a document made of
    it passes these rules. A document that the model refuses is a dead letter of the source of what is made.

    Signals of what is made, None for originals: `made_from`, the id of the original; `prompt`; `is_cut`; `ratio`;
    `other_language`; `numbers_kept` and `names_kept`, None where the original has none; `questions`,
    `prompt_tokens` and `answer_tokens`. Of originals: `rewritten`, whether a document made of it passes the rules.

    Each answer is written as it arrives and never asked for again, see `annotate/model`. The step has a pass of its
    own, and sees what earlier steps have kept; those that follow see both kinds.

    Source: Maini et al. 2024 (WRAP), arXiv:2401.16380; Su et al. 2024 (Nemotron-CC), arXiv:2412.02595, section 2.3;
    FinePhrase, arXiv:2604.13977
    """

    server: Server
    prompts: tuple[str, ...]  # names of those that ship, texts with {text}, or files
    source: str = "rewritten"  # of what is made
    instead: bool = False  # whether originals are dropped that have been rewritten
    sampling: Sampling = LONG
    max_chars: int = 8_000  # of a document in one question
    sample: float | str = 1.0  # share of the documents that are rewritten
    seed: int = 0  # of the sample
    min_ratio: float | None = 0.05
    max_ratio: float | None = 3.0
    same_language: bool = True
    min_numbers_kept: float | None = None
    min_names_kept: float | None = None

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("min_ratio", "ratio", "<"),
        Rule("max_ratio", "ratio", ">"),
        Rule("min_numbers_kept", "numbers_kept", "<"),
        Rule("min_names_kept", "names_kept", "<"),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "sample", share_of(self.sample, "sample"))
        if not self.prompts or len(set(self.prompts)) < len(self.prompts):
            raise RecipeError("prompts names one or several, each once, as in prompts: [question_answer, distil]")
        if not self.source or self.source == CANARY:
            raise RecipeError(f'source names what is made, and is not "{self.source}"')
        if self.max_chars < 100:
            raise RecipeError(f"need max_chars >= 100, got {self.max_chars}")
        for prompt in self.prompts:
            prompt_text(prompt)

    def make(self, docs: pa.RecordBatch) -> MadeDocuments:
        drawn = in_sample(docs["id"], float(self.sample), self.seed, "generate/rewrite.sample")
        rows = docs.to_pylist()
        chosen = [row for row in np.flatnonzero(drawn).tolist() if (rows[row]["text"] or "").strip()]
        asked: list[tuple[int, str, list[Question]]] = []  # row, prompt, the questions for its pieces
        for row in chosen:
            asked += [(row, prompt, questions) for prompt, questions in self._questions(rows[row]["text"])]
        answers = iter(self._answers([question for _, _, questions in asked for question in questions]))
        made: dict[int, list[tuple[dict[str, Any], dict[str, Any]]]] = {}  # row -> documents and their signals
        failed: list[tuple[dict[str, Any], str]] = []
        for row, prompt, questions in asked:
            parts_made = [next(answers) for _ in questions]
            document: dict[str, Any] = self._document(rows[row], prompt)
            about: dict[str, Any] = {"made_from": rows[row]["id"], "prompt": self._name(prompt)}
            refusal = next((answer for answer in parts_made if isinstance(answer, Refusal)), None)
            if refusal:
                failed.append((document, refusal.reason))
                continue
            said = [answer for answer in parts_made if isinstance(answer, Answer)]
            document["text"] = "\n\n".join(answer.text.strip() for answer in said)
            about |= _measured(rows[row]["text"], document["text"], said)
            made.setdefault(row, []).append((document, about))
        pairs = [pair for row, original in enumerate(rows) for pair in ((original, {}), *made.get(row, []))]
        signals = {name: pa.array([about.get(name) for _, about in pairs], kind) for name, kind in SIGNALS.items()}
        together = pa.RecordBatch.from_pylist([document for document, _ in pairs], schema=DOCUMENT)
        if self.same_language and made:
            signals["other_language"] = self._other_language(together["text"], signals["made_from"], together["id"])
        passed = pc.unique(signals["made_from"].filter(pc.is_null(self._failing(signals)))).drop_null()
        is_rewritten = pc.is_in(together["id"], passed)
        signals["rewritten"] = pc.if_else(signals["made_from"].is_null(), is_rewritten, pa.scalar(None, pa.bool_()))
        return MadeDocuments(together, signals, tuple(failed))

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        reasons = self._failing(signals)
        if not self.instead:
            return reasons
        return pc.if_else(pc.fill_null(signals["rewritten"], False), "rewritten", reasons)

    def questions(self, docs: pa.RecordBatch) -> list[Question]:
        """What it would ask about all of these documents, whatever the sample."""
        texts = [text for text in docs["text"].to_pylist() if (text or "").strip()]
        return [question for text in texts for _, questions in self._questions(text) for question in questions]

    @property
    def extras(self) -> tuple[Extra, ...]:
        return (MODELS,)

    @property
    def assets(self) -> tuple[str, ...]:
        files = tuple(name for name in map(asset_of, self.prompts) if name)
        return (*files, *(self._identifier().assets() if self.same_language else ()))

    @property
    def own_pass(self) -> Resources | None:
        return Resources()

    def identity(self) -> Any:
        """What of it matters for results: the prompts as they are, not where the server is."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {"server": self.server.identity, "sampling": self.sampling.payload()}
        values |= {"prompts": [[self._name(prompt), prompt_text(prompt)] for prompt in self.prompts]}
        return {"class": "generate/rewrite", **values}

    def _failing(self, signals: Columns) -> pa.Array:
        """(documents,) the rules that what is made fails; null of originals."""
        own = join_reasons(cut=signals["is_cut"], other_language=signals["other_language"])
        ruled = failing(self, self.RULES, signals)
        both = pc.utf8_trim(pc.binary_join_element_wise(pc.fill_null(own, ""), pc.fill_null(ruled, ""), ","), ",")
        return pc.if_else(pc.equal(both, ""), pa.scalar(None, pa.string()), both)

    def _questions(self, text: str) -> Iterator[tuple[str, list[Question]]]:
        """Each prompt, and the questions for the pieces of a text."""
        parts = pieces(text, self.max_chars)
        for prompt in self.prompts:
            yield prompt, [self._question(prompt, part) for part in parts]

    def _question(self, prompt: str, text: str) -> Question:
        messages = (("user", prompt_text(prompt).replace(TEXT_PLACE, text)),)
        return Question(self.server.model, messages, self.sampling)

    def _answers(self, questions: list[Question]) -> list[Answer | Refusal]:
        if not questions:
            return []
        from corpusmill.inference.client import ask

        return ask(self.server, questions)

    def _document(self, original: dict[str, Any], prompt: str) -> dict[str, Any]:
        """The document that is made of another one, without its text."""
        name = self._name(prompt)
        about = {"from": original["id"], "source": original["source"], "by": self.server.model, "prompt": name}
        own = {"metadata": orjson.dumps({MADE: about}).decode(), "raw": None, "charset": None, "source": self.source}
        return original | own | {"id": document_id(self.source, f"{original['id']}:{name}"), "text": None}

    def _name(self, prompt: str) -> str:
        """What a prompt is called: of a text in the recipe, its number."""
        return asset_of(prompt) or (f"prompt {self.prompts.index(prompt) + 1}" if TEXT_PLACE in prompt else prompt)

    def _other_language(self, texts: pa.Array, made_from: pa.Array, ids: pa.Array) -> pa.Array:
        """(documents,) whether a made document is in another language than the original; None where one has none."""
        labels = self._identifier().columns(texts)["label"]
        originals = labels.take(pc.index_in(made_from, ids))
        return pc.if_else(made_from.is_valid(), pc.not_equal(labels, originals), pa.scalar(None, pa.bool_()))

    @staticmethod
    def _identifier() -> Identifier:
        return Identifier(model=LID_WIDE, windows=3, window_chars=None, offset=0.0)


def _measured(before: str, after: str, answers: list[Answer]) -> dict[str, Any]:
    """The signals of a text that was made of another one."""
    return {
        "is_cut": any(answer.is_cut for answer in answers),
        "ratio": len(after) / len(before),
        "numbers_kept": faithful.kept_share(faithful.numbers(before), faithful.numbers(after)),
        "names_kept": faithful.kept_share(faithful.names(before), faithful.names(after)),
        "questions": len(answers),
        "prompt_tokens": sum(answer.prompt_tokens for answer in answers),
        "answer_tokens": sum(answer.answer_tokens for answer in answers),
    }
