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
        note = "This run is by an early version of corpusmill, which did not record default values."
        return [resolved, tag("p", note, class_="note")]
    if not files.written:
        return [tag("p", "The recipe was made in Python. As resolved, with all values:"), resolved]
    summary = tag("summary", "as resolved, with all values")
    return [as_written(files.written), tag("details", summary, resolved)]


def as_written(recipe_record: Mapping[str, Any]) -> Inside:
    """The text of the file, and the overrides."""
    settings = [tag("p", "Overrides: ", *(tag("code", f"--set {setting} ") for setting in recipe_record["overrides"]))]
    return tag(
        "details",
        tag("summary", f"as written: {PurePath(recipe_record['file']).name}"),
        *(settings if recipe_record["overrides"] else []),
        tag("pre", without_folders(recipe_record["text"])),
        open=True,
    )
