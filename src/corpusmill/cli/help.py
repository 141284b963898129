"""Help: verbs in groups, each with a whole sentence; arguments and options with words for what they take."""

import re
from shlex import quote
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from corpusmill.cli.common import note_options, say
from corpusmill.errors import InputError

VERB_GROUPS = {
    "Start": ("demo", "new"),
    "Run a recipe": ("check", "run", "plan", "work", "watch", "add", "remove"),
    "Look at a run": ("report", "inspect", "stats", "peek", "sql", "recipe", "verify"),
    "Ask about a run": ("explain", "what-if", "ablate", "audit", "trace", "find"),
    "Compare runs": ("diff",),
    "Data and models": ("export", "push", "index", "rights", "train", "forget"),
    "Reference and setup": ("steps", "warm"),
}
MOVED_VERBS = {  # verbs of earlier versions -> what does the same now
    "recipes": "new --list",
    "schema": "new --schema",
    "inputs": "add RUN --list",
    "card": "push RUN --card",
    "completion": "--install-completion",
}
# Verbs of other programs, and words that say what some verb does -> what does it here.
SYNONYMS = {
    **dict.fromkeys(
        ("resume", "continue", "start", "restart"), "run RECIPE, which resumes; with --restart it starts over"
    ),
    **dict.fromkeys(("init", "create", "quickstart"), "new RECIPE"),
    **dict.fromkeys(("validate", "lint", "dry-run", "test"), "check RECIPE"),
    **dict.fromkeys(("status", "progress", "ps", "monitor"), "watch RUN"),
    **dict.fromkeys(("serve", "view", "ui", "browse", "open"), "inspect RUN"),
    **dict.fromkeys(("head", "show", "sample", "cat", "dropped"), "peek RUN"),
    **dict.fromkeys(("query", "duckdb"), "sql RUN QUERY"),
    **dict.fromkeys(("search", "grep"), "find RUN TEXT"),
    **dict.fromkeys(("why", "lineage"), "explain RUN DOCUMENT"),
    **dict.fromkeys(("compare",), "diff BEFORE AFTER"),
    **dict.fromkeys(("upload", "publish"), "push RUN TARGET"),
    **dict.fromkeys(("convert",), "export RUN FORMAT FOLDER"),
    **dict.fromkeys(("estimate", "cost"), "plan RECIPE"),
    **dict.fromkeys(("worker", "join"), "work RUN"),
    **dict.fromkeys(("compile", "build"), "warm"),
    **dict.fromkeys(("summary", "info", "describe"), "stats RUN"),
    **dict.fromkeys(("config", "settings"), "recipe RUN"),
    "help": "-h",
    "version": "--version",
}
# The same, of what the shell does.
SHELL_SYNONYMS = {
    **dict.fromkeys(("ls", "list", "runs"), "A run is a folder: `ls runs` lists those of this folder."),
    **dict.fromkeys(
        ("rm", "delete", "clean", "gc", "prune", "purge"),
        "A run is a folder: `rm -r RUN` removes it. `corpusmill remove` takes inputs out of a run, `corpusmill forget` "
        "documents.",
    ),
}
SPELLINGS = {"--licence": "--license", "--out": "--folder"}  # of options of all verbs
# Options of `run` in other programs -> what does it here.
ABSENT_OPTIONS = {
    "--dry-run": "`corpusmill check RECIPE` says what it would do, `corpusmill plan RECIPE` what that would take",
    **dict.fromkeys(("-q", "--quiet"), "give --progress off"),
    **dict.fromkeys(("-v", "--verbose"), "`corpusmill stats RUN`, RUN/log.txt and the report say what a run did"),
    "--log-file": "RUN/log.txt has what a run prints, with the time",
}
UNGROUPED_TITLE = "Verbs"  # those that are in no group
SETTING_FORM = re.compile(r"[A-Za-z_][\w.]*=")
NUMBER_FORM = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
# As in [default: 8; x>=1]: errors say it.
RANGE_FORM = re.compile(rf"(?:{NUMBER_FORM}<=?)?x(?:[<>]=?{NUMBER_FORM})?")


class Verbal(typer.Typer):
    """A Typer whose commands have this help."""

    def command(self, *args: Any, **kwargs: Any) -> Any:
        return super().command(*args, **{"cls": Verb, **kwargs})


