"""A prefix by metadata: "URL: host" before a share of documents (MeCo, Gao et al. 2025, arXiv:2501.01956).

The model learns where texts come from, and is trained on the text alone: the prefix has no loss. A last stage without
prefixes (10 % of the tokens in MeCo) makes it a model that needs none.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.text.array_types import UInt32s
from corpusmill.tokens.sampling import sampling_hash

BEGIN, END = "URL:", "\n\n"  # encoded by themselves, so that their ids are the same before and after every host
LONGEST_HOST = 253  # characters of a host name (RFC 1035, section 2.3.4); longer ones are none


@dataclass(frozen=True, kw_only=True)
class UrlPrefix:
    """Which documents have a prefix, of those whose URL is known.

    share   of documents, by a hash of their ids
    seed    another one chooses others
    """

    share: float = 0.9
    seed: int = 0

    def check(self) -> None:
        """Raises RecipeError for what cannot be. The step asks, as a recipe says its message only of a step."""
        if not 0 <= self.share <= 1:
            raise RecipeError(f"prefix: share is from 0 to 1, got {self.share}")

    def ids(self, tokenizer: Tokenizer, ids: pa.Array, urls: pa.Array) -> list[UInt32s]:
        """The ids of the prefix of each document; none where it has none.

        ids, urls   (documents,)
        """
        share = (sampling_hash(ids, self.seed, "url prefix") >> np.uint64(11)).astype(np.float64) / 2.0**53
        hosts = [host(url) if drawn else "" for url, drawn in zip(urls.to_pylist(), (share < self.share).tolist())]
        begin, end = marks(tokenizer)
        names, offsets = tokenizer.encode(pa.array([f" {name}" if name else "" for name in hosts], pa.large_string()))
        none = np.empty(0, np.uint32)
        return [
            np.concatenate([begin, names[a:b], end]) if name else none
            for name, a, b in zip(hosts, offsets[:-1].tolist(), offsets[1:].tolist())
        ]


def marks(tokenizer: Tokenizer) -> tuple[UInt32s, UInt32s]:
    """The ids with which every prefix begins, and ends."""
    ids, offsets = tokenizer.encode(pa.array([BEGIN, END], pa.large_string()))
    return ids[: offsets[1]], ids[offsets[1] :]


def host(url: str | None) -> str:
    """The host of a URL, in lower case; "" if there is none.

    >>> host("https://En.Wikipedia.org/wiki/Mill"), host("no url"), host(None)
    ('en.wikipedia.org', '', '')
    """
    try:
        name = urlsplit(url or "").hostname or ""
    except ValueError:
        return ""
    return name if len(name) <= LONGEST_HOST and "\n" not in name else ""
