"""What the product prints to be typed can be typed, in folders with spaces and quotation marks in their names."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import corpusmill
from corpusmill.cli.app import VERB_MODULES

COMMAND = re.compile(r"(?:corpusmill (?:[a-z-]+ )+|--(?:folder|out) |hf download |python -c )$")
QUOTES = {"quote", "join"}
PACKAGE = Path(corpusmill.__file__).parent
NO_PLACES = {
    "kind",
    "name",
    "repo.name",
    "include",
    "MOVED_VERBS[cmd_name]",
    "SYNONYMS[cmd_name]",
}  # words that need no quotes
PROSE = (
    "The old ferry crossed the wide river in the early morning, and the people of the village waited on the bank with "
    "their baskets. They had come to sell what they had made in the winter, {0} of them with wool and {0} with honey."
)


def unquoted(path):
    """Values that an f-string puts after a command as they are."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            for before, value in zip(node.values, node.values[1:]):
                is_text = isinstance(before, ast.Constant) and COMMAND.search(str(before.value))
                if is_text and isinstance(value, ast.FormattedValue):
                    code, call = ast.unparse(value.value), value.value
                    name = getattr(getattr(call, "func", None), "attr", getattr(getattr(call, "func", None), "id", ""))
                    if name not in QUOTES and code not in NO_PLACES:
                        yield f"{path.relative_to(PACKAGE)}:{node.lineno}: {code}"


def test_no_command_holds_the_name_of_a_place_without_quotes():
    assert [line for path in sorted(PACKAGE.rglob("*.py")) for line in unquoted(path)] == []


def commands(text):
    """The commands in what was printed: lines of their own, and those in a sentence."""
    text = text.replace("\n", "\n\n")
    whole = [match[1] for match in re.finditer(r"(?m)^\s*(?:load +)?((?:corpusmill [a-z]|python -c).*)$", text)]
    inner = re.findall(r"`(corpusmill [^`]+)`", text) + re.findall(r"[:→] (?:corpusmill .*?)(?=\. |$)", text, re.M)
    return [re.sub(r"^[:→] ", "", command).partition("  ")[0].rstrip(".") for command in (*whole, *inner)]


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "it's my folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    lines = "".join(f'{{"text": "{PROSE.format(number)}"}}\n' for number in range(30))
    Path("my data.jsonl").write_text(lines)
    Path("bad data.jsonl").write_text('{"no": "text"}\n' + lines)
    Path("my recipe.yaml").write_text(
        "read: {jsonl: my data.jsonl}\nsteps:\n  - filter/keep_where: {condition: bytes > 10000}\n  - tokenize/bpe\n"
        "write: [shards]\nrun: {executor: serial}\n"
    )
    return folder


def typed(command, monkeypatch):
    """Run a line of a shell; the command is this package's."""
    run = f'{shlex.quote(sys.executable)} -c "from corpusmill.cli import main; main()" '
    line = re.sub(r"^corpusmill ", run, command)
    line = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", line)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


PRINTED = {
    "check": ["check", "my recipe.yaml"],
    "a run that keeps nothing": ["run", "my recipe.yaml"],
    "a run": ["run", "my recipe.yaml", "--set", "keep_where.condition=bytes > 10", "--folder", "runs/all of it's"],
    "bad records": ["run", "my recipe.yaml", "--set", "read.jsonl.paths=bad data.jsonl", "--folder", "runs/too bad"],
    "no run": ["peek", "runs"],
    "audit": ["audit", "runs/all of it's"],
    "what-if": ["what-if", "runs/my recipe", "--set", "keep_where.condition=bytes > 10"],
    "prepared": ["work", "my recipe.yaml", "--folder", "runs/for work", "--prepare"],
    "new": ["new", "minimal", "my own.yaml", "--input", "my data.jsonl"],
}


def test_each_command_that_is_printed_can_be_typed(place, corpusmill, monkeypatch):
    tried = {}
    for about, words in PRINTED.items():
        status, out, err = corpusmill(*words)
        assert status in (0, 1, 2), err
        tried[about] = [line for line in commands(f"{out}\n{err}") if not re.search(r"[A-Z]{3}|…", line)]
    lines = list(dict.fromkeys(line for group in tried.values() for line in group if " warm" not in line))
    assert len(lines) >= 6 and any(line.startswith("python -c") for line in lines), tried
    for line in lines:
        done = typed(line, monkeypatch)
        assert done.returncode == 0 or line.startswith("corpusmill audit"), (line, done.stderr)
        assert "Traceback" not in done.stderr


def test_verbs_that_are_named_exist():
    """In messages and in help: a verb that was renamed is renamed there."""
    named = {
        match[1]
        for path in PACKAGE.rglob("*.py")
        for match in re.finditer(r"[`:] ?corpusmill ([a-z][a-z-]+)[ `]", path.read_text("utf-8"))
    }
    assert named <= {*VERB_MODULES}, named - {*VERB_MODULES}
