"""What a run does not record, measured on a sample of its output."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.report import samples
from corpusmill.report.tables import RunTables
from corpusmill.steps.personal_data import NAMED, find
from corpusmill.steps.redact.pii import without_own
from corpusmill.text.fold import fold
from corpusmill.text.tags import has_markup

OPENING_WORDS = 8  # words at the beginning of a document that a template gives; every number is the same word
HTML_ENTITY = r"&(?:nbsp|amp|lt|gt|quot|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});"


@dataclass(frozen=True)
class AuditSample:
    """Documents of the output, those with the smallest ids.

    ids, texts   (documents,) of each
    """

    ids: tuple[str, ...]
    texts: pa.LargeStringArray

    def ids_where(self, which: NDArray[np.bool_], limit: int = 3) -> tuple[str, ...]:
        """The ids of the first few of these."""
        return tuple(self.ids[i] for i in np.flatnonzero(which)[:limit].tolist())


def sample(tables: RunTables, n: int) -> AuditSample:
    entries = samples.kept_documents(tables, n)
    return AuditSample(
        tuple(entry["id"] for entry in entries), pa.array([e["text"] for e in entries], pa.large_string())
    )


def has_html(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(documents,) whether tags or entities of HTML are in a text."""
    entities: NDArray[np.bool_] = pc.match_substring_regex(texts, HTML_ENTITY).to_numpy(zero_copy_only=False)
    return has_markup(texts) | entities


def personal_data(texts: pa.LargeStringArray, steps: Iterable[object] = ()) -> dict[str, NDArray[np.bool_]]:
    """kind -> (documents,) which of them have personal data of the kind, as redact/pii finds it. Without postal
    addresses: in a crawl most are those of offices and shops.

    steps   of the recipe: what they put in place of personal data is none
    """
    data = find(without_own(texts, steps), tuple(kind for kind in NAMED if kind != "address"), public_only=True)
    has = {}
    for number, kind in enumerate(data.kinds):
        has[kind] = np.zeros(len(texts), bool)
        has[kind][data.spans[data.spans[:, 1] == number, 0]] = True
    return has


def one_template(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(documents,) which of them begin with the opening that most begin with: its first words, whatever the numbers,
    case and punctuation. None, if no two begin alike."""
    openings = [" ".join(text.split(" ", OPENING_WORDS)[:OPENING_WORDS]) for text in fold(texts).to_pylist()]
    names, number, count = np.unique(np.array(openings, object), return_inverse=True, return_counts=True)
    count = np.where(names == "", 0, count)
    if not len(count) or count.max() < 2:
        return np.zeros(len(texts), bool)
    is_most_common: NDArray[np.bool_] = number == int(np.argmax(count))
    return is_most_common
