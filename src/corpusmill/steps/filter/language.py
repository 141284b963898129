"""Keep documents of certain languages."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.models.language import Identifier
from corpusmill.models.language_groups import GROUPS, members
from corpusmill.models.wide import LID_WIDE, UNKNOWN
from corpusmill.steps import Columns
from corpusmill.steps.verdict import Rule, join_reasons


@dataclass(frozen=True, kw_only=True)
class FilterLanguage:
    """Drop documents in other languages, and those whose language is uncertain.

    `language` drops documents whose language is not in `languages`, and texts without words. `min_score` drops those
    below the threshold of their language: that of `min_scores`, or else `min_score`. The signals are those of
    annotate/language.

    Languages that no model distinguishes well have a group, which keeps all of them and adds the scores of label and
    runner-up: arabic, azerbaijani, chinese, ethiopic, hindi, hmong, kurdish, malay, nguni, norwegian, persian, punjabi,
    rwanda-rundi, scandinavian, serbo-croatian, sotho-tswana, tajik-persian. `unknown` keeps the texts that fit no
    language of lid.wide.

    Source: Penedo et al. 2024 (FineWeb), arXiv:2406.17557, section 3.3, keeps English at 0.65
    """

    languages: tuple[str, ...] = ("en",)  # as the model calls them, or groups
    min_score: float = 0.65
    min_scores: tuple[tuple[str, float], ...] = ()  # by language, instead of min_score
    model: str = LID_WIDE  # an asset's name, or the path of a .bin or .ftz
    windows: int = 3  # that are read of a longer document
    window_chars: int | None = None  # null: 200 for lid.wide, 1,000 for fastText models
    offset: float = 0.0  # share of a longer document before the first window: 0.25 leaves out headers and menus

    needs: ClassVar[tuple[str, ...]] = ()
    threshold_parameters: ClassVar[tuple[str, ...]] = ("languages", "min_score", "min_scores")

    def __post_init__(self) -> None:
        # Sorted, so that the order in a recipe makes no difference to the fingerprint.
        object.__setattr__(self, "min_scores", tuple(sorted(dict(self.min_scores).items())))
        if not self.languages:
            raise RecipeError('languages is empty, so every document would be dropped; name one, such as ["en"]')
        labels = self._identifier().labels()
        groups = [name for name, members in GROUPS.items() if not members.isdisjoint(labels)]
        for parameter, languages, choices in (
            ("languages", self.languages, [*labels, *groups]),
            ("min_scores", tuple(dict(self.min_scores)), labels),
        ):
            for language in languages:
                if language not in choices:
                    hint = did_you_mean(language, choices) or "."
                    raise RecipeError(
                        f'{parameter} has "{language}", which {self.model} does not know{hint} It knows '
                        f"{list_labels(labels)}."
                    )
        for score in (self.min_score, *dict(self.min_scores).values()):
            if not 0 <= score <= 1:
                raise RecipeError(f"a score is from 0 to 1, got {score}")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The threshold where it is one for one signal: not with a threshold by language, nor where a group adds the
        score of the runner-up, nor where `unknown` is kept whatever its score."""
        single_bound = (
            not self.min_scores and UNKNOWN not in self.languages and GROUPS.keys().isdisjoint(self.languages)
        )
        return (Rule("min_score", "score", "<"),) if single_bound else ()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return self._identifier().columns(docs["text"])

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        label, score = signals["label"], self._scores(signals)
        at = pc.index_in(label, value_set=pa.array([language for language, _ in self.min_scores], pa.string()))
        thresholds = np.array([*(minimum for _, minimum in self.min_scores), self.min_score])
        bounds = pa.array(thresholds[pc.fill_null(at, -1).to_numpy()])
        judged = pc.and_(pc.is_valid(label), pc.not_equal(pc.fill_null(label, UNKNOWN), UNKNOWN))
        return join_reasons(
            language=pc.invert(pc.is_in(label, value_set=pa.array(sorted(members(self.languages)), pa.string()))),
            min_score=pc.and_(pc.less(score, bounds), judged),
        )

    def _scores(self, signals: Columns) -> pa.Array:
        """The score, with that of the runner-up where both are in one group of `languages`."""
        score = signals["score"]
        for name in self.languages:
            if name in GROUPS:
                group = pa.array(sorted(GROUPS[name]), pa.string())
                both = pc.and_(pc.is_in(signals["label"], group), pc.is_in(signals["runner_up"], group))
                score = pc.if_else(both, pc.add(signals["score"], signals["runner_up_score"]), score)
        return score

    @property
    def assets(self) -> tuple[str, ...]:
        return self._identifier().assets()

    def _identifier(self) -> Identifier:
        return Identifier(model=self.model, windows=self.windows, window_chars=self.window_chars, offset=self.offset)


def list_labels(labels: list[str]) -> str:
    """All the labels, or the first few of many."""
    return ", ".join(labels) if len(labels) <= 12 else f"{', '.join(labels[:12])} and {len(labels) - 12} more"
