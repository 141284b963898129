"""Units on a Ray cluster: two nodes of one processor on this machine, which grow, shrink and die."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_executors import KEYS, carry_out, squares, task, unit
from test_set_aside import given, letters, recipe
from works import Plan, Square

import corpusmill as mill
from corpusmill.errors import AssetError, ClusterError, MissingExtraError, RecipeError
from corpusmill.execute import versions
from corpusmill.execute.ray import Ray
from corpusmill.execute.ray_cluster import connected
from corpusmill.progress.lines import ProgressLines
from corpusmill.recipe.parts import RunSettings

pytest.importorskip("ray")

__all__ = ["given"]


@pytest.fixture(scope="module")
def connection(cluster):
    """This process as a driver, for all tests: executors take a connection that is there."""
    with connected(cluster.address, 1):
        yield cluster


@pytest.fixture
def executor(connection):
    with closing(Ray(connection.address)) as made:
        yield made


def test_a_cluster_that_does_not_answer_is_named_at_once():
    """First: once this process is a driver, it is one of that cluster."""
    with pytest.raises(
        ClusterError, match=r"no Ray cluster answers at 127\.0\.0\.1:1 .* On its head: ray start --head"
    ):
        Ray("127.0.0.1:1")


def test_units_are_committed_and_tried_again_as_elsewhere(executor, tmp_path):
    pulses: list[Any] = []
    executor.on_pulse = pulses.append
    work = Square(dies=(1,), stumbles=(4,), raises=(3,), seconds=0.1)
    failures, committed, collected = carry_out(executor, tmp_path, work)
    assert [(f.unit, f.error) for f in failures] == [(unit(3), "ValueError: 3 is cursed")]
    assert "raise ValueError" in failures[0].traceback
    assert committed == [key for key in KEYS if key != unit(3).key]
    assert {pulse.workers for pulse in pulses} == {2}
    assert any(pulse.at_work for pulse in pulses)
    assert collected.facts["sum"] == 25
    assert not list(tmp_path.glob(".writing-probe-*-*"))


def test_a_unit_that_is_given_back_costs_no_attempt(connection, tmp_path):
    with closing(Ray(connection.address, attempts=1)) as executor:
        failures, committed, collected = carry_out(executor, tmp_path, Square(leaves=(2,)))
    assert not failures and committed == KEYS
    assert squares(tmp_path, collected)[2] == 4
    assert not list(tmp_path.glob(".writing-*"))


def test_checks_are_called_on_a_node(executor, tmp_path):
    executor.check([Plan("kills", os.getpid()).check])  # the worker died of it, and here it passes
    with pytest.raises(AssetError, match="no such model"):
        executor.check([Plan("passes", 0).check, Plan("fails", 0).check])


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (None, "needs run.address: without one, Ray joins any cluster"),
        ("auto", 'joins any cluster .* that is "\\${RAY_ADDRESS}"'),
        ("ray://10.0.0.1:10001", "is one of Ray Client"),
        ("10.0.0.1", "10.0.0.1 is not a host and port"),
    ],
)
def test_an_address_leaves_no_doubt(address, message):
    with pytest.raises(RecipeError, match=message):
        RunSettings(executor="ray", address=address)


def test_an_address_is_for_a_cluster():
    with pytest.raises(RecipeError, match="address names a Ray cluster, and executor is processes"):
        RunSettings(address="10.0.0.1:6379")


def test_without_the_library_it_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'corpusmill\[ray\]'"):
        Ray("local")


def test_another_cluster_than_the_one_this_process_is_in_is_refused(connection):
    with pytest.raises(ClusterError, match=r"is connected to the Ray cluster at .* already, not to 10\.0\.0\.1:6379"):
        Ray("10.0.0.1:6379")


def test_a_node_of_other_versions_is_refused_with_both(connection, tmp_path, monkeypatch):
    """The workers have the versions that are installed; this driver says that it has others."""
    here = {**versions.installed_versions(), "numpy": "0.1", "odd": "7"}
    monkeypatch.setattr(versions, "installed_versions", lambda: here)
    with closing(Ray(connection.address)) as executor:
        with pytest.raises(ClusterError, match=r"it has numpy \d[.\d]+ \(the driver has 0.1\), odd not installed"):
            carry_out(executor, tmp_path, Square())
        with pytest.raises(ClusterError, match="numpy"):
            executor.check([Plan("passes", 0).check])
    assert not list(tmp_path.glob("tried-*"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs a place that no other process sees")
def test_a_node_that_does_not_see_the_place_is_found_before_anything_runs(executor, tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(ClusterError, match=r"it does not see the run folder /proc/self/fd/.* as the driver does"):
            carry_out(executor, Path(f"/proc/self/fd/{folder}/run"), Square())
    finally:
        os.close(folder)
    assert not list((tmp_path / "run").glob("tried-*"))


def test_a_document_that_ends_its_worker_is_set_aside(connection, tmp_path, given):
    positions = given({3: "segfault"})
    with closing(Ray(connection.address, preload=("corpusmill.engine.preload",))) as executor:
        run = mill.run(recipe(tmp_path, ["killers:Kills"]), folder=tmp_path / "run", executor=executor, progress=False)
    found = letters(tmp_path / "run")
    assert [row["position"] for row in found] == positions
    assert "exit status -11 (SIGSEGV" in found[0]["reason"]
    assert run.waterfall.documents_out == 39


def test_units_that_no_node_can_run_wait_for_one_that_can(connection, tmp_path, given):
    given({})
    nodes = []

    def shown(line):
        if "Waiting" in line:
            assert "no unit can run: the cluster has no node with a GPU" in line
            nodes.append(connection.add(gpus=1))

    with closing(Ray(connection.address)) as executor:
        path = recipe(tmp_path, ["killers:OnGpu"])
        run = mill.run(path, folder=tmp_path / "run", executor=executor, listener=ProgressLines(shown))
    connection.remove(*nodes)
    assert run.waterfall.documents_out == 40


def test_a_cluster_without_a_processor_is_named_and_waited_for(tmp_path, given):
    given({})
    script = Path(__file__).parent / "without_nodes.py"
    environment = {**os.environ, "PYTHONPATH": str(script.parent.parent)}
    command = [sys.executable, str(script), str(recipe(tmp_path, ["clean/normalize"])), str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("no unit can run: the cluster has no node with a processor. Waiting for one") == 1
    assert "40 documents" in done.stdout


def test_a_cluster_that_changes_while_it_works(connection, tmp_path):
    """One node joins, and is probed; one is told to go, one dies. Every unit is committed once."""
    nodes = [connection.add(wait=False), connection.add()]
    seen = []

    with closing(Ray(connection.address)) as executor:

        def on_commit(commit):
            seen.append(commit.key)
            if len(seen) == 2:
                connection.signal(nodes[0], signal.SIGTERM)
            if len(seen) == 6:
                connection.signal(nodes[1], signal.SIGKILL)

        units = [unit(value) for value in range(1, 17)]
        failures = executor.run(task(tmp_path, Square(seconds=0.2)), units, on_commit)
    assert not failures
    assert sorted(seen) == [made.key for made in units]
