"""What many tests make: a batch of documents."""

from typing import Any

import pyarrow as pa
from hypothesis import settings

from corpusmill.schema import DOCUMENT, document_id

# No deadline: the first call of a kernel may compile it, and machines are noisy.
settings.register_profile("corpusmill", deadline=None)
settings.load_profile("corpusmill")


def docs(*texts: str | None, **columns: list[Any]) -> pa.RecordBatch:
    """A batch of documents with these texts: docs("one", "two", url=["http://a.org", None]).

    columns   any column of DOCUMENT, one value a document; the rest is made up: row i is record i of made.jsonl
    """
    rows = len(texts)
    made: dict[str, list[Any]] = {name: [None] * rows for name in DOCUMENT.names}
    made |= {
        "id": [document_id("made", f"made.jsonl:{i}") for i in range(rows)],
        "source": ["made"] * rows,
        "file": ["made.jsonl"] * rows,
        "position": list(range(rows)),
        "text": list(texts),
    }
    return pa.RecordBatch.from_pydict(made | columns, schema=DOCUMENT)


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--write-golden", action="store_true", help="keep what the demo gives as what it must give")
    parser.addoption("--kills", type=int, default=10, help="how often runs are killed in the test of kill -9")
