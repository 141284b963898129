"""The checks of an audit: each a function of a run's facts that measures one value and says what to change."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from shlex import quote
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corpusmill.recipe.advice import RecipeChange, in_words
from corpusmill.report.audit import advice, sample
from corpusmill.report.audit.bounds import Bounds
from corpusmill.report.audit.facts import RunFacts
from corpusmill.report.audit.model import Check, Unit
from corpusmill.report.figures.domains import HOST_PATTERN, by_domain
from corpusmill.report.figures.duplicates import dedup_steps
from corpusmill.report.figures.languages import languages
from corpusmill.report.figures.leaks import leaks
from corpusmill.report.figures.mix import mixes
from corpusmill.report.figures.packing import packing
from corpusmill.report.figures.remaining_duplicates import near_duplicates
from corpusmill.report.numbers import number, plural, share, size
from corpusmill.report.tables import identifier, literal
from corpusmill.report.views import documents as documents_view

NEAR_EMPTY_BYTES = 100
VERY_LONG_BYTES = 1_000_000  # a long book
MAX_DROPPABLE_SHARE = 0.5  # of the documents: what is true of more is how the corpus is, and nothing to drop
MIN_LANGUAGE_DOCUMENTS = 20  # that fewer of a language vanish says nothing
# Steps that are there to change things.
ACTIVE_STEPS = ("extract/", "clean/", "filter/", "redact/", "dedup/", "decontaminate/")
MIN_CRAWL_DOCUMENTS = 10_000  # a smaller crawl is a sample of sites, and has few duplicates
BYTE_VOCABULARY = 300  # tokens at most of a tokenizer whose tokens are single bytes
MIN_CHARS_PER_TOKEN, MAX_CHARS_PER_TOKEN = 2, 6
MAX_LETTER_BYTES = 1.2  # of a character on average, of texts in Latin letters with many accents
MIN_USES = 100  # tokens of a corpus for each of the vocabulary, below which many are not used
MAX_DOMAIN_SHARE, EVEN_SHARES = 0.05, 5  # of all; times as much as each has where all have as much
MAX_HOSTS = 10_000  # with the most documents; a domain of more than a few per cent is among them


@dataclass(frozen=True)
class Measured:
    """seen, examples and changes as in Check; what to do is said only if the value is out of bounds.

    advice   what to do beside the changes, or where there are none
    certain  the value that is nearest to the bounds and may as well be: a share of few documents is high by chance, and
             of few rows the last one is mostly padding
    bounds   for input of this kind, instead of the usual ones
    """

    value: float
    seen: str
    advice: str = ""
    examples: tuple[str, ...] = ()
    changes: tuple[RecipeChange, ...] = ()
    certain: float | None = None
    bounds: Bounds | None = None


@dataclass(frozen=True)
class Unmeasured:
    """Why nothing was measured, and what to do if it should be."""

    why: str
    advice: str = ""
    changes: tuple[RecipeChange, ...] = ()


@dataclass(frozen=True)
class CheckRule:
    """A check before it is asked of a run; `outside` is the verdict if the value is out of bounds."""

    question: str
    unit: Unit
    bounds: Bounds
    outside: Literal["red flag", "warning"]
    measure: Callable[[RunFacts], Measured | Unmeasured]


def judge(name: str, facts: RunFacts, bounds: Bounds | None) -> Check:
    """A check of a run.

    bounds   the user's; None: the usual ones
    """
    rule = AUDIT_CHECKS[name]
    result = rule.measure(facts)
    limits = rule.bounds if bounds is None else bounds
    about = name, rule.question
    hint = "; ".join(filter(None, [in_words(result.changes), result.advice]))
    if isinstance(result, Unmeasured):
        return Check(*about, None, rule.unit, limits, "not measured", result.why, hint, changes=result.changes)
    if bounds is None and result.bounds is not None:
        limits = result.bounds
    if limits.hold(result.value):
        return Check(*about, result.value, rule.unit, limits, "ok", result.seen)
    if bounds is None and result.certain is not None and limits.hold(result.certain):
        return Check(*about, result.value, rule.unit, limits, "ok", f"{result.seen}; too few to tell")
    outside = rule.outside if bounds is None else "red flag"
    details = result.examples, result.changes
    return Check(*about, result.value, rule.unit, limits, outside, result.seen, hint, *details)


def duplicates_found(facts: RunFacts) -> Measured | Unmeasured:
    steps = [step for step in dedup_steps(facts.tables) if step.documents_in]
    if not steps:
        return Unmeasured("no step looks for duplicates", changes=advice.find_copies(facts.recipe))
    reached = max(step.documents_in for step in steps)
    duplicates = sum(step.dropped or step.documents for step in steps)
    names = _comma_separated(step.step for step in steps)
    summary = f"{number(duplicates)} of {plural(reached, 'document')} that reached the first of {names}"
    if not facts.is_web and "duplicates_found" not in facts.chosen:
        return Unmeasured(f"{summary}: the bound is for crawls, and fewer than half of the documents have a URL")
    if reached < MIN_CRAWL_DOCUMENTS and "duplicates_found" not in facts.chosen:
        return Unmeasured(f"{summary}: the bound is for crawls of {number(MIN_CRAWL_DOCUMENTS)} documents or more")
    hint = "a sample, a single site and deduplicated data have few; is this a whole crawl?"
    return Measured(min(duplicates / reached, 1.0), summary, hint, changes=advice.find_near_copies(facts.recipe))


def duplicates_left(facts: RunFacts) -> Measured | Unmeasured:
    is_duplicate = near_duplicates(facts.sample.texts)
    summary = f"{number(is_duplicate.sum())} near-duplicates (Jaccard similarity 0.8) within {facts.of_sample}"
    if len(is_duplicate) < facts.flow.documents_out:
        summary += "; the whole output has at least as many"
    changes = advice.fewer_near_copies(facts.recipe)
    hint = "" if changes else f"look at what was found: corpusmill report {quote(facts.tables.folder)}"
    return _of_sample(facts, is_duplicate, summary, hint, changes)


def chars_per_token(facts: RunFacts) -> Measured | Unmeasured:
    if facts.tokens is None or not facts.tokens.all.tokens:
        return _no_tokens(facts)
    totals = facts.tokens.all
    hint = (
        "too low: the tokenizer does not fit these texts (languages, numbers, noise), train one: `corpusmill train "
        "tokenizer`; too high: is the text repetitive?"
    )
    summary = f"{plural(totals.characters, 'character')}, {plural(totals.tokens, 'token')}"
    if facts.tokens.vocabulary <= BYTE_VOCABULARY and "chars_per_token" not in facts.chosen:
        return Unmeasured(f"{summary}: the bound is for tokens of several bytes, and these are single bytes")
    # A character of Chinese says as much as several letters, and has as many bytes.
    width = max(totals.bytes / max(totals.characters, 1) / MAX_LETTER_BYTES, 1.0)
    bounds = Bounds(MIN_CHARS_PER_TOKEN / width, MAX_CHARS_PER_TOKEN)
    return Measured(totals.characters_per_token, summary, hint, bounds=bounds)


def utilisation(facts: RunFacts) -> Measured | Unmeasured:
    rows = packing(facts.flow)
    if rows is None or not rows.capacity:
        return Unmeasured("the run wrote no training rows", changes=advice.write_rows(facts.recipe))
    summary = f"{number(rows.tokens)} of {plural(rows.capacity, 'token position')} in {plural(rows.rows, 'row')}"
    changes = advice.pack_better(facts.recipe)
    hint = "" if changes else "the last row of a small corpus is mostly padding"
    full = rows.tokens + rows.capacity / rows.rows  # but for the last row
    return Measured(rows.tokens / rows.capacity, summary, hint, (), changes, min(full / rows.capacity, 1.0))


def vocabulary_use(facts: RunFacts) -> Measured | Unmeasured:
    if facts.tokens is None or not facts.tokens.vocabulary:
        return _no_tokens(facts)
    used, vocabulary = facts.tokens.distinct, facts.tokens.vocabulary
    summary = f"{number(used)} of {number(vocabulary)} vocabulary tokens occur"
    tokens = facts.tokens.all.tokens
    if tokens < MIN_USES * vocabulary and "vocabulary_use" not in facts.chosen:
        return Unmeasured(f"{summary}: {plural(tokens, 'token')} are too few to use this vocabulary")
    hint = (
        "train a smaller vocabulary: `corpusmill train tokenizer RUN --vocab-size 16384 --out tokenizer.json`; or the "
        "corpus is a small sample"
    )
    return Measured(used / vocabulary, summary, hint)


def residual_html(facts: RunFacts) -> Measured | Unmeasured:
    has_html = sample.has_html(facts.sample.texts)
    summary = f"{plural(has_html.sum(), 'document')} with tags or entities, of {facts.of_sample}"
    if facts.reads_code and "residual_html" not in facts.chosen:
        return Unmeasured(f"{summary}: source code may have some")
    hint = "texts about HTML may legitimately have some"
    return _of_sample(facts, has_html, summary, hint, advice.strip_html(facts.recipe))


def pii_left(facts: RunFacts) -> Measured | Unmeasured:
    by_kind = sample.personal_data(facts.sample.texts, facts.tables.steps.values())
    has_any = np.logical_or.reduce(list(by_kind.values()))
    kinds = {kind: int(has.sum()) for kind, has in by_kind.items() if has.any()}
    counted = ": " + ", ".join(f"{kind} in {n:,}" for kind, n in kinds.items()) if kinds else ""
    summary = f"{plural(has_any.sum(), 'document')} with personal data or secrets, of {facts.of_sample}{counted}"
    changes = advice.redact(facts.recipe, list(kinds))
    hint = "" if changes else "the recipe looks for all of these: see in the documents why they remain"
    return _of_sample(facts, has_any, summary, hint, changes)


def contamination(facts: RunFacts) -> Measured | Unmeasured:
    leak_steps = leaks(facts.tables)
    if not leak_steps:
        hint = "name the benchmarks that you will report results on"
        return Unmeasured("no step looks for benchmark questions", hint, advice.look_for_benchmarks(facts.recipe))
    kept_documents = 0
    for step in leak_steps:
        if getattr(facts.steps.get(step.step, ("", None))[1], "action", "drop") == "mark":
            condition = f"kept AND {identifier(f'{step.step}.hits')} IS NOT NULL"
            ((count,),) = facts.tables.tuples(
                f"SELECT count(*) FROM ({documents_view(facts.tables)}) WHERE {condition}"
            )
            kept_documents += count
    have = sum(step.documents for step in leak_steps)
    summary = f"{plural(have, 'document')} with benchmark questions, {number(kept_documents)} of them kept"
    return Measured(kept_documents, summary, changes=advice.drop_benchmarks(facts.recipe))


def domain_share(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.is_web:
        return Unmeasured("fewer than half of the documents have a URL")
    last = len(facts.tables.passes) - 1
    amount = "coalesce(tokens, bytes)"
    rows = facts.tables.tuples(
        f"SELECT lower(regexp_extract(url, '{HOST_PATTERN}', 1)) AS host, count(*), sum({amount}), "
        f"sum(count(*)) OVER (), sum(sum({amount})) OVER () "
        f"FROM ({facts.tables.table('signals', last)}) WHERE dropped_by IS NULL AND url LIKE 'http%' "
        f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MAX_HOSTS}"
    )
    if not rows:
        return NO_OUTPUT
    sums = by_domain(row[:3] for row in rows)
    all_documents, all_amounts = int(rows[0][3]), int(rows[0][4])
    shares = {
        name: max(documents / all_documents, length / max(all_amounts, 1)) for name, (documents, length) in sums.items()
    }
    name = max(shares, key=lambda domain: (shares[domain], domain))
    parts = share(sums[name][0], all_documents), share(sums[name][1], all_amounts)
    summary = f"{name}: {parts[0]} of the documents, {parts[1]} of their length"
    look = _sql(facts, f"select id, url from documents where kept and url like '%{name}%'")
    is_dominant = shares[name] > MAX_DROPPABLE_SHARE
    hint = f"look at it: {look}" + ("; is this a crawl of that domain?" if is_dominant else "")
    # Of few domains each has a large share.
    bounds = Bounds(high=max(MAX_DOMAIN_SHARE, min(1.0, round(EVEN_SHARES / len(shares), 2))))
    changes = () if is_dominant else advice.leave_out(facts.recipe, name)
    return Measured(shares[name], summary, hint, changes=changes, bounds=bounds)


def step_drops(facts: RunFacts) -> Measured | Unmeasured:
    rows = [row for row in facts.flow.rows if row.documents_in and not _is_kind(facts, row.step, "mix/")]
    if not rows:
        return Unmeasured("no document reached a step")
    row = max(rows, key=lambda row: sum(row.reasons.values()) / row.documents_in)
    dropped = sum(row.reasons.values())
    rule = f"; the most frequent reason is {next(iter(row.reasons))}" if row.reasons else ""
    summary = f"{row.step} drops {number(dropped)} of {plural(row.documents_in, 'document')}{rule}"
    return Measured(
        dropped / row.documents_in,
        summary,
        f"look at them: corpusmill peek {quote(facts.tables.folder)} --dropped {row.step}",
    )


def languages_vanished(facts: RunFacts) -> Measured | Unmeasured:
    figures = languages(facts.tables)
    if not figures:
        return Unmeasured("no step identifies languages", changes=advice.tell_languages(facts.recipe))
    step = figures[-1].step
    label = identifier(f"{step}.label")
    unwanted = f"list_contains(string_split(coalesce(reasons, ''), ','), '{step}.language')"
    query = f"SELECT {label}, count(*) FROM ({documents_view(facts.tables)}) WHERE {label} IS NOT NULL "
    query += f"AND NOT {unwanted} GROUP BY 1 HAVING count(*) >= {MIN_LANGUAGE_DOCUMENTS} AND NOT bool_or(kept)"
    rows = facts.tables.tuples(f"{query} ORDER BY 2 DESC, 1")
    summary = _comma_separated(f"{name} ({plural(count, 'document')})" for name, count in rows)
    present = f"every language of {MIN_LANGUAGE_DOCUMENTS} or more documents that {step} lets through is in the output"
    hint = "see which step drops them: " + _by_step(facts, rows[0][0] if rows else "", f"{step}.label")
    return Measured(len(rows), summary or present, hint)


def sources_vanished(facts: RunFacts) -> Measured | Unmeasured:
    flow = facts.flow
    last = flow.rows[-1].sources if flow.rows else {}
    read = {name: source["documents"] for name, source in flow.read.items()}
    out = {name: last.get(name, {}).get("documents_out", 0) for name in read} if flow.rows else read
    vanished = [name for name in read if not out[name]]
    summary = _comma_separated(f"{name} ({plural(read[name], 'document')} read)" for name in vanished)
    present = "the source is in the output" if len(read) == 1 else f"all {number(len(read))} sources are in the output"
    hint = "see which step drops them: " + _by_step(facts, next(iter(vanished), ""), "source")
    return Measured(len(vanished), summary or present, hint)


def mix_off_plan(facts: RunFacts) -> Measured | Unmeasured:
    drawn = [
        (abs(source.drawn / total - source.share), source, total)
        for mix in mixes(facts.tables)
        if (total := sum(source.drawn for source in mix.sources))
        for source in mix.sources
    ]
    if not drawn:
        return Unmeasured("no step mixes sources")
    off, source, total = max(drawn, key=lambda difference: difference[0])
    drawn_share = share(source.drawn, total)
    summary = f"{source.source}: planned {100 * source.share:.1f} %, drawn {drawn_share}, {source.epochs:.2f} epochs"
    hint = "documents are not split, so a larger budget comes closer to the plan; see the mixture in the report"
    return Measured(off, summary, hint)


def dead_letters(facts: RunFacts) -> Measured | Unmeasured:
    records = sum(source["records"] for source in facts.flow.read.values())
    if not records:
        return Unmeasured("nothing was read")
    dead = sum(sum(source["dead"].values()) for source in facts.flow.read.values())
    failed = sum(row.failed for row in facts.flow.rows)
    lost = f"{plural(dead, 'record')} could not be read and {plural(failed, 'document')} could not be processed"
    summary = f"{lost}, of {number(records)}"
    return Measured(
        (dead + failed) / records, summary, f"look at them: corpusmill peek {quote(facts.tables.folder)} --dead"
    )


def idle_steps(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.steps:
        return Unmeasured("the steps of the recipe cannot be imported from here")
    idle = [
        row.step
        for row in facts.flow.rows
        if _is_kind(facts, row.step, ACTIVE_STEPS)
        and not _only_marks(facts.steps[row.step][1])
        and row.documents_in
        and row.documents_in == row.documents_out
        and row.bytes_in == row.bytes_out
    ]
    summary = f"{_comma_separated(idle)} dropped nothing and changed no text length"
    hint = "is it configured correctly for this data? If it is needed only sometimes, all is well"
    return Measured(len(idle), summary if idle else "every step dropped or changed something", hint)


def near_empty(facts: RunFacts) -> Measured | Unmeasured:
    description, changes = f"shorter than {NEAR_EMPTY_BYTES} bytes", advice.drop_stubs(facts.recipe, NEAR_EMPTY_BYTES)
    return _by_length(facts, f"bytes < {NEAR_EMPTY_BYTES}", description, "is the text in another column?", changes)


def very_long(facts: RunFacts) -> Measured | Unmeasured:
    description, changes = f"longer than {size(VERY_LONG_BYTES)}", advice.drop_giants(facts.recipe, VERY_LONG_BYTES)
    hint = "are these books, or pages that were not split?"
    return _by_length(facts, f"bytes > {VERY_LONG_BYTES}", description, hint, changes, "bytes")


def one_template(facts: RunFacts) -> Measured | Unmeasured:
    is_templated = sample.one_template(facts.sample.texts)
    summary = f"{plural(is_templated.sum(), 'document')} beginning with the same {sample.OPENING_WORDS} words, of "
    summary += facts.of_sample
    hint = "are these pages generated from one template?"
    return _of_sample(facts, is_templated, summary, hint, advice.drop_shared_lines(facts.recipe))


def _of_sample(
    facts: RunFacts, hits: NDArray[np.bool_], summary: str, hint: str, changes: tuple[RecipeChange, ...]
) -> Measured | Unmeasured:
    """The share of the documents of the sample that are hits."""
    if not facts.sample.ids:
        return NO_OUTPUT
    least = certain_share(int(hits.sum()), len(hits))
    return Measured(float(hits.mean()), summary, hint, facts.sample.ids_where(hits), changes, least)


def _by_length(
    facts: RunFacts, condition: str, description: str, advice: str, changes: tuple[RecipeChange, ...], amount: str = "1"
) -> Measured | Unmeasured:
    """The share of the output documents, or of their `amount`, that fulfil a condition on their bytes. The changes,
    which drop them, are advised if these are not most of the documents."""
    table = facts.tables.table("signals", len(facts.tables.passes) - 1)
    counts = ", ".join(f"count(*) FILTER ({which}), sum({amount}) FILTER ({which})" for which in ("true", condition))
    rows = facts.tables.tuples(f"SELECT {counts} FROM ({table}) WHERE dropped_by IS NULL")
    ((documents, total, matches, part),) = rows
    if not documents:
        return NO_OUTPUT
    ids = facts.tables.tuples(f"SELECT id FROM ({table}) WHERE dropped_by IS NULL AND {condition} ORDER BY id LIMIT 3")
    summary = f"{number(matches)} of {plural(documents, 'document')} {'is' if matches == 1 else 'are'} {description}"
    if amount != "1":
        summary += f", with {share(part or 0, total)} of the {amount}"
    drops = changes if matches <= MAX_DROPPABLE_SHARE * documents else ()
    examples = tuple(document_id for (document_id,) in ids)
    least = certain_share(matches, documents) if amount == "1" else None
    return Measured(int(part or 0) / max(int(total), 1), summary, advice, examples, drops, least)


def certain_share(hits: int, documents: int) -> float:
    """The least share that these hits are likely of: the lower end of Wilson's interval of 95 % (doi:10.2307/2276774).

    >>> round(certain_share(2, 197), 4), round(certain_share(20, 1970), 4), certain_share(0, 5)
    (0.0028, 0.0066, 0.0)
    """
    if not hits:
        return 0.0
    z = 1.96
    share = hits / documents
    spread = z * math.sqrt(share * (1 - share) / documents + (z / (2 * documents)) ** 2)
    return (share + z * z / (2 * documents) - spread) / (1 + z * z / documents)


def _no_tokens(facts: RunFacts) -> Unmeasured:
    return Unmeasured("the run counted no tokens", changes=advice.count_tokens(facts.recipe))


def _by_step(facts: RunFacts, value: str, column: str) -> str:
    return _sql(facts, f"select dropped_by, count(*) from documents where {column} = {literal(value)} group by 1")


def _sql(facts: RunFacts, query: str) -> str:
    words = quote(query) if set('"$`\\!') & set(query) else f'"{query}"'  # double quotes where single ones are in it
    return f"corpusmill sql {quote(facts.tables.folder)} {words}"


def _is_kind(facts: RunFacts, label: str, kind: str | tuple[str, ...]) -> bool:
    return label in facts.steps and facts.steps[label][0].startswith(kind)


def _only_marks(step: object) -> bool:
    return bool(getattr(step, "mark", False)) or getattr(step, "action", None) in ("mark", "leave")


def _comma_separated(names: object) -> str:
    return ", ".join(map(str, names))  # type: ignore[call-overload]


NO_OUTPUT = Unmeasured("the run kept no documents")

CHECK_RULES = (
    CheckRule(
        "Are there as many duplicates as in other crawls?", "share", Bounds(low=0.2), "warning", duplicates_found
    ),
    CheckRule("Are there duplicates in the output?", "share", Bounds(high=0.01), "red flag", duplicates_left),
    CheckRule(
        "Does the tokenizer fit the texts?",
        "number",
        Bounds(MIN_CHARS_PER_TOKEN, MAX_CHARS_PER_TOKEN),
        "red flag",
        chars_per_token,
    ),
    CheckRule("Are the rows full?", "share", Bounds(low=0.9), "red flag", utilisation),
    CheckRule("Is the vocabulary used?", "share", Bounds(low=0.5), "warning", vocabulary_use),
    CheckRule("Is HTML left in the texts?", "share", Bounds(high=0.01), "red flag", residual_html),
    CheckRule("Is personal data left in the texts?", "share", Bounds(high=0.01), "red flag", pii_left),
    CheckRule("Are benchmark questions in the output?", "count", Bounds(high=0), "red flag", contamination),
    CheckRule("Does one domain dominate?", "share", Bounds(high=MAX_DOMAIN_SHARE), "warning", domain_share),
    CheckRule("Does one step drop most documents?", "share", Bounds(high=0.6), "warning", step_drops),
    CheckRule("Has a language vanished?", "count", Bounds(high=0), "red flag", languages_vanished),
    CheckRule("Has a source vanished?", "count", Bounds(high=0), "red flag", sources_vanished),
    CheckRule("Is the mixture as planned?", "share", Bounds(high=0.02), "red flag", mix_off_plan),
    CheckRule("Were records lost to errors?", "share", Bounds(high=0.01), "red flag", dead_letters),
    CheckRule("Did every step do something?", "count", Bounds(high=0), "warning", idle_steps),
    CheckRule("Are there near-empty documents?", "share", Bounds(high=0.01), "red flag", near_empty),
    CheckRule("Are there extremely long documents?", "share", Bounds(high=0.05), "warning", very_long),
    CheckRule("Are many documents made from one template?", "share", Bounds(high=0.02), "warning", one_template),
)
AUDIT_CHECKS = {rule.measure.__name__: rule for rule in CHECK_RULES}
