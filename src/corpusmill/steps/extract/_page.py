"""What extractors share: pages of a batch, and limits for malicious or pathological HTML."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import DocumentError
from corpusmill.formats.charset import decode
from corpusmill.text.html_cost import Cost, html_cost

TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
OPTION = re.compile(r"<option\b", re.I)
SELECT = re.compile(r"<select\b.*?</select\s*>", re.I | re.S)
# In two steps, so that a page of unclosed tags is not read once for each of them.
TITLE = re.compile(r"<title\b[^<>]*>(.*?)</title\s*>", re.I | re.S)
TITLE_END = re.compile(r"</title\s*>", re.I)
# Elements without an end tag, or whose end tag is usually omitted: they do not nest in themselves.
FLAT = frozenset(
    [
        *("area", "base", "br", "col", "colgroup", "dd", "dt", "embed", "frame", "hr", "img", "input", "li", "link"),
        *("meta", "optgroup", "option", "p", "param", "rb", "rp", "rt", "rtc", "source", "tbody", "td", "tfoot", "th"),
        *("thead", "tr", "track", "wbr"),
    ]
)
MAX_DEPTH = 2000  # browsers stop at 512; extracting main content takes 80 ms at this depth and 8 s at ten times it
MANY_TAGS = 8000  # pages with fewer cannot be deep enough to matter
MAX_WALKED = 50_000_000  # see `nesting`: about a second; of 3,481 crawled pages none can have 3 million
MAX_OPTIONS = 5000  # of <select>: parsing takes 80 ms for these, 1.3 s for four times as many
MAX_ATTRIBUTES = 5000  # of one tag: the same; of several, whose squares add up to its square
MAX_AGAIN = 2_000_000  # formatting elements that are made again: 1.2 s; of 3,481 crawled pages none has 100,000
MAX_TAGS = 500_000  # the tree takes up to 570 bytes a tag; of the same pages none has 9,000
SMALL = 2 * MAX_ATTRIBUTES  # characters; a smaller page cannot exceed these


@dataclass(frozen=True)
class Extracted:
    """The text of a page, and the value of each signal of the extractor."""

    text: str
    signals: Mapping[str, Any]


NO_SIGNALS = pa.schema([])


def extract_pages(
    docs: pa.RecordBatch,
    page_text: Callable[[bytes, str | None], str | Extracted],
    title: bool,
    signals: pa.Schema = NO_SIGNALS,
) -> pa.RecordBatch:
    """Documents with their pages replaced by the text of these. Documents without a page are not changed.

    page_text   (page, charset of the transport) -> text, with signals if there are any; blank text becomes null
    title       keep the page's title in the metadata
    signals     columns that are added, null where there is no page

    Raises DocumentError, naming the document, when page_text does.
    """
    pages = docs["raw"]
    if pages.null_count == len(pages):
        return _with_signals(docs, [None] * len(docs), signals)
    values: list[Mapping[str, Any] | None] = [None] * len(docs)
    texts: list[str | None] = []
    metadata: list[str | None] = docs["metadata"].to_pylist() if title else []
    charsets = docs["charset"].to_pylist()
    old = docs["text"]
    for row, (page, charset) in enumerate(zip(pages, charsets, strict=True)):
        if not page.is_valid:
            texts.append(old[row].as_py())
            continue
        raw = page.as_py()
        try:
            made = page_text(raw, charset)
        except DocumentError as error:
            raise DocumentError(f"document {docs['id'][row]} ({docs['url'][row]}): {error}") from error
        if isinstance(made, Extracted):
            text, values[row] = made.text, made.signals
        else:
            text = made
        texts.append(text if text and not text.isspace() else None)
        if title:
            metadata[row] = _with_title(metadata[row], decode(raw, charset))
    columns = {name: docs[name] for name in docs.schema.names}
    columns["text"] = pa.array(texts, pa.large_string())
    columns["raw"] = pa.nulls(len(docs), docs.schema.field("raw").type)
    columns["charset"] = pc.if_else(pc.is_valid(pages), pa.scalar(None, pa.string()), docs["charset"])
    if title:
        columns["metadata"] = pa.array(metadata, pa.string())
    return _with_signals(pa.RecordBatch.from_arrays(list(columns.values()), schema=docs.schema), values, signals)


def _with_signals(
    docs: pa.RecordBatch, values: Sequence[Mapping[str, Any] | None], signals: pa.Schema
) -> pa.RecordBatch:
    for field in signals:
        column = [None if each is None else each[field.name] for each in values]
        docs = docs.append_column(field, pa.array(column, field.type))
    return docs


def read_page(raw: bytes, charset: str | None, max_mb: float) -> str:
    """The page's characters. Raises DocumentError for a page of more than `max_mb`."""
    if len(raw) > max_mb * 1e6:
        raise DocumentError(f"the page has {len(raw) / 1e6:.1f} MB, more than max_mb={max_mb:g}")
    return decode(raw, charset)


