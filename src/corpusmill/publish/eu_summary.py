"""The public summary of training content that Article 53(1)(d) of Regulation (EU) 2024/1689 asks of providers of
general-purpose AI models: what a run knows is filled in, and what only a person can say is marked.

Source: the template of the European Commission's AI Office of 24 July 2025, its sections and questions by number, in
words of our own. This is no legal advice, and the template may have changed: compare before you publish.
"""

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from corpusmill.errors import AssetError, RecipeError
from corpusmill.publish import composition
from corpusmill.publish.published_run import PublishedRun
from corpusmill.recipe.names import labels, name_of
from corpusmill.report.figures.domains import Domain
from corpusmill.report.numbers import number, share, size

ASK_PERSON = "**[a person must say]**"
TOP_SHARE = 0.1  # of all domains by size of what was crawled: the list that the template asks of crawled content
BILLION, TEN_TRILLION = 10**9, 10**13
DOMAINS_FILE = "eu-summary-domains.csv"
DOMAINS_SHOWN = 20  # domains in the text; the file has them all


def eu_summary(run: PublishedRun) -> str:
    """The summary in Markdown."""
    crawled = run.domains.kept > 0
    parts = [
        "# Public summary of training content",
        f"Draft for one data set, `{run.files.name}`, filled in by corpusmill where its run knows the answer. "
        f"{ASK_PERSON} marks what it does not know. A model that was trained on more needs the other data sets in it, "
        "too. This is no legal advice; compare with the template in force before you publish it.",
        "## 1. General information",
        _answers(
            "1.1 Provider",
            (("Name and contact of the provider", ASK_PERSON), ("Authorised representative", ASK_PERSON)),
        ),
        _answers(
            "1.2 Model",
            (
                ("Versioned names of the model or models", ASK_PERSON),
                ("Models that it is derived from", ASK_PERSON),
                ("Date of placing on the market of the Union", ASK_PERSON),
            ),
        ),
        _answers("1.3 Modalities, size and characteristics of the training data", _characteristics(run)),
        "## 2. Data sources",
        _answers("2.1 Publicly available data sets", _public(run)),
        _answers(
            "2.2 Private data sets of third parties",
            (
                ("Data sets licensed by rightsholders", ASK_PERSON),
                ("Other private data sets of third parties", ASK_PERSON),
            ),
        ),
        _answers("2.3 Data crawled and scraped from online sources", _crawled(run, crawled)),
        *([_top_domains(run)] if crawled else []),
        _answers("2.4 User data", (("Data of users of the provider's services and products", ASK_PERSON),)),
        _answers("2.5 Synthetic data", _synthetic(run)),
        _answers("2.6 Other sources", (("Sources of no kind above", ASK_PERSON),)),
        "## 3. Data processing",
        _answers("3.1 Reservation of rights", _rights(run)),
        _answers("3.2 Removal of illegal content", _removed(run)),
        "### 3.3 Other information\n\n" + composition.funnel(run.flow).replace("## What was dropped\n\n", ""),
    ]
    return "\n\n".join(parts) + "\n"


