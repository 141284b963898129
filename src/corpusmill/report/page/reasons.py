"""For each step that drops documents: its rules, their signals, and a few of the documents."""

from corpusmill.report.figures.reasons import DroppingRule, Step, reasons
from corpusmill.report.html import cards
from corpusmill.report.html.charts import histogram
from corpusmill.report.html.markup import HtmlText, Inside, tag
from corpusmill.report.html.svg import legend
from corpusmill.report.numbers import number, plural, share
from corpusmill.report.tables import RunTables

EXAMPLES_PER_REASON = 3  # documents per reason
RULE_LEGEND = {
    "pass": "documents that pass the rule, by signal value",
    "fail": "documents that fail it (square-root scale)",
}


def section(tables: RunTables) -> list[Inside]:
    steps = reasons(tables, EXAMPLES_PER_REASON)
    if not steps:
        return []
    words = "A document can fail several rules. It is counted under the first rule that it fails at the step that "
    words += "drops it."
    how_far = {tables.files.measure_dropped(number) for number in range(len(tables.passes))}
    if how_far != {"all"}:
        words += " Later steps did not measure it (run.measure_dropped)"
        words += ", and its signals are not saved, so there are no distributions." if "none" in how_far else "."
    charts = any(rule.values for step in steps for rule in step.rules)
    parts: list[Inside] = [tag("p", words, class_="note"), legend(RULE_LEGEND) if charts else None]
    for step in steps:
        counts = f"{number(step.dropped)} of {plural(step.documents_in, 'document')} dropped"
        parts.append(tag("h3", step.step, id=f"step-{step.step}"))
        dropped = f"{counts} ({share(step.dropped, step.documents_in)}). "
        parts.append(tag("p", dropped, tag("span", step.summary, class_="soft")))
        parts += [card(tables, step, rule) for rule in step.rules]
        if step.never_first:
            never_first = ", ".join(f"{rule} {number(count)}" for rule, count in step.never_first.items())
            parts.append(tag("p", f"Also failed, but never as the first rule: {never_first}.", class_="note"))
    return parts


def card(tables: RunTables, step: Step, rule: DroppingRule) -> HtmlText:
    """A rule: its counts, its signal, documents that it dropped."""
    count, bound = rule.count, rule.bound
    facts = [
        (number(count.first), f"dropped by this rule ({share(count.first, step.documents_in)})"),
        (number(count.all), "fail this rule"),
    ]
    if count.alone is not None:
        facts.append((number(count.alone), "fail only this rule"))
    about: list[Inside] = [
        tag("h4", rule.rule),
        tag("div", f"drops documents with {bound}" if bound else None, class_="soft"),
        tag("div", *(tag("span", tag("b", value), caption) for value, caption in facts), class_="facts"),
    ]
    if rule.values and bound:
        beyond = sum(rule.values.counts["fail"]) - count.all
        if beyond > 0:
            words = f"{number(beyond)} more are beyond the threshold, but not judged by this rule."
            about.append(tag("div", words, class_="note"))
        signal = bound.signal.partition(".")[2]
        chart = histogram(
            rule.values,
            label=f"{signal} of the documents that reached {step.step}, threshold {bound.threshold:g}",
            unit=signal,
            axis=signal.replace("_", " "),
            bound=bound.threshold,
            height=120,
            root=True,
            unknown=max(step.documents_in - rule.values.total, 0),
        )
        about = [tag("div", tag("div", *about), tag("div", chart), class_="rule")]
    if rule.examples:
        title = "1 example" if len(rule.examples) == 1 else f"{len(rule.examples)} examples"
        shown = (cards.document(entry, tables.bounds) for entry in rule.examples)
        about.append(tag("details", tag("summary", title), *shown))
    return tag("div", *about, class_="reason")
