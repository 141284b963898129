"""The example trains, and an interruption does not change what it does."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make torch runs these tests")
torch.set_num_threads(1)  # the models are so small that threads wait for each other most of the time

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_tiny.py"
SMALL = "--batch 2 --seq-len 16 --width 16 --layers 1 --lr 2e-2 --save-every 3".split()


@pytest.fixture(scope="module")
def train():
    spec = importlib.util.spec_from_file_location("train_tiny", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def test_an_interrupted_training_ends_where_an_unbroken_one_does(train, two_sources, tmp_path):
    shards = str(two_sources / "output" / "shards")
    whole = train([shards, *SMALL, "--out", str(tmp_path / "whole.pt"), "--steps", "8"])
    parts = []
    for steps in ("3", "4", "8"):
        parts += train([shards, *SMALL, "--out", str(tmp_path / "parts.pt"), "--steps", steps])
    assert parts == whole and len(whole) == 8
    one, other = (torch.load(tmp_path / name, weights_only=True) for name in ("whole.pt", "parts.pt"))
    assert one["loader"] == other["loader"] and one["loader"]["samples"] == 16
    for name, weight in one["model"].items():
        assert torch.equal(weight, other["model"][name]), name


def test_the_loss_falls(train, two_sources, tmp_path):
    shards = str(two_sources / "output" / "shards")
    history = train([shards, *SMALL, "--out", str(tmp_path / "tiny.pt"), "--steps", "40"])
    assert sum(history[-5:]) / 5 < sum(history[:5]) / 5 - 2


def test_a_trained_model_is_better_on_held_out_text_than_an_untrained_one(train, two_sources, tmp_path, capsys):
    shards = str(two_sources / "output" / "shards")
    held_out = []
    for steps in ("1", "40"):
        train([shards, *SMALL, "--out", str(tmp_path / f"{steps}.pt"), "--steps", steps, "--held-out", shards])
        held_out.append(float(capsys.readouterr().out.rpartition("held out: loss ")[2].split()[0]))
    assert held_out[1] < held_out[0] - 1
