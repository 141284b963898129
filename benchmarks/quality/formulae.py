"""Are the formulae of pages in the text, as their TeX? python -m benchmarks.quality formulae --data DIR

Formulae of a grammar (benchmarks/quality/made_formulae.py) and of the papers on arXiv in DIR, drawn by what pages use:
KaTeX, MathJax in HTML and in SVG, MathJax with its assistive MathML, and latex2mathml; KaTeX's MathML without its
annotation, too. Each stands in a sentence of a page; `extract/blocks` makes the text, and the sentence must hold the
formula, once, and nothing else. KaTeX and MathJax must know a formula's commands; latex2mathml is judged on those that
it translates into what they are (see `NOT_IN_MATHML`).

Two formulae are the same if they are drawn the same but for sizes and spaces. Not compared are: braces that change
nothing; spaces, `\\,` and its like; `\\left`, `\\right`, `\\big`, `\\dfrac`, `\\limits`, styles; the width of
accents; the order of index and exponent; names of one character (`\\le`, `\\leq`; by latex2mathml's own table) and of
one construction (`\\stackrel`, `\\overset`; `\\operatorname`, `\\mathrm`; the kinds of dots; `\\mathcal`,
`\\mathscr`, for which MathML has one alphabet); columns' alignment; what is not drawn (`\\phantom`, `\\label`). The
rules are in `canonical`.

The conversion was written with the grammar's first 1,000 formulae and the even papers at hand; the figures are of
others.
"""

import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from benchmarks.common import ROOT, Figure, row, table
from benchmarks.quality.made_formulae import made, of_papers
from corpusmill.steps.extract.blocks import Blocks

MODULES = ROOT / "build/formulae/node_modules"
SCRIPT = Path(__file__).with_name("render.mjs")
SEED, DEVELOPED, COUNT = 45, 1000, 10_000
PER_PAGE, PER_PROCESS = 40, 500
SENTENCE = "What the author calls the quantity number {} is written as {} in all that follows in this part of the book."
FOUND = re.compile(
    r"What the author calls the quantity number (\d+) is written as (.*?) in all that follows in this part"
)
ANNOTATION = re.compile(r"<annotation\b.*?</annotation>", re.DOTALL)
KATEX_HTML = re.compile(r'<span class="katex-html".*', re.DOTALL)
RENDERERS = {
    "katex": "KaTeX",
    "chtml": "MathJax, HTML",
    "svg": "MathJax, SVG",
    "assistive": "MathJax, assistive MathML",
    "latex2mathml": "latex2mathml",
    "mathml": "KaTeX's MathML without TeX",
}
BARS = dict.fromkeys(("katex", "chtml", "svg", "assistive", "latex2mathml"), 99.0)


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    if not MODULES.is_dir():
        print("## formulae\n\nLeft out: `make build/formulae/.ready` installs what draws them, which needs Node.js.\n")
        return []
    print("## formulae\n")
    sets = {
        "made": made(DEVELOPED + COUNT, SEED)[DEVELOPED:],
        "of papers": [(tex, display) for number, tex, display in of_papers(data) if number % 2],
    }
    table("", "formulae", *RENDERERS.values())
    figures = []
    for name, formulae in sets.items():
        exact = judged(formulae)
        shares = {renderer: 100 * sum(each) / max(1, len(each)) for renderer, each in exact.items()}
        row(name, f"{len(exact['katex']):,}", *(f"{shares[renderer]:.2f} %" for renderer in RENDERERS))
        if name == "made":
            figures += [
                Figure(f"formulae, {RENDERERS[renderer]}, exact", shares[renderer], "%", bar)
                for renderer, bar in BARS.items()
            ]
    print()
    return figures


def judged(formulae: Sequence[tuple[str, bool]], show: int = 0) -> dict[str, list[bool]]:
    """renderer -> of each formula that it draws whether it is in the text; of those that KaTeX and MathJax draw.

    show   print so many that are not, of each renderer
    """
    must = ("katex", "chtml", "svg", "assistive")
    markup = [(tex, parts) for tex, parts in rendered(formulae) if all(parts[name] for name in must)]
    exact: dict[str, list[bool]] = {}
    for renderer in RENDERERS:
        shown = show
        drawn = [(tex, part) for tex, parts in markup if (part := parts[renderer])]
        exact[renderer] = []
        for first in range(0, len(drawn), PER_PAGE):
            group = drawn[first : first + PER_PAGE]
            texts = dict(extracted([part for _, part in group]))
            for number, (tex, _) in enumerate(group):
                got = texts.get(number, "")
                is_exact = canonical(got.strip("$")) == canonical(tex) if got.startswith("$") else False
                exact[renderer].append(is_exact)
                if not is_exact and shown > 0:
                    shown -= 1
                    print(f"{renderer}\n  {tex}\n  {got}\n  {canonical(tex)}\n  {canonical(got.strip('$'))}")
    return exact


