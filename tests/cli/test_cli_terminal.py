"""Help, tables and colours: in a terminal, in a narrow one, and where there is none."""

import os
import re
import select
import subprocess
import sys
from contextlib import contextmanager

import pytest
from typer.main import get_command

from corpusmill.cli.app import app
from corpusmill.cli.completion import recipes, steps
from corpusmill.cli.help import VERB_GROUPS
from corpusmill.cli.terminal import _console, print_table
from made_run import made_run

HEAD = ("source", "documents", "tokens", "share")
ROWS = (("a-long-name-of-a-source", "1,234", "99", "0.1 %"), ("文書", "5", "1,234,567", "99.9 %"))


@pytest.mark.parametrize(
    "columns, lines",
    [
        (
            200,
            [
                "source                   documents     tokens   share",
                "a-long-name-of-a-source      1,234         99   0.1 %",
                "文書                             5  1,234,567  99.9 %",
            ],
        ),
        (
            45,  # the column that can be left out is
            [
                "source                      tokens   share",
                "a-long-name-of-a-source         99   0.1 %",
                "文書                     1,234,567  99.9 %",
            ],
        ),
        (
            35,  # and then texts are cut, not numbers
            [
                "source               tokens   share",
                "a-long-name-of-…         99   0.1 %",
                "文書              1,234,567  99.9 %",
            ],
        ),
    ],
)
def test_a_table_fits_the_line(capsys, monkeypatch, columns, lines):
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(HEAD, ROWS, leave_out=(1,))
    assert capsys.readouterr().out.splitlines() == lines


