"""What a recipe may write for a tokenizer, and the asset that it means."""

import os
import re
from typing import NamedTuple

from corpusmill import assets
from corpusmill.assets import hub
from corpusmill.assets.extras import FAST, SENTENCEPIECE, TIKTOKEN, Extra
from corpusmill.errors import AssetError, did_you_mean
from corpusmill.models.tokenizer_file import FILES, config_of

SHIPPED = ("gpt2", "bytes")  # in MANIFEST.json
CONFIG_FILES = ("tokenizer_config.json",)  # it names the token that ends a document
FILE = re.compile(r"\.(json|model|tiktoken|gz)$")


class HubTokenizer(NamedTuple):
    """A tokenizer of the hub that people call by a name of its own.

    repo    of a base model, whose end of a document is that of pre-training
    of      whose it is
    """

    repo: str
    of: str


KNOWN = {
    "cl100k": HubTokenizer("Xenova/gpt-4", "GPT-3.5 and GPT-4; of tiktoken, as a tokenizer.json"),
    "o200k": HubTokenizer("Xenova/gpt-4o", "GPT-4o; of tiktoken, as a tokenizer.json"),
    "gpt-oss": HubTokenizer("openai/gpt-oss-20b", "gpt-oss: o200k with other control tokens"),
    "neox": HubTokenizer("EleutherAI/gpt-neox-20b", "GPT-NeoX and Pythia"),
    "llama2": HubTokenizer("meta-llama/Llama-2-7b-hf", "Llama 2"),
    "llama3": HubTokenizer("meta-llama/Meta-Llama-3-8B", "Llama 3, 3.1, 3.2 and 3.3"),
    "llama4": HubTokenizer("meta-llama/Llama-4-Scout-17B-16E", "Llama 4"),
    "qwen2.5": HubTokenizer("Qwen/Qwen2.5-7B", "Qwen 2.5"),
    "qwen3": HubTokenizer("Qwen/Qwen3-8B-Base", "Qwen 3"),
    "gemma2": HubTokenizer("google/gemma-2-9b", "Gemma 2"),
    "gemma3": HubTokenizer("google/gemma-3-4b-pt", "Gemma 3"),
    "mistral": HubTokenizer("mistralai/Mistral-7B-v0.1", "Mistral 7B"),
    "mistral-nemo": HubTokenizer("mistralai/Mistral-Nemo-Base-2407", "Mistral Nemo: Tekken"),
    "deepseek-v3": HubTokenizer("deepseek-ai/DeepSeek-V3", "DeepSeek-V3 and R1"),
    "olmo2": HubTokenizer("allenai/OLMo-2-1124-7B", "OLMo 2"),
    "smollm2": HubTokenizer("HuggingFaceTB/SmolLM2-135M", "SmolLM2"),
    "starcoder2": HubTokenizer("bigcode/starcoder2-3b", "StarCoder 2"),
    "phi4": HubTokenizer("microsoft/phi-4", "Phi-4"),
}


def hub_tokenizer(spec: str) -> HubTokenizer | None:
    """The tokenizer of this name, however it is spelled.

    >>> hub_tokenizer("Llama-3").repo, hub_tokenizer("o200k_base").repo, hub_tokenizer("llama")
    ('meta-llama/Meta-Llama-3-8B', 'Xenova/gpt-4o', None)
    """
    return _BY_LETTERS.get(_letters(spec.lower().removesuffix("_base")))


def _letters(name: str) -> str:
    return re.sub(r"[-_ ]", "", name)


_BY_LETTERS = {_letters(name): tokenizer for name, tokenizer in KNOWN.items()}


