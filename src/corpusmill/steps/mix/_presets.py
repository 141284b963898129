"""Mixes as others have published them: what a source is called here, and how much of all tokens it gave."""

from corpusmill.errors import RecipeError, did_you_mean

PRESETS: dict[str, dict[str, float]] = {
    # Touvron et al. 2023, arXiv:2302.13971, table 1: sampling proportions in per cent.
    "llama": {
        "common_crawl": 67.0,
        "c4": 15.0,
        "github": 4.5,
        "wikipedia": 4.5,
        "books": 4.5,
        "arxiv": 2.5,
        "stackexchange": 2.0,
    },
    # Llama Team 2024, arXiv:2407.21783, section 3.1.2: "roughly", in per cent.
    "llama3": {"general": 50, "math_reasoning": 25, "code": 17, "multilingual": 8},
    # RedPajama-Data-1T: the token counts of its data card, in billions. It was made to be trained on once.
    "redpajama": {
        "common_crawl": 878,
        "c4": 175,
        "github": 59,
        "books": 26,
        "arxiv": 28,
        "wikipedia": 24,
        "stackexchange": 20,
    },
    # Almazrouei et al. 2023, arXiv:2311.16867: the mix of Falcon-180B, in per cent.
    "falcon": {
        "refinedweb_english": 76,
        "refinedweb_euro": 8,
        "gutenberg": 6,
        "conversations": 5,
        "github": 3,
        "technical": 2,
    },
}
UNPUBLISHED = {
    "llama2": "its paper (Touvron et al. 2023, arXiv:2307.09288, section 2.1) says that the most factual sources were "
    "up-sampled, and neither which nor by how much"
}


def preset(name: str) -> dict[str, float]:
    """The weights of a published mix. Raises RecipeError if there is none of this name."""
    if name in UNPUBLISHED:
        raise RecipeError(f'there is no preset "{name}": {UNPUBLISHED[name]}. There are: {", ".join(PRESETS)}.')
    if name not in PRESETS:
        raise RecipeError(
            f'there is no preset "{name}"{did_you_mean(name, PRESETS) or "."} There are: {", ".join(PRESETS)}.'
        )
    return PRESETS[name]
