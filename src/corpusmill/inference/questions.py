"""A question to a model, and the key under which its answer is kept."""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from corpusmill.errors import RecipeError

KEY_BYTES = 16
Message = tuple[str, str]  # role and text


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a model draws its answer.

    temperature   0: the likeliest token each time
    top_p         of the probability that is drawn from
    max_tokens    of an answer, at most
    seed          for servers that take one; None: not sent
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 2048
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.max_tokens < 1:
            raise RecipeError(
                f"need temperature >= 0, 0 < top_p <= 1 and max_tokens >= 1, got {self.temperature}, {self.top_p} and "
                f"{self.max_tokens}"
            )

    def payload(self) -> dict[str, Any]:
        values = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return values if self.seed is None else {**values, "seed": self.seed}


@dataclass(frozen=True)
class Question:
    """What is asked of a model.

    messages   role and text of each
    schema     the JSON Schema that the answer is to fit; None: text
    """

    model: str
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    schema: Any = None

    def body(self) -> bytes:
        """The request as it is sent."""
        payload: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in self.messages],
            **self.sampling.payload(),
        }
        if self.schema is not None:
            schema = {"name": "answer", "strict": True, "schema": self.schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": schema}
        return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)

    def key(self) -> bytes:
        """16 bytes: text, prompt, model, sampling and schema, and neither who asks nor where."""
        return blake2b(self.body(), digest_size=KEY_BYTES).digest()


@dataclass(frozen=True)
class Answer:
    """What a model said.

    is_cut          it ended because it reached max_tokens
    served_by       the name that the server gives its model
    prompt_tokens, answer_tokens   as the server counts them; 0 where it does not
    """

    text: str
    is_cut: bool = False
    served_by: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True)
class Refusal:
    """A question that the server does not answer, and why: the document that it is about is a dead letter."""

    reason: str
