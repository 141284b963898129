"""Documents with attributes beside them, as the Dolma toolkit takes them."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.system import refused_name
from corpusmill.write import MB_PER_FILE, WriteFacts
from corpusmill.write._beside import documents, spans_of
from corpusmill.write._files import DocumentFiles
from corpusmill.write._lines import writing_lines

TOP_FIELDS = ("source", "added", "created", "version")  # fields of a Dolma document beside id, text and metadata
OWN_ATTRIBUTES = "documents"  # under which the reader has put the attributes that a document has of its own


@dataclass(frozen=True, kw_only=True)
class DolmaWriter(DocumentFiles):
    """The layout of the Dolma toolkit: `documents/00000.json.gz`, and `attributes/NAME/00000.json.gz` with a line for
    each document.

    A document has `id` (that of the input, if it had one), `text`, `source`, `created` (its date) and `metadata`, with
    its URL in it. What the reader `dolma` has read comes out under its own fields; of other inputs, all other fields
    are in `metadata`.

    `signals: ["language.*", gopher_quality.content_words]` writes attributes `corpusmill__language__score`: one span of
    the whole text, [0, characters, value]; a text is part of the name (`corpusmill__language__label__en`, 1.0); what
    was not measured is []. `attributes` is their folder, and what their names begin with. `keep` names taggers of the
    input whose attributes are written again: their spans are of the text as it was read. `dolma mix` takes the folder
    as it is, `filter: {exclude: ["$.attributes[?(@.corpusmill__language__score[0][2] < 0.5)]"]}`; it reads gzip.

    Source: Soldaini et al. 2024, "Dolma", arXiv:2402.00159; docs/data-format.md of the Dolma toolkit 1.2
    """

    signals: tuple[str, ...] = ()  # patterns of the signals to write as attributes
    attributes: str = "corpusmill"  # folder of these attributes
    keep: tuple[str, ...] = ()  # taggers of the input whose attributes are written again
    compression: Literal["gz", "zst"] = "gz"
    level: int = 6  # of compression, 1 to 9
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …

    def check(self) -> None:
        super().check()
        object.__setattr__(self, "keep", tuple(self.keep))
        if self.compression not in ("gz", "zst"):
            raise RecipeError(f'compression must be gz or zst, got "{self.compression}"')
        folders = [*self.keep, *((self.attributes,) if self.signals else ())]
        for name in folders:
            parts = name.split("/")
            is_folder = all(parts) and not {"..", ".", OWN_ATTRIBUTES} & set(parts) and not set("{}\\") & set(name)
            if not is_folder or any(map(refused_name, parts)):
                raise RecipeError(f'"{name}" cannot be a folder of attributes')
        if len(set(map(str.casefold, folders))) < len(folders):
            raise RecipeError(f"two folders of attributes have one name: {', '.join(sorted(folders))}")

    @property
    def suffix(self) -> str:
        return f".json.{self.compression}"

    @property
    def places(self) -> tuple[str, ...]:
        folders = (*self.keep, *((self.attributes,) if self.signals else ()))
        return (f"documents/{{}}{self.suffix}", *map(self._attribute_path, folders))

    def _attribute_path(self, folder: str) -> str:
        return f"attributes/{folder}/{{}}{self.suffix}"

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts:
        """Write the documents of one file, without what is beside them."""
        return self._write(batches, {self.places[0]: path})

    def write_files(self, batches: Iterable[pa.RecordBatch], files: Mapping[str, Path], name: str) -> WriteFacts:
        """Write the documents of one file, and their attributes."""
        return self._write(batches, files)

    def _write(self, batches: Iterable[pa.RecordBatch], files: Mapping[str, Path]) -> WriteFacts:
        rows = 0
        with ExitStack() as stack:
            outs = {
                file_place: stack.enter_context(writing_lines(path, self.compression, self.level))
                for file_place, path in files.items()
            }
            for row, about, signals in documents(batches, self.signals):
                document, taggers = as_document(row, about)
                if self.signals:
                    taggers[self.attributes] = spans_of(signals, self.attributes, "__", row["text"])
                for file_place, add in outs.items():
                    if file_place == self.places[0]:
                        add(document)
                    else:
                        attributes = taggers.get(
                            file_place.removeprefix("attributes/").removesuffix(f"/{{}}{self.suffix}")
                        )
                        add({"id": document["id"], "source": document["source"], "attributes": attributes or {}})
                rows += 1
        return WriteFacts(rows, sum(path.stat().st_size for path in files.values()))


def as_document(row: dict[str, Any], about: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A document as Dolma has it, and the attributes of each tagger of its input."""
    attributes = about.pop("attributes", None)
    taggers = attributes if isinstance(attributes, dict) else {}
    own_id = about.pop("id", None)
    inner = about.pop("metadata", None)
    top = {name: about.pop(name) for name in TOP_FIELDS if name in about}
    document = {
        "id": own_id if isinstance(own_id, str | int) and own_id != "" else row["id"],
        "text": row["text"],
        **top,
        "source": top.get("source") if isinstance(top.get("source"), str) else row["source"],
    }
    if row["date"] is not None:
        document["created"] = row["date"]
    if OWN_ATTRIBUTES in taggers:
        document["attributes"] = taggers.pop(OWN_ATTRIBUTES)
    if isinstance(inner, dict):
        document |= about  # fields of a document's own, beside its metadata
    else:
        inner = {**about, **({"metadata": inner} if inner is not None else {})}
    if row["url"] is not None:
        inner["url"] = row["url"]
    if inner:
        document["metadata"] = inner
    return document, taggers


Dolma = DolmaWriter  # its name before 1.0