class Verb(TyperCommand):
    """A verb. Its help has the same form with every version of typer."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        absent = [word.partition("=")[0] for word in args[:end]] if self.name == "run" else []
        if asked := next((name for name in absent if name in ABSENT_OPTIONS), None):
            raise InputError(f"run has no {asked}: {ABSENT_OPTIONS[asked]}")
        words = [word for argument in args[:end] for word in self._renamed(argument, ctx)]
        try:
            return super().parse_args(ctx, [*words, *args[end:]])
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:  # of an option without its value
                vars(error)["ctx"] = ctx
            message = getattr(error, "message", "")
            setting = next((word for word in words if SETTING_FORM.match(word) and f"({word}" in message), None)
            if setting and any("--set" in each.opts for each in self.get_params(ctx)):
                vars(error)["message"] = f"{setting} is a setting. Write: --set {quote(setting)}"
            raise

    def _renamed(self, argument: str, ctx: Any) -> list[str]:
        name, equals, value = argument.partition("=")
        known = {option for each in self.get_params(ctx) for option in each.opts}
        if not name.startswith("-") or name in known:
            return [argument]
        from corpusmill.recipe.renamed import renamed

        now, entry = SPELLINGS.get(name), renamed(f"{self.name} {name}")
        if entry and not entry.is_removed():
            now = entry.new
            say(f"warning: {entry.notice(name)}")
        if now not in known:
            return [argument]
        return [now, value] if equals else [now]

    def invoke(self, ctx: Any) -> Any:
        note_options(ctx)
        return super().invoke(ctx)

    def get_short_help_str(self, limit: int = 0) -> str:
        return sentence(self)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                is_argument = isinstance(parameter, TyperArgument)
                (arguments if is_argument else options).append(_record(*record, is_argument))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Lines as they are: a command that is folded cannot be copied."""
        formatter.write_paragraph()
        formatter.write("\n".join(f"  {line}".rstrip() for line in (self.epilog or "").splitlines()) + "\n")


class Verbs(TyperGroup):
    """Verbs in the order of GROUPS. Sentences that are too long for a line are folded, and never cut."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["VERB …"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in MOVED_VERBS and ctx.parent is None:
            raise InputError(f"the verb `{cmd_name}` is gone. Use: corpusmill {MOVED_VERBS[cmd_name]}")
        if ctx.parent is None and cmd_name in SYNONYMS | SHELL_SYNONYMS:
            advice = SHELL_SYNONYMS.get(cmd_name) or f"Use: corpusmill {SYNONYMS[cmd_name]}"
            raise InputError(f"there is no verb `{cmd_name}`. {advice}")
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        grouped = [name for names in VERB_GROUPS.values() for name in names if name in self.commands]
        return grouped + [name for name in self.commands if name not in grouped]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        grouped = {title: [name for name in group if name in names] for title, group in VERB_GROUPS.items()}
        grouped[UNGROUPED_TITLE] = [name for name in names if not any(name in group for group in VERB_GROUPS.values())]
        width = max(map(len, names))
        for title, group in grouped.items():
            if group:
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(width), sentence(self.commands[name])) for name in group])


def sentence(command: Any) -> str:
    """What a verb does: the first sentence of its help."""
    paragraph = " ".join((command.short_help or command.help or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph, maxsplit=1)[0]


def _record(name: str, text: str, is_argument: bool) -> tuple[str, str]:
    r"""
    >>> _record("RECIPE <path>", "A recipe in YAML.  [required]", True)
    ('RECIPE', 'A recipe in YAML.')
    >>> _record("-n N", "How many to show.  [default: 5; x>=1]", False)
    ('-n N', 'How many to show.  [default: 5]')
    >>> _record("--port PORT", "Of the page.  [default: 60.0; 0.5<=x<=65535.0; required]", False)
    ('--port PORT', 'Of the page.  [default: 60.0; required]')
    >>> _record("--every SECONDS", "Between two looks.  [x>=0.1]", False)
    ('--every SECONDS', 'Between two looks.')
    >>> _record("--documents [file|line]", r"How to split.  \[default: file]", False)  # of older versions
    ('--documents file|line', 'How to split.  [default: file]')
    """
    name = name.partition(" <")[0] if is_argument else re.sub(r"[<>\[\]]", "", name)
    text = text.replace("\\[", "[")
    if match := re.search(r" *\[([^][]*)\]$", text):  # what typer says, of which the range and `required` go
        facts = [part for part in match[1].split("; ") if not RANGE_FORM.fullmatch(part)]
        facts = [part for part in facts if part != "required" or not is_argument]
        text = text[: match.start()] + (f"{match[0].partition('[')[0]}[{'; '.join(facts)}]" if facts else "")
    return name, text
