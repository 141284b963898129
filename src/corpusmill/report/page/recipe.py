"""The recipe: as it was written, and with every value that was used."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from corpusmill.report.html.markup import Inside, tag
from corpusmill.report.html.paths import without_folders
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    files = tables.files
    resolved = tag("pre", without_folders(files.recipe_text))
    if not files.is_resolved:
        note = "The run is of an early version of corpusmill, which left out values that were its defaults."
        return [resolved, tag("p", note, class_="note")]
    if not files.written:
        return [tag("p", "The recipe was made in Python. With every value that was used:"), resolved]
    more = tag("summary", "as resolved: with every value that was used")
    return [as_written(files.written), tag("details", more, resolved)]


def as_written(written: Mapping[str, Any]) -> Inside:
    """The text of the file, and the settings beside it."""
    settings = [tag("p", "Settings beside it: ", *(tag("code", f"--set {each} ") for each in written["overrides"]))]
    return tag(
        "details",
        tag("summary", f"as written: {PurePath(written['file']).name}"),
        *(settings if written["overrides"] else []),
        tag("pre", without_folders(written["text"])),
        open=True,
    )
