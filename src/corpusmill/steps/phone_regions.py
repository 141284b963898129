"""The countries whose telephone numbers a document may have: those of the recipe, of its address, of its language."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

import orjson
import pyarrow as pa

# ISO 639 -> ISO 3166: where a language is spoken by most.
_SPOKEN = """
de: DE AT CH; fr: FR BE CH; it: IT CH; nl: NL BE; es: ES MX AR CO; pt: BR PT; pl: PL; cs: CZ; sk: SK; hu: HU; ro: RO;
bg: BG; el: GR; tr: TR; ru: RU; uk: UA; sv: SE FI; no: NO; nb: NO; da: DK; fi: FI; et: EE; lv: LV; lt: LT; sl: SI;
hr: HR; sr: RS; ja: JP; ko: KR; zh: CN TW HK; vi: VN; th: TH; id: ID; he: IL; fa: IR; hi: IN"""
COUNTRIES_OF = {part.strip()[:2]: tuple(part.partition(":")[2].split()) for part in _SPOKEN.split(";")}
# Top-level domains of two letters that are sold everywhere.
GENERIC = frozenset("ai cc co fm gg io ly me su to tv ws eu".upper().split())


@dataclass(frozen=True)
class PhoneRegions:
    """For each document of a batch: `countries`, or else the country of its URL's top-level domain and those of the
    language that its metadata names (`language` or `lang`).

    docs   with the columns url and metadata
    """

    docs: pa.RecordBatch
    countries: tuple[str, ...]

    def __call__(self, document: int) -> tuple[str, ...]:
        if self.countries:
            return self.countries
        return (*_by_domain(self._urls[document].as_py()), *_by_language(self._metadata[document].as_py()))

    @cached_property
    def _urls(self) -> Sequence[pa.Scalar]:
        return self._column("url")

    @cached_property
    def _metadata(self) -> Sequence[pa.Scalar]:
        return self._column("metadata")

    def _column(self, name: str) -> Sequence[pa.Scalar]:
        exists: bool = name in self.docs.schema.names
        column: Sequence[pa.Scalar] = self.docs[name] if exists else pa.nulls(self.docs.num_rows, pa.string())
        return column


def _by_domain(url: str | None) -> tuple[str, ...]:
    """
    >>> _by_domain("https://www.host.co.uk/a"), _by_domain("https://host.io"), _by_domain(None)
    (('GB',), (), ())
    """
    try:
        top = ((urlsplit(url).hostname if url else None) or "").rpartition(".")[2].upper()
    except ValueError:
        return ()
    if len(top) != 2 or not top.isalpha() or top in GENERIC:
        return ()
    return ("GB",) if top == "UK" else (top,)


def _by_language(metadata: str | None) -> tuple[str, ...]:
    if not metadata or "lang" not in metadata:
        return ()
    values = orjson.loads(metadata)
    language = values.get("language") or values.get("lang")
    return COUNTRIES_OF.get(language[:2].lower(), ()) if isinstance(language, str) else ()
