"""Formulae in TeX that a grammar makes, and those of papers on arXiv."""

import gzip
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

PAPERS = "text/redpajama_samples/arxiv_llmfoundry.jsonl.gz"
LETTERS = "a b c d e f g h i j k m n p q r s t u v w x y z A B C D E F G H K L M N P Q R S T U V X".split()
GREEK = """\\alpha \\beta \\gamma \\delta \\epsilon \\varepsilon \\zeta \\eta \\theta \\vartheta \\kappa \\lambda \\mu
\\nu
\\xi \\pi \\rho \\varrho \\sigma \\tau \\phi \\varphi \\chi \\psi \\omega \\Gamma \\Delta \\Theta \\Lambda \\Xi \\Pi
\\Sigma \\Phi \\Psi \\Omega""".split()
SIGNS = "\\infty \\partial \\nabla \\emptyset \\ell \\hbar \\aleph \\Re \\Im \\imath \\top \\bot".split()
OPERATORS = """+ - \\cdot \\times \\pm \\mp \\div \\circ \\ast \\oplus \\otimes \\cap \\cup \\wedge \\vee \\setminus
\\odot \\ominus
\\bullet \\star / \\dagger \\sqcup""".split()
RELATIONS = """= < > \\le \\leq \\ge \\geq \\ne \\neq \\approx \\equiv \\sim \\simeq \\cong \\in \\notin \\subset
\\subseteq
\\supset \\supseteq \\to \\rightarrow \\mapsto \\Rightarrow \\iff \\Leftrightarrow \\implies \\leftarrow \\propto \\ll
\\gg \\prec
\\succ \\perp \\parallel \\mid \\leqslant \\geqslant \\lesssim \\models \\vdash \\longrightarrow \\hookrightarrow
\\doteq
\\not\\subset \\nmid := \\ni""".split()
FUNCTIONS = "\\sin \\cos \\tan \\log \\ln \\exp \\arctan \\cosh \\det \\dim \\ker \\gcd \\arg \\deg".split()
LIMITS = "\\lim \\max \\min \\sup \\inf \\limsup \\liminf \\Pr".split()
LARGE = "\\sum \\prod \\coprod \\bigcup \\bigcap \\bigoplus \\bigotimes \\bigvee \\bigwedge".split()
INTEGRALS = "\\int \\iint \\oint".split()
ACCENTS = "\\hat \\bar \\tilde \\vec \\dot \\ddot \\check \\breve \\acute \\grave".split()
WIDE = "\\overline \\underline \\widehat \\widetilde \\overrightarrow \\overleftarrow".split()
ALPHABETS = "\\mathbf \\mathbb \\mathcal \\mathfrak \\mathrm \\mathsf \\mathtt \\boldsymbol".split()
BRACKETS = (
    *(
        ("(", ")"),
        ("(", ")"),
        ("[", "]"),
        ("\\{", "\\}"),
        ("|", "|"),
        ("\\langle", "\\rangle"),
        ("\\lfloor", "\\rfloor"),
    ),
    *(("\\lceil", "\\rceil"), ("\\|", "\\|")),
)
NAMES = "rank tr diag Var Cov sgn supp argmax softmax span Hom".split()
TEXTS = ("if ", " otherwise", " and ", "for all ", " is even", "where ", "speed", " with probability ")
DOTS = "\\cdots \\ldots \\dots".split()
CAPITALS = ("\\mathbb", "\\mathcal")  # have no others
PRIME = "'"
STACKED = ("=", "\\sim", "\\to")
NEW_ROW = " \\\\ "
STYLE = re.compile(r"\\(?:label|nonumber|notag)\b\s*(?:\{[^{}]*\})?")
INLINE = re.compile(r"(?<![\\$])\$([^$]{1,400})\$(?!\$)|\\\((.{1,400}?)\\\)", re.DOTALL)
DISPLAYED = re.compile(
    r"\$\$(.{1,1000}?)\$\$|\\\[(.{1,1000}?)\\\]|\\begin\{equation\*?\}(.{1,1000}?)\\end\{equation\*?\}", re.DOTALL
)
# Prose between two formulae, where a dollar sign is missing, and what belongs to a document.
NO_FORMULA = re.compile(
    r"(?:(?<![\\A-Za-z])[a-z]{2,}\s+){2}|\\(?:cite|ref|eqref|footnote|section|item|includegraphics)|%|\n\s*\n|\$"
)


