"""What each dedup step found, the overlap of two of them, and the least similar pairs side by side."""

from corpusmill.report.figures.clusters import ClusterFigures, clusters
from corpusmill.report.figures.duplicates import dedup_steps, dedup_table
from corpusmill.report.figures.emptied import warnings
from corpusmill.report.figures.pairs import Pairs, pairs
from corpusmill.report.figures.survival import Survival, survival
from corpusmill.report.html import cards
from corpusmill.report.html.charts import histogram
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.numbers import number, plural, share
from corpusmill.report.tables import RunTables

PAIRS_PER_STEP = 4  # per step


def section(tables: RunTables) -> list[Inside]:
    warned = [tag("p", f"{warning[0].upper()}{warning[1:]}.") for warning in warnings(tables)]
    clusters_by_step = {cluster_figures.step: cluster_figures for cluster_figures in clusters(tables)}
    figures = pairs(tables, PAIRS_PER_STEP)
    survival_by_step = {survived.step: survived for survived in survival(tables)}
    steps = (
        part
        for figure in figures
        for part in of_step(figure, clusters_by_step.get(figure.step), survival_by_step.get(figure.step))
    )
    return [*warned, *compared(tables), *steps]


def compared(tables: RunTables) -> list[Inside]:
    """The steps side by side, where there are two or more."""
    steps = dedup_steps(tables)
    if len(steps) < 2:
        return []
    head, rows = dedup_table(steps)
    note = "A dropped document never reaches later steps; to compare two dedup steps, run the first with `mark: true`."
    return [table(head, rows, words=(0,)), tag("p", note, class_="note")]


def of_step(figure: Pairs, cluster_figures: ClusterFigures | None, survived: Survival | None) -> list[Inside]:
    """How similar the pairs of a step are, and the least similar of them."""
    step = figure.step
    parts: list[Inside] = [tag("h3", step)]
    if figure.candidates is not None and figure.verified is not None:
        compared, verified = number(figure.candidates), number(figure.verified)
        words = f"{compared} candidate pairs compared, {verified} confirmed near-duplicates."
        parts.append(tag("p", words))
    if any(figure.left_out):
        in_buckets, beyond_limit = map(number, figure.left_out)
        words = f"Pairs not compared in large buckets: {in_buckets} between documents that are not leaders of the "
        words += f"bucket (counted once per band), and {beyond_limit} beyond the limit of comparisons per document."
        parts.append(tag("p", words))
    parts += [tag("p", f"{remark[0].upper()}{remark[1:]}.") for remark in figure.remarks]
    if figure.losses and any(figure.losses):
        none, few, moderate, many = map(number, figure.losses)
        words = f"Share of a dropped document's n-grams that the kept one lacks: none for {none} documents, up to 2 % "
        words += f"for {few}, up to 10 % for {moderate}, more for {many}."
        parts.append(tag("p", words))
    if survived:
        parts.append(tag("p", of_survival(survived)))
    of_all = of_clusters(cluster_figures) if cluster_figures else []
    return [*parts, *of_all, *dropped_pairs(figure), *rejected_pairs(figure)]


def of_survival(figure: Survival) -> str:
    """The share of the removed text that survives in no kept document of its cluster, in words."""
    words = "Removed text that survives nowhere in its cluster: "
    documents = plural(figure.compared, "removed document")
    interval = ""
    if figure.is_sample:
        low, high = (share(end, 1) for end in figure.interval)
        interval = f" ({low} to {high} with 95 % confidence)"
        documents += f", a sample of {number(figure.removed - figure.earlier)}"
    if figure.compared:
        words += f"{share(figure.lost, figure.pieces)}{interval} of the {figure.unit} of {documents}. "
        words += f"All other {figure.unit} are in runs of {figure.ngram} or more that the kept document has, too."
    else:
        words += "not measured."
    if figure.earlier:
        words += f" Not compared: {plural(figure.earlier, 'document')} dropped for documents of earlier runs."
    return words


def of_clusters(figure: ClusterFigures) -> list[Inside]:
    """How large the clusters are, and what each removal lost."""
    count, documents = plural(figure.clusters, "cluster"), number(figure.documents)
    words = f"{count} of {documents} documents in total, the largest of {number(figure.largest)}. "
    words += "One document per cluster is kept."
    label, axis = f"clusters of duplicates found by {figure.step}, by size", "documents per cluster"
    data = figure.sizes
    sizes = histogram(
        data, label=label, unit="documents", axis=axis, root=True, height=150, counted="clusters", ticks=data.edges
    )
    figures = [drawn("Cluster sizes", sizes, f"x: {axis} (log), y: clusters (square-root scale)")]
    if figure.lost:
        label, axis = f"duplicates found by {figure.step}, by the share of n-grams lost", "share of n-grams lost"
        lost = histogram(figure.lost, label=label, unit="of the n-grams", axis=axis, root=True, height=150)
        figures.append(drawn("N-grams lost per removal", lost, f"x: {axis}, y: documents (square-root scale)"))
    return [tag("p", words), tag("div", *figures, class_="two")]


def drawn(title: str, chart: HtmlText, axes: str) -> HtmlText:
    return tag("figure", tag("h4", title), chart, tag("figcaption", axes, class_="axes"))


def rejected_pairs(figure: Pairs) -> list[Inside]:
    if not figure.rejected:
        return []
    note = "Rejected candidate pairs, the most similar of a random sample:"
    return [tag("p", note, class_="note"), *(cards.pair(pair, ("first", "second")) for pair in figure.rejected)]


def dropped_pairs(figure: Pairs) -> list[Inside]:
    step = figure.step
    parts: list[Inside] = []
    if not figure.least_similar:
        return parts
    if figure.similarities and not figure.exact:
        chart = histogram(
            figure.similarities,
            label=f"duplicates found by {step}, by similarity",
            unit="similarity",
            axis="similarity to the kept document",
            height=120,
        )
        parts.append(drawn("Similarity", chart, "x: similarity to the kept document, y: documents"))
    shown = figure.least_similar[:1] if figure.exact else figure.least_similar
    parts.append(tag("p", "One of the pairs:" if figure.exact else "Least similar pairs:", class_="note"))
    return [*parts, *(cards.pair(pair) for pair in shown)]
