"""Draw from buckets of topic and quality, better ones more often."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from corpusmill.steps.mix._presets import TOPICS, topic_shares
from corpusmill.store.work import Stage
from corpusmill.tokens.budget import amount
from corpusmill.tokens.mixing import Quota, most_of_curve, normalised, upsampling

SOURCE = "source"
OTHER = "other"  # without a topic that has a share, or without a bucket
MOST = 1000  # buckets


@dataclass(frozen=True, kw_only=True)
class MixBuckets:
    """Draw from each topic its share of a budget, and within it from better buckets of quality more often.

    topic     "source", or the signal of an earlier step with the document's topic, as text
    quality   the signal with its bucket, 0 to `buckets` - 1, the best highest: see annotate/bucket
    buckets   how many there are of each topic
    shares    topic -> share of the tokens that training will see; they need not sum to 1. Documents of other topics, or
              without a bucket, are not drawn. If not given, topics are the sources, in proportion to their tokens
    preset    instead of `shares`, those of a published mix: dolma3, for the 24 topics of WebOrganizer
    budget    tokens in all: 20000, "20B", "1.5T"
    cap       how often a document is drawn, at most
    discard   the part of each topic, by tokens, from the lowest quality up, that is not drawn
    unit      what is counted: tokens of the recipe's tokenizer, bytes of text, or documents

    A bucket is drawn on average 0 times where its middle, as a share x of the topic's tokens, is below `discard`, and
    cap * ((x - discard) / (1 - discard)) ** p above, with the p for which the topic gives its share of the budget. A
    plan that needs more than `cap` is refused.

    All documents of a bucket are drawn as often as all can be, whole; then each in turn once more if it still fits, in
    an order by hash of its id and `seed`. Signal: `copies`. The epochs of each bucket are among the facts of the run.

    Source: the mix of Dolma 3 (OLMo Team 2025), whose curve has another form
    """

    verdict: ClassVar[pa.Schema] = COPIES
    default_signals: ClassVar[Mapping[str, Any]] = {"copies": 1}
    reads_text: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1
    key_parameters: ClassVar[tuple[str, ...]] = ("topic", "quality", "buckets", "shares", "preset", "unit", "seed")

    topic: str = SOURCE
    quality: str = "bucket.bucket"
    buckets: int = 20
    shares: tuple[tuple[str, float], ...] | None = None  # topic -> share
    preset: str | None = None
    budget: int | str
    cap: float = 7.0
    discard: float = 0.4
    unit: Measure = "tokens"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.shares is not None:
            object.__setattr__(self, "shares", tuple(dict(self.shares).items()))
        if self.shares is not None and self.preset is not None:
            raise RecipeError("give shares, or the preset of a published mix, and not both")
        if self.preset is not None and self.preset not in TOPICS:
            hint = did_you_mean(self.preset, TOPICS) or "."
            raise RecipeError(f'there are no topics of "{self.preset}"{hint} There are those of: {", ".join(TOPICS)}.')
        shares = self._shares()
        if shares is None and self.topic != SOURCE:
            raise RecipeError(
                f"how much of the mix is each topic? Give the shares of those that {self.topic} has, as in "
                "{shares: {science: 0.2, games: 0.05}}; for sources alone they may be left out"
            )
        if shares is not None and (not shares or min(shares.values()) < 0 or not any(shares.values())):
            raise RecipeError(f"shares are 0 or more, and one is above 0; got {dict(shares)}")
        for name in ("topic", "quality"):
            value = getattr(self, name)
            if "." not in value and (name, value) != ("topic", SOURCE):
                ways = 'a signal of an earlier step, as in "bucket.bucket"' + ', or "source"' * (name == "topic")
                raise RecipeError(f'{name} is {ways}; got "{value}"')
        if not 1 <= self.buckets <= MOST:
            raise RecipeError(f"need 1 <= buckets <= {MOST}, got {self.buckets}")
        if not self.cap > 0:
            raise RecipeError(f"need cap > 0, got {self.cap}")
        if not 0 <= self.discard < 1:
            raise RecipeError(f"need 0 <= discard < 1, a share of the tokens of each topic; got {self.discard}")
        check_draw(self.unit, self.budget)

    def _shares(self) -> dict[str, float] | None:
        """topic -> share; None: the topics are sources, in proportion to their tokens."""
        if self.preset is not None:
            return topic_shares(self.preset)
        return None if self.shares is None else dict(self.shares)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.quality,) if self.topic == SOURCE else (self.topic, self.quality)

    def incompatibility(self, sources: tuple[str, ...], tokenizer: bool) -> str | None:
        """What keeps the step from work in a recipe that reads these sources, and what to do about it."""
        if problem := missing_tokenizer(self.unit, tokenizer):
            return problem
        return unknown_source(self._shares() or (), sources) if self.topic == SOURCE else None

    def for_sample(self, share: float) -> "MixBuckets":
        """This mix of a sample of the input, for an estimate of what all of it takes."""
        return replace(self, budget=max(round(amount(self.budget) * share), 1), cap=math.inf)

    def topics(self, sources: tuple[str, ...]) -> tuple[str, ...]:
        shares = self._shares()
        return sources if shares is None else tuple(shares)

    def groups(self, sources: tuple[str, ...]) -> tuple[str, ...]:
        """The names of all buckets, those of a topic together, from the lowest quality up; and of what is in none."""
        return *(_bucket_name(topic, k) for topic in self.topics(sources) for k in range(self.buckets)), OTHER

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        """`size`, `luck` and `source`, the code of its bucket's name (documents,)."""
        return draw_keys(docs, self.unit, self.seed, self._codes(docs, signals))

    def _codes(self, docs: pa.RecordBatch, signals: Columns) -> Any:
        bucket = signals[self.quality]
        if not (pa.types.is_integer(bucket.type) or pa.types.is_null(bucket.type)):
            raise RecipeError(
                f'quality: "{self.quality}" is of type {bucket.type}; a bucket is an integer: see annotate/bucket'
            )
        number = pc.fill_null(pc.cast(bucket, pa.int64()), -1).to_numpy(zero_copy_only=False)
        if len(number) and number.max() >= self.buckets:
            raise RecipeError(
                f'quality: "{self.quality}" has bucket {number.max()}, and {self.buckets} buckets end with '
                f"{self.buckets - 1}; set buckets to as many as annotate/bucket makes"
            )
        topic = docs["source"] if self.topic == SOURCE else signals[self.topic]
        encoded = pc.cast(topic, pa.string()).dictionary_encode()
        topic_code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        shares = self._shares()
        codes = np.full(len(docs), code(OTHER), np.uint64)
        for at, name in enumerate(encoded.dictionary.to_pylist()):
            if shares is None or name in shares:
                for k in np.unique(number[(topic_code == at) & (number >= 0)]).tolist():
                    codes[(topic_code == at) & (number == k)] = code(_bucket_name(name, k))
        return codes

    def stages(self, keys: KeyStage) -> list[Stage]:
        keys = replace(keys, sources=self.groups(keys.sources))
        return draw_stages(keys, self.unit, self.plan)

    def plan(self, totals: Mapping[str, Mapping[str, int]]) -> tuple[Quota, ...]:
        """What each bucket is to give.

        totals   bucket, as `groups` names them, in that order -> its `documents`, and their `size`

        Raises RecipeError if a topic has nothing left, or cannot give its share below the cap.
        """
        names = [name for name in totals if name != OTHER]
        topics = {
            names[first].rpartition("/")[0]: names[first : first + self.buckets]
            for first in range(0, len(names), self.buckets)
        }
        available = {topic: sum(totals[name]["size"] for name in buckets) for topic, buckets in topics.items()}
        shares = self._shares() or available
        if not any(available.values()):
            return tuple(Quota(name, counts["documents"], counts["size"], 0.0, 0) for name, counts in totals.items())
        budget = amount(self.budget)
        quotas: list[Quota] = []
        problems: list[str] = []
        for topic, share in normalised(shares).items():
            target = share * budget
            sizes = np.array([totals[name]["size"] for name in topics[topic]], np.int64)
            possible = most_of_curve(sizes, self.cap, self.discard)
            if target > possible + 1:
                problems.append(f"{topic} is to give {round(target):,} and can give {int(possible):,}")
                continue
            epochs = upsampling(sizes, min(target, possible), self.cap, self.discard)
            ends = np.rint(np.cumsum(sizes * epochs)).astype(np.int64)
            quotas += [
                Quota(name, totals[name]["documents"], int(size), float(part / budget), int(part))
                for name, size, part in zip(topics[topic], sizes, np.diff(ends, prepend=0))
            ]
        if problems:
            raise RecipeError(
                f"{'; '.join(problems)} {self.unit}, with at most {self.cap:g} copies and {self.discard:.0%} left out. "
                "What helps: a smaller budget or share, more documents of it, a higher cap, or a lower discard."
            )
        other = totals.get(OTHER, {"documents": 0, "size": 0})
        return *quotas, Quota(OTHER, other["documents"], other["size"], 0.0, 0)


def _bucket_name(topic: str, bucket: int) -> str:
    return f"{topic}/{bucket}"