class Grammar:
    """Formulae by chance, the same of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def formula(self) -> tuple[str, bool]:
        """TeX, and whether it is displayed."""
        pick = self.random
        kind = pick.random()
        if kind < 0.25:
            return self.row(1), False
        if kind < 0.9:
            return f"{self.row(3)} {pick.choice(RELATIONS)} {self.row(3)}", pick.random() < 0.5
        if kind < 0.95:
            lines = NEW_ROW.join(f"{self.row(1)} &= {self.row(2)}" for _ in range(pick.randint(2, 3)))
            return f"\\begin{{aligned}} {lines} \\end{{aligned}}", True
        lines = NEW_ROW.join(f"{self.row(1)} & {self.text()} {self.row(0)}" for _ in range(pick.randint(2, 3)))
        return f"{pick.choice(LETTERS)} = \\begin{{cases}} {lines} \\end{{cases}}", True

    def row(self, depth: int) -> str:
        terms = [self.scripted(depth)]
        for _ in range(self.random.randint(0, 2)):
            terms += [self.random.choice([*OPERATORS, *OPERATORS, ",", "\\,"]), self.scripted(depth)]
        return " ".join(terms)

    def scripted(self, depth: int) -> str:
        pick = self.random
        base = self.term(depth)
        if depth < 1 or pick.random() < 0.6:
            return base
        if re.search(r"[_^']", base) or base.startswith(("\\sum", "\\lim", "\\int", "\\text")) or " " in base:
            return base
        way = pick.random()
        below, above = (self.argument(depth - 1) for _ in range(2))
        if way < 0.35:
            return f"{base}_{below}"
        if way < 0.7:
            return f"{base}^{above}"
        if way < 0.9:
            return f"{base}_{below}^{above}"
        primes: int = pick.randint(1, 2)
        return f"{base}{PRIME * primes}"

    def argument(self, depth: int) -> str:
        if self.random.random() < 0.6:
            letter: str = self.random.choice([*LETTERS, *"0123456789"])
            return letter
        return f"{{{self.row(depth)}}}"

    def atom(self) -> str:
        pick = self.random
        kind = pick.random()
        if kind < 0.5:
            return pick.choice(LETTERS)
        if kind < 0.7:
            return pick.choice(GREEK)
        if kind < 0.85:
            return str(pick.choice([pick.randint(0, 9), pick.randint(10, 999)]))
        if kind < 0.9:
            return f"{pick.choice(ACCENTS)}{{{pick.choice(LETTERS)}}}"
        if kind < 0.96:
            alphabet = pick.choice(ALPHABETS)
            letter = pick.choice(LETTERS)
            letter = letter.upper() if alphabet in CAPITALS else letter
            return f"{alphabet}{{{letter}}}"
        return pick.choice(SIGNS)

    def text(self) -> str:
        return f"\\text{{{self.random.choice(TEXTS)}}}"

    def term(self, depth: int) -> str:
        if depth < 1 or self.random.random() < 0.35:
            return self.atom()
        (made,) = self.random.choices(self.TERMS, self.SHARES)
        return made(self, depth - 1)

    def fraction(self, depth: int) -> str:
        return f"\\{self.random.choice(['frac', 'frac', 'dfrac', 'tfrac'])}{{{self.row(depth)}}}{{{self.row(depth)}}}"

    def root(self, depth: int) -> str:
        index = f"[{self.random.randint(3, 9)}]" if self.random.random() < 0.3 else ""
        return f"\\sqrt{index}{{{self.row(depth)}}}"

    def bracketed(self, depth: int) -> str:
        opening, closing = self.random.choice(BRACKETS)
        if opening == "[" or self.random.random() < 0.5:  # behind a new row "[" has another meaning
            return f"\\left{opening} {self.row(depth)} \\right{closing}"
        return f"{opening} {self.row(depth)} {closing}"

    def function(self, depth: int) -> str:
        pick = self.random
        name = pick.choice([*FUNCTIONS, f"\\operatorname{{{pick.choice(NAMES)}}}"])
        return f"{name} {self.atom()}" if pick.random() < 0.5 else f"{name}({self.row(depth)})"

    def limit(self, depth: int) -> str:
        return f"{self.random.choice(LIMITS)}_{{{self.random.choice(LETTERS)} \\to {self.row(0)}}} {self.term(depth)}"

    def large(self, depth: int) -> str:
        index = f"{self.random.choice('ijkn')}={self.atom()}"
        above = f"^{self.argument(0)}" if self.random.random() < 0.7 else ""
        return f"{self.random.choice(LARGE)}_{{{index}}}{above} {self.term(depth)}"

    def integral(self, depth: int) -> str:
        ends = f"_{self.argument(0)}^{self.argument(0)}" if self.random.random() < 0.7 else ""
        return f"{self.random.choice(INTEGRALS)}{ends} {self.term(depth)} \\, d{self.random.choice(LETTERS)}"

    def wide(self, depth: int) -> str:
        return f"{self.random.choice(WIDE)}{{{self.row(0)}}}"

    def matrix(self, depth: int) -> str:
        pick = self.random
        kind = pick.choice(["pmatrix", "bmatrix", "vmatrix", "matrix", "Bmatrix"])
        columns = pick.randint(1, 3)
        rows = NEW_ROW.join(" & ".join(self.row(0) for _ in range(columns)) for _ in range(2))
        return f"\\begin{{{kind}}} {rows} \\end{{{kind}}}"

    def binomial(self, depth: int) -> str:
        return f"\\binom{{{self.row(0)}}}{{{self.row(0)}}}"

    def brace(self, depth: int) -> str:
        if self.random.random() < 0.5:
            return f"\\underbrace{{{self.row(depth)}}}_{{{self.row(0)}}}"
        return f"\\overbrace{{{self.row(depth)}}}^{{{self.row(0)}}}"

    def stacked(self, depth: int) -> str:
        kind, sign = self.random.choice(["overset", "underset", "stackrel"]), self.random.choice(STACKED)
        return f"\\{kind}{{{self.row(0)}}}{{{sign}}} {self.atom()}"

    def dots(self, depth: int) -> str:
        return f"{self.atom()}, {self.random.choice(DOTS)}, {self.atom()}"

    def boxed(self, depth: int) -> str:
        return f"\\boxed{{{self.row(depth)}}}"

    def spaced_text(self, depth: int) -> str:
        return self.text()

    TERMS: tuple[Callable[["Grammar", int], str], ...] = (
        *(fraction, root, bracketed, function, limit, large, integral, wide, matrix, binomial, brace, stacked, dots),
        *(boxed, spaced_text),
    )
    SHARES = (5, 3, 5, 3, 1, 3, 2, 2, 1, 0.7, 0.5, 0.7, 1, 0.1, 0.5)


def made(count: int, seed: int) -> list[tuple[str, bool]]:
    """So many different formulae of the grammar."""
    grammar, found = Grammar(seed), dict[str, bool]()
    while len(found) < count:
        tex, display = grammar.formula()
        found.setdefault(tex, display)
    return list(found.items())


def of_papers(data: Path) -> Iterator[tuple[int, str, bool]]:
    """(number of the paper, TeX, whether it is displayed): what stands between the signs for formulae, each once in a
    paper, as far as it is no prose."""
    with gzip.open(data / PAPERS) as lines:
        for number, line in enumerate(lines):
            text = orjson.loads(line)["text"]
            seen = set[str]()
            for pattern, display in ((DISPLAYED, True), (INLINE, False)):
                for match in pattern.finditer(text):
                    tex = STYLE.sub("", next(group for group in match.groups() if group)).strip()
                    if tex and tex not in seen and not NO_FORMULA.search(tex):
                        seen.add(tex)
                        yield number, tex, display
                text = pattern.sub(" ", text)
