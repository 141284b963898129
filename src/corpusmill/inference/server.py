"""A server of a language model, as a recipe names it."""

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from corpusmill.errors import AssetError, RecipeError

ENV_SCHEME = "env:"
PRICED = 1_000_000  # tokens that a price is for


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a model answers, and how much may be asked of it.

    url           of the protocol's root: http://localhost:8000/v1
    model         its name at the server
    key           `env:NAME`, the environment variable that holds it; None: the server wants none. It is read when it is
                  sent, and written nowhere
    answers       a folder for answers that several runs share; None: the run's own. It is on a local or shared disk
    in_flight     questions at a time, at most, of each worker; fewer while the server refuses some
    timeout       seconds until an answer must be there
    patience      seconds without any answer, because the server is away or refuses all, after which the run ends
    prices        USD for a million tokens, of prompts and of answers; None: not known
    max_cost      USD that all answers of this model in the folder may cost; the run stops there; it continues with more
    max_requests  the same as a number of answers
    """

    url: str
    model: str
    key: str | None = None
    answers: str | None = None
    in_flight: int = 128
    timeout: float = 600.0
    patience: float = 900.0
    prices: tuple[float, float] | None = None
    max_cost: float | None = None
    max_requests: int | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RecipeError(f"url is the root of the server, as in http://localhost:8000/v1, got {self.url}")
        if parts.username or parts.password:
            raise RecipeError("url holds a password, which would be written into the run; name a key: env:NAME")
        if not self.model:
            raise RecipeError("model is empty; it is the name that the server lists under /v1/models")
        if self.key is not None and not self.key.removeprefix(ENV_SCHEME).isidentifier():
            raise RecipeError("key names an environment variable, as in env:MODEL_KEY; the key itself is in no recipe")
        for name in ("in_flight", "timeout", "patience", "max_requests"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise RecipeError(f"need {name} > 0, got {value}")
        if self.max_cost is not None and self.prices is None:
            raise RecipeError("max_cost needs prices, as in prices: [0.1, 0.4], USD for a million tokens in and out")

    @property
    def identity(self) -> Any:
        """What of it matters for results: not where it is, nor how fast it is asked."""
        return {"model": self.model}

    @property
    def chat_url(self) -> str:
        return f"{self.url.rstrip('/')}/chat/completions"

    def secret(self) -> str | None:
        """The key. Raises AssetError if its variable is not set."""
        if self.key is None:
            return None
        variable = self.key.removeprefix(ENV_SCHEME)
        if not os.environ.get(variable):
            raise AssetError(
                f"the environment variable {variable} is not set; it is to hold the key of {self.url}, on every "
                "machine that has workers"
            )
        return os.environ[variable].strip()

    def check(self, needs_answers: bool) -> None:
        """Raises AssetError if the key is not set; RecipeError without a folder of answers where there must be one."""
        self.secret()
        if needs_answers and not self.answers:
            raise RecipeError(
                "answers of a model are appended to a file, which an object store has not: name a folder of a local or "
                "shared disk, as in server: {answers: /data/answers}"
            )

    def cost(self, prompt_tokens: float, answer_tokens: float) -> float:
        """USD of so many tokens; 0 where there are no prices."""
        prompt_price, answer_price = self.prices or (0.0, 0.0)
        return (prompt_tokens * prompt_price + answer_tokens * answer_price) / PRICED
