"""What asking will take, from a part of the questions of a sample: the rest gets answers like those of this part."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from time import monotonic

import orjson

from corpusmill.inference.questions import Answer, Question, Refusal
from corpusmill.inference.server import Server

MOST_ASKED = 256  # questions of a trial that are asked of a server: more than twice those in flight
FEWEST = 8  # of one batch, while any are left
Outcome = Answer | Refusal
Ask = Callable[[dict[bytes, Question]], Mapping[bytes, Outcome]]


@dataclass
class Asked:
    """What a server is to be asked of a sample.

    questions       different ones
    answered        of these, those that had an answer before
    prompt_tokens   of the others: as the server counts them, or as it would, by their bytes
    answer_tokens   of the others: as the server counts them, or as those of questions that were asked
    asked           questions that were asked, in so many `seconds`
    rate            of answers a second, of the call that asked most: `most_at_once`
    """

    questions: int = 0
    answered: int = 0
    prompt_tokens: float = 0.0
    answer_tokens: float = 0.0
    asked: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    most_at_once: int = 0
    asked_bytes: int = 0
    asked_prompt_tokens: int = 0


@dataclass
class Trial:
    """Work on a sample meanwhile asks at most so many questions of each server.

    folder   of the answers, unless a server has one of its own: those of the run that is planned
    most     few until `begin`
    """

    folder: str
    most: int = FEWEST
    of_servers: dict[Server, Asked] = field(default_factory=dict)
    _given: dict[tuple[Server, bytes], list[Outcome]] = field(default_factory=dict)
    _seen: set[bytes] = field(default_factory=set)
    _own: set[bytes] = field(default_factory=set)  # that were asked in this trial

    def begin(self) -> None:
        """Ask and count from now on."""
        self.of_servers, self._seen, self.most = {}, set(), MOST_ASKED

    @property
    def seconds(self) -> float:
        """Spent on asking."""
        return sum(about.seconds for about in self.of_servers.values())

    def outcomes(
        self, server: Server, questions: Mapping[bytes, Question], known: Mapping[bytes, Outcome], ask: Ask
    ) -> dict[bytes, Outcome]:
        """The outcomes of questions by their keys. Of those that are not known a part, spread evenly, is asked."""
        about = self.of_servers.setdefault(server, Asked())
        lacking = [key for key in questions if key not in known]
        left = self.most - about.asked
        count = max(0, min(len(lacking), server.in_flight, left, max(FEWEST, left // 2)))
        chosen = {key: questions[key] for key in (lacking[place * len(lacking) // count] for place in range(count))}
        began = monotonic()
        given = dict(ask(chosen)) if chosen else {}
        took = monotonic() - began
        self._own.update(given)
        about.asked, about.seconds = about.asked + count, about.seconds + took
        if count > about.most_at_once:
            about.most_at_once, about.rate = count, count / max(took, 1e-9)
        for key, outcome in given.items():
            self._given.setdefault((server, _kind(questions[key])), []).append(outcome)
            if isinstance(outcome, Answer):
                about.asked_bytes += len(questions[key].body())
                about.asked_prompt_tokens += outcome.prompt_tokens
        outcomes = {**known, **given}
        for key, question in questions.items():
            outcome = outcomes.get(key) or self._like_others(server, key, question, about)
            outcomes[key] = outcome
            if key in self._seen:
                continue
            self._seen.add(key)
            about.questions += 1
            if key in known and key not in self._own:
                about.answered += 1
            elif isinstance(outcome, Answer):
                about.prompt_tokens += outcome.prompt_tokens
                about.answer_tokens += outcome.answer_tokens
        return outcomes

    def _like_others(self, server: Server, key: bytes, question: Question, about: Asked) -> Outcome:
        """An outcome of a question of this kind, drawn by the key."""
        given = self._given.get((server, _kind(question)))
        if not given:
            return Refusal("not asked: this is an estimate")
        outcome = given[int.from_bytes(key[:8], "little") % len(given)]
        if isinstance(outcome, Refusal):
            return outcome
        prompt_tokens = round(len(question.body()) * about.asked_prompt_tokens / max(about.asked_bytes, 1))
        return replace(outcome, prompt_tokens=prompt_tokens)


def _kind(question: Question) -> bytes:
    return orjson.dumps([question.schema, len(question.messages)], option=orjson.OPT_SORT_KEYS)


_trial: ContextVar[Trial | None] = ContextVar("_trial", default=None)


@contextmanager
def trying(trial: Trial) -> Iterator[Trial]:
    """Meanwhile `ask` asks only what the trial allows."""
    token = _trial.set(trial)
    try:
        yield trial
    finally:
        _trial.reset(token)


def on_trial() -> Trial | None:
    """The trial of this work; None in a run."""
    return _trial.get()
