"""No token attends across documents, and what a model says of packed documents is what it says of each alone.

A real model, with each way of keeping documents apart that the loader gives the means for.
"""

from itertools import pairwise

import numpy as np
import pytest

from corpusmill.loader import TokenLoader
from corpusmill.loader.masks import block_mask, flex_mask, longest, to_torch
from corpusmill.loader.rows import ShardRows
from corpusmill.models.tokenizer import load
from corpusmill.shards import open_shards
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder

torch = pytest.importorskip("torch", reason="torch is not installed: make torch runs these tests")
torch.set_num_threads(1)  # the models are so small that threads wait for each other most of the time

from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from corpusmill.train.gpt import GPT, Shape, losses, within_documents

IDS, EOS, LENGTH = 60, 50_256, 32


def by_position_ids(batch):
    return within_documents(batch["position_ids"])


def by_block_mask(batch):
    mask = torch.from_numpy(block_mask(batch["position_ids"].numpy()))[:, None]
    return lambda q, k, v: scaled_dot_product_attention(q, k, v, attn_mask=mask)


def by_cu_seqlens(batch):
    """What FlashAttention's varlen functions do: all rows put end to end, each piece by itself and causal."""
    edges = batch["cu_seqlens"].tolist()
    assert max(b - a for a, b in pairwise(edges)) == longest(batch["cu_seqlens"].numpy())

    def attend(q, k, v):
        rows, heads, length, width = q.shape
        q, k, v = (x.transpose(0, 1).reshape(heads, rows * length, width) for x in (q, k, v))
        parts = [
            scaled_dot_product_attention(q[:, a:b], k[:, a:b], v[:, a:b], is_causal=True) for a, b in pairwise(edges)
        ]
        return torch.cat(parts, 1).reshape(heads, rows, length, width).transpose(0, 1)

    return attend


def by_flex_attention(batch):
    rows, length = batch["tokens"].shape
    mask = create_block_mask(flex_mask(batch["position_ids"]), rows, None, length, length, device="cpu", BLOCK_SIZE=16)
    return lambda q, k, v: flex_attention(q, k, v, block_mask=mask)


WAYS = [by_position_ids, by_block_mask, by_cu_seqlens, by_flex_attention]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    made = GPT(Shape(vocabulary=IDS + 1, length=LENGTH, width=32, layers=2, heads=2))
    with torch.no_grad():
        for weight in made.parameters():  # far from zero, so that what is attended to matters
            weight.add_(0.2 * torch.randn_like(weight))
    return made.double()


def shards_of(folder, method):
    """Documents of up to 70 tokens, in rows of 32: longer ones go on in other rows."""
    random = np.random.default_rng(3)
    lengths = random.integers(1, 30, 40)
    lengths[::9] = 70
    ids = random.integers(0, IDS, lengths.sum()).astype(np.uint16)
    units = [UnitTokens(ids, lengths)]
    write_folder(folder, plan_shards([lengths], method, LENGTH, 5 * LENGTH), units, load("gpt2"))
    return folder


@pytest.fixture(scope="module", params=["concat", "best_fit"])
def folder(request, tmp_path_factory):
    return shards_of(tmp_path_factory.mktemp("shards"), request.param)


def all_rows(folder):
    rows = ShardRows(open_shards(folder))
    batch = to_torch(rows.read(np.arange(len(rows))))
    batch["tokens"] = batch["tokens"].clamp(max=IDS)  # padding is EOS, far above the model's vocabulary
    return batch


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("way", WAYS)
def test_a_packed_document_has_the_logits_that_it_has_alone(way, folder, model):
    batch = all_rows(folder)
    attend = way(batch)
    with torch.no_grad():
        packed = model(batch["tokens"], batch["position_ids"], attend).reshape(-1, IDS + 1)
        flat = batch["tokens"].reshape(-1)
        edges = batch["cu_seqlens"].tolist()
        assert len(edges) > 50
        for a, b in pairwise(edges):
            alone = model(flat[None, a:b], torch.arange(b - a)[None], causal)[0]
            torch.testing.assert_close(packed[a:b], alone, atol=1e-5, rtol=1e-5)


def causal(q, k, v):
    return scaled_dot_product_attention(q, k, v, is_causal=True)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("way", WAYS)
def test_changing_a_document_changes_no_other(way, folder, model):
    batch = all_rows(folder)
    attend = way(batch)
    edges = batch["cu_seqlens"].tolist()
    changed = batch["tokens"].clone().reshape(-1)
    other = torch.zeros(len(changed), dtype=torch.bool)
    for a, b in list(pairwise(edges))[::2]:
        other[a:b] = True
    changed[other] = (changed[other] + 7) % IDS
    with torch.no_grad():
        before, after = (
            model(tokens.reshape(batch["tokens"].shape), batch["position_ids"], attend).reshape(-1, IDS + 1)
            for tokens in (batch["tokens"], changed)
        )
    torch.testing.assert_close(before[~other], after[~other], atol=1e-12, rtol=0)
    assert (before[other] - after[other]).abs().amax(1).min() > 1e-3


def test_without_a_mask_documents_would_see_each_other(folder, model):
    """So the tests above can fail: the same model, attending to all that stands before in the row."""
    batch = all_rows(folder)
    with torch.no_grad():
        apart = model(batch["tokens"], batch["position_ids"])
        leaking = model(batch["tokens"], batch["position_ids"], causal)
    assert (apart - leaking).abs().max() > 1e-2


def test_the_loss_of_a_document_sends_no_gradient_to_another(folder, model):
    batch = all_rows(folder)
    heard = []

    def listening(q, k, v):
        v.retain_grad()
        heard.append(v)
        return within_documents(batch["position_ids"])(q, k, v)

    each = losses(model(batch["tokens"], batch["position_ids"], listening), batch["targets"]).reshape(-1)
    edges = batch["cu_seqlens"].tolist()
    mine = max(pairwise(edges), key=lambda edge: edge[1] - edge[0])
    each[slice(*mine)].sum().backward()
    for v in heard:
        gradients = v.grad.transpose(1, 2).reshape(batch["tokens"].numel(), -1).abs().sum(1)
        inside = torch.zeros(len(gradients), dtype=torch.bool)
        inside[slice(*mine)] = True
        assert (gradients[~inside] == 0).all() and (gradients[inside] > 0).any()


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("taken", [0, 5])
def test_a_dataloader_gives_the_loaders_batches_in_its_order_and_goes_on(workers, taken, folder):
    from torch.utils.data import DataLoader

    from corpusmill.loader.torch import TokenDataset

    wanted = list(TokenLoader(folder, batch_size=2, seed=7, epochs=1))
    begun = TokenDataset(TokenLoader(folder, batch_size=2, seed=7, epochs=1))
    loader = TokenLoader(folder, batch_size=2, seed=7, epochs=1)
    loader.load_state_dict(begun.state(taken))
    batches = list(DataLoader(TokenDataset(loader), batch_size=None, num_workers=workers))
    assert len(batches) == len(wanted) - taken > 2
    for mine, batch in zip(batches, wanted[taken:], strict=True):
        assert {name: tensor.tolist() for name, tensor in mine.items()} == {n: a.tolist() for n, a in batch.items()}
        assert mine["tokens"].dtype == torch.int64 and mine["cu_seqlens"].dtype == torch.int32
