"""Train a tiny GPT on the shards of a run, with its documents kept apart, and go on after an interruption.

    pip install 'corpusmill[torch]'
    corpusmill demo
    python examples/train_tiny.py runs/demo/output/shards --steps 80 --out tiny.pt

prints the loss as it falls, from 10.7 to 7.2; on two cores of a CPU that takes about a minute. The checkpoint holds the
model, the optimiser and the state of the loader, which is one number. Kill it, and the same command goes on from the
last checkpoint with the very batches that would have come. Afterwards,

    corpusmill trace runs/demo --step 50 --batch 2 --seq-len 128 --seed 1

says which documents the model saw in step 50. To compare two corpora, as filtered with unfiltered text, train on each
with the same tokenizer, and judge both on the same shards of text that is in neither:

    python examples/train_tiny.py runs/filtered/output/shards --out filtered.pt --held-out runs/books/output/shards
    python examples/train_tiny.py runs/unfiltered/output/shards --out unfiltered.pt --held-out runs/books/output/shards
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch

from corpusmill.loader import TokenLoader
from corpusmill.loader.masks import to_torch
from corpusmill.train.gpt import GPT, Shape, best_device, losses

FIELDS = ("tokens", "targets", "position_ids")
WARM_UP = 20  # steps over which the learning rate rises


def main(arguments: list[str] | None = None) -> list[float]:
    """The loss of each step that was done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shards", type=Path, help="a folder of training shards")
    parser.add_argument("--out", type=Path, required=True, help="the checkpoint; if it is there, training goes on")
    parser.add_argument("--held-out", type=Path, help="other shards of the same tokenizer: the loss on them at the end")
    parser.add_argument("--held-out-batches", type=int, default=50, help="at most so many batches of them")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    device = best_device()
    torch.manual_seed(options.seed)
    loader = TokenLoader(options.shards, options.seq_len, options.batch, options.seed, fields=FIELDS)
    index = loader.shards[0].index
    shape = Shape(
        vocabulary=index.vocabulary, length=options.seq_len, width=options.width, layers=options.layers, heads=4
    )
    model = GPT(shape).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), options.lr, betas=(0.9, 0.95), weight_decay=0.1)
    parameters = sum(weight.numel() for weight in model.parameters())
    print(f"{index.tokens:,} tokens, {parameters:,} parameters, on {device}")

    step = 0
    if options.out.exists():
        step = resume(options.out, model, optimiser, loader)
        print(f"going on after {step} steps")

    history: list[float] = []
    start = time.perf_counter()
    batches = iter(loader)
    while step < options.steps:
        batch = to_torch(next(batches), device)
        for group in optimiser.param_groups:
            group["lr"] = options.lr * min(1.0, (step + 1) / WARM_UP)
        loss = learn(model, optimiser, batch)
        history.append(loss)
        step += 1
        if step % 10 == 0 or step == options.steps:
            recent = history[-10:]
            print(
                f"step {step:>5}  loss {sum(recent) / len(recent):.3f}  {time.perf_counter() - start:.0f} s", flush=True
            )
        if step % options.save_every == 0 or step == options.steps:
            save(options.out, step, model, optimiser, loader)
    if options.held_out:
        others = TokenLoader(
            options.held_out, options.seq_len, options.batch, epochs=1, drop_last=False, shuffle=False, fields=FIELDS
        )
        if others.shards[0].index.vocabulary != index.vocabulary:
            raise SystemExit(f"{options.held_out}: another tokenizer, so the losses could not be compared")
        loss, tokens = held_out_loss(model, others, options.held_out_batches)
        print(f"held out: loss {loss:.3f} nats per token, over {tokens:,} tokens")
    return history


def held_out_loss(model: GPT, loader: TokenLoader, batches: int) -> tuple[float, int]:
    """Nats per token, and the number of tokens."""
    total, tokens = 0.0, 0
    for batch, _ in zip(loader, range(batches)):
        tensors = to_torch(batch, next(model.parameters()).device)
        with torch.no_grad():
            total += float(losses(model(tensors["tokens"], tensors["position_ids"]), tensors["targets"]).sum())
        tokens += int((tensors["targets"] >= 0).sum())
    return total / max(tokens, 1), tokens


def learn(model: GPT, optimiser: torch.optim.Optimizer, batch: dict[str, torch.Tensor]) -> float:
    """One step: the mean loss of the tokens that have a target. Attention stays within documents (see GPT)."""
    each = losses(model(batch["tokens"], batch["position_ids"]), batch["targets"])
    loss = each.sum() / (batch["targets"] >= 0).sum()
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return float(loss.detach())


def save(path: Path, step: int, model: GPT, optimiser: torch.optim.Optimizer, loader: TokenLoader) -> None:
    """Under another name first: a kill while writing leaves the checkpoint before."""
    state = {
        "step": step,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "loader": loader.state_dict(),
    }
    new = path.with_name(path.name + ".new")
    torch.save(state, new)
    new.replace(path)


def resume(path: Path, model: GPT, optimiser: torch.optim.Optimizer, loader: TokenLoader) -> int:
    state: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    loader.load_state_dict(state["loader"])
    return int(state["step"])


if __name__ == "__main__":
    main()
