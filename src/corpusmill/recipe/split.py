"""Which documents are kept back for validation: `split:` in a recipe."""

from dataclasses import dataclass
from typing import Literal, get_args

from corpusmill.errors import RecipeError, did_you_mean

By = Literal["document", "domain", "cluster"]


@dataclass(frozen=True, kw_only=True)
class Split:
    """Keep documents back for validation, in every output: `shards` has those for training, and `shards-validation` the
    others.

    A hash of what a document holds decides, with the recipe's seed: equal texts are on one side, a document keeps
    its side when others are added, and a larger share keeps those that a smaller one has. `by: domain` keeps documents
    of one registered domain together, or of one source where they have no URL; `by: cluster` the near-duplicates that a
    step `dedup/minhash` with `mark: true` found, by the id of the document that it would keep. Shares are of domains
    and clusters then. Canaries are for training, and a mix draws documents for validation once.
    """

    validation: float  # the share, above 0 and below 1
    by: By = "document"  # what is on one side: equal texts; all of a domain; all of a near-duplicate cluster

    def __post_init__(self) -> None:
        if not 0 < self.validation < 1:
            raise RecipeError(f"validation is a share above 0 and below 1, as 0.01; got {self.validation}")
        if self.by not in get_args(By):
            listed = ", ".join(get_args(By))
            raise RecipeError(f'by is one of {listed}; got "{self.by}"{did_you_mean(self.by, get_args(By))}')
