"""What is said of the repository that a file is in."""

import os
import shutil
import subprocess

import pytest

from corpusmill.hidden import Hidden
from corpusmill.ops.provenance import git
from corpusmill.ops.provenance.git import git_state

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe in a repository with one commit."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "repo" / "recipes"
    folder.mkdir(parents=True)
    path = folder / "web.yaml"
    path.write_text("read: x\n")
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "init", "-q", folder.parent], check=True)
    for words in (["add", "."], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", "https://me:secret@host/r.git"], check=True)
    return path


def test_commit_remote_and_changes(recipe):
    state = git_state(recipe, Hidden([], {}))
    assert len(state.pop("commit")) == 40
    assert state == {"dirty": False, "tracked": True, "path": "recipes/web.yaml", "remote": "https://***@host/r.git"}
    recipe.write_text("read: y\n")
    assert git_state(recipe)["dirty"]
    other = recipe.with_name("other.yaml")
    other.write_text("")
    state = git_state(other)
    assert (state["tracked"], state["dirty"], state["path"]) == (False, True, "recipes/other.yaml")


def test_nothing_is_said_where_there_is_nothing_to_say(recipe, tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("")
    assert git_state(tmp_path / "missing.yaml") is None and git_state("<string>") is None
    assert git_state(tmp_path / "a.yaml") is None
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert git_state(tmp_path / "a.yaml") is None
    monkeypatch.setattr(git, "GIT_SECONDS", 0.0)
    assert git_state(recipe) is None
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(recipe) is None


def run_git(folder, *words):
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def trap(folder, kind, marker):
    """Make a repository whose own configuration names a command, which makes a file."""
    command = f"touch {marker}; cat"
    if kind == "filter":
        run_git(folder, "config", "filter.a.clean", command)
        run_git(folder, "config", "filter.b.process", command)
        (folder / ".git" / "info" / "attributes").write_text("*.yaml filter=a\n*.txt filter=b\n")
        (folder / "a.txt").write_text("b\n")
        (folder / "recipes" / "web.yaml").write_text("read: y\n")
    elif kind == "filter with =":
        run_git(folder, "config", "filter.a=b.clean", command)
        (folder / ".git" / "info" / "attributes").write_text("*.yaml filter=a=b\n")
        (folder / "recipes" / "web.yaml").write_text("read: y\n")
    elif kind == "fsmonitor":
        run_git(folder, "config", "core.fsmonitor", command)
    elif kind == "hook":
        for name in ("post-index-change", "pre-commit", "post-checkout"):
            (folder / ".git" / "hooks").mkdir(exist_ok=True)
            path = folder / ".git" / "hooks" / name
            path.write_text(f"#!/bin/sh\ntouch {marker}\n")
            path.chmod(0o755)
        run_git(folder, "config", "core.hooksPath", str(folder / ".git" / "hooks"))
        (folder / "recipes" / "web.yaml").touch()
    else:  # what is missing is fetched by a command that the repository names
        for name, value in (("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"),
                            ("remote.origin.promisor", "true"), ("remote.origin.url", str(folder)),
                            ("protocol.allow", "always"), ("protocol.file.allow", "always"),
                            ("remote.origin.uploadpack", command)):  # fmt: skip
            run_git(folder, "config", name, value)
        for path in (folder / ".git" / "objects").rglob("*"):
            if path.is_file():
                path.rename(path.with_name(f"{path.name}.gone")) if not keeps(folder, path) else None


def keeps(folder, path):
    """Whether an object is the commit itself."""
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    return f"{path.parent.name}{path.name}" == head.strip()


@pytest.mark.parametrize("kind", ["filter", "filter with =", "fsmonitor", "hook", "fetch"])
def test_no_command_that_a_repository_names_is_run(recipe, tmp_path, kind):
    folder, marker = recipe.parent.parent, tmp_path / "marker"
    (folder / "a.txt").write_text("a\n")
    run_git(folder, "add", ".")
    run_git(
        folder, "-c", "user.name=n", "-c", "user.email=e@x.org", "-c", "commit.gpgsign=false", "commit", "-qm", "two"
    )
    trap(folder, kind, marker)
    marker.unlink(missing_ok=True)
    state = git_state(recipe)
    assert not marker.exists()
    assert state is not None and state["tracked"]
    assert state["dirty"] is (False if kind in ("fsmonitor", "hook") else None)
    subprocess.run(["git", "-C", folder, "status"], check=False, capture_output=True)
    assert marker.exists()  # git itself would have run it


def test_a_bare_repository_among_the_files_is_not_asked(recipe):
    bare = recipe.parent / "bare"
    subprocess.run(["git", "clone", "-q", "--bare", str(recipe.parent.parent), str(bare)], check=True)
    (bare / "web.yaml").write_text("read: x\n")
    assert git_state(bare / "web.yaml") is None


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="another owner takes root")
def test_a_repository_of_another_user_is_not_asked(recipe, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    os.chown(recipe.parent.parent, 65534, 65534)
    os.chown(recipe.parent.parent / ".git", 65534, 65534)
    assert git_state(recipe) is None
