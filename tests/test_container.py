"""The image copies what is there, and what it copies is sent to the engine. Nothing here builds it."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


def copied() -> list[str]:
    lines = re.findall(r"^COPY (.+) \./?\S*$", DOCKERFILE, re.MULTILINE)
    return [name.removeprefix("./") for line in lines for name in line.split()]


def test_all_that_is_copied_is_there_and_sent():
    sent = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in sent
    for name in copied():
        assert (ROOT / name).exists() and f"!{name}" in sent, name
    readme = re.search(r'^readme = "(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert readme and {readme[1], "pyproject.toml", "constraints.txt", "LICENSE", "NOTICE"} <= set(copied())


def test_it_runs_the_demo_as_a_user_without_rights():
    command = re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert command and yaml.safe_load(command[1]) == ["demo"]
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE) == ["1000"]
    service = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["demo"]
    folder = service["volumes"][0].split(":")[1]
    assert f"VOLUME {folder}\n" in DOCKERFILE
