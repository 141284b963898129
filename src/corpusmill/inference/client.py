"""Ask many questions at a time, each until it is answered; what the log of answers has is not asked."""

import asyncio
import atexit
import os
import random
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Coroutine, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import orjson

from corpusmill.assets.extras import MODELS
from corpusmill.errors import BudgetError, CorpusmillError, ModelServerError
from corpusmill.inference.answer_log import AnswerLog
from corpusmill.inference.congestion import Congestion
from corpusmill.inference.kept_answers import at_work
from corpusmill.inference.questions import Answer, Question, Refusal
from corpusmill.inference.server import Server
from corpusmill.inference.trial import on_trial
from corpusmill.retry import retry_after_seconds

ATTEMPTS = 6  # at a question that the server fails on
FIRST_WAIT, LONGEST_WAIT = 0.1, 30.0  # seconds
CONNECT = 30.0  # seconds
BUSY = {429, 502, 503, 504, 529}  # the server is away or has too much to do: the question is not the reason
WRONG_FOR_ALL = {
    401: "it does not take the key; `key` names the environment variable that holds it",
    403: "it does not let this key ask this model",
    404: "it has no such model, or url is not the root of its protocol, which often ends in /v1",
}
Outcome = Answer | Refusal
_chance = random.SystemRandom()


def ask(server: Server, questions: Sequence[Question]) -> list[Outcome]:
    """The answer to each question, in order, or why there is none. Equal questions are asked once.

    Raises BudgetError where `max_cost` or `max_requests` is reached; ModelServerError if the server is away for longer
    than its patience, or refuses all; AssetError if its key is not set; MissingExtraError without aiohttp. All that was
    answered until then is kept.
    """
    folder, refused = at_work() or (_temporary(), {})
    trial = on_trial()
    folder = folder if trial is None else trial.folder
    server.check(needs_answers=not folder)
    log = log_at(server.answers or folder)
    keys = [question.key() for question in questions]
    different = dict(zip(keys, questions))
    known = {key: outcome for key in different if (outcome := refused.get(key) or log.get(key))}

    def get(chosen: dict[bytes, Question]) -> dict[bytes, Outcome]:
        try:
            given = dict(_run(_Asking(server, log).outcomes(chosen)))
        finally:
            log.sync()
        refused.update({key: outcome for key, outcome in given.items() if isinstance(outcome, Refusal)})
        return given

    if trial is not None:
        outcomes = trial.outcomes(server, different, known, get)
    else:
        unanswered = {key: question for key, question in different.items() if key not in known}
        outcomes = {**known, **(get(unanswered) if unanswered else {})}
    return [outcomes[key] for key in keys]


