"""What a LaTeX source says, as LaTeX without what is not text, as lines of text, or as Markdown."""

import re
import unicodedata
from dataclasses import dataclass, field

from corpusmill.formats.latex import MATH, NO_TEXT, SECTIONS, VERBATIM, Markup, argument, expanded, group, optional

ENV = re.compile(r"\\(begin|end)\s*\{([a-zA-Z]+)(\*?)\}")
TOKEN = re.compile(
    r"\\begin\s*\{(?P<begin>[a-zA-Z]+\*?)\}|\\end\s*\{(?P<end>[a-zA-Z]+\*?)\}|(?P<open>\\\[|\\\(|\$\$?)"
    r"|\\(?P<name>[a-zA-Z@]+\*?|.)|(?P<blank>\n[ \t]*\n\s*)|(?P<sign>---?|``|''|[~{}&])",
    re.S,
)
CLOSES = {"\\[": "\\]", "\\(": "\\)", "$$": "$$", "$": "$"}
# Commands that say nothing, with so many arguments that say nothing either.
SILENT = {
    **dict.fromkeys(
        "label cite citep citet citealp citealt citeauthor citeyear parencite textcite autocite nocite ref eqref "
        "pageref autoref cref Cref "
        "nameref vspace hspace vskip bibliographystyle bibliography includegraphics usepackage documentclass input "
        "include "
        "thanks author affiliation address email date index pagestyle thispagestyle footnotetext footnote footnotemark "
        "setcounter hypersetup graphicspath keywords phantom hphantom vphantom newtheorem theoremstyle institute "
        "orcid cline cmidrule rule color definecolor bibitem tikzset pgfplotsset captionsetup title".split(),
        1,
    ),
    **dict.fromkeys(
        "setlength addtolength addtocounter newtheorem definecolor textcolor fontsize href colorbox".split(), 1
    ),
    **dict.fromkeys(
        "setlength addtolength addtocounter renewcommand newcommand providecommand newenvironment fontsize".split(), 2
    ),
}
ACCENTS = dict(zip(  # TeX's letters for accents -> combining characters
    "'`^\"~=.uvHckrdb",
    "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a\u0323\u0331",
    strict=True,
))  # fmt: skip
LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł",
    "i": "\u0131", "j": "\u0237", "S": "§", "P": "¶", "dots": "…", "ldots": "…", "textellipsis": "…", "copyright": "©",
    "pounds": "£", "dag": "†", "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX", "textbackslash": "\\",
    "textasciitilde": "~", "textasciicircum": "^", "textendash": "–", "textemdash": "—", "textbar": "|",
    "textless": "<", "textgreater": ">", "quad": " ", "qquad": " ", **{char: char for char in "%&#_{}$"},
    " ": " ", "\n": " ", ",": " ", ";": " ", ":": " ", "!": "", "/": "", "-": "", "@": "",
    "newline": "\n", "linebreak": "\n", "textquoteleft": "‘", "textquoteright": "’", "textdegree": "°",
    "texttimes": "×", "euro": "€", "textregistered": "®",
}  # fmt: skip
SIGNS = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " ", "{": "", "}": "", "&": " "}
LISTS = ("itemize", "enumerate", "description", "compactitem", "compactenum")
TABLES = ("tabular", "tabularx", "longtable", "array", "tabulary", "tabu")
RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot|centering)\b|\\cline\s*\{[^{}]*\}"
)
BLANKS = re.compile(r"[ \t\n]+")
CELL = re.compile(r"(?<!\\)&")
ROW = re.compile(r"\\\\(?:\s*\[[^\]]{0,1000}\])?|\\tabularnewline\b")
MAX_NESTED = 20
MAX_PADDED = 100_000  # cells of a table of Markdown whose short rows are filled up


def latex_text(source: str, markup: Markup, limit: int) -> str:
    """The text of a source. Raises TooMuch, see `expanded`."""
    title, text = expanded(source, limit)
    if markup == "latex":
        return cleaned(text)
    writer = LatexWriter(markup)
    writer.heading(1, title)
    writer.write(text)
    return writer.text()


def cleaned(text: str) -> str:
    """A body without environments that hold no text, and without the bibliography."""
    parts: list[str] = []
    at = 0
    while match := ENV.search(text, at):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[1] == "begin" and match[2] in NO_TEXT:
            at = _end_of(text, match[2] + match[3], at)[1]
        else:
            parts.append(match[0])
    body = re.sub(
        r"\\(?:bibliography|bibliographystyle|nocite|maketitle)\b\s*(?:\{[^{}]*\})?", "", "".join([*parts, text[at:]])
    )
    return re.sub(r"\n[ \t]*(?:\n[ \t]*)+", "\n\n", body).strip()