def extracted(markup: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(number, what stands for it in the text) of formulae in a page."""
    sentences = "".join(f"<p>{SENTENCE.format(number, part)}</p>\n" for number, part in enumerate(markup))
    page = f"<html><body><main><h1>Quantities</h1>{sentences}</main></body></html>"
    for match in FOUND.finditer(Blocks().html_text(page.encode())):
        yield int(match[1]), match[2]


def rendered(formulae: Sequence[tuple[str, bool]]) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Each, and the markup of each renderer; None where it cannot draw it."""
    command = ["node", "--stack-size=4000", str(SCRIPT), str(MODULES)]
    lines: list[str] = []
    for first in range(0, len(formulae), PER_PROCESS):  # MathJax keeps all that it has drawn
        group = formulae[first : first + PER_PROCESS]
        asked = "".join(json.dumps({"tex": tex, "display": display}) + "\n" for tex, display in group)
        lines += subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    for (tex, display), line in zip(formulae, lines, strict=True):
        drawn: dict[str, str | None] = json.loads(line)
        katex = drawn["katex"]
        bare = ANNOTATION.sub("", KATEX_HTML.sub("", katex)) if katex else None
        yield tex, drawn | {"mathml": bare, "latex2mathml": _latex2mathml(tex, display)}


def _latex2mathml(tex: str, display: bool) -> str | None:
    from latex2mathml.converter import convert  # type: ignore[import-not-found,unused-ignore]

    if NOT_IN_MATHML.search(tex):
        return None
    try:
        markup: str = convert(tex, display="block" if display else "inline")
    except Exception:  # of many kinds, from commands that it does not know
        return None
    # What it does not know it leaves as it is.
    return None if re.search(r"<m[a-z]+[^<>]*>\\", markup) else markup


# What latex2mathml writes so that it is lost: \\mathrm{x} as x, \\mathsf{E} as another sign, equations as one line, an
# index of a binomial as one of its bracket.
NOT_IN_MATHML = re.compile(
    r"\\mathrm\s*(?:\{\s*.\s*\}|[^{])|\\rm\b|\\begin\s*\{(?:aligned|split|align)|\\mathsf\{E\}|\\binom.*\}[_^']"
)
TOKEN = re.compile(r"\\(?:operatorname|[hv]space)\*|\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
SIZES = frozenset(
    "\\left \\right \\middle \\big \\Big \\bigg \\Bigg \\bigl \\Bigl \\biggl \\Biggl \\bigr \\Bigr \\biggr \\Biggr "
    "\\bigm \\Bigm".split()
)
NOTHING = frozenset(
    "\\, \\: \\; \\! \\> ~ \\quad \\qquad \\displaystyle \\textstyle \\scriptstyle \\scriptscriptstyle \\limits "
    "\\nolimits "
    "\\nonumber \\notag \\thinspace \\allowbreak \\enspace \\/ \\thickspace \\medspace \\negthinspace \\ \\hfill "
    "\\hline "
    "\\relax".split()
) | {"\\ ", "\\\n"}
DROPPED = frozenset("\\label \\phantom \\hphantom \\vphantom \\hspace \\hspace* \\mspace \\vspace".split())
CLASSES = frozenset(
    "\\mathop \\mathrel \\mathbin \\mathord \\mathopen \\mathclose \\mathpunct \\mathinner \\ensuremath".split()
)
TEXT = frozenset("\\text \\mbox \\textrm \\textnormal \\hbox \\textbf \\textit \\textsf \\texttt \\textup".split())
FONTS = {
    **{name: name for name in "\\mathbf \\mathbb \\mathcal \\mathfrak \\mathrm \\mathsf \\mathtt \\boldsymbol".split()},
    "\\mathscr": "\\mathcal",
    "\\bm": "\\boldsymbol",
    "\\pmb": "\\boldsymbol",
    "\\mathit": "",
    "\\mathnormal": "",
    "\\frak": "\\mathfrak",
    "\\Bbb": "\\mathbb",
    "\\bold": "\\mathbf",
}
SWITCHES = {
    "\\bf": "\\mathbf",
    "\\rm": "\\mathrm",
    "\\cal": "\\mathcal",
    "\\sf": "\\mathsf",
    "\\tt": "\\mathtt",
    "\\it": "",
}
TWO = {
    **dict.fromkeys(("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"), "\\frac"),
    **dict.fromkeys(("\\binom", "\\dbinom", "\\tbinom"), "\\binom"),
    **dict.fromkeys(("\\overset", "\\stackrel"), "\\overset"),
    "\\underset": "\\underset",
}
ONE = {
    **{
        name: name
        for name in "\\hat \\bar \\tilde \\vec \\dot \\ddot \\check \\breve \\acute \\grave \\mathring".split()
    },
    **{
        name: name
        for name in "\\overline \\underline \\overleftarrow \\overleftrightarrow \\underbrace \\overbrace".split()
    },
    **{name: name for name in "\\cancel \\bcancel \\xcancel \\tag \\dddot".split()},
    "\\widehat": "\\hat",
    "\\widetilde": "\\tilde",
    "\\overrightarrow": "\\vec",
    "\\boxed": "\\boxed",
    "\\fbox": "\\boxed",
}
ARROWS = {"\\xrightarrow": "→", "\\xleftarrow": "←"}
INFIX = {"\\over": "\\frac", "\\choose": "\\binom", "\\atop": "\\atop"}
FUNCTIONS = frozenset(
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max "
    "min Pr sec sin sinh sup tan tanh".split()
)
FENCES = {
    "pmatrix": "()",
    "bmatrix": "[]",
    "Bmatrix": ("\\{", "\\}"),
    "vmatrix": "||",
    "Vmatrix": "∥∥",
    "cases": ("\\{", ""),
}
ALIGNED = frozenset("aligned align align* split alignedat eqnarray eqnarray* gather gather* gathered multline".split())
# One character that has several code points, or several commands that latex2mathml has other ones for.
SAME = {
    "\\mathfrak{R}": "ℜ",
    "\\mathfrak{I}": "ℑ",  # MathJax's SVG has one shape for both
    "∗": "*",
    "−": "-",
    "‖": "∥",
    "⟂": "⊥",
    "⋆": "⋆",
    "ε": "ε",
    "∅": "∅",
    "⋅": "·",
    "•": "∙",
    "∖": "\\",
    "⧵": "\\",
    "ʹ": "′",
    "◻": "□",
    "⟨": "⟨",
    "〈": "⟨",
    "〉": "⟩",
    "ℎ": "h",
    "∆": "Δ",
    "⋯": "…",
    "∣": "|",
    "ı": "ı",
    "Ⅎ": "Ⅎ",
    "´": "´",
}
NAMED = {
    "\\{": "\\{",
    "\\}": "\\}",
    "\\lbrace": "\\{",
    "\\rbrace": "\\}",
    "\\|": "∥",
    "\\Vert": "∥",
    "\\parallel": "∥",
    "\\lVert": "∥",
    "\\rVert": "∥",
    "\\vert": "|",
    "\\mid": "|",
    "\\lvert": "|",
    "\\rvert": "|",
    "\\colon": ":",
    "\\dots": "…",
    "\\dotsc": "…",
    "\\dotsb": "…",
    "\\dotsm": "…",
    "\\ldots": "…",
    "\\cdots": "…",
    "\\varnothing": "∅",
    "\\backslash": "\\",
    "\\%": "%",
    "\\#": "#",
    "\\&": "&",
    "\\_": "_",
    "\\$": "$",
    "\\iff": "⟺",
    "\\implies": "⟹",
    "\\impliedby": "⟸",
    "\\lbrack": "[",
    "\\rbrack": "]",
    "\\prime": "′",
    "\\lt": "<",
    "\\gt": ">",
    "\\smallsetminus": "\\",
    "\\epsilon": "ϵ",
    "\\varepsilon": "ε",
    "\\phi": "ϕ",
    "\\varphi": "φ",
}


@cache
def _symbol(command: str) -> str:
    """The character that a command draws; of one that is not known, the command."""
    from latex2mathml.symbols_parser import convert_symbol  # type: ignore[import-not-found,unused-ignore]

    if command in NAMED:
        return NAMED[command]
    code = convert_symbol(command)
    char = chr(int(code, 16)) if code else command
    return SAME.get(char, char)


UPRIGHT = re.compile(r"\\mathrm\{.\}")


@dataclass
class Atom:
    """A nucleus with index and exponent; a group in braces has `inside`."""

    text: str
    inside: "list[Atom] | None" = None
    below: "list[Atom] | None" = None
    above: "list[Atom]" = field(default_factory=list)


def canonical(tex: str) -> str:
    """A formula in one of the ways in which it can be written: see above for what is not compared."""
    try:
        return _text(Reader(tex).row())
    except RecursionError:
        return tex


class Reader:
    """The atoms of a formula, from left to right."""

    def __init__(self, tex: str) -> None:
        self.tokens, self.at, self.font = TOKEN.findall(tex), 0, ""

    def peek(self) -> str:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def raw(self) -> str:
        """What is in braces, as it stands."""
        if self.peek() != "{":
            return self.next()
        self.at += 1
        depth, parts = 1, []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            depth += (token == "{") - (token == "}")
            if not depth:
                break
            parts.append(token)
        return "".join(parts)

    def optional(self) -> str | None:
        if self.peek() != "[":
            return None
        self.at += 1
        parts = []
        while self.at < len(self.tokens) and (token := self.tokens[self.at]) != "]":
            parts.append(token)
            self.at += 1
        self.at += 1
        return "".join(parts)

    def argument(self) -> list[Atom]:
        if self.peek() == "{":
            self.at += 1
            return self.row("}")
        return self.atoms()

    def row(self, *ends: str) -> list[Atom]:
        """Up to one of the tokens, which is read."""
        made: list[Atom] = []
        font = self.font
        while token := self.peek():
            if token in ends:
                self.at += 1
                break
            if token in INFIX:
                self.at += 1
                rest = self.row(*ends)
                made = [Atom(f"{INFIX[token]}{{{_text(made)}}}{{{_text(rest)}}}")]
                break
            if token in SWITCHES:
                self.at += 1
                self.font = SWITCHES[token]
            elif token in "^_'":
                self.script(made)
            elif token == "}" or token in ("\\end", "\\\\", "&"):
                if ends:
                    break
                self.at += 1
            else:
                made += self.atoms()
        self.font = font
        return made

    def script(self, made: list[Atom]) -> None:
        token = self.next()
        if not made:
            made.append(Atom("", []))
        base = made[-1]
        if token == "'":
            base.above = [*base.above, Atom("′")]
        elif token == "^":
            base.above = [*base.above, *self.argument()]
        else:
            base.below = self.argument()

    def atoms(self) -> list[Atom]:
        token = self.next()
        if token in SIZES:
            if self.peek() == ".":
                self.at += 1
            return []
        if token in NOTHING:
            return []
        if token in DROPPED:
            self.raw()
            return []
        if token == "{":
            return [Atom("", self.row("}"))]
        if token in CLASSES:
            return self.argument()
        if token in TEXT:
            return [Atom(f"\\text{{{' '.join(self.raw().replace('~', ' ').split(' '))}}}")]
        if token in ("\\operatorname", "\\operatorname*"):
            name = re.sub(r"\s|\\[,!;: ]|[{}]", "", self.raw())
            return _upright(name)
        if token in FONTS:
            return self.in_font(FONTS[token])
        if token in TWO:
            first, second = self.argument(), self.argument()
            return [Atom(f"{TWO[token]}{{{_text(first)}}}{{{_text(second)}}}")]
        if token in ONE:
            return [Atom(f"{ONE[token]}{{{_text(self.argument())}}}")]
        if token in ARROWS:
            below = self.optional()
            arrow = f"\\overset{{{_text(self.argument())}}}{{{ARROWS[token]}}}"
            return [Atom(f"\\underset{{{canonical(below)}}}{{{arrow}}}" if below else arrow)]
        if token == "\\sqrt":
            index = self.optional()
            return [Atom(f"\\sqrt[{canonical(index or '')}]{{{_text(self.argument())}}}")]
        if token == "\\substack":
            return self.cells("matrix", braced=True)
        if token == "\\begin":
            return self.cells(self.raw())
        if token == "\\not":
            negated = unicodedata.normalize("NFC", "".join(atom.text for atom in self.atoms()) + "\u0338")
            return [Atom(SAME.get(negated, negated))]
        if token in ("\\pmod", "\\bmod", "\\mod"):
            inside = [*_upright("mod"), *(self.argument() if token == "\\pmod" else [])]
            return [Atom("("), *inside, Atom(")")] if token == "\\pmod" else inside
        if token.startswith("\\") and token[1:] in FUNCTIONS:
            return _upright(token[1:])
        if token == "-":
            return [Atom("-")]
        symbol = _symbol(token) if token.startswith("\\") else SAME.get(token, token)
        symbol = unicodedata.normalize("NFC", symbol)
        is_letter = len(token) == 1 and token.isalnum() and token.isascii()
        if self.font and (is_letter or (self.font == "\\boldsymbol" and symbol.isalpha())):
            if token.isdigit():
                font = {"\\mathrm": "", "\\boldsymbol": "\\mathbf"}.get(self.font, self.font)
                return [Atom(f"{font}{{{token}}}" if font else token)]
            return [Atom(SAME.get(styled := f"{self.font}{{{symbol}}}", styled))]
        return [Atom(symbol)]

    def in_font(self, font: str) -> list[Atom]:
        before, self.font = self.font, font
        made = self.argument()
        self.font = before
        return made

    def cells(self, environment: str, braced: bool = False) -> list[Atom]:
        if environment in ("array", "alignedat"):
            self.raw()
        if braced:
            self.peek()
            self.at += 1
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(_text(self.row("&", "\\\\", "\\end", *("}",) * braced)))
            end = self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""
            if end == "\\\\":
                if self.peek() == "[":
                    self.optional()
                rows.append([])
            elif end != "&":
                break
        if not braced and self.at <= len(self.tokens):
            self.raw()
        for cells in rows:
            while cells and not cells[-1]:
                cells.pop()
        while len(rows) > 1 and not rows[-1]:
            rows.pop()
        kind = "aligned" if environment in ALIGNED else "matrix"
        one = len(rows) == 1 and len(rows[0]) < 2
        inside = " \\\\ ".join(" & ".join(cells) for cells in rows)
        body = Atom(inside if one else f"\\begin{{{kind}}}{inside}\\end{{{kind}}}")
        opening, closing = FENCES.get(environment, ("", ""))
        return [*([Atom(opening)] if opening else []), body, *([Atom(closing)] if closing else [])]


def _upright(word: str) -> list[Atom]:
    """A name, letter by letter, as \\mathrm has them."""
    return [Atom(f"\\mathrm{{{char}}}" if char.isalpha() else char) for char in word]


def _text(atoms: Sequence[Atom]) -> str:
    parts = []
    for atom in atoms:
        text = atom.text
        has_script = bool(atom.below or atom.above)
        if atom.inside is not None:
            text = _text(atom.inside)
            bare = not any(each.below or each.above for each in atom.inside)
            is_one = bare and (len(atom.inside) == 1 or all(UPRIGHT.fullmatch(each.text) for each in atom.inside))
            fenced = len(atom.inside) > 1 and atom.inside[0].text in ("(", "[", "|", "\\{")
            if has_script and not is_one and not (fenced and atom.inside[-1].text in (")", "]", "|", "\\}")):
                text = f"{{{text}}}"
        if atom.below and (below := _text(atom.below)):
            text += f"_{{{below}}}"
        if atom.above and (above := _text(atom.above)):
            text += f"^{{{above}}}"
        parts += [text] if text else []
    return " ".join(parts)


def main() -> None:
    """Show what fails on what the conversion was written with: python -m benchmarks.quality.formulae DIR [MOST]."""
    show = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    papers = [(tex, display) for number, tex, display in of_papers(Path(sys.argv[1])) if not number % 2]
    for name, formulae in (("made", made(DEVELOPED, SEED)), ("of papers", papers)):
        exact = judged(formulae, show)
        print(name, {key: f"{sum(each)}/{len(each)}" for key, each in exact.items()})


if __name__ == "__main__":
    main()