def asset_of(spec: str) -> str:
    """The asset of a tokenizer: a name that ships, a file that exists or that is in a folder, or
    `hf://org/name/tokenizer.json` for the name of a repository of the hub, org/name or org/name@revision, or for one
    of KNOWN.

    Raises AssetError if it is none of these, or the repository is neither in the hub's cache nor to be had.
    """
    path = os.path.expanduser(spec)  # noqa: PTH111  # as assets.locate
    if os.path.isdir(path):  # noqa: PTH112
        name = next((name for name in FILES if os.path.exists(os.path.join(path, name))), FILES[0])  # noqa: PTH110, PTH118
        return os.path.join(spec, name)  # noqa: PTH118
    if spec in SHIPPED or os.path.exists(path):  # noqa: PTH110
        return spec
    named = hub_tokenizer(spec)
    if not named and not spec.startswith(hub.HUB_SCHEME) and not is_hub_name(spec):
        raise AssetError(unknown(spec))
    repo, path = hub.parse(named.repo if named else spec)
    if path:
        return spec
    try:
        _, name = hub.locate(repo, FILES, CONFIG_FILES)
    except hub.NotHere as error:
        called = f"{spec} is the tokenizer of " if named else ""
        raise AssetError(called + _not_here(repo, error.why)) from error
    return f"{hub.HUB_SCHEME}{repo}/{name}"


def assets_of(spec: str) -> tuple[str, ...]:
    """The same, and the file beside it that names the token at the end of a document, if there is one.

    Raises AssetError as `asset_of` does, and if the file is missing.
    """
    asset = asset_of(spec)
    path = assets.locate(asset)
    config = config_of(path)
    return (asset, asset.removesuffix(path.name) + config.name) if config else (asset,)


def extras_of(spec: str, engine: str = "auto") -> tuple[Extra, ...]:
    """What a tokenizer needs with an engine. One that is not there needs nothing yet."""
    try:
        model = assets.locate(asset_of(spec)).name.removesuffix(".gz").endswith(".model")
    except AssetError:
        model = False
    of_engine = {"gigatoken": [FAST], "tiktoken": [TIKTOKEN]}.get(engine, [])
    return (*([SENTENCEPIECE] if model else []), *of_engine)


def _not_here(repo: hub.Repo, why: str) -> str:
    """The message for a model whose tokenizer is not on this machine: how to get it, and what the recipe then says."""
    folder = repo.name.partition("/")[2]
    at = f" --revision {repo.revision}" * (repo.revision != hub.MAIN_REVISION)
    return (
        f"{repo}: this is a model on the Hugging Face Hub; its tokenizer is not in the cache on this machine, and "
        f"{why}. Where there is a network: `hf download {repo.name} {FILES[0]} {CONFIG_FILES[0]}{at} "
        f"--local-dir {folder}`, and write in the recipe: `- tokenize/bpe: {{tokenizer: {folder}/{FILES[0]}}}`. A "
        f"model with terms also needs that you accept them on its page, and a token: `hf auth login`, or HF_TOKEN. Of "
        f"tokenizers, {' and '.join(SHIPPED)} ship."
    )


def is_hub_name(spec: str) -> bool:
    """Whether this may be the name of a repository, and not a path of a file that is missing.

    >>> is_hub_name("meta-llama/Meta-Llama-3-8B"), is_hub_name("org/name@v1"), is_hub_name("models/tokenizer.json")
    (True, True, False)
    """
    name, _, revision = spec.partition("@")
    return hub.REPO_NAME.fullmatch(name) is not None and ("@" not in spec or bool(revision)) and not FILE.search(spec)


def unknown(spec: str) -> str:
    """The message for what is no tokenizer."""
    ways = (
        f"A tokenizer is {' or '.join(SHIPPED)}, which ship; one of {', '.join(KNOWN)}, from the Hugging Face Hub; "
        "another repository there, such as openai-community/gpt2; or the path of a tokenizer.json, a SentencePiece "
        ".model or a .tiktoken file, or of the folder with one of the first two."
    )
    if FILE.search(spec) or spec.startswith((".", "/", "~")):
        return f"{spec}: no such file or folder. {ways}"
    return f'there is no tokenizer "{spec}"{did_you_mean(spec.lower(), (*SHIPPED, *KNOWN)) or "."} {ways}'
