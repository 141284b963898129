"""One model, trained from nothing on one arm through the loader, and its loss on what no arm holds.

Every arm has the same model, the same number of steps and of tokens: with an accelerator four times those of the
smallest arm, because up to four passes are worth nearly as much as new text (Muennighoff et al. 2023, arXiv:2305.16264,
section 5); an arm with more text sees less of it twice. On a CPU a fifth of one pass. The learning rate rises over a
twentieth of the steps and falls as a cosine to a tenth.
"""

import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from corpusmill.loader import TokenLoader
from corpusmill.loader.masks import to_torch
from corpusmill.train.gpt import GPT, Shape, best_device, losses

FIELDS = ("tokens", "targets", "position_ids")
SEEDS = (1, 2, 3)
HELD_OUT_ROWS = 4  # at a time: what is left at the end of a set is not judged
RISE, LOWEST = 0.05, 0.1  # of the steps; of the learning rate


@dataclass(frozen=True)
class Size:
    """A model and how it is trained. passes: over the smallest arm."""

    width: int
    layers: int
    heads: int
    length: int  # tokens in a row
    rows: int  # in a step
    rate: float
    passes: float


SIZES = {
    "small": Size(width=128, layers=3, heads=4, length=256, rows=16, rate=3e-3, passes=0.2),
    "large": Size(width=512, layers=8, heads=8, length=512, rows=32, rate=1e-3, passes=4),
}


def train_all(folder: Path, name: str) -> None:
    """Train every arm of a folder that `arms.prepare` wrote from every seed, and append a line of JSON for each to
    FOLDER/results-NAME.jsonl. What is in that file is not trained again."""
    size = SIZES[name]
    described = json.loads((folder / "arms.json").read_text())
    budget = int(size.passes * min(arm["tokens"] for arm in described["arms"].values()))
    steps = budget // (size.rows * size.length)
    results = folder / f"results-{name}.jsonl"
    done = {(one["arm"], one["seed"]) for one in _lines(results)}
    for seed in SEEDS:
        for arm, about in described["arms"].items():
            if (arm, seed) in done:
                continue
            started = time.perf_counter()
            model = train(folder / about["folder"], size, steps, seed)
            found = {
                held: held_out_loss(model, folder / of["folder"], size) for held, of in described["held_out"].items()
            }
            line = {
                "arm": arm,
                "seed": seed,
                "loss": found,
                "steps": steps,
                "tokens": steps * size.rows * size.length,
                "parameters": sum(weight.numel() for weight in model.parameters()),
                "seconds": round(time.perf_counter() - started, 1),
                "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
            }
            with results.open("a") as out:
                out.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)


def train(shards: Path, size: Size, steps: int, seed: int) -> GPT:
    device = best_device()
    torch.manual_seed(seed)
    loader = TokenLoader(shards, size.length, size.rows, seed, fields=FIELDS)
    vocabulary = loader.shards[0].index.vocabulary
    shape = Shape(vocabulary=vocabulary, length=size.length, width=size.width, layers=size.layers, heads=size.heads)
    model: GPT = GPT(shape).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), size.rate, betas=(0.9, 0.95), weight_decay=0.1)
    for step, batch in zip(range(steps), loader):
        for group in optimiser.param_groups:
            group["lr"] = size.rate * schedule(step / steps)
        tensors = to_torch(batch, device)
        with _precision(device):
            logits = model(tensors["tokens"], tensors["position_ids"])
        loss = losses(logits.float(), tensors["targets"]).sum() / (tensors["targets"] >= 0).sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model


def schedule(done: float) -> float:
    """The share of the learning rate after this share of the steps."""
    if done < RISE:
        return (done + 1e-3) / RISE
    return LOWEST + (1 - LOWEST) * 0.5 * (1 + math.cos(math.pi * (done - RISE) / (1 - RISE)))


@torch.no_grad()  # type: ignore[untyped-decorator]
def held_out_loss(model: GPT, shards: Path, size: Size) -> dict[str, float]:
    """nats: summed over the tokens; tokens: that had a target."""
    device = next(model.parameters()).device
    loader = TokenLoader(shards, size.length, HELD_OUT_ROWS, epochs=1, shuffle=False, fields=FIELDS)
    nats, tokens = 0.0, 0
    for batch in loader:
        tensors = to_torch(batch, device)
        with _precision(device):
            logits = model(tensors["tokens"], tensors["position_ids"])
        nats += float(losses(logits.float(), tensors["targets"]).sum())
        tokens += int((tensors["targets"] >= 0).sum())
    return {"nats": nats, "tokens": tokens}


def _precision(device: Any) -> Any:
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
