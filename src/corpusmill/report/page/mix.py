"""How much was drawn from each source, if a step mixes them."""

from corpusmill.report.figures.mix import mix_table, mixes
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import plural
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    parts: list[Inside] = []
    for mix in mixes(tables):
        head, rows = mix_table(mix)
        repeat_count = sum(source.appearances - source.drawn_documents for source in mix.sources)
        never = sum(source.documents - source.drawn_documents for source in mix.sources)
        repeats = "was a repeat" if repeat_count == 1 else "were repeats"
        was = "was" if never == 1 else "were"
        words = f"{plural(never, 'document')} {was} never drawn; {plural(repeat_count, 'draw')} {repeats}."
        parts += [tag("h3", mix.step), table(head, rows), tag("p", words, class_="note")]
    return parts