def parseable(html: str) -> tuple[str, bool]:
    """HTML without parts that would take a parser more than linear time, and whether it nests too deep.

    The limits count tags and attributes, never seconds, so the result is the same on every machine. Raises
    DocumentError for such parts that cannot be removed.
    """
    tags = html.count("<")
    if tags > MAX_TAGS:
        raise DocumentError(f"the page has {tags} tags, more than {MAX_TAGS}")
    if len(html) > SMALL:
        _check_cost(html_cost(html.encode("utf-8", "surrogatepass")))
    if tags > MAX_OPTIONS and len(OPTION.findall(html)) > MAX_OPTIONS:
        html = SELECT.sub("", html)
        if (count := len(OPTION.findall(html))) > MAX_OPTIONS:
            raise DocumentError(
                f"the page has {count} <option> tags outside a closed <select>, more than {MAX_OPTIONS}"
            )
    if tags <= MANY_TAGS:
        return html, False
    depth, walked = nesting(html)
    if walked > MAX_WALKED:
        raise DocumentError(
            f"the page nests {depth} elements deep and has tags in them that close none; a parser would have to walk "
            f"up {walked} of them, more than {MAX_WALKED}"
        )
    return html, depth > MAX_DEPTH


def _check_cost(cost: Cost) -> None:
    if cost.attributes > MAX_ATTRIBUTES:
        raise DocumentError(f"one tag of the page has {cost.attributes} attributes, more than {MAX_ATTRIBUTES}")
    if cost.pairs > MAX_ATTRIBUTES**2:
        raise DocumentError(
            f"the tags of the page have so many attributes, up to {cost.attributes}, that comparing them takes too long"
        )
    if cost.again > MAX_AGAIN:
        raise DocumentError(
            f"the page leaves so many formatting elements open that a parser makes them {cost.again} times again, more "
            f"than {MAX_AGAIN}"
        )


def depth(html: str) -> int:
    """An upper bound of the nesting depth, from the tags alone."""
    return nesting(html)[0]


def nesting(html: str) -> tuple[int, int]:
    """(`depth`, the sum of the depths at which there are end tags that close nothing, and tags of FLAT): for each of
    these a parser walks up the tree."""
    now = deepest = walked = 0
    unclosed: dict[str, int] = {}  # an end tag that belongs to no element closes none
    for end, tag in TAG.findall(html):
        name = tag.lower()
        if name in FLAT:
            walked += now
            continue
        open_count = unclosed.get(name, 0)
        if not end:
            unclosed[name] = open_count + 1
            now += 1
            deepest = max(deepest, now)
        elif open_count:
            unclosed[name] = open_count - 1
            now -= 1
        else:
            walked += now
    return deepest, walked


def _with_title(metadata: str | None, html: str) -> str | None:
    from html import unescape

    ends = [match.end() for match in TITLE_END.finditer(html)]
    match = TITLE.search(html, 0, ends[-1]) if ends else None
    title = " ".join(unescape(match[1]).split()) if match else ""
    if not title:
        return metadata
    fields: dict[str, Any] = orjson.loads(metadata) if metadata else {}
    return orjson.dumps({**fields, "title": title}, option=orjson.OPT_SORT_KEYS).decode()
