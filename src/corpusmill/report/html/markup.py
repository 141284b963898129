"""HTML that its contents cannot break: whatever is not markup already is escaped where it is inserted."""

import re
from collections.abc import Collection, Iterable
from html import escape
from itertools import count, repeat

from corpusmill.report.visible import visible


class HtmlText(str):
    """Markup. Made by `tag` and `join` alone."""

    __slots__ = ()


VOID_ELEMENTS = ("meta", "input", "rect", "line")  # elements that hold nothing
Inside = str | None


def tag(element: str, /, *inside: Inside, **attributes: object) -> HtmlText:
    """An element. Attributes are written with "_" for "-" and a last "_" where Python has the word: class_="kept".

    inside        Html as it is, any other text escaped and with controls made visible; None is nothing
    attributes    None and False are left out, True is a bare name

    >>> tag("p", "1 < 2 ", tag("b", "<script>"), class_="note", hidden=True)
    '<p class="note" hidden>1 &lt; 2 <b>&lt;script&gt;</b></p>'
    """
    attribute_text = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if element in VOID_ELEMENTS:
        return HtmlText(f"<{element}{attribute_text}/>")
    return HtmlText(f"<{element}{attribute_text}>{join(inside)}</{element}>")


def join(parts: Iterable[Inside], between: str = "") -> HtmlText:
    """Parts one after the other, each as in `tag`."""
    return HtmlText(
        _text(between).join(part if isinstance(part, HtmlText) else _text(part) for part in parts if part is not None)
    )


def _text(text: str) -> str:
    return text if isinstance(text, HtmlText) else escape(visible(text))


MAX_COLUMNS_ON_PHONE = 4  # columns: a table of more of them is a card a row on a phone


def parted(name: str) -> HtmlText:
    """An identifier, which may be broken behind its dots and underscores.

    >>> print(parted("c4.min_words"))
    c4.<wbr>min_<wbr>words
    """
    return HtmlText(re.sub(r"([._])(?=.)", r"\1<wbr>", _text(name)))


def table(head: Iterable[Inside], rows: Iterable[Iterable[Inside]], words: Collection[int] = (0,)) -> HtmlText:
    """A table. `words` are the columns of words; the others hold numbers."""
    names = list(head)
    many = len(names) > MAX_COLUMNS_ON_PHONE

    def row(cells: Iterable[Inside], kind: str, **attributes: object) -> HtmlText:
        css = ("words" if i in words else None for i in count())
        heads = (name or None for name in names) if many and kind == "td" else repeat(None)
        return tag(
            "tr", *(tag(kind, cell, class_=c, data_head=h, **attributes) for cell, c, h in zip(cells, css, heads))
        )

    top = row(names, "th", scope="col")
    element = tag("table", tag("thead", top), tag("tbody", *(row(r, "td") for r in rows)))
    return tag("div", element, class_="wide many" if many else "wide")
