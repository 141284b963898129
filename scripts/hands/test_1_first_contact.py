"""The first ten minutes: nothing but the wheel, an empty home, an empty folder."""

import re
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

VERBS = (
    "run",
    "check",
    "demo",
    "new",
    "peek",
    "report",
    "explain",
    "what-if",
    "diff",
    "sql",
    "warm",
    "verify",
)


def test_the_wheel_is_small_and_holds_what_a_user_needs(built: Path):
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
    assert built.stat().st_size < 14e6  # of these 5.8 MB name languages, 2.5 are the demo
    assert not [name for name in names if name.startswith(("tests", "docs"))]
    assert [name for name in names if name.endswith("fineweb.yaml")]


def test_help_lists_the_verbs_in_whole_sentences(corpusmill):
    for flag in ("--help", "-h"):
        shown = corpusmill(flag).stdout
        assert "..." not in shown
        for verb in VERBS:
            assert re.search(rf"\b{verb}\b", shown), verb
        assert "<path>" not in shown


def test_the_demo_shows_what_it_does_from_the_first_second(terminal, desk: Path):
    with terminal("demo") as shown:
        shown.wait(lambda: "compil" in shown.screen().lower(), seconds=30)
        shown.wait(lambda: re.search(r"\d+ (of|/) ?\d+", shown.screen()) is not None, seconds=120)
        assert shown.end() == 0
        text = shown.everything()
    assert "gopher_quality" in text and "report" in text
    (report,) = desk.glob("runs/demo/report.html")
    assert report.stat().st_size > 50_000


def test_a_run_again_says_that_there_is_nothing_to_do(corpusmill):
    done = corpusmill("demo")
    assert "nothing to do" in done.stdout + done.stderr


def test_recipes_are_listed_written_checked(corpusmill, desk: Path):
    listed = corpusmill("new", "--list").stdout
    assert "fineweb" in listed and "web-en" in listed
    assert "fineweb" in corpusmill("new").stdout
    corpusmill("new", "minimal")
    text = (desk / "minimal.yaml").read_text("utf-8")
    assert "#" in text and "error_budget" not in text
    corpusmill("new", "minimal", status=2)  # it is there: not written over


def test_the_schema_is_printed(corpusmill):
    import json

    assert json.loads(corpusmill("new", "--schema").stdout)["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_there_for_the_shell_that_asks(user, home, desk, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    line = f"{shlex.quote(str(user / 'corpusmill'))} --show-completion; exit $?"
    done = subprocess.run([shell, "-c", line], cwd=desk, env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "corpusmill" in done.stdout
