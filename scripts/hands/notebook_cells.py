"""The notebook that is executed and of which there is a picture in the docs."""

from typing import Any

CELLS = [
    """import corpusmill
import pandas as pd""",
    """from random import Random

words = "the river of a town and that old bridge to be seen with boats have come from far away in autumn rain".split()
texts = [" ".join(Random(i).choices(words, k=80)) + "." for i in range(2000)]
posts = pd.DataFrame({"text": texts + texts[:200] + ["too short"] * 100, "forum": "walks"})
done = corpusmill.run(
    corpusmill.Recipe(
        name="posts",
        read={"posts": posts},
        steps=["clean/normalize", {"filter/basic": {"rules": ["min_words"], "min_words": 5}}, "dedup/minhash"],
        write=["jsonl"],
    )
)""",
    "done",
    "done.waterfall",
    "done.to_pandas().head(3)",
    "next(iter(done.documents()))",
]


def cells() -> list[str]:
    return CELLS


def notebook_of(sources: list[str]) -> dict[str, Any]:
    """A notebook with these cells of code, as Jupyter stores it."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": s,
            }
            for i, s in enumerate(sources)
        ],
    }