def _end_of(text: str, name: str, at: int) -> tuple[int, int]:
    """(where the environment that was begun ends, the position after that); the end of the text if it does not."""
    depth = 1
    for match in re.compile(rf"\\(begin|end)\s*\{{{re.escape(name)}\}}").finditer(text, at):
        depth += 1 if match[1] == "begin" else -1
        if depth == 0:
            return match.start(), match.end()
    return len(text), len(text)


@dataclass
class LatexWriter:
    """Writes one document: `write` its body, then `text`."""

    markup: Markup
    blocks: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    lists: list[tuple[str, int]] = field(default_factory=list)
    items: set[int] = field(default_factory=set)  # the blocks that are items of lists
    item: str = ""  # what begins the item that is being written
    endless: set[str] = field(default_factory=set)  # ends of formulae that do not come any more

    def text(self) -> str:
        self.flush()
        if self.markup != "markdown":
            return "\n".join(self.blocks)
        return "".join(
            ("\n" if {at - 1, at} <= self.items else "\n\n" if at else "") + block
            for at, block in enumerate(self.blocks)
        )

    def flush(self) -> None:
        """End a paragraph."""
        lines = [BLANKS.sub(" ", line).strip() for line in "".join(self.line).split("\x00")]
        if text := "\n".join(line for line in lines if line):
            text = re.sub(r" +([,.;:)])", r"\1", text)
            if self.markup == "markdown" and self.lists:
                indent = "   " * min(len(self.lists) - 1, MAX_NESTED)
                text = f"{indent}{self.item or '   '}{text}"
                self.items.add(len(self.blocks))
            self.blocks.append(text)
        self.line.clear()
        self.item = "" if self.markup == "text" else "   " if self.item else ""

    def block(self, text: str) -> None:
        self.flush()
        if text.strip():
            self.blocks.append(text.strip("\n").rstrip())

    def heading(self, level: int, title: str, depth: int = 0) -> None:
        self.flush()
        if words := self.inline(title, depth):
            self.blocks.append(f"{'#' * level} {words}" if self.markup == "markdown" else words)

    def inline(self, text: str, depth: int = 0) -> str:
        """A part of the text on one line."""
        inner = LatexWriter("text")
        inner.write(text, depth + 1)
        inner.flush()
        return " ".join(" ".join(inner.blocks).split())

    def write(self, text: str, depth: int = 0) -> None:
        if depth > MAX_NESTED:
            return
        self.endless.clear()
        at = 0
        while match := TOKEN.search(text, at):
            self.line.append(text[at : match.start()])
            at = match.end()
            if match["begin"]:
                at = self._environment(text, match["begin"], at, depth)
            elif match["end"]:
                self._end(match["end"].rstrip("*"))
            elif match["open"]:
                at = self._formula(text, match["open"], at)
            elif match["blank"]:
                self.flush()
            elif match["sign"]:
                self.line.append(SIGNS[match["sign"]])
            else:
                at = self._command(text, match["name"], at, depth)
        self.line.append(text[at:])

    def _environment(self, text: str, name: str, at: int, depth: int) -> int:
        plain = name.rstrip("*")
        if plain in NO_TEXT:
            return _end_of(text, name, at)[1]
        if plain in MATH:
            end, after = _end_of(text, name, at)
            inner = re.sub(r"\\label\s*\{[^{}]*\}", "", text[at:end]).strip()
            if plain in ("equation", "displaymath", "math", "subequations"):
                self.block(f"$$\n{inner}\n$$")
            else:
                self.block(f"$$\n\\begin{{{name}}}\n{inner}\n\\end{{{name}}}\n$$")
            return after
        if plain in VERBATIM:
            option = optional(text, at)
            at = option[1] if option else at
            language = group(text, at) if plain == "minted" else None
            at = language[1] if language else at
            end, after = _end_of(text, name, at)
            code = text[at:end].strip("\n")
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
            spoken = language[0].strip() if language else ""
            self.block(f"{fence}{spoken}\n{code}\n{fence}" if self.markup == "markdown" else code)
            return after
        if plain in TABLES:
            return self._table(text, name, at, depth)
        self.flush()
        if plain in LISTS:
            self.lists.append(("enumerate" if "enum" in plain else "itemize", 0))
        elif plain == "abstract" and self.markup == "markdown":
            self.blocks.append("## Abstract")
        option = optional(text, at)
        at = option[1] if option else at
        if plain in ("minipage", "wrapfigure", "multicols", "adjustbox"):
            while braces := group(text, at):
                at = braces[1]
        return at

    def _end(self, name: str) -> None:
        self.flush()
        if name in LISTS and self.lists:
            self.lists.pop()
            self.item = ""

    def _formula(self, text: str, opens: str, at: int) -> int:
        closes = CLOSES[opens]
        end = None
        if closes not in self.endless:
            end = re.compile(rf"(?<!\\)(?:\\\\)*{re.escape(closes)}").search(text, at)
        if end is None:
            self.endless.add(closes)
        if end is None or (opens == "$" and "\n\n" in text[at : end.start()]):
            self.line.append(opens if "$" in opens else "")
            return at
        inner = text[at : end.end() - len(closes)]
        if opens in ("\\[", "$$"):
            self.block(f"$$\n{inner.strip()}\n$$")
        else:
            self.line.append(f"${inner.strip()}$")
        return end.end()

    def _command(self, text: str, name: str, at: int, depth: int) -> int:
        plain = name.rstrip("*") if len(name) > 1 else name
        if plain == "\\":
            self.line.append("\x00")
            option = optional(text, at)
            return option[1] if option else at
        if plain in SECTIONS:
            option = optional(text, at)
            braces = group(text, option[1] if option else at)
            if braces is None:
                return at
            self.heading(SECTIONS[plain], braces[0], depth)
            return braces[1]
        if plain == "item":
            self.flush()
            return self._item(text, at, depth)
        if plain in ("caption", "subcaption"):
            option = optional(text, at)
            if braces := group(text, option[1] if option else at):
                self.block(self.inline(braces[0], depth))
                return braces[1]
            return at
        if plain in ("par", "newpage", "clearpage", "bigskip", "medskip", "smallskip"):
            self.flush()
            return at
        if plain in ("verb", "lstinline") and at < len(text) and not text[at].isspace():
            end = text.find(text[at], at + 1)
            if end > 0:
                self.line.append(f"`{text[at + 1 : end]}`" if self.markup == "markdown" else text[at + 1 : end])
                return end + 1
        if plain in ("url", "nolinkurl") and (braces := group(text, at)):
            self.line.append(braces[0])
            return braces[1]
        if plain in ("texttt", "code") and self.markup == "markdown" and (braces := group(text, at)):
            words = self.inline(braces[0], depth)
            self.line.append(f"`{words}`" if words else "")
            return braces[1]
        if plain in LETTERS:
            self.line.append(LETTERS[plain].replace("\n", "\x00"))
            if plain.isalpha() and len(plain) and text[at : at + 2] == "{}":
                return at + 2
            return at + 1 if plain.isalpha() and text[at : at + 1] == " " else at
        if plain in ACCENTS and (braces := argument(text, at)):
            letter = self.inline(braces[0], depth).replace("\u0131", "i").replace("\u0237", "j")
            self.line.append(unicodedata.normalize("NFC", letter[:1] + ACCENTS[plain] + letter[1:]) if letter else "")
            return braces[1]
        return self._silent(text, plain, at)

    def _silent(self, text: str, name: str, at: int) -> int:
        """Pass a command that says nothing itself, and what of its arguments says nothing."""
        while option := optional(text, at):
            at = option[1]
        for _ in range(SILENT.get(name, 0)):
            braces = group(text, at)
            at = braces[1] if braces else at
        if name not in SILENT and text[at : at + 2] == "{}":
            at += 2
        return at

    def _item(self, text: str, at: int, depth: int) -> int:
        if self.markup == "markdown" and self.lists:
            kind, number = self.lists[-1]
            self.lists[-1] = kind, number + 1
            self.item = f"{number + 1}. " if kind == "enumerate" else "- "
        option = optional(text, at)
        if option:
            self.line.append(self.inline(option[0], depth) + " ")
        return option[1] if option else at

    def _table(self, text: str, name: str, at: int, depth: int) -> int:
        option = optional(text, at)
        at = option[1] if option else at
        for _ in range(2 if name.rstrip("*") in ("tabularx", "tabulary") or name == "tabular*" else 1):
            braces = group(text, at)
            at = braces[1] if braces else at
        end, after = _end_of(text, name, at)
        rows = []
        for row in ROW.split(RULES.sub(" ", text[at:end])):
            cells = [self.inline(_spanned(cell), depth) for cell in CELL.split(row)]
            if any(cells):
                rows.append(cells)
        if not rows:
            return after
        lines = [" | ".join(cells) for cells in rows]
        if self.markup == "markdown":
            width = max(map(len, rows))
            full = [[cell.replace("|", "\\|") for cell in cells] for cells in rows]
            if width * len(rows) <= MAX_PADDED:
                full = [[*cells, *[""] * (width - len(cells))] for cells in full]
            lines = ["| " + " | ".join(cells) + " |" for cells in full]
            lines.insert(1, "|" + " --- |" * width)
        self.block("\n".join(lines))
        return after


def _spanned(cell: str) -> str:
    """A cell without the commands that say over how many columns or rows it goes."""
    match = re.match(r"\s*\\multi(?:column|row)\s*", cell)
    if not match:
        return cell
    at, braces = match.end(), None
    for _ in range(3):
        option = optional(cell, at)
        braces = group(cell, option[1] if option else at)
        if braces is None:
            star = re.compile(r"\s*\*").match(cell, at)
            if not star:
                return cell
            at = star.end()
            continue
        at = braces[1]
    return braces[0] if braces else cell