class _Asking:
    """One call of `ask`."""

    def __init__(self, server: Server, log: AnswerLog) -> None:
        if MODELS.missing:
            raise MODELS.error("asking a model")
        self._server, self._log = server, log
        self._secret = server.secret()
        self._congestion = _congestion(server)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._rest_until = 0.0
        self._last_answer = monotonic()
        self._end: CorpusmillError | None = None

    async def outcomes(self, questions: dict[bytes, Question]) -> list[tuple[bytes, Outcome]]:
        import aiohttp

        headers = {"Content-Type": "application/json"}
        if self._secret:
            headers["Authorization"] = f"Bearer {self._secret}"
        timeout = aiohttp.ClientTimeout(total=self._server.timeout, sock_connect=CONNECT)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout, connector=connector) as session:
            tasks = [asyncio.create_task(self._answer(session, *item)) for item in questions.items()]
            done = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome in done:
            if isinstance(outcome, BaseException) and outcome is not self._end:
                raise outcome
        if self._end:
            raise self._end
        return [outcome for outcome in done if not isinstance(outcome, BaseException)]

    async def _answer(self, session: Any, key: bytes, question: Question) -> tuple[bytes, Outcome]:
        """Ask until there is an answer, or no hope of one."""
        import aiohttp

        body, attempts, failures, reason = question.body(), 0, 0, ""
        while failures < ATTEMPTS:
            await self._enter()
            retry_after = 0.0
            try:
                async with session.post(self._server.chat_url, data=body) as response:
                    status, data = response.status, await response.read()
                    retry_after = retry_after_seconds(response.headers.get("Retry-After", ""))
            except TimeoutError:
                failures += 1
                reason = f"no answer within {self._server.timeout:g} s"
                self._note_refusal(0.0, reason)
            except aiohttp.ClientConnectorError as error:
                reason = f"it cannot be reached: {error.strerror or error}"
                self._note_refusal(0.0, reason)
            except (aiohttp.ClientError, OSError) as error:
                failures += 1
                reason = f"the answer was cut: {type(error).__name__}"
                self._check_patience(reason)
            else:
                reason = self._without_secret(f"HTTP {status}: {_message(data)}")
                if status == 200:
                    answer = _parsed(data, question.model)
                    if answer is not None:
                        self._congestion.count_answer()
                        self._last_answer = monotonic()
                        return key, self._keep(key, answer)
                    failures += 1
                    reason = f"its answer is not one of the protocol: {data[:80]!r}"
                elif status in BUSY:
                    self._note_refusal(retry_after, reason)
                elif status in WRONG_FOR_ALL:
                    self._stop(ModelServerError(f"{self._server.url}: {reason}. Probably {WRONG_FOR_ALL[status]}."))
                elif status < 500 and status not in (408, 425):
                    self._last_answer = monotonic()
                    return key, Refusal(f"{self._server.model} refuses it: {reason}")
                else:
                    failures += 1
            finally:
                self._leave()
            attempts += 1
            if failures < ATTEMPTS:
                await asyncio.sleep(max(retry_after, _wait(attempts)))
        return key, Refusal(f"{self._server.model} failed {ATTEMPTS} times, the last time with: {reason}")

    def _keep(self, key: bytes, answer: Answer) -> Answer:
        try:
            return self._log.add(key, self._server.model, answer)
        except CorpusmillError as error:
            self._stop(error)
            raise

    async def _enter(self) -> None:
        """Wait until another question may be in flight. Raises what ends the asking."""
        while True:
            if self._end is None:
                self._check_budget()
            if self._end is not None:
                raise self._end
            rest = self._rest_until - monotonic()
            if rest > 0:
                await asyncio.sleep(rest)
            elif self._in_flight < self._congestion.window:
                self._in_flight += 1
                return
            else:
                waiter = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter

    def _leave(self) -> None:
        self._in_flight -= 1
        free = self._congestion.window - self._in_flight
        while self._waiting and free > 0:
            self._waiting.popleft().set_result(None)
            free -= 1

    def _note_refusal(self, retry_after: float, reason: str) -> None:
        if self._congestion.count_refusal(self._in_flight) and retry_after:
            self._rest_until = max(self._rest_until, monotonic() + retry_after)
        self._check_patience(reason)

    def _check_patience(self, reason: str) -> None:
        if monotonic() - self._last_answer > self._server.patience:
            patience = f"{self._server.patience:g} s"
            self._stop(
                ModelServerError(
                    f"{self._server.url} has answered nothing for {patience} (server.patience); the last time, "
                    f"{reason}. Start it, or mend url, and run again: what it has answered is kept."
                )
            )

    def _check_budget(self) -> None:
        server = self._server
        if server.max_requests is None and server.max_cost is None:
            return
        answers, prompt_tokens, answer_tokens = self._log.spent(server.model)
        if server.max_requests is not None and answers + self._in_flight >= server.max_requests:
            have = (
                f"{answers:,} answers and {self._in_flight} more to come, and max_requests is {server.max_requests:,}"
            )
        else:
            spent = server.cost(prompt_tokens, answer_tokens)
            expected = spent / answers * self._in_flight if answers else 0.0
            if server.max_cost is None or spent + expected < server.max_cost:
                return
            have = f"answers for {spent:.4g} USD, and max_cost is {server.max_cost:g}"
        self._stop(
            BudgetError(
                f"{server.model}: {self._log.folder} has {have}. Set a larger one and run again: it continues, and "
                "nothing is asked twice."
            )
        )

    def _stop(self, error: CorpusmillError) -> None:
        """Ask nothing more. What is in flight is still waited for."""
        self._end = self._end or error
        while self._waiting:
            self._waiting.popleft().set_result(None)

    def _without_secret(self, message: str) -> str:
        return message.replace(self._secret, "***") if self._secret else message


def _parsed(data: bytes, model: str) -> Answer | None:
    """The answer in the body of a response; None if it holds none."""
    try:
        about = orjson.loads(data)
        choice = about["choices"][0]
        text, usage = choice["message"]["content"], about.get("usage") or {}
        tokens = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
        is_cut = choice.get("finish_reason") == "length"
        served_by = str(about.get("model") or model)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None
    return Answer(text, is_cut, served_by, *tokens) if isinstance(text, str) else None


def _message(data: bytes) -> str:
    """What a body says of an error, in a line."""
    try:
        about = orjson.loads(data)
        error = about.get("error", about) if isinstance(about, dict) else about
        text = error.get("message", error) if isinstance(error, dict) else error
    except ValueError:
        text = data.decode("utf-8", "replace")
    return " ".join(str(text).split())[:300]


def _wait(attempts: int) -> float:
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempts - 1, 20)) * _chance.uniform(0.5, 1.5)


_logs: dict[tuple[int, str], AnswerLog] = {}
_congestions: dict[tuple[int, str, int], Congestion] = {}
_loops: dict[int, asyncio.AbstractEventLoop] = {}
_temporaries: dict[int, str] = {}


def log_at(folder: str) -> AnswerLog:
    """The log of a folder, opened once a process: workers are forked."""
    key = os.getpid(), os.path.abspath(folder)  # noqa: PTH100
    if key not in _logs or not _logs[key].is_there():
        _logs[key] = AnswerLog(Path(folder))
    return _logs[key]


def _congestion(server: Server) -> Congestion:
    """What this process has learned of a server."""
    key = os.getpid(), server.url, server.in_flight
    return _congestions.setdefault(key, Congestion(server.in_flight))


def _temporary() -> str:
    """Outside of runs: a folder until the process ends."""
    pid = os.getpid()
    if pid not in _temporaries:
        _temporaries[pid] = tempfile.mkdtemp(prefix="corpusmill-answers-")
        atexit.register(shutil.rmtree, _temporaries[pid], ignore_errors=True)
    return _temporaries[pid]


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine, in a thread of its own: notebooks have a loop in theirs."""
    pid = os.getpid()
    if pid not in _loops:
        _loops[pid] = asyncio.new_event_loop()
        threading.Thread(target=_loops[pid].run_forever, daemon=True, name="model-client").start()
    future = asyncio.run_coroutine_threadsafe(coroutine, _loops[pid])
    try:
        return future.result()
    except BaseException:
        future.cancel()  # of an interrupted process
        raise
