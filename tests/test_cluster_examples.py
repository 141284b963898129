"""The files of examples/cluster, as far as they can be tried without a cluster."""

import ast
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from corpusmill.cli.app import app
from corpusmill.recipe.model import Recipe

FOLDER = Path(__file__).parent.parent / "examples" / "cluster"
BASH = pytest.mark.skipif(not shutil.which("bash"), reason="no bash")


def options():
    """All options of `corpusmill work`."""
    verbs: Any = typer.main.get_command(app())
    command = verbs.commands["work"]
    return {name for parameter in command.params for name in parameter.opts}


def test_they_use_options_that_there_are():
    for path in FOLDER.iterdir():
        said = re.findall(r"--(?:folder|index|of|workers|processes|lease|prepare|set)\b", path.read_text())
        assert said and set(said) <= options(), path


@BASH
@pytest.mark.parametrize(("status", "requeued"), [(0, False), (75, True), (1, False)])
def test_the_script_for_slurm_requeues_a_worker_that_was_asked_to_end(tmp_path, status, requeued):
    """With commands in place of `corpusmill` and `scontrol` that write down what they are given."""
    for name, code in (("corpusmill", status), ("scontrol", 0)):
        (tmp_path / name).write_text(f'#!/bin/bash\necho "{name} $*" >> {tmp_path}/said\nexit {code}\n')
        (tmp_path / name).chmod(0o755)
    numbers = {
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_ARRAY_TASK_MIN": "1",
        "SLURM_ARRAY_TASK_COUNT": "4",
        "SLURM_ARRAY_JOB_ID": "7",
    }
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), **numbers}
    done = subprocess.run(["bash", FOLDER / "slurm.sh", "web.yaml", "runs/web"], env=environment, check=False)
    said = (tmp_path / "said").read_text().splitlines()
    assert done.returncode == status
    assert said[0] == "corpusmill work web.yaml --folder runs/web --index 2 --of 4"
    assert said[1:] == (["scontrol requeue 7_3"] if requeued else [])


@BASH
@pytest.mark.parametrize("at_once", [False, True])
def test_the_script_for_slurm_passes_the_signal_on(tmp_path, at_once):
    if at_once:  # the worker has ended before the script is done with the signal
        worker = "trap '' TERM\nsleep 0.1\nkill -TERM $PPID\nexit 75\n"
    else:
        worker = f"trap 'exit 75' TERM\ntouch {tmp_path}/ready\nwhile :; do sleep 0.05; done\n"
    (tmp_path / "corpusmill").write_text(f"#!/bin/bash\n{worker}")
    (tmp_path / "scontrol").write_text(f"#!/bin/bash\ntouch {tmp_path}/requeued\n")
    for name in ("corpusmill", "scontrol"):
        (tmp_path / name).chmod(0o755)
    numbers = {
        "SLURM_ARRAY_TASK_ID": "0",
        "SLURM_ARRAY_TASK_MIN": "0",
        "SLURM_ARRAY_TASK_COUNT": "1",
        "SLURM_ARRAY_JOB_ID": "7",
    }
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), **numbers}
    script = subprocess.Popen(["bash", FOLDER / "slurm.sh", "web.yaml", "runs/web"], env=environment)
    if not at_once:
        while not (tmp_path / "ready").exists():
            assert script.poll() is None
        script.terminate()
    assert script.wait(30) == 75 and (tmp_path / "requeued").exists()


def test_the_manifest_for_kubernetes_is_an_indexed_job_of_a_recipe_that_is_right():
    config, job = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
    assert Recipe.parse(config["data"]["web.yaml"]).steps
    spec, (container,) = job["spec"], job["spec"]["template"]["spec"]["containers"]
    assert spec["completionMode"] == "Indexed" and f"--of {spec['completions']}" in container["args"][0]
    rules = {tuple(rule["onExitCodes"]["values"]): rule["action"] for rule in spec["podFailurePolicy"]["rules"][1:]}
    assert rules == {(75,): "Ignore", (2,): "FailJob"}
    assert spec["template"]["spec"]["restartPolicy"] == "Never"  # what a podFailurePolicy asks for
    names = {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == names


def test_the_app_for_modal_is_python():
    ast.parse((FOLDER / "modal_workers.py").read_text())
