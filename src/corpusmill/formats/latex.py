"""LaTeX sources: comments off, macros expanded, the bibliography away; then, if asked for, text or Markdown.

A reader of tokens and not of TeX's whole language: category codes, conditions, and macros whose arguments are delimited
by text are left as they are. Formulae are kept as they are written, macros in them expanded.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

Markup = Literal["latex", "text", "markdown"]
MAX_OPTIONAL = 1000  # characters of an optional argument
MAX_BRACES = 500  # braces that are open at a time: the content of each is looked at
LONG = 4096  # characters of a group from which on the ends of all groups of a text are looked up, and not looked for
MAX_VERB = 1000  # characters of \\verb, which ends on its line
MAX_DEPTH = 64  # of macros in macros, and of groups in groups
MATH = frozenset(
    "equation align gather multline eqnarray displaymath math flalign alignat split dmath subequations".split()
)
VERBATIM = ("verbatim", "Verbatim", "lstlisting", "minted", "alltt")
# Environments that hold no text of the document: pictures by code, and what others wrote.
NO_TEXT = frozenset("thebibliography tikzpicture pspicture picture filecontents comment CCSXML IEEEbiography".split())
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*(\n[ \t]*)?")
VERBATIM_BEGIN = re.compile(r"\\begin\s*\{(" + "|".join(VERBATIM) + r")(\*?)\}|\\(?:verb|lstinline)\*?(?=[^\w\s{*])")
NAME = re.compile(r"\\([a-zA-Z@]+\*?|.|\n)", re.S)
BLANK = re.compile(r"\s*")
DEFINES = re.compile(
    r"\\(?P<how>(?:re)?newcommand|providecommand|DeclareRobustCommand|def|gdef|edef|DeclareMathOperator)(?P<star>\*?)(?![a-zA-Z])"
)
COUNT = re.compile(r"\s*\[([0-9])\]")
DEF_ARGUMENTS = re.compile(r"((?:#[1-9])*)\s*(?=\{)")
SECTIONS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5,
            "subparagraph": 6}  # fmt: skip


class TooMuch(ValueError):
    """Macros that grow beyond what is allowed, or nest deeper."""


class Macro(NamedTuple):
    """What stands for a command: "#1" is its first argument; `default` that of an optional first argument."""

    takes: int
    default: str | None
    body: str


def without_comments(source: str) -> str:
    """Comments off, but not in verbatim text. A line that is only a comment goes with its line end."""
    return _outside_verbatim(source, _uncommented)


def _uncommented(text: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        at = match.start()
        starts_line = not match[1] and (
            at == 0 or text[text.rfind("\n", 0, at) + 1 : at].isspace() or text[at - 1] == "\n"
        )
        return match[1] + ("" if starts_line or match[2] is None else match[2] if match[1] else "")

    return COMMENT.sub(replacement, text)


def _outside_verbatim(source: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    endless: set[str] = set()  # ends that do not come any more
    while match := VERBATIM_BEGIN.search(source, at):
        before = source[at : match.start()]
        if "%" in before.rpartition("\n")[2].replace("\\%", ""):  # it begins inside a comment
            end = source.find("\n", match.end())
            end = len(source) if end < 0 else end
            parts.append(change(source[at:end]))
            at = end
            continue
        if match[1]:
            mark = f"\\end{{{match[1]}{match[2]}}}"
            end = -1 if mark in endless else source.find(mark, match.end())
            if end < 0:
                endless.add(mark)
        else:
            line = source.find("\n", match.end(), match.end() + MAX_VERB)
            end = source.find(source[match.end()], match.end() + 1, match.end() + MAX_VERB if line < 0 else line)
            end = end + 1 if end >= 0 else -1
        end = match.end() if end < 0 else end
        parts += [change(before), source[match.start() : end]]
        at = end
    return "".join([*parts, change(source[at:])])


def body(source: str) -> tuple[str, str]:
    """(preamble, what is between \\begin{document} and \\end{document}); ("", source) where there is none."""
    begin = re.search(r"\\begin\s*\{document\}", source)
    if not begin:
        return "", source
    end = re.search(r"\\end\s*\{document\}", source[begin.end() :])
    return source[: begin.start()], source[begin.end() : begin.end() + end.start() if end else len(source)]


def group(text: str, at: int) -> tuple[str, int] | None:
    """(content, position after it) of the group in braces at `at`, blanks before it passed; None if there is none."""
    at = _after_blank(text, at)
    if at >= len(text) or text[at] != "{":
        return None
    depth = 0
    for match in BRACE.finditer(text, at):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return text[at + 1 : match.start()], match.end()
        if match.start() - at > LONG:
            break
    else:
        return None
    begins, ends = _groups(text)
    place = bisect_left(begins, at)
    if place == len(begins) or begins[place] != at:  # an escaped brace, which is no group's
        return None
    end = ends[place]
    return (text[at + 1 : end], end + 1) if end >= 0 else None


@lru_cache(4)
def _groups(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """(where each group begins, where it ends or -1) of a text, in the order of the beginnings."""
    begins, ends, open_now = array("q"), array("q"), array("q")
    for match in BRACE.finditer(text):
        if match[0] == "{":
            open_now.append(len(begins))
            begins.append(match.start())
            ends.append(-1)
        elif match[0] == "}" and open_now:
            ends[open_now.pop()] = match.start()
    return begins, ends


BRACE = re.compile(r"\\.|[{}]", re.S)


def optional(text: str, at: int) -> tuple[str, int] | None:
    """The same of an optional argument, in square brackets."""
    at = _after_blank(text, at)
    if at >= len(text) or text[at] != "[":
        return None
    depth = 0
    for match in BRACKET.finditer(text, at + 1):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
        elif match[0] == "]" and depth <= 0:
            return text[at + 1 : match.start()], match.end()
        if depth < 0 or match.end() - at > MAX_OPTIONAL:
            return None
    return None


BRACKET = re.compile(r"\\.|[{}\]]", re.S)


def _after_blank(text: str, at: int) -> int:
    match = BLANK.match(text, at)
    assert match
    return match.end() if text.count("\n", at, match.end()) < 2 else at


def argument(text: str, at: int) -> tuple[str, int] | None:
    """The next argument of a command: a group, or one token."""
    if braced := group(text, at):
        return braced
    at = _after_blank(text, at)
    if at >= len(text) or text[at] in "}&":
        return None
    if match := NAME.match(text, at):
        return match[0], match.end()
    return text[at], at + 1


def take_macros(source: str, macros: dict[str, Macro]) -> str:
    """The source without the definitions of macros, which are added to `macros`."""
    parts: list[str] = []
    at = 0
    while match := DEFINES.search(source, at):
        definition = _definition(source, match)
        if definition is None:
            parts.append(source[at : match.end()])
            at = match.end()
            continue
        name, macro, end = definition
        parts.append(source[at : match.start()])
        if match["how"] != "providecommand" or name not in macros:
            macros[name] = macro
        at = end
    return "".join([*parts, source[at:]])


def _definition(source: str, match: re.Match[str]) -> tuple[str, Macro, int] | None:
    how, at = match["how"], match.end()
    if how.endswith("def"):
        name = NAME.match(source, _after_blank(source, at))
        parameters = DEF_ARGUMENTS.match(source, name.end()) if name else None
        meaning = group(source, parameters.end()) if parameters else None
        if not (name and parameters and meaning):
            return None
        return name[1], Macro(len(parameters[1]) // 2, None, meaning[0]), meaning[1]
    name_argument = argument(source, at)
    if name_argument is None or not (name := NAME.fullmatch(name_argument[0].strip())):
        return None
    at, count, default = name_argument[1], 0, None
    if counted := COUNT.match(source, at):
        count, at = int(counted[1]), counted.end()
        if given_default := optional(source, at):
            default, at = given_default
    if (meaning := group(source, at)) is None:
        return None
    text = f"\\operatorname{match['star']}{{{meaning[0]}}}" if how == "DeclareMathOperator" else meaning[0]
    return name[1], Macro(count, default, text), meaning[1]


@dataclass
class Expander:
    """Puts what stands for them in the place of macros. Raises TooMuch if the text grows beyond `most` characters.

    A macro in its own meaning is left as it is: conditions, which would end it, are not evaluated, and where the
    meaning wraps an older one (of \\section, say) it stands for that.
    """

    macros: dict[str, Macro]
    most: int

    def expand(self, text: str, within: tuple[str, ...] = (), depth: int = 0) -> str:
        if not self.macros:
            return text
        parts: list[str] = []
        at = 0
        while match := NAME.search(text, at):
            macro = self.macros.get(match[1])
            parts.append(text[at : match.start()])
            at = match.end()
            if macro is None or match[1] in within:
                parts.append(match[0])
                continue
            if depth >= MAX_DEPTH:
                raise TooMuch(f"its macros are nested more than {MAX_DEPTH} deep")
            meaning, at = self._filled(macro, text, at, within, depth)
            inner = self.expand(meaning, (*within, match[1]), depth + 1)
            self.most -= len(inner) + 1
            if self.most < 0:
                raise TooMuch("its macros grow to more text than is allowed")
            if match[1][-1:].isalpha() and macro.takes == 0:  # TeX passes the blanks after a name
                end = _after_blank(text, at)
                at = end if "\n" not in text[at:end] else at
            if at < len(text) and text[at].isalpha() and re.search(r"\\[a-zA-Z]+$", inner):
                inner += " "  # \a that stands for \b, before a letter
            parts.append(inner)
        return "".join([*parts, text[at:]])

    def _filled(self, macro: Macro, text: str, at: int, within: tuple[str, ...], depth: int) -> tuple[str, int]:
        """A macro's meaning with its arguments in it, which are expanded as what surrounds it is."""
        values: list[str] = []
        if macro.default is not None:
            parsed = optional(text, at)
            values.append(parsed[0] if parsed else macro.default)
            at = parsed[1] if parsed else at
        while len(values) < macro.takes:
            parsed = argument(text, at)
            if parsed is None:
                values.append("")
                continue
            values.append(parsed[0])
            at = parsed[1]
        values = [self.expand(value, within, depth + 1) for value in values]
        size = len(macro.body) + sum(map(len, values)) * (macro.body.count("#") + 1)
        if size > self.most:
            raise TooMuch("its macros grow to more text than is allowed")
        filled = PARAMETER.sub(
            lambda match: values[int(match[1]) - 1] if int(match[1]) <= len(values) else "", macro.body
        )
        return filled, at


