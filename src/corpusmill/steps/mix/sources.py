import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.keys import Keys, KeyStage
from corpusmill.steps.mix._draw import (
    COPIES,
    Measure,
    check_draw,
    code,
    draw_keys,
    draw_stages,
    missing_tokenizer,
    unknown_source,
)
from corpusmill.steps.mix._presets import preset
from corpusmill.store.work import Stage
from corpusmill.tokens.budget import amount
from corpusmill.tokens.mixing import Quota, by_temperature, largest_budget, normalised

EPOCHS = 4.0  # Muennighoff et al. 2023, arXiv:2305.16264: up to 4 epochs are nearly as good as new data


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Draw from each source its share of a budget of tokens: some documents not at all, some more than once.

    The weights are given in one of four ways, as shares of the tokens that training will see; they need not sum to 1.

    weights       source -> share; every source of the recipe must be named, 0 leaves one out
    epochs        source -> how often its documents come, 1 for the others: a mix, and documents of one's own four times
    temperature   shares in proportion to tokens ** (1 / temperature): 1 as they are, larger ones more equal
    preset        a published mix: llama, llama3, redpajama, falcon, dolma3; or as courses print it, unpublished by its
                  makers: llama2_taught, llama3_taught, redpajama_taught, falcon_taught. `preset_sources` says for each
                  of its sources which of the recipe's it is, or several, by their tokens; those left out do not count
    budget        tokens in all: 20000, "20B", "1.5T". If not given, as much as there is without a repeat, or as
                  `epochs` give
    max_epochs    how often a source may come at most: one number, or source -> number (4 for the others). A plan that
                  needs more is refused

    Tokens are those of the recipe's tokenizer, with EOS (and BOS). All documents of a source are drawn as often as all
    can be, whole; then each in turn once more if it still fits, in an order by hash of its id and `seed`. A larger
    budget draws the same documents and others.

    Training shards hold a document once for each time that it is drawn: first all, then all that are drawn twice, and
    so on. Text output has it once. Signal: `copies`.

    Source: temperature: Conneau et al. 2020, arXiv:1911.02116; epochs: Muennighoff et al. 2023, arXiv:2305.16264
    """

    verdict: ClassVar[pa.Schema] = COPIES
    default_signals: ClassVar[Mapping[str, Any]] = {"copies": 1}
    reads_text: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1
    key_parameters: ClassVar[tuple[str, ...]] = ("unit", "seed")
    needs: ClassVar[tuple[str, ...]] = ()

    weights: tuple[tuple[str, float], ...] | None = None
    epochs: tuple[tuple[str, float], ...] | None = None
    temperature: float | None = None
    preset: str | None = None
    preset_sources: tuple[tuple[str, str | tuple[str, ...]], ...] = ()  # the preset's source -> ours
    budget: float | str | None = None
    max_epochs: float | tuple[tuple[str, float], ...] = EPOCHS
    unit: Measure = "tokens"  # what shares and budget are counted in
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("weights", "epochs", "preset_sources", "max_epochs"):
            if isinstance(value := getattr(self, name), Mapping):
                object.__setattr__(self, name, tuple(value.items()))
        ways = [name for name in ("weights", "epochs", "temperature", "preset") if getattr(self, name) is not None]
        if len(ways) != 1:
            got = f"got {' and '.join(ways)}" if ways else "got none of them"
            raise RecipeError(f"give one of weights, epochs, temperature and preset; {got}")
        if bool(self.preset_sources) != (self.preset is not None):
            raise RecipeError(
                "preset_sources and preset need each other: preset names a published mix, and preset_sources maps "
                "its sources to yours, as in {preset: llama, preset_sources: {common_crawl: web}}"
            )
        if self.preset is not None:
            preset_weights = preset(self.preset)
            for name, _ in self.preset_sources:
                if name not in preset_weights:
                    hint = did_you_mean(name, preset_weights) or "."
                    raise RecipeError(
                        f'{self.preset} has no source "{name}"{hint} It has: {", ".join(preset_weights)}.'
                    )
        if self.weights is not None:
            wrong = [f"{source}: {weight}" for source, weight in self.weights if not 0 <= weight < math.inf]
            if wrong or not sum(weight for _, weight in self.weights):
                raise RecipeError(f"weights are 0 or more, and one at least is more; got {', '.join(wrong) or 'all 0'}")
        if wrong := [f"{source}: {times}" for source, times in self.epochs or () if not 0 <= times < math.inf]:
            raise RecipeError(f"epochs are 0 or more, got {', '.join(wrong)}")
        if self.temperature is not None and not self.temperature > 0:
            raise RecipeError(f"need temperature > 0, got {self.temperature}")
        limits = self.max_epochs if isinstance(self.max_epochs, tuple) else (("all", self.max_epochs),)
        if wrong := [f"{source}: {limit}" for source, limit in limits if not limit > 0]:
            raise RecipeError(f"max_epochs is above 0, got {', '.join(wrong)}")
        check_draw(self.unit, self.budget)

    def incompatibility(self, sources: tuple[str, ...], tokenizer: bool) -> str | None:
        """What keeps the step from work in a recipe that reads these sources, and what to do about it."""
        if problem := missing_tokenizer(self.unit, tokenizer):
            return problem
        limits = self.max_epochs if isinstance(self.max_epochs, tuple) else ()
        if unknown := unknown_source([*self._sources(), *(source for source, _ in limits)], sources):
            return unknown
        double = sorted({name for name in self._sources() if self._sources().count(name) > 1})
        if double:
            return f'names "{double[0]}" twice; every source has one place in a mix'
        missing = [name for name in sources if name not in self._sources()]
        if self.temperature is None and self.epochs is None and missing:
            advice = f"give it a weight, as in {{{missing[0]}: 0}} to leave it out"
            advice = advice if self.weights else f"map a source of {self.preset} to it in `preset_sources`"
            return f"has no weight for {', '.join(missing)}; {advice}"
        return None

    def for_sample(self, share: float) -> "Sources":
        """This mix of a sample of the input, for an estimate of what all of it takes."""
        budget = None if self.budget is None else max(amount(self.budget) * share, 1.0)
        return replace(self, budget=budget, max_epochs=math.inf)

    def _sources(self) -> list[str]:
        """The sources that the parameters name."""
        given = [source for source, _ in (*(self.weights or ()), *(self.epochs or ()))]
        return given + [source for _, ours in self.preset_sources for source in several(ours)]

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        codes = np.array([code(source) for source in docs["source"].to_pylist()], np.uint64)
        return draw_keys(docs, self.unit, self.seed, codes)

    def stages(self, keys: KeyStage) -> list[Stage]:
        return draw_stages(keys, self.unit, self.plan)

    def plan(self, totals: Mapping[str, Mapping[str, int]]) -> tuple[Quota, ...]:
        """What each source is to give.

        totals   source -> its `documents`, and their `size`: tokens, or what else is counted

        Raises RecipeError if a source would have to come more often than `max_epochs` allows.
        """
        available = {source: counts["size"] for source, counts in totals.items()}
        shares = self.shares(available)
        for source, share in shares.items():
            if share and not available[source]:
                raise RecipeError(
                    f"{share:.2%} of the mix are to come from {source}, and no document of it is left. Look at what "
                    f"drops them, or leave the source out of the mix."
                )
        if not any(shares.values()):
            return tuple(Quota(source, counts["documents"], 0, 0.0, 0) for source, counts in totals.items())
        if self.budget is not None:
            budget = round(amount(self.budget))
        elif self.epochs is not None:
            budget = round(sum(self._read(available).values()))
        else:
            budget = largest_budget(available, shares, dict.fromkeys(available, 1.0))
        quotas = tuple(
            Quota(source, totals[source]["documents"], available[source], share, round(share * budget))
            for source, share in shares.items()
        )
        self._refuse(quotas, budget)
        return quotas

    def shares(self, available: Mapping[str, int]) -> dict[str, float]:
        """source -> its share, in the order of `available`, for sources that have so many tokens."""
        if self.temperature is not None:
            return (
                by_temperature(available, self.temperature)
                if any(available.values())
                else dict.fromkeys(available, 0.0)
            )
        if self.epochs is not None:
            read = self._read(available)
            return normalised(read) if any(read.values()) else read
        weights = dict(self.weights or ())
        if self.preset is not None:
            for name, ours in self.preset_sources:
                group = several(ours)
                size = sum(available[source] for source in group)
                weight = preset(self.preset)[name]
                weights |= {source: weight * available[source] / size if size else weight for source in group}
        shares = normalised(weights)
        return {source: shares[source] for source in available}

    def _read(self, available: Mapping[str, int]) -> dict[str, float]:
        """source -> its tokens, as often as `epochs` says."""
        times = dict(self.epochs or ())
        return {source: tokens * times.get(source, 1.0) for source, tokens in available.items()}

    def _epoch_limit(self, source: str) -> float:
        return dict(self.max_epochs).get(source, EPOCHS) if isinstance(self.max_epochs, tuple) else self.max_epochs

    def _refuse(self, quotas: tuple[Quota, ...], budget: int) -> None:
        """Raises RecipeError if a source comes too often. One token more is what rounding may ask for."""
        over = [quota for quota in quotas if quota.wanted > self._epoch_limit(quota.source) * quota.there + 1]
        if not over:
            return
        worst = max(over, key=lambda quota: quota.epochs / self._epoch_limit(quota.source))
        limit = self._epoch_limit(worst.source)
        others = [quota.source for quota in over if quota is not worst]
        possible_share = math.floor(1e4 * limit * worst.there / budget) / 1e4
        limits = {quota.source: self._epoch_limit(quota.source) for quota in quotas}
        available, shares = {q.source: q.there for q in quotas}, {q.source: q.share for q in quotas}
        possible = largest_budget(available, shares, limits)
        raise RecipeError(
            f"{worst.share:.2%} of {budget:,} {self.unit} are {worst.wanted:,} of {worst.source}, which has "
            f"{worst.there:,}: {worst.epochs:.2f} epochs, and max_epochs allows {limit:g}"
            + (f" ({', '.join(others)}: too many, too)" if others else "")
            + f". Text repeated more than 4 times teaches little that is new (Muennighoff et al. 2023). What helps: a "
            f"budget of at most {possible:,}; or no more than {possible_share:.2%} of {worst.source}; or "
            f"{math.ceil(worst.wanted / limit) - worst.there:,} {self.unit} more of it; or max_epochs: "
            f"{{{worst.source}: {math.ceil(worst.epochs * 100) / 100:g}}}."
        )


def several(ours: str | Iterable[str]) -> tuple[str, ...]:
    return (ours,) if isinstance(ours, str) else tuple(ours)
