"""The page of a document of a word processor: HTML of what WordprocessingML says.

Source: ECMA-376, part 1, section 17; elements are known by their local names, so that strict documents are read, too.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple
from xml.etree.ElementTree import Element

from corpusmill.formats.omml import local_name, mathml

HEADING = re.compile(r"heading ([1-9])$", re.I)
CONTENTS = re.compile(r"(?:toc|table of figures)\b", re.I)  # styles of the lines of a table of contents
MAX_LEVEL = 8  # the deepest level of a list
LEFT_OUT = {
    "del",
    "moveFrom",
    "instrText",
    "delInstrText",
    "delText",
    "rPr",
    "pPr",
    "sectPr",
    "Fallback",
    "object",
    "pict",
}
NOTES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}


class Style(NamedTuple):
    """What a style of paragraphs says of them.

    heading   1 to 6, 0 of none
    list      number of a list and level in it, None of none
    """

    heading: int = 0
    list: tuple[str, int] | None = None
    contents: bool = False
    title: bool = False


@dataclass
class DocxPage:
    """Makes HTML of the parts of a document, one after the other: `add` each, then take `html`.

    styles    name -> style
    formats   number of a list -> level -> "bullet", "decimal" …
    notes     footnote or endnote and its number -> its element
    """

    styles: Mapping[str, Style] = field(default_factory=dict)
    formats: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    notes: Mapping[tuple[str, str], Element] = field(default_factory=dict)
    blocks: list[str] = field(default_factory=list)
    _lists: list[str] = field(default_factory=list)  # tags of the lists that are open, the outermost first
    _joined: str = ""  # the text before the next paragraph, because the mark between them was deleted
    _cited: list[tuple[str, str]] = field(default_factory=list)
    _beside: list[Element] = field(default_factory=list)  # text boxes of the present paragraph

    @property
    def html(self) -> str:
        """The content of the body, with the notes that it refers to at its end."""
        self._end_lists(0)
        if self._joined.strip():
            self.blocks.append(f"<p>{self._joined}</p>")
            self._joined = ""
        at = 0
        while at < len(self._cited):  # a note may cite others
            note = self.notes.get(self._cited[at])
            if note is not None:
                self.blocks.append(self._inner(note).replace("<p>", f"<p>[{at + 1}] ", 1))
            at += 1
        return "\n".join(self.blocks)

    def add(self, part: Element) -> None:
        """Add a paragraph, a table, or what holds such parts."""
        name = local_name(part)
        if name == "p":
            self._add_paragraph(part)
        elif name == "tbl":
            self._end_lists(0)
            self.blocks.append(self._table(part))
        elif name not in LEFT_OUT:
            for child in part:
                self.add(child)

    def _add_paragraph(self, part: Element) -> None:
        properties = _child(part, "pPr")
        style = self.styles.get(_value(properties, "pStyle"), Style())
        if style.contents:
            return
        text = self._joined + self._text(part)
        self._joined = ""
        boxes, self._beside = self._beside, []
        if _child(_child(properties, "rPr"), "del") is not None:
            self._joined = text
        elif text.strip():
            self._add_text(text, properties, style)
        for box in boxes:
            self._end_lists(0)
            self.blocks.append(self._inner(box))

    def _add_text(self, text: str, properties: Element | None, style: Style) -> None:
        heading = style.heading
        if outline := _value(properties, "outlineLvl"):
            heading = int(outline) + 1 if outline.isdigit() and int(outline) < 9 else 0
        own = _child(properties, "numPr")
        listed = style.list
        if own is not None:
            number, level = _value(own, "numId") or (listed[0] if listed else ""), _value(own, "ilvl") or "0"
            listed = (number, min(int(level), MAX_LEVEL)) if level.isdigit() else None
        if heading or style.title:
            self._end_lists(0)
            tag = f"h{min(heading, 6) or 1}"
            self.blocks.append(f"<{tag}>{text}</{tag}>")
        elif listed and listed[0] in self.formats:
            self._add_item(text, *listed)
        else:
            self._end_lists(0)
            self.blocks.append(f"<p>{text}</p>")

    def _add_item(self, text: str, number: str, level: int) -> None:
        kind = self.formats[number].get(level, "bullet")
        tag = "ul" if kind in ("bullet", "none") else "ol"
        self._end_lists(level + 1)
        if len(self._lists) == level + 1:
            if self._lists[-1] == tag:
                self.blocks.append("</li>")
            else:
                self._end_lists(level)
        while len(self._lists) <= level:  # a level that is skipped has an item without text
            own = tag if len(self._lists) == level else "ul"
            self.blocks.append(f"<{own}>" if len(self._lists) == level else f"<{own}><li>")
            self._lists.append(own)
        self.blocks.append(f"<li>{text}")

    def _end_lists(self, levels: int) -> None:
        while len(self._lists) > levels:
            self.blocks.append(f"</li></{self._lists.pop()}>")

    def _inner(self, part: Element) -> str:
        """The parts of a cell, a note or a text box."""
        inner = DocxPage(self.styles, self.formats, _cited=self._cited)
        for child in part:
            inner.add(child)
        return inner.html

    def _table(self, table: Element) -> str:
        rows = []
        for row in _inside(table, "tr"):
            properties = _child(row, "trPr")
            if _child(properties, "del") is not None:
                continue
            tag = "th" if _child(properties, "tblHeader") is not None else "td"
            cells = []
            for cell in _inside(row, "tc"):
                about = _child(cell, "tcPr")
                span = _value(about, "gridSpan")
                wide = f' colspan="{span}"' if span.isdigit() and 1 < int(span) < 100 else ""
                merge = _child(about, "vMerge")
                goes_on = merge is not None and (_value(about, "vMerge") or "continue") == "continue"
                cells.append(f"<{tag}{wide}>{'' if goes_on else self._inner(cell)}</{tag}>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return f"<table>{''.join(rows)}</table>"

    def _text(self, part: Element) -> str:
        """The text of the runs of a paragraph, as HTML."""
        return "".join(piece for child in part for piece in self._pieces(child))

    def _pieces(self, part: Element) -> Iterator[str]:
        name = local_name(part)
        if name in LEFT_OUT:
            return
        if name == "t":
            yield escape(part.text or "", quote=False)
        elif name in ("tab", "ptab"):
            yield " "
        elif name in ("br", "cr"):
            yield "<br>" if _attribute(part, "type") in ("", "textWrapping") else " "
        elif name == "noBreakHyphen":
            yield "\u2011"
        elif name in NOTES:
            key = (NOTES[name], _attribute(part, "id"))
            if key not in self._cited:
                self._cited.append(key)
            yield f"[{self._cited.index(key) + 1}]"
        elif name in ("oMath", "oMathPara"):
            for formula in part if name == "oMathPara" else (part,):
                if local_name(formula) == "oMath":
                    yield mathml(formula, block=name == "oMathPara")
        elif name == "txbxContent":
            self._beside.append(part)
        elif name == "AlternateContent":  # the same in several ways
            choice = _child(part, "Choice")
            yield from self._pieces(choice if choice is not None else part)
        elif name == "r" and _child(_child(part, "rPr"), "vanish") is not None:
            return
        else:
            for child in part:
                yield from self._pieces(child)


def styles_of(root: Element) -> dict[str, Style]:
    """The styles of paragraphs, each with what it has from those that it is based on."""
    elements = {_attribute(part, "styleId"): part for part in root if local_name(part) == "style"}
    found: dict[str, Style] = {}
    for own in elements:
        heading, listed, contents, title = 0, None, False, False
        name, seen = own, set()
        while name in elements and name not in seen:
            seen.add(name)
            part = elements[name]
            called, properties = _value(part, "name"), _child(part, "pPr")
            outline, numbers = _value(properties, "outlineLvl"), _child(properties, "numPr")
            if not heading and (match := HEADING.match(called)):
                heading = int(match[1])
            if not heading and outline.isdigit() and int(outline) < 9:
                heading = int(outline) + 1
            if listed is None and numbers is not None:
                level = _value(numbers, "ilvl")
                listed = (_value(numbers, "numId"), min(int(level), MAX_LEVEL) if level.isdigit() else 0)
            contents = contents or bool(CONTENTS.match(called))
            title = title or called.lower() == "title"
            name = _value(part, "basedOn")
        found[own] = Style(min(heading, 6), listed, contents, title)
    return found


def formats_of(root: Element) -> dict[str, dict[int, str]]:
    """number of a list -> level -> how its items are marked."""
    abstract: dict[str, dict[int, str]] = {}
    for part in root:
        if local_name(part) == "abstractNum":
            levels = {
                _attribute(level, "ilvl"): _value(level, "numFmt") for level in part if local_name(level) == "lvl"
            }
            abstract[_attribute(part, "abstractNumId")] = {
                int(level): kind for level, kind in levels.items() if level.isdigit()
            }
    numbers = ((_attribute(part, "numId"), part) for part in root if local_name(part) == "num")
    return {number: abstract.get(_value(part, "abstractNumId"), {}) for number, part in numbers if number != "0"}


def notes_of(root: Element, kind: str) -> dict[tuple[str, str], Element]:
    """The footnotes or endnotes of a part, without the lines that separate them from the text."""
    return {
        (kind, _attribute(part, "id")): part
        for part in root
        if local_name(part) == kind and _attribute(part, "type") in ("", "normal")
    }


def _inside(part: Element, name: str) -> Iterator[Element]:
    """The rows of a table or cells of a row, also those within other elements, as content controls; none that are
    deleted."""
    for child in part:
        if local_name(child) == name:
            yield child
        elif local_name(child) in ("sdt", "sdtContent", "customXml", "ins", "moveTo"):
            yield from _inside(child, name)


def _child(part: Element | None, name: str) -> Element | None:
    return None if part is None else next((child for child in part if local_name(child) == name), None)


def _value(part: Element | None, name: str) -> str:
    """The value of a property; "" where there is none."""
    own = _child(part, name)
    return "" if own is None else _attribute(own, "val")


def _attribute(part: Element, name: str) -> str:
    return next((value for key, value in part.attrib.items() if key.rpartition("}")[2] == name), "")
