"""Patterns of .gitignore and .gitattributes, as git reads them (gitignore(5))."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

LONGEST_PATH = 4096  # characters: Linux has no longer ones
TOKEN = re.compile(
    r"(?P<deep>(?:^|(?<=/))\*\*+(?:/|$))|(?P<stars>\*+)|(?P<slash>/)"
    r"|(?P<set>\[(?P<sign>[!^]?)(?P<members>\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\])|\\(?P<escaped>.)|(?P<other>.)",
    re.S,
)


@dataclass(frozen=True)
class Pattern:
    """One line: what it matches below the folder of its file, and what that means.

    folders   whether it matches folders alone
    negated   "!": what it matches is not ignored after all
    """

    regex: re.Pattern[str]
    folders: bool = False
    negated: bool = False

    def fits(self, path: str, is_folder: bool) -> bool:
        return (is_folder or not self.folders) and self.regex.fullmatch(path) is not None


@lru_cache(4096)
def pattern(line: str) -> Pattern | None:
    """The pattern of a line; None for comments, blank lines, lines that are longer than paths, and what git takes for
    nothing."""
    line = line.rstrip("\r\n")
    if line.startswith("#") or len(line) > LONGEST_PATH:
        return None
    bare = line.rstrip(" ")
    is_escaped = bare != line and (len(bare) - len(bare.rstrip("\\"))) % 2
    line = f"{bare} " if is_escaped else bare
    negated = line.startswith("!")
    line = line[negated:]
    folders = line.endswith("/")
    line = line[: len(line) - folders]
    if not line:
        return None
    anchored = "/" in line
    line = line.removeprefix("/")
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?+") + _translated(line), re.S)
    except re.error:  # "[z-a]" and "[" match nothing
        return None
    return Pattern(regex, folders, negated)


def _translated(glob: str) -> str:
    """The regular expression of a glob, which takes at most the time of the glob times the path.

    What is between two stars has one length, and what is between two "**/" so many folders. So the first place where it
    fits is as good as any, and its group is atomic.
    """
    runs, pieces = [""], [""]  # between "**/"; of a folder or file, between its stars
    for token in TOKEN.finditer(glob):
        if token["deep"]:
            runs.append("" if token["deep"].endswith("/") else ".+")
        elif token["stars"]:
            pieces.append("")
        elif token["slash"]:
            runs[-1] += f"{_segment(pieces)}/"
            pieces = [""]
        elif token["set"]:
            pieces[-1] += _set(token["sign"], token["members"])
        elif token["other"] == "[":
            raise re.error("a set that does not end")
        elif token["other"] == "?":
            pieces[-1] += "[^/]"
        else:
            pieces[-1] += re.escape(token["escaped"] or token["other"])
    runs[-1] += _segment(pieces)
    if len(runs) == 1:
        return runs[0]
    return runs[0] + "".join(f"(?>(?:[^/]*+/)*?{run})" for run in runs[1:-1] if run) + f"(?:.*/)?{runs[-1]}"


def _segment(pieces: list[str]) -> str:
    first, *others = pieces
    if not others:
        return first
    last = f"(?>[^/]*{others[-1]}(?![^/]))" if others[-1] else "[^/]*+"
    return first + "".join(f"(?>[^/]*?{piece})" for piece in others[:-1] if piece) + last


CLASSES = {"alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
           "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~", "blank": r" \t"}  # fmt: skip


def _set(negation: str, inside: str) -> str:
    members = re.sub(r"\[:(\w+):\]", lambda found: f"\0{found[1]}\0", inside)
    members = members.replace("[", r"\[").replace("&&", r"&\&").replace("||", r"|\|").replace("~~", r"~\~")
    members = (rf"\{members}" if members.startswith(("]", "^")) else members).replace("--", r"-\-")
    members = re.sub("\0(\\w+)\0", lambda found: CLASSES.get(found[1], ""), members)
    return f"(?!/)[{'^' if negation else ''}{members}]"


@dataclass
class Ignored:
    """Which paths the files called .gitignore ignore, folder by folder.

    files   folder ("" is the root) -> the lines of its file
    more    lines that hold for the root, after its own
    """

    files: Mapping[str, str]
    more: Iterable[str] = ()
    _rules: dict[str, list[Pattern]] = field(init=False, default_factory=dict)
    _folders: list["IgnoredFolder"] = field(init=False, default_factory=list)  # of the last path, from the root on

    def __post_init__(self) -> None:
        for folder, text in self.files.items():
            self._rules[folder] = patterns(text.split("\n"))
        if extra := patterns(self.more):
            self._rules[""] = [*self._rules.get("", []), *extra]
        self._folders.append(IgnoredFolder("", 0, ((0, self._rules.get("", [])),), False))

    def is_ignored(self, path: str) -> bool:
        """Whether a file is: by a pattern that fits it, or as it is in a folder that is."""
        if not self._rules:
            return False
        names = path.split("/")[:-1]
        shared = next((at for at, pair in enumerate(zip(names, self._folders[1:])) if pair[0] != pair[1].name), None)
        del self._folders[1 + (len(names) if shared is None else shared) :]
        for name in names[len(self._folders) - 1 :]:
            above = self._folders[-1]
            end = above.end + len(name) + 1
            folder = path[: end - 1]
            rules = above.rules + (((end, self._rules[folder]),) if folder in self._rules else ())
            is_ignored = above.is_ignored or _is_named(above.rules, folder, True)
            self._folders.append(IgnoredFolder(name, end, rules, is_ignored))
        return self._folders[-1].is_ignored or _is_named(self._folders[-1].rules, path, False)


class IgnoredFolder(NamedTuple):
    """A folder on the way to a path.

    end     where the names in it begin in the path
    rules   of the files for it, the nearest last: where the paths begin that they are about, and their patterns
    """

    name: str
    end: int
    rules: tuple[tuple[int, list[Pattern]], ...]
    is_ignored: bool


def _is_named(rules: tuple[tuple[int, list[Pattern]], ...], path: str, is_folder: bool) -> bool:
    """Whether patterns ignore a path: the nearest file decides, and its last line that fits."""
    for start, lines in reversed(rules):
        inside = path[start:]
        for rule in reversed(lines):
            if rule.fits(inside, is_folder):
                return not rule.negated
    return False


def patterns(lines: Iterable[str]) -> list[Pattern]:
    return [rule for rule in map(pattern, lines) if rule is not None]


@dataclass
class Attributes:
    """What .gitattributes files say: `linguist-generated`, `linguist-vendored`, `linguist-documentation`,
    `linguist-language`.

    files   folder -> the text of its file
    """

    files: Mapping[str, str]
    _rules: dict[str, list[tuple[Pattern, dict[str, str]]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for folder, text in self.files.items():
            for line in text.split("\n"):
                name, _, assignments = line.strip().partition(" ")
                values = dict(_attribute(attribute) for attribute in assignments.split() if "linguist-" in attribute)
                if values and (rule := pattern(name)) is not None and not rule.negated and not rule.folders:
                    self._rules.setdefault(folder, []).append((rule, values))

    def of_path(self, path: str) -> dict[str, str]:
        """attribute -> "true", "false" or its value."""
        merged: dict[str, str] = {}
        if self._rules:
            for start in (0, *(at + 1 for at, char in enumerate(path) if char == "/")):
                for rule, values in self._rules.get(path[: max(0, start - 1)], []):
                    if rule.fits(path[start:], False):
                        merged |= values
        return merged


def _attribute(assignment: str) -> tuple[str, str]:
    name, _, value = assignment.lstrip("-!").partition("=")
    return name, value or ("false" if assignment.startswith(("-", "!")) else "true")
