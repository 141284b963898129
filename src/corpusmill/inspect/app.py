"""Which address gives what. Everything is below a random token, and nothing is allowed that the page does not need."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from corpusmill.errors import AssetError, CorpusmillError, InputError, RecipeError
from corpusmill.inspect.blind import MARKS, Review
from corpusmill.inspect.document import document, pair
from corpusmill.inspect.listing import Listing, ListingFilter
from corpusmill.inspect.marks import marks
from corpusmill.inspect.thresholds import Thresholds
from corpusmill.inspect.trace import Trace
from corpusmill.report.tables import RunTables

HOSTS = ["127.0.0.1", "localhost"]
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# Texts are hostile. The page puts them in as text alone; were it to fail, no script that is not ours would run.
POLICY = "; ".join(
    [
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"),
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MAX_BODY = 1 << 20  # bytes
EXAMPLE = "A line, with an address: a.b@example.com, 10.0.0.1 and +1 212 555 0100.\n" * 3
Answer = Callable[[Any], Any]


class Inspector:
    """What the addresses answer with. Raises ResumeError if the run is not finished."""

    def __init__(self, tables: RunTables) -> None:
        self.tables = tables
        self.listing = Listing(tables)
        self.thresholds = Thresholds(tables)
        self.review = Review(self.listing)
        _ = self.listing.facets  # counted before the page can ask
        self.tracing = Trace(tables)

    def read_ahead(self) -> None:
        """What takes seconds the first time, so that nobody waits for it who comes to it: code that marks a text, which
        is compiled or loaded, and the signals of all passes. What cannot be read is said to who asks for it."""
        with contextlib.suppress(RecipeError, AssetError):  # of steps that cannot be imported from here
            steps = self.tables.files.recipe.steps
            marks(EXAMPLE, {"url": None}, steps, steps)
        with contextlib.suppress(*expected()):
            self.thresholds.read_ahead()

    def run(self) -> dict[str, Any]:
        """The run's name and passes, what can be filtered by, and which signals its rules judge by."""
        return {
            "name": self.tables.files.name,
            "folder": str(self.tables.folder),
            "stages": [stage for stage, _ in self.tables.passes],
            "with_thresholds": self.thresholds.stages(),
            "facets": self.listing.facets,
            "signals": self.listing.signals,
            "marks": MARKS,
            "shards": self.tracing.about(),
        }

    def documents(self, given: Mapping[str, str]) -> dict[str, Any]:
        return self.listing.page(ListingFilter.of(given), _whole(given.get("page", "0"), "page"))

    def export(self, given: Mapping[str, str]) -> Iterator[bytes]:
        for row in self.listing.rows(ListingFilter.of(given)):
            yield orjson.dumps(row) + b"\n"

    def document(self, given: Mapping[str, str]) -> dict[str, Any]:
        return document(self.listing, *_address(given), _tokens(given.get("tokens", "")), self.tracing)

    def trace(self, given: Mapping[str, str]) -> dict[str, Any]:
        return self.tracing.answer(given)

    def pair(self, given: Mapping[str, str]) -> dict[str, Any]:
        return pair(self.listing, *_address(given))

    def sliders(self, given: Mapping[str, str]) -> dict[str, Any]:
        return self.thresholds.sliders(given.get("stage", ""))

    def estimate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self.thresholds.estimate(str(asked.get("stage")), _moved(asked))

    def exact(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self.thresholds.exact(_moved(asked))

    def recipe(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": f"{self.tables.files.name}.yaml", "recipe": self.thresholds.recipe(_moved(asked))}

    def round(self, given: Mapping[str, str]) -> list[dict[str, Any]]:
        return self.review.round(given.get("stage", ""))

    def text(self, given: Mapping[str, str]) -> dict[str, str]:
        id, file, position = _address(given)
        return {"text": self.review.text(given.get("stage", ""), id, file, _whole(position, "position"))}

    def mark(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        stage, id, file = (str(asked.get(name, "")) for name in ("stage", "id", "file"))
        position = _whole(str(asked.get("position", "")), "position")
        self.review.mark(stage, id, file, position, str(asked.get("mark")))
        return {"saved": str(self.review.path)}

    def agreement(self, _: Mapping[str, str]) -> dict[str, Any]:
        return {"agreement": self.review.agreement(), "file": str(self.review.path)}


def app(inspector: Inspector, token: str) -> Starlette:
    """The application. What is not below the token is not found, and neither is a host that is not this machine."""
    root = "/{token}"
    asked: dict[str, Answer] = {
        "documents": inspector.documents,
        "document": inspector.document,
        "pair": inspector.pair,
    }
    asked |= {"sliders": inspector.sliders, "trace": inspector.trace}
    asked |= {"round": inspector.round, "text": inspector.text, "agreement": inspector.agreement}
    asked |= {"run": lambda _: inspector.run()}
    told = {
        "estimate": inspector.estimate,
        "exact": inspector.exact,
        "recipe": inspector.recipe,
        "mark": inspector.mark,
    }
    routes = [Route(f"{root}/api/{name}", _get(token, answer)) for name, answer in asked.items()]
    routes += [Route(f"{root}/api/{name}", _post(token, answer), methods=["POST"]) for name, answer in told.items()]
    routes += [Route(f"{root}/documents.jsonl", _stream(token, inspector.export))]
    for page in files("corpusmill.inspect").joinpath("page").iterdir():
        if kind := KINDS.get(page.name[page.name.rfind(".") :]):
            name = "" if page.name == "index.html" else page.name
            routes.append(Route(f"{root}/{name}", _file(token, page.read_bytes(), kind)))
    return Starlette(routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)])


def _file(token: str, content: bytes, kind: str) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        return Response(content, headers=HEADERS, media_type=kind)

    return answer


def _get(token: str, of: Answer) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        return await _answered(of, dict(request.query_params))

    return answer


def _post(token: str, of: Answer) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                return _json({"error": f"a question has at most {MAX_BODY:,d} bytes"}, 413)
        try:
            asked = orjson.loads(body)
        except orjson.JSONDecodeError:
            asked = None
        if not isinstance(asked, dict):
            return _json({"error": "a question is a JSON object, and JSON has no NaN and no infinity"}, 400)
        return await _answered(of, asked)

    return answer


def _stream(token: str, of: Callable[[Any], Iterator[bytes]]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        lines = of(dict(request.query_params))
        try:
            first = await run_in_threadpool(next, lines, b"")  # an error in the question is found here
        except expected() as error:
            return _refused(error)
        headers = HEADERS | {"Content-Disposition": 'attachment; filename="documents.jsonl"'}
        return StreamingResponse(_after(first, lines), headers=headers, media_type="application/jsonlines")

    return answer


def _after(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


async def _answered(of: Answer, asked: Any) -> Response:
    try:
        return _json(await run_in_threadpool(of, asked))
    except expected() as error:
        return _refused(error)


def expected() -> tuple[type[Exception], ...]:
    """What is raised if a question is wrong, or a file of the run is gone."""
    import duckdb

    return CorpusmillError, OSError, duckdb.IOException


def _refused(error: Exception) -> Response:
    """What is wrong with a question, or that what it asks for is no longer there."""
    if isinstance(error, CorpusmillError):
        return _json({"error": str(error)}, 400)
    first = str(error).splitlines()[0]
    return _json({"error": f"a file of the run cannot be read: was it run again, or moved? Start anew. ({first})"}, 410)


def _allowed(request: Request, token: str) -> bool:
    given = str(request.path_params["token"])
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _json(value: Any, status: int = 200) -> Response:
    # NaN and infinity, which JSON has not, become null.
    content = orjson.dumps(value, default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(content, status, HEADERS, "application/json")


def _not_found() -> Response:
    return Response("not found", 404, HEADERS, "text/plain")


def _address(given: Mapping[str, str]) -> tuple[str, str, str]:
    return given.get("id", ""), given.get("file", ""), given.get("position", "")


def _tokens(asked: str) -> tuple[int, int] | None:
    """Tokens [start, stop) of a document, as in "12:40"; None if none are asked for."""
    if not asked:
        return None
    start, _, stop = asked.partition(":")
    first, end = _whole(start, "the first of the tokens"), _whole(stop, "the end of the tokens")
    if end <= first:
        raise InputError(f'tokens are a first one and an end behind it, as in 12:40; got "{asked}"')
    return first, end


def _moved(asked: Mapping[str, Any]) -> dict[str, float | None]:
    moved = asked.get("moved", {})
    if not isinstance(moved, dict):
        raise InputError('what is moved is an object of thresholds, as in {"gopher_quality.min_words": 30}')
    return moved


def _whole(value: str, name: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise InputError(f'{name} is a whole number from 0, got "{value}"')
    return int(value)
