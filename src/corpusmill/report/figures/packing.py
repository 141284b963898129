"""How the tokens were packed into training rows."""

from dataclasses import dataclass

from corpusmill.report.numbers import number, share
from corpusmill.report.waterfall import Waterfall


@dataclass(frozen=True)
class Packing:
    """The training rows of a run.

    tokens             in them, BOS and EOS included
    documents          that were packed, and `cut_documents`, those that are in more than one row
    discarded_tokens   left out of the rows
    mean_context       tokens of its own document that precede a token in its row, on average; None if the rows were
                       packed by a version that did not count them
    """

    rows: int
    tokens: int
    padding: int
    documents: int
    cut_documents: int
    discarded_tokens: int
    mean_context: float | None

    @property
    def capacity(self) -> int:
        return self.tokens + self.padding


def packing(flow: Waterfall) -> Packing | None:
    """None if the run wrote no training rows."""
    packed = flow.packed
    if not packed:
        return None
    return Packing(
        rows=packed["rows"],
        tokens=packed["tokens"],
        padding=packed["padding"],
        documents=flow.documents_out,
        cut_documents=packed["cut_documents"],
        discarded_tokens=packed["discarded_tokens"],
        mean_context=packed["context"] / max(packed["tokens"], 1) if "context" in packed else None,
    )


def written_table(flow: Waterfall) -> list[list[str]]:
    """What was written of tokens without packing: writer, name, value. Zeros are left out."""
    return [
        [writer, name.replace("_", " "), number(count)]
        for writer, counts in flow.written.items()
        for name, count in counts.items()
        if count
    ]


def packing_table(packed: Packing | None) -> list[list[str]]:
    """Names and values: the same on the page and in the terminal. Empty if there are no rows."""
    if packed is None:
        return []

    def with_share(part: int, total: int) -> str:
        return f"{number(part)} ({share(part, total)})"

    rows = [
        ["rows", number(packed.rows)],
        ["tokens, including EOS", with_share(packed.tokens, packed.capacity)],
        ["padding", with_share(packed.padding, packed.capacity)],
        ["documents split across rows", with_share(packed.cut_documents, packed.documents)],
        ["tokens discarded", number(packed.discarded_tokens)],
    ]
    if packed.mean_context is not None:
        rows.append(["mean in-document context (tokens)", f"{packed.mean_context:,.1f}"])
    return rows
