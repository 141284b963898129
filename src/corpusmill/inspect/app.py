"""Which address gives what. Everything is below a random token, and nothing is allowed that the page does not need."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from itertools import chain
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
from corpusmill.inspect.blind import REVIEW_MARKS, Review
from corpusmill.inspect.document import document, pair
from corpusmill.inspect.listing import Listing, ListingFilter
from corpusmill.inspect.marks import marks
from corpusmill.inspect.thresholds import Thresholds
from corpusmill.inspect.trace import Trace, parse_integer
from corpusmill.report.tables import RunTables

ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# Texts are hostile. The page puts them in as text alone; were it to fail, no script that is not ours would run.
PAGE_POLICY = "; ".join(
    [
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"),
    ]
)
RESPONSE_HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MAX_BODY_BYTES = 1 << 20  # bytes
WARM_UP_TEXT = "A line, with an address: a.b@example.com, 10.0.0.1 and +1 212 555 0100.\n" * 3
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
            marks(WARM_UP_TEXT, {"url": None}, steps, steps)
        with contextlib.suppress(*request_errors()):
            self.thresholds.read_ahead()

    def run(self, _: Mapping[str, str]) -> dict[str, Any]:
        """The run's name and passes, what can be filtered by, and which signals its rules judge by."""
        return {
            "name": self.tables.files.name,
            "folder": str(self.tables.folder),
            "stages": [stage for stage, _ in self.tables.passes],
            "with_thresholds": self.thresholds.stages(),
            "facets": self.listing.facets,
            "signals": self.listing.signals,
            "marks": REVIEW_MARKS,
            "shards": self.tracing.about(),
        }

    def documents(self, query: Mapping[str, str]) -> dict[str, Any]:
        return self.listing.page(ListingFilter.from_query(query), parse_integer(query.get("page", "0"), "page"))

    def export(self, query: Mapping[str, str]) -> Iterator[bytes]:
        for row in self.listing.rows(ListingFilter.from_query(query)):
            yield orjson.dumps(row) + b"\n"

    def document(self, query: Mapping[str, str]) -> dict[str, Any]:
        return document(self.listing, *_address(query), _tokens(query.get("tokens", "")), self.tracing)

    def trace(self, query: Mapping[str, str]) -> dict[str, Any]:
        return self.tracing.answer(query)

    def pair(self, query: Mapping[str, str]) -> dict[str, Any]:
        return pair(self.listing, *_address(query))

    def sliders(self, query: Mapping[str, str]) -> dict[str, Any]:
        return self.thresholds.sliders(query.get("stage", ""))

    def estimate(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return self.thresholds.estimate(str(question.get("stage")), _moved(question))

    def exact(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return self.thresholds.exact(_moved(question))

    def recipe(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": f"{self.tables.files.name}.yaml", "recipe": self.thresholds.recipe(_moved(question))}

    def round(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        return self.review.round(query.get("stage", ""))

    def text(self, query: Mapping[str, str]) -> dict[str, str]:
        id, file, position = _address(query)
        return {"text": self.review.text(query.get("stage", ""), id, file, parse_integer(position, "position"))}

    def mark(self, question: Mapping[str, Any]) -> dict[str, Any]:
        stage, id, file = (str(question.get(name, "")) for name in ("stage", "id", "file"))
        position = parse_integer(str(question.get("position", "")), "position")
        self.review.mark(stage, id, file, position, str(question.get("mark")))
        return {"saved": str(self.review.path)}

    def agreement(self, _: Mapping[str, str]) -> dict[str, Any]:
        accuracy = [accuracy.to_json() for accuracy in self.review.accuracy()]
        return {"agreement": self.review.agreement(), "accuracy": accuracy, "file": str(self.review.path)}


def app(inspector: Inspector, token: str) -> Starlette:
    """The application. What is not below the token is not found, and neither is a host that is not this machine."""
    root = "/{token}"
    get_names = ("documents", "document", "pair", "sliders", "trace", "round", "text", "agreement", "run")
    post_names = ("estimate", "exact", "recipe", "mark")
    routes = [Route(f"{root}/api/{name}", _get(token, getattr(inspector, name))) for name in get_names]
    posts = [(f"{root}/api/{name}", _post(token, getattr(inspector, name))) for name in post_names]
    routes += [Route(path, answer, methods=["POST"]) for path, answer in posts]
    routes += [Route(f"{root}/documents.jsonl", _stream(token, inspector.export))]
    for page in files("corpusmill.inspect").joinpath("page").iterdir():
        if kind := MEDIA_TYPES.get(page.name[page.name.rfind(".") :]):
            name = "" if page.name == "index.html" else page.name
            routes.append(Route(f"{root}/{name}", _file(token, page.read_bytes(), kind)))
    return Starlette(routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=ALLOWED_HOSTS)])


def _file(token: str, content: bytes, kind: str) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        return Response(content, headers=RESPONSE_HEADERS, media_type=kind)

    return answer


def _get(token: str, handler: Answer) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        return await _respond(handler, dict(request.query_params))

    return answer


def _post(token: str, handler: Answer) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return _json({"error": f"a request may have at most {MAX_BODY_BYTES:,d} bytes"}, 413)
        try:
            question = orjson.loads(body)
        except orjson.JSONDecodeError:
            question = None
        if not isinstance(question, dict):
            return _json({"error": "a request must be a JSON object, without NaN or infinity"}, 400)
        return await _respond(handler, question)

    return answer


def _stream(token: str, handler: Callable[[Any], Iterator[bytes]]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _allowed(request, token):
            return _not_found()
        lines = handler(dict(request.query_params))
        try:
            first = await run_in_threadpool(next, lines, b"")  # an error in the question is found here
        except request_errors() as error:
            return _refused(error)
        headers = RESPONSE_HEADERS | {"Content-Disposition": 'attachment; filename="documents.jsonl"'}
        return StreamingResponse(chain([first], lines), headers=headers, media_type="application/jsonlines")

    return answer


async def _respond(handler: Answer, question: Any) -> Response:
    try:
        return _json(await run_in_threadpool(handler, question))
    except request_errors() as error:
        return _refused(error)


def request_errors() -> tuple[type[Exception], ...]:
    """What is raised if a question is wrong, or a file of the run is gone."""
    import duckdb

    return CorpusmillError, OSError, duckdb.IOException


def _refused(error: Exception) -> Response:
    """What is wrong with a question, or that what it asks for is no longer there."""
    if isinstance(error, CorpusmillError):
        return _json({"error": str(error)}, 400)
    first = str(error).splitlines()[0]
    return _json(
        {"error": f"a file of the run cannot be read: was it run again, or moved? Restart the inspector. ({first})"},
        410,
    )


def _allowed(request: Request, token: str) -> bool:
    presented = str(request.path_params["token"])
    return secrets.compare_digest(presented.encode("utf-8", "replace"), token.encode())


def _json(value: Any, status: int = 200) -> Response:
    # NaN and infinity, which JSON has not, become null.
    content = orjson.dumps(value, default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(content, status, RESPONSE_HEADERS, "application/json")


def _not_found() -> Response:
    return Response("not found", 404, RESPONSE_HEADERS, "text/plain")


def _address(query: Mapping[str, str]) -> tuple[str, str, str]:
    return query.get("id", ""), query.get("file", ""), query.get("position", "")


def _tokens(token_range: str) -> tuple[int, int] | None:
    """Tokens [start, stop) of a document, as in "12:40"; None if none are asked for."""
    if not token_range:
        return None
    start, _, stop = token_range.partition(":")
    first, end = parse_integer(start, "START of tokens"), parse_integer(stop, "END of tokens")
    if end <= first:
        raise InputError(f'tokens are START:END with START below END, as in 12:40; got "{token_range}"')
    return first, end


def _moved(question: Mapping[str, Any]) -> dict[str, float | None]:
    moved = question.get("moved", {})
    if not isinstance(moved, dict):
        raise InputError('`moved` must be an object of thresholds, as in {"gopher_quality.min_words": 30}')
    return moved
