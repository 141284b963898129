"""The checks of an audit: each a function of a run's facts that measures one value and says what to change."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from corpusmill.report.audit import sample
from corpusmill.report.audit.bounds import Bounds
from corpusmill.report.audit.facts import RunFacts
from corpusmill.report.audit.model import Check, Unit
from corpusmill.report.figures.domains import HOST, by_domain
from corpusmill.report.figures.duplicates import dedup_steps
from corpusmill.report.figures.languages import languages
from corpusmill.report.figures.leaks import leaks
from corpusmill.report.figures.left import near_duplicates
from corpusmill.report.figures.mix import mixes
from corpusmill.report.figures.packing import packing
from corpusmill.report.numbers import number, plural, share, size
from corpusmill.report.tables import identifier, literal
from corpusmill.report.views import documents as documents_view

NEAR_EMPTY = 100  # bytes
VERY_LONG = 1_000_000  # bytes: a long book
FEW = 20  # documents: that fewer of a language vanish says nothing
ACTIVE = (
    "extract/",
    "clean/",
    "filter/",
    "redact/",
    "dedup/",
    "decontaminate/",
)  # steps that are there to change things
HOSTS = 10_000  # with the most documents; a domain of more than a few per cent is among them


@dataclass(frozen=True)
class Measured:
    """seen, advice, examples as in Check; the advice is given only if the value is out of bounds."""

    value: float
    seen: str
    advice: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unmeasured:
    """Why nothing was measured, and what to do if it should be."""

    why: str
    advice: str = ""


@dataclass(frozen=True)
class Rule:
    """A check before it is asked of a run; `outside` is the verdict if the value is out of bounds."""

    question: str
    unit: Unit
    bounds: Bounds
    outside: Literal["red flag", "warning"]
    measure: Callable[[RunFacts], Measured | Unmeasured]


def judged(name: str, facts: RunFacts, bounds: Bounds | None) -> Check:
    """A check of a run.

    bounds   the user's; None: the usual ones
    """
    rule = CHECKS[name]
    result = rule.measure(facts)
    wanted = rule.bounds if bounds is None else bounds
    about = name, rule.question
    if isinstance(result, Unmeasured):
        return Check(*about, None, rule.unit, wanted, "not measured", result.why, result.advice)
    if wanted.hold(result.value):
        return Check(*about, result.value, rule.unit, wanted, "ok", result.seen)
    outside = rule.outside if bounds is None else "red flag"
    return Check(*about, result.value, rule.unit, wanted, outside, result.seen, result.advice, result.examples)


def duplicates_found(facts: RunFacts) -> Measured | Unmeasured:
    steps = [step for step in dedup_steps(facts.tables) if step.documents_in]
    if not steps:
        return Unmeasured("no step looks for duplicates", "add `dedup/exact` and `dedup/minhash` before `tokenize/…`")
    reached = max(step.documents_in for step in steps)
    found = sum(step.dropped or step.documents for step in steps)
    seen = (
        f"{number(found)} of {plural(reached, 'document')} that reached the first of {_listed(s.step for s in steps)}"
    )
    if not facts.is_web and "duplicates_found" not in facts.chosen:
        return Unmeasured(f"{seen}: the bound is for crawls, and fewer than half of the documents have a web address")
    advice = "is the dedup too weak? Try `dedup/minhash: {threshold: 0.7}`, and `dedup/line` or `dedup/substring`"
    return Measured(min(found / reached, 1.0), seen, advice)


def duplicates_left(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.sample.ids:
        return NOTHING_LEFT
    found = near_duplicates(facts.sample.texts)
    seen = f"{number(found.sum())} near-duplicates (Jaccard similarity 0.8) within {facts.of_sample}"
    if len(found) < facts.flow.documents_out:
        seen += "; in all of the output there are at least as many"
    advice = "add `dedup/minhash`, after the last step that changes text; if it is there, a lower `threshold`"
    return Measured(float(found.mean()), seen, advice, facts.sample.named(found))


def chars_per_token(facts: RunFacts) -> Measured | Unmeasured:
    if facts.tokens is None or not facts.tokens.all.tokens:
        return NO_TOKENS
    every = facts.tokens.all
    advice = (
        "below: the tokenizer does not fit these texts (languages, numbers, noise), train one: `corpusmill train "
        "tokenizer`; above: is the text repetitive?"
    )
    seen = f"{plural(every.characters, 'character')}, {plural(every.tokens, 'token')}"
    return Measured(every.characters_per_token, seen, advice)


def utilisation(facts: RunFacts) -> Measured | Unmeasured:
    rows = packing(facts.flow)
    if rows is None or not rows.capacity:
        return Unmeasured("the run wrote no training rows", "add a `pack/…` step and `write: shards`")
    seen = f"{number(rows.tokens)} of {plural(rows.capacity, 'place')} in {plural(rows.rows, 'row')}"
    return Measured(rows.tokens / rows.capacity, seen, "pack with `pack/best_fit` or `pack/concat`, without `split_at`")


def vocabulary_use(facts: RunFacts) -> Measured | Unmeasured:
    if facts.tokens is None or not facts.tokens.vocabulary:
        return NO_TOKENS
    used, there = facts.tokens.distinct, facts.tokens.vocabulary
    advice = (
        "a smaller vocabulary: `corpusmill train tokenizer RUN --vocab-size 16384 --out tokenizer.json`; or the corpus "
        "is a sample, and small"
    )
    return Measured(used / there, f"{number(used)} of {number(there)} vocabulary tokens occur", advice)


def residual_html(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.sample.ids:
        return NOTHING_LEFT
    found = sample.has_html(facts.sample.texts)
    seen = f"{plural(found.sum(), 'document')} with tags or entities, of {facts.of_sample}"
    advice = "add `extract/blocks` and `clean/normalize`; texts about HTML may rightly have some"
    return Measured(float(found.mean()), seen, advice, facts.sample.named(found))


def pii_left(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.sample.ids:
        return NOTHING_LEFT
    by_kind = sample.personal_data(facts.sample.texts)
    found = sample.any_of(list(by_kind.values()), len(facts.sample.ids))
    kinds = {kind: int(has.sum()) for kind, has in by_kind.items() if has.any()}
    counted = ": " + ", ".join(f"{kind} in {n:,}" for kind, n in kinds.items()) if kinds else ""
    seen = f"{plural(found.sum(), 'document')} with personal data or secrets, of {facts.of_sample}{counted}"
    wanted = ", ".join(dict.fromkeys(["email", "ip", *kinds]))
    advice = f"redact these kinds, too: `redact/pii: {{kinds: [{wanted}]}}`"
    return Measured(float(found.mean()), seen, advice, facts.sample.named(found))


def contamination(facts: RunFacts) -> Measured | Unmeasured:
    found = leaks(facts.tables)
    if not found:
        advice = "name the benchmarks that you will report: `decontaminate/ngrams: {benchmarks: benchmarks/*.jsonl}`"
        return Unmeasured("no step looks for questions of benchmarks", advice)
    left = 0
    for step in found:
        if getattr(facts.steps.get(step.step, ("", None))[1], "action", "drop") == "mark":
            condition = f"kept AND {identifier(f'{step.step}.hits')} IS NOT NULL"
            ((count,),) = facts.tables.tuples(
                f"SELECT count(*) FROM ({documents_view(facts.tables)}) WHERE {condition}"
            )
            left += count
    have = sum(step.documents for step in found)
    seen = f"{plural(have, 'document')} with questions of benchmarks, {number(left)} of them kept"
    return Measured(left, seen, "`action: drop` or `action: cut` in `decontaminate/ngrams`")


def domain_share(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.is_web:
        return Unmeasured("fewer than half of the documents have a web address")
    last = len(facts.tables.passes) - 1
    amount = "coalesce(tokens, bytes)"
    rows = facts.tables.tuples(
        f"SELECT lower(regexp_extract(url, '{HOST}', 1)) AS host, count(*), sum({amount}), "
        f"sum(count(*)) OVER (), sum(sum({amount})) OVER () "
        f"FROM ({facts.tables.table('signals', last)}) WHERE dropped_by IS NULL AND url LIKE 'http%' "
        f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {HOSTS}"
    )
    if not rows:
        return NOTHING_LEFT
    sums = by_domain(row[:3] for row in rows)
    all_documents, all_amounts = int(rows[0][3]), int(rows[0][4])
    shares = {
        name: max(documents / all_documents, length / max(all_amounts, 1)) for name, (documents, length) in sums.items()
    }
    name = max(shares, key=lambda each: (shares[each], each))
    parts = share(sums[name][0], all_documents), share(sums[name][1], all_amounts)
    seen = f"{name}: {parts[0]} of the documents, {parts[1]} of their length"
    look = _sql(facts, f"select id, url from documents where kept and url like '%{name}%'")
    advice = f"look at it: {look}; to leave it out: `filter/url: {{block_domains: [{name}]}}`"
    return Measured(shares[name], seen, advice)


def step_drops(facts: RunFacts) -> Measured | Unmeasured:
    rows = [row for row in facts.flow.rows if row.documents_in and not _is(facts, row.step, "mix/")]
    if not rows:
        return Unmeasured("no step has seen a document")
    row = max(rows, key=lambda row: sum(row.reasons.values()) / row.documents_in)
    dropped = sum(row.reasons.values())
    rule = f", most by {next(iter(row.reasons))}" if row.reasons else ""
    seen = f"{row.step} drops {number(dropped)} of {plural(row.documents_in, 'document')}{rule}"
    return Measured(
        dropped / row.documents_in, seen, f"look at them: corpusmill peek {facts.tables.folder} --dropped {row.step}"
    )


def languages_vanished(facts: RunFacts) -> Measured | Unmeasured:
    figures = languages(facts.tables)
    if not figures:
        return Unmeasured("no step identifies languages", "add `annotate/language`")
    step = figures[-1].step
    label = identifier(f"{step}.label")
    unwanted = f"list_contains(string_split(coalesce(reasons, ''), ','), '{step}.language')"
    query = (
        f"SELECT {label}, count(*) FROM ({documents_view(facts.tables)}) WHERE {label} IS NOT NULL AND NOT {unwanted} "
    )
    rows = facts.tables.tuples(f"{query} GROUP BY 1 HAVING count(*) >= {FEW} AND NOT bool_or(kept) ORDER BY 2 DESC, 1")
    names = [f"{name} ({plural(count, 'document')})" for name, count in rows]
    seen = (
        _listed(names)
        if names
        else f"every language of {FEW} documents or more that {step} lets through is in the output"
    )
    return Measured(
        len(rows), seen, "see which step drops them: " + _by_step(facts, rows[0][0] if rows else "", f"{step}.label")
    )


def sources_vanished(facts: RunFacts) -> Measured | Unmeasured:
    flow = facts.flow
    last = flow.rows[-1].sources if flow.rows else {}
    read = {name: source["documents"] for name, source in flow.read.items()}
    out = {name: last.get(name, {}).get("documents_out", 0) for name in read} if flow.rows else read
    gone = [name for name in read if not out[name]]
    names = [f"{name} ({plural(read[name], 'document')} read)" for name in gone]
    seen = (
        _listed(names)
        if names
        else "the source is in the output"
        if len(read) == 1
        else f"all of {number(len(read))} sources are in the output"
    )
    return Measured(len(gone), seen, "see which step drops them: " + _by_step(facts, gone[0] if gone else "", "source"))


def mix_off_plan(facts: RunFacts) -> Measured | Unmeasured:
    drawn = [
        (abs(one.drawn / total - one.share), one, total)
        for mix in mixes(facts.tables)
        if (total := sum(one.drawn for one in mix.sources))
        for one in mix.sources
    ]
    if not drawn:
        return Unmeasured("no step mixes sources")
    off, one, total = max(drawn, key=lambda each: each[0])
    seen = f"{one.source}: planned {100 * one.share:.1f} %, drawn {share(one.drawn, total)}, {one.epochs:.2f} epochs"
    return Measured(off, seen, "more of that source, a higher `max_epochs`, or a smaller budget in `mix/sources`")


def dead_letters(facts: RunFacts) -> Measured | Unmeasured:
    records = sum(source["records"] for source in facts.flow.read.values())
    if not records:
        return Unmeasured("nothing was read")
    dead = sum(sum(source["dead"].values()) for source in facts.flow.read.values())
    failed = sum(row.failed for row in facts.flow.rows)
    lost = f"{plural(dead, 'record')} could not be read and {plural(failed, 'document')} not processed"
    seen = f"{lost}, of {number(records)}"
    return Measured((dead + failed) / records, seen, f"look at them: corpusmill peek {facts.tables.folder} --dead")


def idle_steps(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.steps:
        return Unmeasured("the steps of the recipe cannot be imported from here")
    idle = [
        row.step
        for row in facts.flow.rows
        if _is(facts, row.step, ACTIVE)
        and not _only_marks(facts.steps[row.step][1])
        and row.documents_in
        and row.documents_in == row.documents_out
        and row.bytes_in == row.bytes_out
    ]
    seen = (
        f"{_listed(idle)} dropped nothing and changed no length" if idle else "every step dropped or changed something"
    )
    return Measured(
        len(idle), seen, "is it set up right, and for this data? If it is needed only sometimes, all is well"
    )


def near_empty(facts: RunFacts) -> Measured | Unmeasured:
    return _by_length(
        facts, f"bytes < {NEAR_EMPTY}", f"shorter than {NEAR_EMPTY} bytes", "`filter/gopher_quality: {min_words: 50}`"
    )


def very_long(facts: RunFacts) -> Measured | Unmeasured:
    what = f"longer than {size(VERY_LONG)}"
    advice = (
        "are these books, or pages that were not split? `filter/keep_where: {condition: bytes < 1000000}` drops them"
    )
    return _by_length(facts, f"bytes > {VERY_LONG}", what, advice, "bytes")


def one_template(facts: RunFacts) -> Measured | Unmeasured:
    if not facts.sample.ids:
        return NOTHING_LEFT
    found = sample.one_template(facts.sample.texts)
    seen = f"{plural(found.sum(), 'document')} beginning with the same {sample.OPENING} words, of {facts.of_sample}"
    advice = "pages of one kind? `dedup/line` removes what they share, `filter/url` the sites"
    return Measured(float(found.mean()), seen, advice, facts.sample.named(found))


def _by_length(facts: RunFacts, condition: str, what: str, advice: str, amount: str = "1") -> Measured | Unmeasured:
    """The share of the output documents, or of their `amount`, that fulfil a condition on their bytes."""
    table = facts.tables.table("signals", len(facts.tables.passes) - 1)
    counts = ", ".join(
        f"{what} FILTER ({where})" for where in ("true", condition) for what in ("count(*)", f"sum({amount})")
    )
    ((documents, every, found, part),) = facts.tables.tuples(f"SELECT {counts} FROM ({table}) WHERE dropped_by IS NULL")
    if not documents:
        return NOTHING_LEFT
    ids = facts.tables.tuples(f"SELECT id FROM ({table}) WHERE dropped_by IS NULL AND {condition} ORDER BY id LIMIT 3")
    seen = f"{number(found)} of {plural(documents, 'document')} {'is' if found == 1 else 'are'} {what}"
    if amount != "1":
        seen += f", with {share(part or 0, every)} of the {amount}"
    return Measured(int(part or 0) / max(int(every), 1), seen, advice, tuple(each for (each,) in ids))


def _by_step(facts: RunFacts, value: str, column: str) -> str:
    return _sql(facts, f"select dropped_by, count(*) from documents where {column} = {literal(value)} group by 1")


def _sql(facts: RunFacts, query: str) -> str:
    return f'corpusmill sql {facts.tables.folder} "{query}"'


def _is(facts: RunFacts, label: str, kind: str | tuple[str, ...]) -> bool:
    return label in facts.steps and facts.steps[label][0].startswith(kind)


def _only_marks(step: object) -> bool:
    return bool(getattr(step, "mark", False)) or getattr(step, "action", None) in ("mark", "leave")


def _listed(names: object) -> str:
    return ", ".join(map(str, names))  # type: ignore[call-overload]


NO_TOKENS = Unmeasured(
    "the run counted no tokens", "add `tokenize/bpe` and a writer of tokens, such as `write: shards`"
)
NOTHING_LEFT = Unmeasured("the run kept no documents")

CHECKS = {
    "duplicates_found": Rule(
        "Are there as many duplicates as in other crawls?", "share", Bounds(low=0.2), "warning", duplicates_found
    ),
    "duplicates_left": Rule(
        "Are there duplicates in the output?", "share", Bounds(high=0.01), "red flag", duplicates_left
    ),
    "chars_per_token": Rule("Does the tokenizer fit the texts?", "number", Bounds(2, 6), "red flag", chars_per_token),
    "utilisation": Rule("Are the rows full?", "share", Bounds(low=0.9), "red flag", utilisation),
    "vocabulary_use": Rule("Is the vocabulary used?", "share", Bounds(low=0.5), "warning", vocabulary_use),
    "residual_html": Rule("Is HTML left in the texts?", "share", Bounds(high=0.01), "red flag", residual_html),
    "pii_left": Rule("Is personal data left in the texts?", "share", Bounds(high=0.01), "red flag", pii_left),
    "contamination": Rule(
        "Are questions of benchmarks in the output?", "count", Bounds(high=0), "red flag", contamination
    ),
    "domain_share": Rule("Does one domain dominate?", "share", Bounds(high=0.05), "warning", domain_share),
    "step_drops": Rule("Does one step drop most documents?", "share", Bounds(high=0.6), "warning", step_drops),
    "languages_vanished": Rule("Has a language vanished?", "count", Bounds(high=0), "red flag", languages_vanished),
    "sources_vanished": Rule("Has a source vanished?", "count", Bounds(high=0), "red flag", sources_vanished),
    "mix_off_plan": Rule("Is the mixture as planned?", "share", Bounds(high=0.02), "red flag", mix_off_plan),
    "dead_letters": Rule("Were records lost to errors?", "share", Bounds(high=0.01), "red flag", dead_letters),
    "idle_steps": Rule("Did every step do something?", "count", Bounds(high=0), "warning", idle_steps),
    "near_empty": Rule("Are there near-empty documents?", "share", Bounds(high=0.01), "red flag", near_empty),
    "very_long": Rule("Are there extremely long documents?", "share", Bounds(high=0.05), "warning", very_long),
    "one_template": Rule(
        "Are many documents made from one template?", "share", Bounds(high=0.02), "warning", one_template
    ),
}