def domains_csv(run: PublishedRun) -> str:
    """The domains of the top tenth by size of their kept text, and their shares of it."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("domain", "documents", "bytes", "share_of_bytes"))
    for domain in top_domains(run):
        rows.writerow((domain.name, domain.kept, domain.bytes, f"{domain.bytes / run.domains.bytes:.6f}"))
    return text.getvalue()


def top_domains(run: PublishedRun) -> list[Domain]:
    """The tenth of all domains with kept documents, rounded up, that have most text."""
    domains = [domain for domain in run.domains.domains if domain.kept]
    return domains[: math.ceil(TOP_SHARE * len(domains))]


def _characteristics(run: PublishedRun) -> Iterable[tuple[str, str]]:
    if run.tokens:
        bins = (
            "less than 1 billion tokens"
            if run.tokens < BILLION
            else "1 billion to 10 trillion tokens"
            if run.tokens <= TEN_TRILLION
            else "more than 10 trillion tokens"
        )
        amount = f"text, {bins}: {run.summary}, each counted once; {ASK_PERSON} for how many epochs"
    else:
        amount = f"text, {run.summary}; {ASK_PERSON} in tokens, which this run did not count"
    yield "Modalities", "text"
    yield "Size", amount
    yield "Types of content", f"{ASK_PERSON}; sources of the run: {', '.join(f'`{name}`' for name in run.flow.read)}"
    latest = f"the latest date of a document is {run.dates[1]}" if run.dates else ASK_PERSON
    yield "Latest date of acquisition or collection", latest
    total = sum(language.kept for language in run.languages)
    spoken = ", ".join(
        f"{language.label} {share(language.kept, total)}"
        for language in run.languages[: composition.MAX_ROWS]
        if language.label
    )
    yield "Languages", f"{spoken} of the documents" if spoken else ASK_PERSON
    yield "Other characteristics", ASK_PERSON


def _public(run: PublishedRun) -> Iterable[tuple[str, str]]:
    places = [
        f"`{source}`: {number(len(files))} files, {size(sum(int(file['bytes']) for file in files))}"
        for source, files in run.files.inputs.items()
    ]
    yield "Sources that the run read", "; ".join(places)
    yield "Which of them are publicly available data sets, their names and links", ASK_PERSON


def _crawled(run: PublishedRun, crawled: bool) -> Iterable[tuple[str, str]]:
    if not crawled:
        yield "Crawled content", f"{ASK_PERSON}: no document that was kept has a web address"
        return
    domains = run.domains
    yield "Crawled content", f"yes: {number(domains.kept)} documents with a web address, {size(domains.bytes)} of text"
    yield "Names and purposes of the crawlers, and whose they are", ASK_PERSON
    yield "Behaviour of the crawlers: robots.txt, captchas, paywalls", ASK_PERSON
    between = " to ".join(run.dates) if run.dates else ASK_PERSON
    yield "Period of collection", f"{between}, as the input dates its documents" if run.dates else between
    yield "Modalities", "text"
    yield (
        "Content and sources",
        f"{number(sum(domain.kept > 0 for domain in domains.domains))} registered domains; {ASK_PERSON}",
    )


def _top_domains(run: PublishedRun) -> str:
    listed = top_domains(run)
    rows = [
        (domain.name, number(domain.kept), share(domain.bytes, run.domains.bytes)) for domain in listed[:DOMAINS_SHOWN]
    ]
    return (
        f"The {number(len(listed))} domains that are the top 10 % by size of the text that was kept are in "
        f"`{DOMAINS_FILE}`; the largest:\n\n{composition.table(('domain', 'documents', 'share of the text'), rows)}"
    )


def _synthetic(run: PublishedRun) -> Iterable[tuple[str, str]]:
    if run.synthetic:
        parts = [
            f"{number(entry.documents)} documents, {size(entry.bytes)} of text ({share(entry.share, 1)}), by the model "
            f"`{entry.model}` and the prompt `{entry.prompt}` from documents of this data set"
            for entry in run.synthetic
        ]
        yield "Data made by models in this run", "; ".join(parts)
        yield "The models' versions and providers, and other data made by models", ASK_PERSON
    else:
        made = "no step of the run wrote text with a model"
        yield "Data made by models, and which models", f"{made}; {ASK_PERSON} whether the sources hold any"


def _rights(run: PublishedRun) -> Iterable[tuple[str, str]]:
    yield "Signatory of the code of practice", ASK_PERSON
    steps = _steps(run, ("annotate/rights", "filter/rights"))
    measures = f"steps of the run: {'; '.join(steps)}" if steps else "the run looked at no reservation of rights"
    yield "Measures to respect reservations of rights", f"{measures}; {ASK_PERSON} what was done before and after it"
    for figure in run.licences:
        total = sum(licence.documents for licence in figure.licences)
        shares = ", ".join(
            f"{licence.name or 'none found'} {share(licence.documents, total)}" for licence in figure.licences[:5]
        )
        yield f"Licences of documents (`{figure.column}`)", shares


def _removed(run: PublishedRun) -> Iterable[tuple[str, str]]:
    steps = _steps(run, ("filter/url", "filter/toxic", "annotate/tox", "filter/soft", "redact/"))
    measures = f"steps of the run: {'; '.join(steps)}" if steps else "the run has no step against it"
    yield "Measures to avoid or remove illegal content", f"{measures}; {ASK_PERSON} what else was done"


def _steps(run: PublishedRun, names: tuple[str, ...]) -> list[str]:
    """What the steps with these names dropped."""
    rows = {row.step: row for row in run.flow.rows}
    try:
        steps = list(zip(labels(run.files.recipe.steps), run.files.recipe.steps))
    except (RecipeError, AssetError):
        return []
    return [
        f"`{label}` (`{name_of(step)}`) dropped {number(_dropped(rows[label]))} of {number(rows[label].documents_in)}"
        for label, step in steps
        if label in rows and name_of(step).startswith(names)
    ]


def _dropped(row: Any) -> int:
    return int(row.documents_in - row.documents_out)


def _answers(title: str, answers: Iterable[tuple[str, str]]) -> str:
    return f"### {title}\n\n" + "\n".join(f"- {question}: {answer}" for question, answer in answers)
