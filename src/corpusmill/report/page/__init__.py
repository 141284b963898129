"""The report page of a run: one HTML file that loads nothing, with the same bytes for the same run.

Every module here but `header` is a section of the page: its function `section` renders figures of report/figures/, and
returns an empty list if the run has nothing to show there.
"""

import base64
import hashlib
from os import PathLike
from pathlib import Path

import pyarrow as pa

from corpusmill.assets import locate
from corpusmill.execute import termination
from corpusmill.report import samples
from corpusmill.report.figures import sampled
from corpusmill.report.html import markup
from corpusmill.report.html.markup import HtmlText, tag
from corpusmill.report.page import (
    compared,
    domains,
    duplicates,
    flow,
    header,
    kept,
    languages,
    leaks,
    lengths,
    lost,
    mix,
    models,
    packing,
    reasons,
    recipe,
    repeated,
    rights,
    sources,
    split,
    time,
    together,
    tokens,
    training,
)
from corpusmill.report.tables import RunTables
from corpusmill.store.run_folder import RunFolder

CHART_SCRIPTS = ("vega", "vega-lite", "vega-interpreter")  # assets: what draws the charts
PAGE_SECTIONS = (  # anchor, title, section
    ("flow", "Documents by step", flow.section),
    ("sources", "Sources", sources.section),
    ("domains", "Domains", domains.section),
    ("dropped", "Dropped documents", reasons.section),
    ("together", "Rules that fire together", together.section),
    ("kept", "Kept documents", kept.section),
    ("lengths", "Document lengths", lengths.section),
    ("languages", "Languages", languages.section),
    ("compared", "Input and output compared", compared.section),
    ("duplicates", "Duplicates", duplicates.section),
    ("repeated", "Repeated lines and paragraphs", repeated.section),
    ("leaks", "Benchmark contamination", leaks.section),
    ("rights", "Rights", rights.section),
    ("models", "Language models", models.section),
    ("mix", "Source mixture", mix.section),
    ("split", "Validation split", split.section),
    ("lost", "Skipped and unreadable records", lost.section),
    ("tokens", "Tokens", tokens.section),
    ("rows", "Training rows", packing.section),
    ("training", "Training stages", training.section),
    ("recipe", "Recipe", recipe.section),
    ("time", "Time and memory", time.section),
)


def write_page(folder: str | PathLike[str] | RunFolder) -> str:
    """Write report.html into the folder of a finished run; returns its place.

    But for the section "Time and memory" and the line below the title, the page does not depend on when, where or how
    fast the run was carried out. The contents of documents are escaped, and a content security policy forbids loading
    anything, `eval`, and all scripts but those of this package, by their checksums.

    Raises ResumeError if there is no run, or it is not finished.
    """
    tables = RunTables(folder)
    return tables.files.write_page(page(tables))


def prepare() -> None:
    """Load what a page needs and a run does not, while workers are busy: 0.3 s with compiled kernels."""
    sampled.measure(pa.array(["a"], pa.large_string()))


def page(tables: RunTables) -> str:
    """The whole page."""
    tables.files.must_be_finished()
    samples.read_ahead(tables, reasons.EXAMPLES_PER_REASON, sampled.sides(tables)["input"], sampled.SAMPLE_PER_SIDE)
    with termination.unhidden():
        shown = [(anchor, title, body) for anchor, title, section in PAGE_SECTIONS if (body := section(tables))]
    blocks = Path(markup.__file__).parent
    style = (blocks / "style.css").read_text("utf-8")
    scripts = [*(locate(name).read_text("utf-8") for name in CHART_SCRIPTS), (blocks / "page.js").read_text("utf-8")]
    allowed = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src {allowed}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{tables.files.name}: report"),
        tag("style", HtmlText(style)),
    )
    top = header.header(tables)
    links = tag("nav", *(tag("a", title, href=f"#{anchor}") for anchor, title, _ in shown), aria_label="sections")
    sections = [tag("section", tag("h2", title), *body, id=anchor) for anchor, title, body in shown]
    live = [tag("script", HtmlText(script)) for script in scripts]
    return f"<!doctype html>\n{tag('html', head, tag('body', tag('main', top, links, *sections), *live), lang='en')}\n"


def _hash(text: str) -> str:
    """A text as a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
