"""The recipe as it was run."""

import re

from corpusmill.report.html.markup import Inside, tag
from corpusmill.report.tables import RunTables

ABSOLUTE = re.compile(r"(?<![\w.:/~-])(?:~?/[^\s,'\"\[\]{}]+)+/")


def section(tables: RunTables) -> list[Inside]:
    # Of absolute paths only the last part, for the page is made to be shown to others.
    text = ABSOLUTE.sub("…/", tables.files.recipe_text)
    versions = ", ".join(f"{name} {version}" for name, version in tables.files.versions.items())
    return [tag("pre", text), tag("p", versions, class_="note")]
