"""A BERT with random weights and few words, and a plain reference of its forward pass."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import erf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEADS", "WORDS", "checksums_of", "reference_states", "small_weights", "write_model"]

HEADS = 2
SIZE = 64
LAYERS = 2
WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("the", "margin", "fell", "rose", "because", "freight", "cost", "more", "##s", "##ing", "."),
    *(f"word{number}" for number in range(20)),
]
Weights = Mapping[str, NDArray[np.float32]]


def small_weights(seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Return random weights, by their names in the file of a model."""
    random = np.random.default_rng(seed)

    def normal(*shape: int, mean: float = 0.0) -> NDArray[np.float32]:
        return (mean + 0.3 * random.standard_normal(shape)).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": normal(len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": normal(512, SIZE),
        "embeddings.token_type_embeddings.weight": normal(2, SIZE),
        "embeddings.LayerNorm.weight": normal(SIZE, mean=1.0),
        "embeddings.LayerNorm.bias": normal(SIZE),
    }
    for layer in range(LAYERS):
        sizes = {
            "attention.self.query": (SIZE, SIZE),
            "attention.self.key": (SIZE, SIZE),
            "attention.self.value": (SIZE, SIZE),
            "attention.output.dense": (SIZE, SIZE),
            "intermediate.dense": (2 * SIZE, SIZE),
            "output.dense": (SIZE, 2 * SIZE),
        }
        for name, shape in sizes.items():
            weights[f"encoder.layer.{layer}.{name}.weight"] = normal(*shape)
            weights[f"encoder.layer.{layer}.{name}.bias"] = normal(shape[0])
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            weights[f"encoder.layer.{layer}.{name}.weight"] = normal(SIZE, mean=1.0)
            weights[f"encoder.layer.{layer}.{name}.bias"] = normal(SIZE)
    return weights


def write_model(folder: Path, *, seed: int = 0) -> Path:
    """Write the weights and the vocabulary to a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    numbers = np.arange(512, dtype=np.int64)  # the published file has whole numbers, too
    arrays: dict[str, NDArray[np.generic]] = {"embeddings.position_ids": numbers}
    arrays.update(small_weights(seed))
    for name, array in arrays.items():
        content = array.tobytes()
        kind = "F32" if array.dtype == np.float32 else "I64"
        place = [len(data), len(data) + len(content)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": place}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file = len(text).to_bytes(8, "little") + text + data
    (folder / "model.safetensors").write_bytes(file)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8", newline="\n")
    return folder


def checksums_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def reference_states(
    weights: Weights, token_ids: Sequence[int], *, heads: int
) -> NDArray[np.float64]:
    """Return the states of the last layer, token by token and head by head, in float64."""
    exact = {name: array.astype(np.float64) for name, array in weights.items()}

    def dense(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return np.asarray(rows @ exact[f"{name}.weight"].T + exact[f"{name}.bias"])

    def normalised(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = rows - rows.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(scaled * exact[f"{name}.weight"] + exact[f"{name}.bias"])

    gelu = np.vectorize(lambda value: value * (1 + erf(value / 2**0.5)) / 2)
    ids = np.array(token_ids)
    states = exact["embeddings.word_embeddings.weight"][ids]
    states = states + exact["embeddings.position_embeddings.weight"][: len(ids)]
    states = states + exact["embeddings.token_type_embeddings.weight"][0]
    states = normalised(states, "embeddings.LayerNorm")
    size = states.shape[1] // heads
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in exact:
        prefix = f"encoder.layer.{layer}."
        query, key, value = (
            dense(states, f"{prefix}attention.self.{part}") for part in ("query", "key", "value")
        )
        context = np.zeros_like(states)
        for first in range(0, states.shape[1], size):
            of_head = slice(first, first + size)
            for row in range(len(ids)):
                scores = np.exp(key[:, of_head] @ query[row, of_head] / size**0.5)
                context[row, of_head] = (scores / scores.sum()) @ value[:, of_head]
        attended = dense(context, f"{prefix}attention.output.dense") + states
        states = normalised(attended, f"{prefix}attention.output.LayerNorm")
        inner = gelu(dense(states, f"{prefix}intermediate.dense"))
        output = dense(inner, f"{prefix}output.dense") + states
        states = normalised(output, f"{prefix}output.LayerNorm")
        layer += 1
    return states
