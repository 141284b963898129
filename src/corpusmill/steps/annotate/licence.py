"""Which licence does a page name?"""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.formats.charset import decode
from corpusmill.formats.code.licences import licences, may_name_any
from corpusmill.steps import Columns

TEXTS = ("name", "type", "version", "language", "url", "how")


@dataclass(frozen=True, kw_only=True)
class Licence:
    """Find the licence that a page names in its markup: put this step before text extraction, which removes that.

    A licence is named, the first of these first: by `rel=license` on a link; as `license` in JSON-LD; in a meta element
    (`dcterms.license`, `dc.rights`); or by any link to a licence of Creative Commons, which may be that of a picture.

    Signals, None where there is none: `name`, the SPDX identifier (CC-BY-4.0; CC-BY without a version; None for what is
    not of Creative Commons); `type` (by, by-sa, zero, mark …), `version`, `language` of the deed; `url`, as it is
    there; `how`: rel, json-ld, meta or link; `different`, how many addresses are named.

    Source: https://creativecommons.org/licenses/, https://microformats.org/wiki/rel-license, https://schema.org/license
    """

    needs: ClassVar[tuple[str, ...]] = ()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        columns: dict[str, list[str | None]] = {name: [None] * len(docs) for name in TEXTS}
        different: list[int | None] = [None] * len(docs)
        if docs["raw"].null_count < len(docs):
            for row, (page, charset) in enumerate(zip(docs["raw"].to_pylist(), docs["charset"].to_pylist())):
                names = licences(decode(page, charset)) if page is not None and may_name_any(page) else []
                if names:
                    different[row] = len({licence.url for licence in names})
                    for name in TEXTS:
                        columns[name][row] = getattr(names[0], name)
        return {name: pa.array(column, pa.string()) for name, column in columns.items()} | {
            "different": pa.array(different, pa.int32())
        }
