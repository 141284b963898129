"""MathML as TeX, and formulae that a page has more than once, as KaTeX writes them.

Source: W3C, MathML Core (2024) and MathML 3.0, chapter 3; what MathJax 3 and KaTeX 0.16 write
"""

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from corpusmill.formats.tex_symbols import (
    ACCENTS,
    ALPHABETS,
    BRACKETS,
    EMS,
    FUNCTIONS,
    LIMITS,
    PRIMES,
    SPACES,
    STRIKES,
    SYMBOLS,
    TEXT,
    WIDE,
)

LONGEST = 1 << 16  # characters of a formula: a longer one is not changed
MOST = 1 << 21  # characters of all formulae of a page that are looked into
DEEPEST = 100  # elements around another
DRAWN = b'class="katex-html"'  # with MathML beside it, it is left out; without, it is characters in some order
MARKS = (b"<math", b"katex-html")  # a page without them has nothing to do here
_MATH = re.compile(r"<math\b[^<>]*(?<!/)>|(</math\s*>)", re.IGNORECASE)
# What ends a formula for a browser, too: markup behind "<math>" in a script, or behind one that nothing closes.
_NO_FORMULA = re.compile(r"</?(?:blockquote|body|br|center|div|dl|h[1-6]|li|ol|p|pre|script|table|ul)\b", re.IGNORECASE)
_HAS_TEX = re.compile(r"application/x-tex|\balttext\s*=", re.IGNORECASE)
_KATEX = re.compile(r"</math>\s*</span>\s*(?=<span class=\"katex-html\")", re.IGNORECASE)
_SPAN = re.compile(r"<(/?)span\b", re.IGNORECASE)
_TOKEN = re.compile(r"<!--|<(?P<end>/?)(?:[\w-]+:)?(?P<name>[A-Za-z][\w-]*)(?P<rest>[^<>]*)>|[^<]+|<")
_VALUE = re.compile(r"([\w-]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"']+)")
_LENGTH = re.compile(r"\s*(-?(?:\d+\.?\d*|\.\d+))\s*(em|ex|px|pt|mu|cm|mm|in)?")
_UPRIGHT = re.compile(r"\\mathrm\{([A-Za-z]+)\}")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_ENDS_IN_WORD, _BEGINS_WITH_LETTER = re.compile(r"\\[A-Za-z]+\Z"), re.compile("[A-Za-z]")


def with_tex(page: str) -> str:
    """A page in which every formula is there once, with its TeX: what KaTeX draws beside the MathML is left out, and
    MathML without TeX has it as `alttext`.

    >>> print(with_tex("<p><math><msup><mi>x</mi><mn>2</mn></msup></math></p>"))
    <p><math alttext="x^2"></math></p>
    """
    page = _without_katex_copies(page)
    budget = [MOST]

    def add_tex(begin: str, inside: str, end: str) -> str:
        budget[0] -= len(inside)
        if len(inside) > LONGEST or budget[0] < 0 or _HAS_TEX.search(begin) or _HAS_TEX.search(inside):
            return begin + inside + end
        tex = to_tex(inside)
        return f'{begin[:-1]} alttext="{html.escape(tex)}">{end}' if tex else begin + inside + end

    return replaced_elements(page, _MATH, add_tex)


def replaced_elements(page: str, tags: re.Pattern[str], replaced: Callable[[str, str, str], str]) -> str:
    """The page with each element, as its start, what is inside and its end, replaced: from the last start before an
    end. What holds no formula is left as it is.

    tags   of starts, and of ends, which are its first group
    """
    parts: list[str] = []
    at, start = 0, None
    for tag in tags.finditer(page):
        if not tag[1]:
            start = tag
        elif start is not None:
            inside = page[start.end() : tag.start()]
            if not _NO_FORMULA.search(inside):
                parts += [page[at : start.start()], replaced(start[0], inside, tag[0])]
                at = tag.end()
            start = None
    return "".join([*parts, page[at:]])


def _without_katex_copies(page: str) -> str:
    kept, at, looked_at = [], 0, 0
    for match in _KATEX.finditer(page):
        begin = match.end()
        if begin < looked_at:
            continue
        depth = 0
        for tag in _SPAN.finditer(page, begin):
            depth += -1 if tag[1] else 1
            if depth == 0:
                looked_at = tag.end()
                if not _NO_FORMULA.search(page, begin, tag.start()):
                    kept.append(page[at:begin])
                    at = page.find(">", tag.end()) + 1 or len(page)
                break
        else:
            break  # nothing after this closes
    return "".join([*kept, page[at:]])


def inside_of_formulae(markup: str) -> list[str]:
    """Each `<math>` in some markup, with its start and end."""
    formulae: list[str] = []

    def collect(*parts: str) -> str:
        formulae.append("".join(parts))
        return ""

    replaced_elements(markup, _MATH, collect)
    return formulae


@dataclass
class Element:
    """An element of MathML; `text` is what it holds itself."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element"] = field(default_factory=list)
    text: str = ""


def to_tex(markup: str) -> str:
    """The TeX of what is inside `<math>`; "" if it is nested too deep, or holds nothing.

    >>> to_tex("<mfrac><mi>a</mi><mi>b</mi></mfrac><mo>+</mo><msqrt><msub><mi>x</mi><mn>1</mn></msub></msqrt>")
    '\\\\frac{a}{b}+\\\\sqrt{x_1}'
    """
    root = tree(markup)
    return "" if root is None else tex_of(root)


def tex_of(element: Element) -> str:
    """The TeX of an element and what is in it, to DEEPEST."""
    return _tex(element).strip()


def tree(markup: str, deepest: int = DEEPEST) -> Element | None:
    """The elements, in a row; None if they are nested too deep. An end without a start is passed over, and an element
    without an end ends with the one around it."""
    root = Element("mrow")
    around, at = [root], 0
    while token := _TOKEN.match(markup, at):
        at = token.end()
        if token[0] == "<!--":
            at = markup.find("-->", at) + 3
            if at == 2:
                break
        elif not token["name"]:
            around[-1].text += html.unescape(token[0])
        elif token["end"]:
            depth = len(around) - 1
            while depth and around[depth].name != token["name"].lower():
                depth -= 1
            del around[depth or len(around) :]
        else:
            attributes = {
                name.lower(): html.unescape(value.strip("\"'")) for name, value in _VALUE.findall(token["rest"])
            }
            element = Element(token["name"].lower(), attributes)
            around[-1].children.append(element)
            if not token["rest"].endswith("/"):
                around.append(element)
            if len(around) > deepest:
                return None
    return root


def _row(children: Sequence[Element]) -> str:
    parts: list[str] = []
    at = 0
    while at < len(children):
        part, used = _bracketed_table(children, at)
        before = _UPRIGHT.fullmatch(parts[-1]) if parts else None
        if before and (upright := _UPRIGHT.fullmatch(part)):  # letter by letter
            parts[-1] = f"\\mathrm{{{before[1]}{upright[1]}}}"
        else:
            parts.append(part)
        at += used
    return _joined(parts)


def _bracketed_table(children: Sequence[Element], at: int) -> tuple[str, int]:
    """The TeX of the element at `at`, and how many elements that is: a table or a binomial with its brackets is one."""
    element = _only(children[at])
    if element.name != "mo" or at + 1 == len(children):
        return _tex(children[at]), 1
    middle, end = _only(children[at + 1]), _only(children[at + 2]) if at + 2 < len(children) else None
    opening, closing = element.text.strip(), ""
    has_end = end is not None and end.name == "mo"
    if end is not None and has_end:
        closing = end.text.strip()
    if middle.name == "mfrac" and opening + closing == "()" and not _has_line(middle):
        above, below = (_tex(each) for each in _two(middle))
        return f"\\binom{{{above}}}{{{below}}}", 3
    if middle.name == "mtable":
        table = middle
        if (environment := BRACKETS.get(opening + closing)) is not None:
            return _table(table, environment), 2 + has_end
        if (environment := BRACKETS.get(opening)) is not None:
            return _table(table, environment), 2
    return _tex(children[at]), 1


def _only(element: Element) -> Element:
    """The element in rows and styles that hold nothing else."""
    while element.name in ("mrow", "mstyle", "mpadded") and len(element.children) == 1:
        element = element.children[0]
    return element


def _joined(parts: Sequence[str]) -> str:
    """With a space where two parts would be read as one."""
    joined = ""
    for part in parts:
        if part and _BEGINS_WITH_LETTER.match(part) and (_ENDS_IN_WORD.search(joined[-40:]) or _after_script(joined)):
            joined += " "
        joined += part
    return joined


def _after_script(text: str) -> bool:
    """Whether an index or exponent of one character ends here: x^2y is easily misread."""
    return len(text) > 1 and text[-2] in "^_" and text[-1].isalnum()


def _tex(element: Element) -> str:
    name, children = element.name, element.children
    if name in TOKENS:
        return TOKENS[name](element)
    if name in ("msub", "msup", "msubsup", "munder", "mover", "munderover"):
        return _scripts(element)
    if name == "mtable":
        return _table(element)
    if name == "menclose":
        return _enclosed(element)
    if name in ("mfrac", "mroot", "semantics", "maction"):  # each child is looked at once: they may be nested deep
        return _of_two(element)
    if name == "mfenced":
        return _fenced(element)
    if name == "mmultiscripts":
        return _multiscripts(children)
    if name.startswith("annotation"):
        return ""
    inside = _row(children) or _plain(element.text.strip())
    return f"\\{WRAPPED[name]}{{{inside}}}" if name in WRAPPED else inside


def _of_two(element: Element) -> str:
    above, below = _two(element)
    first = _tex(above)
    if element.name in ("semantics", "maction"):
        return first
    second = _tex(below)
    if element.name == "mroot":
        return f"\\sqrt[{second}]{{{first}}}"
    return f"\\frac{{{first}}}{{{second}}}" if _has_line(element) else f"{{{first} \\atop {second}}}"


def _two(element: Element) -> tuple[Element, Element]:
    first, second, *_ = *element.children, Element("mrow"), Element("mrow")
    return first, second


def _has_line(fraction: Element) -> bool:
    return fraction.attributes.get("linethickness", "1").lstrip("0.") not in ("", "px", "em", "pt")


def _table(element: Element, environment: str = "") -> str:
    """A table; one of a single cell is what is in it. Rows with labels are numbered equations.

    environment   that of tables with these brackets
    """
    rows, labelled = [], False
    for row in element.children:
        cells, label = row.children, ""
        if row.name == "mlabeledtr" and row.children:
            label = "".join(_characters(cells[0])).strip()
            labelled, cells = True, cells[1:]
        label = label[1:-1] if label.startswith("(") and label.endswith(")") else label
        line = " & ".join(_row(cell.children) or _plain(cell.text) for cell in cells)
        rows.append(f"{line}\\tag{{{label}}}" if label else line)
    lines = " \\\\ ".join(rows)
    if not environment and len(rows) == 1 and "&" not in lines:
        return lines
    environment = environment or ("align" if labelled else "aligned" if _is_aligned(element) else "matrix")
    return f"\\begin{{{environment}}}{lines}\\end{{{environment}}}"


def _characters(element: Element) -> list[str]:
    return [element.text, *(char for child in element.children for char in _characters(child))]


def _is_aligned(table: Element) -> bool:
    """Whether the columns are the two sides of equations: then TeX begins every second one with nothing, to have the
    room of a relation."""
    if table.attributes.get("columnalign", "").split()[:2] == ["right", "left"]:
        return True
    seconds = [cell for row in table.children for cell in row.children[1::2] if cell.children]
    return bool(seconds) and all(_is_nothing(cell) for cell in seconds)


def _is_nothing(cell: Element) -> bool:
    first = cell.children[0]
    return first.name in ("mi", "mrow") and not first.children and not first.text.strip()


def _enclosed(element: Element) -> str:
    notation = frozenset(element.attributes.get("notation", "longdiv").split())
    inside = _row(element.children) or _plain(element.text.strip())
    if strikes := notation & STRIKES.keys():
        return f"\\{'xcancel' if len(strikes) > 1 else STRIKES[min(strikes)]}{{{inside}}}"
    if "box" in notation or "roundedbox" in notation:
        return f"\\boxed{{{inside}}}"
    return f"\\sqrt{{{inside}}}" if "radical" in notation else inside


def _fenced(element: Element) -> str:
    attributes = element.attributes
    opening, closing = (_plain(attributes.get(name) or usual) for name, usual in (("open", "("), ("close", ")")))
    separators = [*("".join((attributes.get("separators") or ",").split()) or [""])]
    parts = [opening]
    for at, child in enumerate(element.children):
        parts += [_plain(separators[min(at - 1, len(separators) - 1)])] if at else []
        parts.append(_tex(child))
    return _joined([*parts, closing])


def _scripts(element: Element) -> str:
    base, *others = element.children or [Element("mrow")]
    kind = element.name
    below = others[0] if others and kind in ("msub", "msubsup", "munder", "munderover") else None
    above = others[-1] if others and kind in ("msup", "msubsup", "mover", "munderover") else None
    if kind.startswith("mu") or kind == "mover":
        text = _tex(base)
        if not (text in LIMITS or (base.name in ("mi", "mo") and text.startswith("\\operatorname"))):
            return _stacked(base, text, below, above)
    else:
        text = _braced_base(base)
    text += f"_{_argument(_tex(below))}" if below is not None else ""
    primes = _only(above).text.strip() if above is not None else ""
    if primes and all(prime in PRIMES for prime in primes):
        return text + "'" * sum(PRIMES[prime] for prime in primes)
    return text + (f"^{_argument(_tex(above))}" if above is not None else "")


def _stacked(base: Element, text: str, below: Element | None, above: Element | None) -> str:
    """What is above or below as an accent, a brace, or in small."""
    for whole, side, plain in ((above, "over", "overset"), (below, "under", "underset")):
        if whole is None:
            continue
        other = _only(whole)
        mark = other.text.strip()
        accent = ACCENTS[side].get(mark) if other.name == "mo" or not other.children else None
        is_wide = other.attributes.get("stretchy") != "false" and len(_only(base).children) > 1
        if accent:
            text = f"{WIDE.get(accent, accent) if is_wide else accent}{{{text}}}"
        elif text.startswith(f"\\{side}brace{{"):
            text += f"{'^' if side == 'over' else '_'}{_argument(_tex(other))}"
        else:
            text = f"\\{plain}{{{_tex(other)}}}{{{text}}}"
    return text


def _multiscripts(children: Sequence[Element]) -> str:
    if not children:
        return ""
    names = [child.name for child in children]
    end = names.index("mprescripts") if "mprescripts" in names else len(children)

    def pairs(elements: Sequence[Element]) -> str:
        parts = []
        for at in range(0, len(elements), 2):
            for mark, element in zip("_^", elements[at : at + 2]):
                parts += [] if element.name in ("none", "mprescripts") else [mark + _argument(_tex(element))]
        return "".join(parts)

    before, after = pairs(children[end + 1 :]), pairs(children[1:end])
    return (f"{{}}{before}" if before else "") + _braced_base(children[0]) + after


def _braced_base(base: Element) -> str:
    while base.name in ("mrow", "mstyle") and len(base.children) == 1:
        base = base.children[0]
    text = _tex(base)
    marks = [child.text.strip() for child in base.children if child.name == "mo"]
    if base.name in TOKENS:
        return text or "{}"
    fenced = base.name == "mrow" and base.children[:1] and base.children[0].name == "mo" and marks[0] in "([|"
    return text if fenced and base.children[-1].name == "mo" else f"{{{text}}}"


def _argument(text: str) -> str:
    return text if len(text) == 1 else f"{{{text}}}"


def _identifier(element: Element) -> str:
    text = "".join(element.text.split())
    variant = element.attributes.get("mathvariant") or ""
    if len(text) > 1 and text.isascii() and text.isalpha() and variant in ("", "normal"):
        return f"\\{text}" if text in FUNCTIONS else f"\\operatorname{{{text}}}"
    return _in_alphabet(text, variant)


def _in_alphabet(text: str, variant: str) -> str:
    """Letters of a variant. Upright are those that are not Latin anyway, and signs."""
    plain = _plain(text)
    alphabet = "" if variant == "normal" and not (text.isascii() and text.isalpha()) else ALPHABETS.get(variant, "")
    return f"{alphabet}{{{plain}}}" if alphabet and plain else plain


def _number(element: Element) -> str:
    variant = element.attributes.get("mathvariant") or ""
    return _in_alphabet(element.text.strip(), "" if variant == "normal" else variant)


def _operator(element: Element) -> str:
    text = "".join(element.text.split())
    if text in FUNCTIONS:
        return f"\\{text}"
    return f"\\operatorname{{{text}}}" if len(text) > 1 and text.isascii() and text.isalpha() else _plain(text)


def _space(element: Element) -> str:
    """The space of TeX that is as wide, or next to it; one that only has height is none."""
    attributes = element.attributes
    if "width" not in attributes:
        return "" if attributes.keys() & {"height", "depth"} else "\\ "
    found = _LENGTH.match(attributes["width"])
    if not found:
        return "\\ "
    ems = float(found[1]) * EMS.get(found[2], 1 / 16)
    return min(SPACES, key=lambda space: abs(SPACES[space] - ems))


WRAPPED = {"msqrt": "sqrt", "mphantom": "phantom"}


def _text(element: Element) -> str:
    text = element.text or "".join(child.text for child in element.children)
    if not text.strip():
        return "\\ " if text else ""
    if _COMMAND.fullmatch(text):  # one that MathJax does not know, and shows
        return f"{text} "
    text = unicodedata.normalize("NFC", text.replace("\xa0", " "))
    return "\\text{" + "".join(TEXT.get(char, char) for char in map(_plain_letter, text)) + "}"


def _plain_letter(char: str) -> str:
    return unicodedata.normalize("NFKC", char) if "\U0001d400" <= char <= "\U0001d7ff" else char


TOKENS: dict[str, Callable[[Element], str]] = {
    "mi": _identifier,
    "mn": _number,
    "mo": _operator,
    "mtext": _text,
    "ms": _text,
    "mspace": _space,
    "mglyph": lambda element: _plain(element.attributes.get("alt") or ""),
}


def _plain(text: str) -> str:
    """Characters as TeX has them."""
    return _joined([SYMBOLS[char] if char in SYMBOLS else _letter(char) for char in text])


def _letter(char: str) -> str:
    """A character; a letter of a mathematical alphabet (U+1D400 and behind) as that of the text, in this alphabet; what
    is negated behind \\not."""
    if (parts := unicodedata.normalize("NFD", char))[1:] == "\u0338":
        return f"\\not{SYMBOLS.get(parts[0], parts[0])}"
    if not "\U0001d400" <= char <= "\U0001d7ff":
        return char
    # The variant forms of Greek letters have a letter of their own, which NFKC would make the usual one.
    letter = chr(int(unicodedata.decomposition(char).split()[1], 16))
    letter = SYMBOLS.get(letter, letter)
    name = unicodedata.name(char, "").removeprefix("MATHEMATICAL ").lower()
    styles = (
        alphabet for style, alphabet in ALPHABETS.items() if name.startswith(f"{style.replace('bold-', 'bold ')} ")
    )
    alphabet = max(styles, key=len, default="")
    return f"{alphabet}{{{letter}}}" if alphabet else letter