def test_a_table_in_a_file_has_all_columns_and_no_colours(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(HEAD, ROWS * 3, leave_out=(1,), notes=["of it " * 30], styles=["red"] * 6)
    head, _, *notes = capsys.readouterr().out.splitlines()[:4]
    assert head.split() == list(HEAD) and all(line.startswith("    of it") and len(line) <= 100 for line in notes)


def seen_in_a_terminal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    """What a table is in a terminal of 80 columns."""
    pty = pytest.importorskip("pty")
    driver, terminal = pty.openpty()
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", **variables}.items():
        monkeypatch.setenv(name, value)
    _console.cache_clear()
    with os.fdopen(terminal, "w", encoding="utf-8") as stdout, monkeypatch.context() as context:
        context.setattr(sys, "stdout", stdout)
        print_table(HEAD, ROWS, notes=["of it"], styles=["cyan"])
        stdout.flush()
        out = b""
        while select.select([driver], [], [], 0.2)[0]:  # it may come in parts
            out += os.read(driver, 1 << 16)
    os.close(driver)
    _console.cache_clear()
    return out.decode().replace("\r\n", "\n")


def test_a_terminal_gets_rules_and_colours_unless_it_does_not_want_them(monkeypatch):
    usual = seen_in_a_terminal(monkeypatch)
    assert re.sub(r"\x1b\[[0-9;]*m", "", usual).splitlines() == [
        "source                   documents     tokens   share",
        "─" * 53,
        "a-long-name-of-a-source      1,234         99   0.1 %",
        "    of it",
        "文書                             5  1,234,567  99.9 %",
    ]
    assert (
        "\x1b[36m" in usual and "\x1b[2m" in usual and "\x1b[36m" not in seen_in_a_terminal(monkeypatch, NO_COLOR="1")
    )
    dumb = seen_in_a_terminal(monkeypatch, TERM="dumb")
    assert "\x1b" not in dumb and "─" not in dumb and "1,234,567" in dumb


def test_rows_of_a_query_that_do_not_fit_are_shown_one_below_the_other(corpusmill, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    status, out, _ = corpusmill("sql", made_run(), "select id, source, url, bytes, dropped_by from documents limit 2")
    assert status == 0 and out.count("\nurl") == 2 and not re.search(r"^id +source", out, re.MULTILINE)
    status, out, _ = corpusmill("sql", made_run(), "select source, count(*) as n from documents group by 1")
    assert out.splitlines()[0].split() == ["source", "n"]


def test_the_help_shows_all_verbs_in_groups_with_whole_sentences(corpusmill):
    status, out, _ = corpusmill()
    assert status == 0 and corpusmill("-h")[1] == out == corpusmill("--help")[1]
    shown = re.findall(r"^  ([a-z][\w-]*)  ", out, re.MULTILINE)
    assert len(shown) == len(set(shown)) >= 20 and set(shown) <= {
        name for names in VERB_GROUPS.values() for name in names
    }
    assert "..." not in out and max(map(len, out.splitlines())) <= 80
    assert out.index("Run a recipe:") < out.index("Ask about a run:")


@pytest.mark.parametrize(
    "words", [["train"], *([verb] for names in VERB_GROUPS.values() for verb in names), ["train", "lm"]], ids=" ".join
)
def test_every_verb_says_what_it_takes_in_words(corpusmill, words):
    status, out, _ = corpusmill(*words, "-h")
    assert status == 0 and ("Example:" in out or words == ["train"])
    assert not re.search(r"<\w|list\[|x>=|\{[A-Z]|--no-restart|\\\[", out), out


class Rows:
    """What the help of a verb hands to its formatter: a name and a text for each argument and option."""

    def __init__(self):
        self.rows = []

    @contextmanager
    def section(self, title):
        yield

    def write_dl(self, rows):
        self.rows += rows


def verbs_of(command, *words):
    for name, verb in getattr(command, "commands", {}).items():
        yield from verbs_of(verb, *words, name)
    if not hasattr(command, "commands"):
        yield words, command


VERBS = dict(verbs_of(get_command(app())))


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_the_help_says_the_defaults_that_are_and_leaves_nothing_over(words):
    verb, given = VERBS[words], Rows()
    context = verb.context_class(verb, info_name=words[-1])
    verb.format_options(context, given)
    takes = [parameter for parameter in verb.get_params(context) if parameter.get_help_record(context)]
    takes.sort(key=lambda parameter: parameter.param_type_name != "argument")
    assert len(takes) == len(given.rows)
    for parameter, (name, text) in zip(takes, given.rows):
        assert re.fullmatch(
            r"[A-Z|]+|\[[A-Z|]+\]|-{1,2}[-a-z]+(( /|,) -{1,2}[-a-z]+)*( [A-Z=.]+| [\w|]+\|\w+)?", name
        ), name
        said = re.search(r"\[(default: )?([^][]+)\]$", text)
        assert text.count("[") == text.count("]") == (said is not None), text
        default = getattr(parameter.default, "value", parameter.default)
        if default is None or default is False:
            # Said in words, as it is nothing that could be given: [default: that of the shards].
            assert said is None or said[0] == "[required]" or (said[1] and not re.fullmatch(r"[\d.e-]+", said[2])), text
        elif default is True:
            assert said and said[1] and f"--{said[2]}" == parameter.opts[0], text
        else:
            assert said and said[1] and type(default)(said[2]) == default, text
    usage = verb.collect_usage_pieces(context)
    assert len(set(usage)) == len(usage) and "…" not in " ".join(usage)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_the_command(corpusmill, monkeypatch, shell):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    status, out, _ = corpusmill("--show-completion", shell)
    assert status == 0 and "_CORPUSMILL_COMPLETE" in out and "corpusmill" in out


def test_names_that_begin_so_are_completed():
    assert steps("dedup/e") == ["dedup/exact"] and "dedup/exact" not in steps("e") and "exact" in steps("e")
    assert steps("none") == [] == recipes("none")
    assert recipes("") == sorted(recipes("")) and recipes("mini") == ["minimal"]


def test_bash_completes_verbs_options_and_names(tmp_path):
    environment = {
        **os.environ,
        "_CORPUSMILL_COMPLETE": "complete_bash",
        "COMP_WORDS": "corpusmill pe",
        "COMP_CWORD": "1",
    }
    command = [sys.executable, "-m", "corpusmill.cli"]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["peek"]
    assert steps("gopher") == ["gopher_quality", "gopher_repetition"] and "filter/url" in steps("filter/u")
    assert "web-en" in recipes("w")
