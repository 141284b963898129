"""A transformer of PyTorch, asked as a session of onnxruntime is: for models of which there is no ONNX file.

Weights are read from `model.safetensors`, which holds arrays alone, and the layers are those of transformers: code of a
repository is not run.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from corpusmill.assets.extras import TRANSFORMERS
from corpusmill.errors import AssetError, RecipeError

Head = Literal["classifier", "encoder"]
WEIGHTS = "model.safetensors"
OUTPUTS: dict[Head, str] = {"classifier": "logits", "encoder": "last_hidden_state"}
TAKEN = ("input_ids", "attention_mask", "token_type_ids")
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"  # as onnxruntime names processors and GPUs of NVIDIA


class Node(NamedTuple):
    """An input or an output."""

    name: str


@dataclass(frozen=True, eq=False)
class TorchSession:
    """A model that is loaded, on one device."""

    model: Any
    output: str
    inputs: tuple[str, ...]
    device: str

    def get_inputs(self) -> list[Node]:
        return [Node(name) for name in self.inputs]

    def get_outputs(self) -> list[Node]:
        return [Node(self.output)]

    def get_providers(self) -> list[str]:
        return [CPU] if self.device == "cpu" else [CUDA, CPU]

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """The output for (batch, tokens) arrays of int64."""
        import torch

        with torch.inference_mode():
            given = {
                name: torch.from_numpy(np.ascontiguousarray(array)).to(self.device) for name, array in inputs.items()
            }
            return [self.model(**given)[self.output].float().cpu().numpy()]


def opened(folder: Path, head: Head, provider: str, threads: int, user: str) -> TorchSession:
    """The model of a folder.

    provider   auto, cpu or cuda, with the number of a GPU if it has one: cuda:1
    threads    of this process, for processors
    user       what needs the extra, for its error

    Raises MissingExtraError without PyTorch and transformers, AssetError if they cannot load the model, RecipeError for
    a device that is not there.
    """
    if TRANSFORMERS.missing:
        raise TRANSFORMERS.error(user)
    import torch
    import transformers

    device = provider if provider != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    if device.partition(":")[0] not in ("cpu", "cuda") or (device != "cpu" and not torch.cuda.is_available()):
        have = "cpu and cuda" if torch.cuda.is_available() else "cpu alone"
        raise RecipeError(f'provider: PyTorch has no "{provider}" on this machine; it has {have}')
    torch.set_num_threads(threads)
    made_by = transformers.AutoModelForSequenceClassification if head == "classifier" else transformers.AutoModel
    transformers.logging.set_verbosity_error()
    try:
        model = made_by.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=torch.float32
        )
        model = model.eval().to(device)
    except Exception as error:  # of many kinds
        raise AssetError(f"{folder / WEIGHTS}: transformers cannot load it: {error}") from error
    takes = inspect.signature(model.forward).parameters
    return TorchSession(model, OUTPUTS[head], tuple(name for name in TAKEN if name in takes), device)


def has_accelerator() -> bool:
    """Whether the installed PyTorch may use one."""
    if TRANSFORMERS.missing:
        return False
    import torch

    return bool(torch.cuda.is_available())
