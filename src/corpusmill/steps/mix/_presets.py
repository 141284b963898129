"""Mixes as others have published them, and as they are taught: what a source is called here, and how much of all tokens
it gave."""

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
    # OLMo Team 2025: the tokens of the README of the 6T mix of Dolma 3, in billions.
    "dolma3": {
        "common_crawl": 4510,
        "science_pdfs": 805,
        "stack_edu": 409,
        "finemath": 152,
        "arxiv": 50.8,
        "wikipedia": 2.51,
    },
    # `_taught`: as courses on data for pre-training print these mixes, in per cent. These are not the makers' numbers:
    # Falcon's and Llama 3's differ from the papers above, RedPajama's from its data card, and the paper on Llama 2 has
    # none (courses give it LLaMA's 67 % of Common Crawl, and other shares of the rest).
    "llama2_taught": {
        "common_crawl": 67.0,
        "github": 8.0,
        "wikipedia": 4.0,
        "books": 4.0,
        "arxiv": 2.5,
        "stackexchange": 2.0,
        "other": 12.5,
    },
    "falcon_taught": {"common_crawl": 80, "github": 5, "wikipedia": 3, "stackexchange": 2, "other": 10},
    "redpajama_taught": {
        "common_crawl": 67,
        "github": 4,
        "wikipedia": 4,
        "books": 5,
        "arxiv": 5,
        "stackexchange": 2,
        "other": 13,
    },
    "llama3_taught": {"web": 50, "code": 25, "books_papers": 13, "math": 8, "multilingual": 4},
}
# The shares of topics in the web part of a published mix, by the names that its classifier gives them.
TOPICS: dict[str, dict[str, float]] = {
    # OLMo Team 2025: the README of the 6T mix of Dolma 3, for the topics of WebOrganizer (Wettig et al. 2025,
    # arXiv:2502.10341), in per cent.
    "dolma3": {
        "Science, Math, and Technology": 21.03,
        "Software Development": 11.14,
        "Health": 9.94,
        "Entertainment": 9.6,
        "Games": 6.89,
        "Literature": 6.83,
        "Software": 4.73,
        "Education and Jobs": 4.29,
        "Finance and Business": 4.07,
        "Electronics and Hardware": 3.45,
        "Crime and Law": 2.92,
        "History and Geography": 2.71,
        "Politics": 2.17,
        "Religion": 1.98,
        "Industrial": 1.57,
        "Food and Dining": 1.41,
        "Sports and Fitness": 1.31,
        "Art and Design": 1.25,
        "Transportation": 0.98,
        "Home and Hobbies": 0.92,
        "Social Life": 0.46,
        "Travel and Tourism": 0.22,
        "Adult Content": 0.11,
        "Fashion and Beauty": 0.01,
    },
}
UNPUBLISHED = {
    "llama2": "its paper (Touvron et al. 2023, arXiv:2307.09288, section 2.1) says that the most factual sources were "
    "up-sampled, and neither which nor by how much. llama2_taught has the numbers that courses give for it, llama "
    "those that the paper on LLaMA gives"
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


def topic_shares(name: str) -> dict[str, float]:
    """topic -> its share in a published mix."""
    return TOPICS[name]
