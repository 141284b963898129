"""The help: sentences, groups, names of arguments and options, whatever the version of typer."""

import re
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from corpusmill.cli.app import VERB_MODULES, app
from corpusmill.cli.help import MOVED_VERBS, NUMBER_FORM, RANGE_FORM, VERB_GROUPS, Verbal, Verbs, sentence

RUNNER = CliRunner()


def _commands(*verbs: str) -> dict[str, Any]:
    """Verb -> its command."""
    group: Any = get_command(app(*verbs))
    return dict(group.commands)


def tool() -> Verbal:
    """A command line of two verbs, one of which is in no group."""
    verbs = Verbal(name="tool", cls=Verbs, rich_markup_mode=None, add_completion=False)

    @verbs.command("run", epilog="Example: tool run x.yaml\n    --twice")
    def run(
        file: Annotated[Path, typer.Argument(metavar="FILE", help="What to run.", show_default=False)],
        count: Annotated[int, typer.Option("-n", min=1, max=9, metavar="N", help="How often.")] = 3,
        share: Annotated[float, typer.Option(min=0.5, metavar="X", help="Of it.")] = 1.0,
        name: Annotated[str | None, typer.Option(metavar="NAME", help="Its name. [default: that of the file]")] = None,
        quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing.")] = False,
    ) -> None:
        """Run it, e.g. a file. Then say so.

        More words.
        """
        print(file, count, share, name, quiet)

    @verbs.command("zero")
    def zero() -> None:
        """Do nothing

        at all."""

    return verbs


def test_arguments_and_options_have_a_section_each_and_no_types():
    out = RUNNER.invoke(tool(), ["run", "--help"]).output
    assert out.splitlines()[0].strip() == "Usage: tool run [OPTIONS] FILE"
    arguments, _, options = out.partition("Options:")
    assert "FILE  What to run." in arguments and "[required]" not in out
    assert "-n N         How often.  [default: 3]" in options
    assert "--share X    Of it.  [default: 1.0]" in options
    assert "Its name. [default: that of the file]" in options
    assert "--quiet      Say nothing." in options and "--no-quiet" not in out


def test_the_example_is_not_folded():
    out = RUNNER.invoke(tool(), ["run", "--help"]).output
    assert out.endswith("\n  Example: tool run x.yaml\n      --twice\n")


def test_verbs_of_no_group_have_a_section_of_their_own():
    out = RUNNER.invoke(tool(), ["--help"]).output
    assert out.splitlines()[0].strip() == "Usage: tool VERB …"
    assert "Run a recipe:\n  run   Run it, e.g. a file." in out
    assert "Verbs:\n  zero  Do nothing" in out
    assert out.index("Run a recipe:") < out.index("Verbs:") and "Then say so" not in out


@pytest.mark.parametrize(
    ("words", "status"), [(["run", "x", "-n", "9"], 0), (["run", "x", "-n", "10"], 2), (["run"], 2)]
)
def test_bounds_hold_though_the_help_does_not_say_them(words, status):
    assert RUNNER.invoke(tool(), words).exit_code == status


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Do it. Then rest.", "Do it."),
        ("Do it, e.g. now. And then.", "Do it, e.g. now."),
        ("Use v1.2 of it. More", "Use v1.2 of it."),
        ("Ask? Yes.", "Ask?"),
        ("No end", "No end"),
        ("Two\nlines of\none.\n\nAnd more.", "Two lines of one."),
        ("", ""),
    ],
)
def test_the_first_sentence(text, first):
    class Command:
        short_help = None
        help = text

    assert sentence(Command) == first


@pytest.mark.parametrize(
    ("text", "is_range"),
    [
        ("x>=1", True),
        ("1<=x<=9", True),
        ("0.5<=x<1e3", True),
        ("-2<x", True),
        ("x", True),
        ("required", False),
        ("default: 8", False),
        ("x>=one", False),
    ],
)
def test_ranges_are_known_by_their_form(text, is_range):
    assert bool(RANGE_FORM.fullmatch(text)) == is_range
    assert re.fullmatch(NUMBER_FORM, "-1.5e-3") and not re.fullmatch(NUMBER_FORM, "1.")


def test_every_verb_is_a_module_and_is_in_one_group():
    verbs = [verb for group in VERB_GROUPS.values() for verb in group]
    assert sorted(verbs) == sorted(set(verbs)) == sorted(VERB_MODULES)
    assert set(_commands()) == set(verbs)
    assert not MOVED_VERBS.keys() & set(verbs)


@pytest.mark.parametrize("verb", VERB_MODULES)
def test_one_verb_alone_is_made_as_with_all(verb):
    (alone,) = _commands(verb).items()
    together = _commands()[verb]
    assert alone[0] == verb
    assert sentence(alone[1]) == sentence(together)
    options = [
        [option for parameter in command.params for option in parameter.opts] for command in (alone[1], together)
    ]
    assert options[0] == options[1]


@pytest.mark.parametrize("verb", VERB_MODULES)
def test_a_verb_says_what_it_does_in_a_sentence_that_begins_with_a_verb(verb):
    command = _commands()[verb]
    words = sentence(command)
    assert words[0].isupper() and words.endswith(".")
    assert not re.match(r"(This|The|A|An|It)\b", words)


@pytest.mark.parametrize("verb", VERB_MODULES)
def test_an_example_names_its_verb_and_options_that_there_are(verb):
    command = _commands()[verb]
    example = command.epilog
    if verb == "train":  # its examples are those of its verbs
        assert example is None
        return
    assert example.startswith(f"Example: corpusmill {verb}")
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert set(re.findall(r"(?<= )--?[a-z][\w-]*", example)) <= options


def test_no_two_options_of_a_verb_have_one_name():
    for verb, command in _commands().items():
        options = [option for parameter in command.params for option in parameter.opts if option[:1] == "-"]
        assert len(options) == len(set(options)), verb
