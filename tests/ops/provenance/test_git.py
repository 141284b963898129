"""What is said of the repository that a file is in."""

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