PARAMETER = re.compile(r"#([1-9])")


def expanded(source: str, limit: int) -> tuple[str, str]:
    """(title, body), macros expanded wherever they are used.

    Raises TooMuch if they grow to more than `limit` characters, or if more than MAX_BRACES braces are open at a time.
    """
    macros: dict[str, Macro] = {}
    text = without_comments(source)
    if (count := most_open(text)) > MAX_BRACES:
        raise TooMuch(f"{count} braces are open at a time, more than {MAX_BRACES}")
    preamble, text = body(take_macros(text, macros))
    expander = Expander(macros, limit)
    title = _title(preamble) or _title(text)
    return expander.expand(title), expander.expand(text)


def most_open(text: str) -> int:
    """How many braces are open at a time at most: those that others are in, and those that have no end."""
    count = most = 0
    for match in BRACE.finditer(text):
        count = count + 1 if match[0] == "{" else max(0, count - 1) if match[0] == "}" else count
        most = max(most, count)
    return most


def _title(text: str) -> str:
    if not (match := TITLE.search(text)):
        return ""
    skipped = optional(text, match.end())
    title_group = group(text, skipped[1] if skipped else match.end())
    return title_group[0] if title_group else ""


TITLE = re.compile(r"\\title\s*(?=[\[{])")
