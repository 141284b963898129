"""The notebook that is executed and of which there is a picture in the docs."""

from typing import Any

CELLS = [
    """import corpusmill
import pandas as pd""",
    """texts = [f"Post {i}: " + "we talked about the weather again, and it was fine. " * 4 for i in range(300)]
posts = pd.DataFrame({"text": texts + ["too short"] * 30})
done = corpusmill.run(
    corpusmill.Recipe(
        name="posts",
        read={"posts": posts},
        steps=["clean/normalize", {"filter/basic": {"min_words": 5}}, "dedup/minhash"],
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
