"""The columns of a document on its way through a run."""

import pyarrow as pa
import xxhash

CANARY = "canary"  # the source of strings that a recipe plants
DOCUMENT = pa.schema(
    [
        ("id", pa.string()),  # 32 hexadecimal digits, see `document_id`
        ("source", pa.string()),  # the recipe's name for the input that it is from
        ("file", pa.string()),  # the input file, as the recipe's pattern found it
        ("position", pa.int64()),  # byte offset of the record, or row number: with `file`, its address
        ("url", pa.string()),  # null where unknown
        ("date", pa.string()),  # ISO 8601, null where unknown
        ("text", pa.large_string()),  # null until extracted
        ("raw", pa.large_binary()),  # the page as it was served; null once extracted, or if there is only text
        ("charset", pa.string()),  # of `raw`, as the transport declared it, null if it did not
        ("metadata", pa.string()),  # all other columns of the input, as one JSON object; null if there are none
    ]
)
OWN = "columns."  # begins the names of signals that are columns of the input, see `corpusmill.read.ColumnTypes`
STORED = pa.schema([field for field in DOCUMENT if field.name not in ("raw", "charset")])  # what a pass writes
COUNTED = STORED.append(pa.field("tokens", pa.int64()))  # documents as they are stored between passes

DEAD = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("url", pa.string()),
        ("step", pa.string()),  # the reader or the step that failed
        ("kind", pa.string()),  # a short stable name: bad_json, truncated, no_text, step_failed …
        ("reason", pa.string()),  # a sentence for the user
        ("expected", pa.bool_()),  # true: not an error (an image, a 404), not counted in the run's error budget
    ]
)


def document_id(source: str, name: str) -> str:
    """The stable id of a document: 32 hexadecimal digits of XXH3-128.

    source   the recipe's name for the input
    name     the id that the input gives, or else "file:position" with the file relative to the input's root

    >>> document_id("web", "crawl.warc.gz:1024")
    '68c52e49dd1c16bf1eb186cf7d6767ee'
    """
    return xxhash.xxh3_128_hexdigest(f"{source}\0{name}".encode("utf-8", "surrogateescape"))
