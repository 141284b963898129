"""Formulae of word processors (Office MathML) as MathML, which extraction makes TeX of.

Fractions, powers and indices, roots, brackets, sums and integrals with their bounds, functions, matrices and accents
are what they are; of anything else the parts stand one after the other. Source: ECMA-376, part 1, section 22.1.
"""

import re
from html import escape
from xml.etree.ElementTree import Element

TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]|\S")
# Element -> what it is in MathML, and the names of its parts in that order.
PARTS = {
    "f": ("mfrac", ("num", "den")),
    "sSup": ("msup", ("e", "sup")),
    "sSub": ("msub", ("e", "sub")),
    "sSubSup": ("msubsup", ("e", "sub", "sup")),
    "limLow": ("munder", ("e", "lim")),
    "limUpp": ("mover", ("e", "lim")),
}
PROPERTIES = re.compile(r"\w*Pr")


def mathml(formula: Element, block: bool = False) -> str:
    """A formula, `m:oMath`, as a `math` element.

    block   whether it is displayed in lines of its own
    """
    display = ' display="block"' if block else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{display}>{_inside(formula)}</math>'


def _inside(part: Element) -> str:
    return "".join(_element(child) for child in part)


def _row(part: Element | None) -> str:
    return f"<mrow>{_inside(part) if part is not None else ''}</mrow>"


def _element(part: Element) -> str:
    name = local_name(part)
    if name in PARTS:
        tag, names = PARTS[name]
        return f"<{tag}>{''.join(_row(_child(part, inner)) for inner in names)}</{tag}>"
    if name == "t":
        return "".join(map(_token, TOKEN.findall(part.text or "")))
    if name == "rad":
        degree = _child(part, "deg")
        if degree is None or not len(degree):
            return f"<msqrt>{_row(_child(part, 'e'))}</msqrt>"
        return f"<mroot>{_row(_child(part, 'e'))}{_row(degree)}</mroot>"
    if name == "d":
        signs = (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
        begin, between, end = (_operator(_sign(part, "dPr", name, usual)) for name, usual in signs)
        inner = between.join(_row(child) for child in part if local_name(child) == "e")
        return f"<mrow>{begin}{inner}{end}</mrow>"
    if name == "nary":
        sign = _operator(_sign(part, "naryPr", "chr", "∫"))
        bounds = "".join(_row(_child(part, bound)) for bound in ("sub", "sup"))
        return f"<mrow><munderover>{sign}{bounds}</munderover>{_row(_child(part, 'e'))}</mrow>"
    if name == "acc":
        return f"<mover>{_row(_child(part, 'e'))}{_operator(_sign(part, 'accPr', 'chr', '^'))}</mover>"
    if name == "m":
        rows = ("".join(f"<mtd>{_inside(cell)}</mtd>" for cell in row) for row in part if local_name(row) == "mr")
        return f"<mtable>{''.join(f'<mtr>{row}</mtr>' for row in rows)}</mtable>"
    return "" if PROPERTIES.fullmatch(name) else _inside(part)


def _token(token: str) -> str:
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    return f"<mi>{token}</mi>" if token.isalpha() else _operator(token)


def _operator(sign: str) -> str:
    return f"<mo>{escape(sign)}</mo>" if sign else ""


def _sign(part: Element, properties: str, name: str, usual: str) -> str:
    """A character that is a property of an element, and what it is where it is not given."""
    own = _child(_child(part, properties), name)
    return usual if own is None else next((value for key, value in own.attrib.items() if key.endswith("val")), "")


def _child(part: Element | None, name: str) -> Element | None:
    return None if part is None else next((child for child in part if local_name(child) == name), None)


def local_name(part: Element) -> str:
    """The name of an element, without its namespace."""
    return part.tag.rpartition("}")[2] if isinstance(part.tag, str) else ""
