"""Formulae as MathJax 3 draws them, in HTML (CHTML) and in SVG, as MathML.

What is drawn has a code point for each character, and for each element of MathML one that is named for it:
`<mjx-mfrac>`, or `<g data-mml-node="mfrac">`. Widths are lost, and so is what is not drawn: in SVG, what \\phantom
leaves room for.

Source: MathJax 3.2, output/chtml and output/svg
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

from corpusmill.formats.mathml import DEEPEST, Element, inside_of_formulae, replaced_elements, tex_of, tree

MARK = b"<mjx-container"  # a page without it has nothing to do here
LONGEST = 1 << 18  # characters of a drawing, without the shapes of its letters: a longer one is not read
MOST = 1 << 23  # characters of all drawings of a page that are read
_CONTAINER = re.compile(r"<mjx-container\b[^<>]*>|(</mjx-container\s*>)", re.IGNORECASE)
_DISPLAYED = re.compile(r"\sdisplay=[\"']?true\b", re.IGNORECASE)
_SHAPES = re.compile(r"<defs>[^<]*(?:<path\b[^<>]*>\s*</path>[^<]*)*</defs>|\sd=\"[^\"<>]*\"")
_POINT = re.compile(r"\bmjx-c([0-9A-F]{1,6})\b")
_CODE = re.compile(r"[0-9A-Fa-f]{1,6}")
_MOVED = re.compile(r"translate\(\s*[-\d.]+[\s,]+(-?\d+(?:\.\d+)?)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WIDTH = re.compile(r"(?<![\w-])(?:width|margin-left):\s*(-?[\d.]+)em")
_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))
_SCRIPTED = frozenset(("msub", "msup", "msubsup", "munder", "mover", "munderover"))
_SIDES = frozenset(("over", "under", "base"))
_NOT_DRAWN = frozenset(
    ("annotation", "annotation-xml", "defs", "dstrut", "labels", "line", "nstrut", "spacer", "surd", "tstrut")
)
# What tall and wide characters are put together from in SVG: of two that fit, the first.
_PIECES = (
    *(("{", "\u23a7"), ("}", "\u23ab"), ("(", "\u239b"), (")", "\u239e"), ("[", "\u23a1\u23a3"), ("]", "\u23a4\u23a6")),
    *(("⌈", "\u23a1"), ("⌊", "\u23a3"), ("⌉", "\u23a4"), ("⌋", "\u23a6"), ("⏟", "\ue156"), ("⏞", "\ue155")),
)
_STRETCHED = {"\u2013": "\u203e", "\u2223": "|", "\u2225": "‖"}  # a line, as an accent; bars
_ACCENTS = {"\u02c6": "^", "\u02dc": "~", "\u20d7": "→"}
_WIDE = frozenset("\u02c6\u02dc\u203e→←↔⏞⏟")
_PLANCK = "\u210e"  # the italic h has this place
# Classes of CHTML, and parts of the names of shapes in SVG.
_ALPHABETS = {
    "mjx-cal": "script",
    "C": "script",
    "mjx-scr": "script",
    "SC": "script",
    "mjx-fr": "fraktur",
    "FR": "fraktur",
}
_SHAPE = re.compile(r"-TEX-([A-Z]+)-[0-9A-F]+\Z")


def with_mathml(page: str) -> str:
    """A page in which each formula that MathJax has drawn is `<math>`: its assistive MathML, or, where it has none, the
    TeX of what is drawn as `alttext`; with nothing inside, if that cannot be read.

    >>> print(with_mathml('<mjx-container><mjx-mi><mjx-c class="mjx-c1D465"></mjx-c></mjx-mi></mjx-container>'))
    <math alttext="x"></math>
    """
    budget = [MOST]

    def formula(begin: str, inside: str, end: str) -> str:
        if formulae := inside_of_formulae(inside):
            return formulae[0]
        drawing = _SHAPES.sub("", inside)
        budget[0] -= len(drawing)
        tex = "" if len(drawing) > LONGEST or budget[0] < 0 else drawn_tex(drawing)
        display = ' display="block"' if _DISPLAYED.search(begin) else ""
        alttext = f' alttext="{html.escape(tex)}"' if tex else ""
        return f"<math{display}{alttext}></math>"

    return replaced_elements(page, _CONTAINER, formula)


def drawn_tex(drawing: str) -> str:
    """The TeX of what is inside `<mjx-container>`; "" if it is nested too deep, or holds nothing."""
    root = tree(drawing, 4 * DEEPEST)
    if root is None:
        return ""
    made = _row(_converted(root))
    return tex_of(made) if _depth(made) <= DEEPEST else ""


def _depth(element: Element) -> int:
    deepest, level = 0, [element]
    while level:
        deepest += 1
        level = [child for each in level for child in each.children]
    return deepest


def _kind(drawn: Element) -> str:
    """The element of MathML that is drawn; "" of one that is there for the drawing."""
    return drawn.attributes.get("data-mml-node", "").lower() or (
        drawn.name[4:] if drawn.name.startswith("mjx-") else ""
    )


def _converted(drawn: Element) -> list[Element]:
    kind = _kind(drawn)
    if kind in _NOT_DRAWN or drawn.name in _NOT_DRAWN:
        return []
    if kind in _TOKENS:
        return [_token(drawn, kind)]
    if kind in _SCRIPTED:
        return _scripts(drawn, kind)
    if kind in _MADE:
        return [_MADE[kind](drawn)]
    inside = [each for child in drawn.children for each in _converted(child)]
    if kind in ("mrow", "texatom"):
        return [_row(inside)]
    return inside


def _row(elements: Sequence[Element]) -> Element:
    return elements[0] if len(elements) == 1 else Element("mrow", {}, list(elements))


def _parts(drawn: Element) -> list[Element]:
    """What is drawn in an element of MathML, without what draws lines and room."""
    return [child for child in drawn.children if child.name not in ("rect", "line", "path") and _kind(child) != "mo"]


def _token(drawn: Element, kind: str) -> Element:
    points = list(_points(drawn))
    chars = "".join(char for char, _, _ in points)
    if kind == "mo" and (made := next((whole for whole, pieces in _PIECES if all(p in chars for p in pieces)), "")):
        return Element("mo", {}, [], made)
    if kind == "mo" and any(stretched for _, _, stretched in points):
        arrows = [char for char in chars if char in "←→↔⇐⇒⇔"]
        char = "↔" if {"←", "→"} <= set(arrows) else arrows[0] if arrows else _STRETCHED.get(chars[0], chars[0])
        return Element("mo", {}, [], char)
    alphabets = {alphabet for _, alphabet, _ in points}
    variant = alphabets.pop() if len(alphabets) == 1 else ""
    if kind == "mo":
        attributes = {} if chars in _WIDE else {"stretchy": "false"}
        return Element("mo", attributes, [], _ACCENTS.get(chars, chars))
    if kind == "mtext" or variant == "italic":
        variant = ""
    if not variant and kind == "mi" and len(chars) == 1 and points[0][1] == "":
        variant = "normal"
    return Element(kind, {"mathvariant": variant} if variant else {}, [], chars)


def _points(drawn: Element) -> Iterator[tuple[str, str, bool]]:
    """Of each character: the character of plain text, its alphabet, and whether it is a piece of a stretched one."""
    classes = drawn.attributes.get("class", "")
    alphabet = next((_ALPHABETS[name] for name in classes.split() if name in _ALPHABETS), "")

    def of_element(element: Element, stretched: bool) -> Iterator[tuple[str, str, bool]]:
        stretched = stretched or element.name == "svg" or element.name.startswith("mjx-stretchy")
        attributes = element.attributes
        found = _POINT.search(attributes.get("class", "")) if element.name.startswith("mjx-") else None
        number = found[1] if found else attributes.get("data-c", "")
        if _CODE.fullmatch(number) and (int(number, 16) < 0xD800 or 0xDFFF < int(number, 16) < 0x110000):
            shape = _SHAPE.search(attributes.get("href", ""))
            own = _ALPHABETS.get(shape[1], "") if shape else ""
            yield (*_plain_letter(chr(int(number, 16)), alphabet or own), stretched)
            return
        yield from ((*_plain_letter(char, alphabet), stretched) for char in element.text.strip("\n"))
        for child in element.children:
            yield from of_element(child, stretched)

    return of_element(drawn, False)


def _plain_letter(char: str, alphabet: str) -> tuple[str, str]:
    """A letter of a mathematical alphabet as (the letter, the alphabet)."""
    if char == _PLANCK:
        return "h", "italic"
    name = unicodedata.name(char, "")
    if name.startswith("MATHEMATICAL ") and "\U0001d400" <= char <= "\U0001d7ff":
        style = next(style for style in _STYLES if name.startswith(style, 13))
        own = style.strip().lower().replace(" ", "-")
        return chr(int(unicodedata.decomposition(char).split()[1], 16)), alphabet or _SAME.get(own, own)
    own = next((own for begin, own in _OLDER if name.startswith(begin) and char not in "\u211c\u2111"), "")
    if (alphabet or own) and (letter := unicodedata.normalize("NFKC", char)).isascii():
        return letter, alphabet or own
    return char, ""


# Letters that Unicode had before it had the alphabets; of these, \u211c and \u2111 are \\Re and \\Im.
_OLDER = (
    ("DOUBLE-STRUCK CAPITAL", "double-struck"),
    ("SCRIPT CAPITAL", "script"),
    ("BLACK-LETTER CAPITAL", "fraktur"),
)
# Longest first.
_STYLES = (
    *("BOLD ITALIC ", "BOLD SCRIPT ", "BOLD FRAKTUR ", "SANS-SERIF BOLD ITALIC ", "SANS-SERIF BOLD "),
    *("SANS-SERIF ITALIC ", "SANS-SERIF ", "BOLD ", "ITALIC ", "SCRIPT ", "FRAKTUR ", "DOUBLE-STRUCK ", "MONOSPACE "),
    "",
)
_SAME = {
    "bold-script": "script",
    "bold-fraktur": "fraktur",
    **dict.fromkeys(("sans-serif-bold-italic", "sans-serif-bold", "sans-serif-italic"), "sans-serif"),
}


def _scripts(drawn: Element, kind: str) -> list[Element]:
    if drawn.attributes.get("data-mml-node"):
        base, below, above = _svg_scripts(drawn, kind)
    else:
        base, below, above = _html_scripts(drawn, kind)
    made = [_row(_converted(base)) if base else Element("mrow")]
    sides = [(side, _row(_converted(side))) for side in (below, above) if side is not None]
    if not sides:
        return made
    under, over = ("under", "over") if kind.startswith(("mu", "mo")) else ("sub", "sup")
    name = f"m{under if below is not None else ''}{over if above is not None else ''}"
    return [Element(name, {}, made + [side for _, side in sides])]


def _html_scripts(drawn: Element, kind: str) -> tuple[Element | None, Element | None, Element | None]:
    script = next((child for child in drawn.children if _kind(child) == "script"), None)
    if script is not None:  # beside: an upper one comes first
        sides = [child for child in script.children if _kind(child) != "spacer"]
        base = drawn.children[0] if drawn.children[0] is not script else None
        if len(sides) > 1:
            return base, sides[1], sides[0]
        side = sides[0] if sides else None
        return (base, side, None) if kind in ("msub", "munder") else (base, None, side)
    found: dict[str, Element] = {}
    waiting = list(drawn.children)
    while waiting:
        element = waiting.pop(0)
        if (part := _kind(element)) in _SIDES:
            found.setdefault(part, element)
        else:
            waiting = element.children + waiting
    return found.get("base"), found.get("under"), found.get("over")


def _svg_scripts(drawn: Element, kind: str) -> tuple[Element | None, Element | None, Element | None]:
    if not drawn.children:
        return None, None, None
    base, *sides = drawn.children
    if len(sides) > 1:
        low, high = sorted(sides[:2], key=_height)
        return base, low, high
    side = sides[0] if sides else None
    return (base, side, None) if kind in ("msub", "munder") else (base, None, side)


def _height(drawn: Element) -> float:
    return sum(map(float, _MOVED.findall(drawn.attributes.get("transform", ""))))


def _fraction(drawn: Element) -> Element:
    if drawn.attributes.get("data-mml-node"):
        parts, has_line = drawn.children, any(child.name == "rect" for child in drawn.children)
        parts = [child for child in parts if child.name != "rect"]
        if len(parts) != 2:  # a slash between them
            return _row([each for child in parts for each in _converted(child)])
    else:
        numerator, denominator = _nearest(drawn, "num"), _nearest(drawn, "den", beside="num")
        if numerator is None or denominator is None:
            return _row([each for child in drawn.children for each in _converted(child)])
        parts = [numerator, denominator]
        has_line = all(child.attributes.get("atop") != "true" for child in drawn.children)
    return Element("mfrac", {} if has_line else {"linethickness": "0"}, [_row(_converted(part)) for part in parts])


def _nearest(drawn: Element, kind: str, beside: str = "") -> Element | None:
    """The first element of a kind, from outside to inside; not in one of the kind `beside`."""
    waiting = list(drawn.children)
    while waiting:
        element = waiting.pop(0)
        if (own := _kind(element)) == kind:
            return element
        if own != beside:
            waiting += element.children
    return None


def _root(drawn: Element) -> Element:
    if drawn.attributes.get("data-mml-node"):
        parts = _parts(drawn)
        content, index = parts[:1], parts[1:2]
    else:
        root = _nearest(drawn, "root") if _kind(drawn) == "mroot" else None
        box = _nearest(drawn, "box", beside="root")
        content, index = [box] if box else [], [root] if root else []
    inside = [each for part in content for each in _converted(part)]
    if not index:
        return Element("msqrt", {}, inside)
    return Element("mroot", {}, [_row(inside), _row([each for part in index for each in _converted(part)])])


def _table(drawn: Element) -> Element:
    rows = [(row, [_cell(cell) for cell in _all(row, "mtd")]) for row in _all(drawn, "mtr", "mlabeledtr")]
    labels = [_cell(cell) for part in _labels(drawn) for cell in _all(part, "mtd")]
    made = []
    for row, cells in rows:
        if _kind(row) == "mlabeledtr" and labels:
            made.append(Element("mlabeledtr", {}, [labels.pop(0), *cells]))
        else:
            made.append(Element("mtr", {}, cells))
    return Element("mtable", {}, made)


def _cell(drawn: Element) -> Element:
    return Element("mtd", {}, [each for child in drawn.children for each in _converted(child)])


def _all(drawn: Element, *kinds: str) -> list[Element]:
    """All elements of some kinds that are in none of these; without the labels of tables."""
    found = []
    for child in drawn.children:
        if _kind(child) in kinds:
            found.append(child)
        elif not _is_labels(child):
            found += _all(child, *kinds)
    return found


def _is_labels(drawn: Element) -> bool:
    return _kind(drawn) == "labels" or "data-labels" in drawn.attributes


def _labels(drawn: Element) -> list[Element]:
    found = []
    for child in drawn.children:
        if _is_labels(child):
            # In SVG an `<svg>` of labels has a `<g>` of labels.
            found += [each for each in child.children if _is_labels(each)] or [child]
        elif _kind(child) not in ("mtr", "mlabeledtr"):
            found += _labels(child)
    return found


def _enclosed(drawn: Element) -> Element:
    kinds = [_kind(child) or child.name for child in drawn.children]
    lines = [child.attributes for child in drawn.children if child.name == "line"]
    notation = [
        f"{'up' if kind == 'ustrike' else 'down'}diagonalstrike" for kind in kinds if kind in ("ustrike", "dstrike")
    ]
    notation += [
        f"{'up' if _number(line, 'y2') > _number(line, 'y1') else 'down'}diagonalstrike"
        for line in lines
        if line.get("x1") != line.get("x2") and line.get("y1") != line.get("y2")
    ]
    inside = [each for child in drawn.children for each in _converted(child)]
    return Element("menclose", {"notation": " ".join(notation) or "box"}, inside)


def _number(attributes: Mapping[str, str], name: str) -> float:
    found = _NUMBER.match(attributes.get(name, ""))
    return float(found[0]) if found else 0.0


def _space(drawn: Element) -> Element:
    width = _WIDTH.search(drawn.attributes.get("style", ""))
    return Element("mspace", {"width": f"{width[1]}em"} if width else {})


def _inside(name: str) -> Callable[[Element], Element]:
    return lambda drawn: Element(name, {}, [each for child in drawn.children for each in _converted(child)])


_MADE: dict[str, Callable[[Element], Element]] = {
    "mfrac": _fraction,
    "msqrt": _root,
    "mroot": _root,
    "mtable": _table,
    "menclose": _enclosed,
    "mspace": _space,
    "mphantom": _inside("mphantom"),
}
