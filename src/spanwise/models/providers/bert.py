"""BERT encoder on ONNX Runtime, made from the weights of a safetensors file, without torch.

The graph is built here, operator by operator, and encoded as an ONNX model. Its weights are not
copied into the model: ONNX Runtime gets them as arrays that point into the mapped file.

One text is encoded at a time, on one thread. There is no padding, so the states of a text do not
depend on other texts, bit for bit. Callers encode several texts at once on several threads. A
batch on one thread is no faster, as measured, and several threads for one text are slower.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.config import disable_telemetry

if TYPE_CHECKING:
    import mmap

    from numpy.typing import NDArray

    Weights = Mapping[str, NDArray[np.float32]]


_EPSILON = 1e-12  # of the layer normalisation
_OPERATORS = 20  # version of ONNX's operators; the first with Gelu
_FORMAT = 9  # version of the ONNX format
_FLOAT, _INT64 = 1, 7  # types of elements in ONNX


def read_safetensors(data: mmap.mmap | bytes) -> dict[str, NDArray[np.float32]]:
    """Return the float32 tensors of a safetensors file by name, as views into its bytes.

    The file has the length of the header (8 bytes), the header as JSON, and the tensors.
    """
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, tensor in json.loads(data[8:start]).items():
        if tensor.get("dtype") == "F32":
            first, end = tensor["data_offsets"]
            values = np.frombuffer(data, "<f4", count=(end - first) // 4, offset=start + first)
            tensors[name] = values.reshape(tensor["shape"])
    return tensors


class BertEncoder:
    """BERT encoder for inference. Thread-safe."""

    def __init__(self, weights: Weights, *, heads: int) -> None:
        """Create the ONNX Runtime session.

        Args:
            weights: Tensors by their name in the safetensors file of a `BertModel`.
            heads: Number of attention heads.

        Raises:
            ImportError: If ONNX Runtime is not installed.
            KeyError: If a tensor is missing.
        """
        disable_telemetry()
        import onnxruntime

        graph = _BertGraph(weights, heads=heads)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        options.enable_cpu_mem_arena = False  # it would keep memory for the longest text
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in graph.arrays]
        options.add_external_initializers(graph.names, values)
        self.dimension = graph.dimension
        self._session = onnxruntime.InferenceSession(
            graph.model(), options, providers=["CPUExecutionProvider"]
        )

    def states(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the states of the last layer for the tokens of a text, (tokens, dimension)."""
        (states,) = self._session.run(None, {"tokens": np.array(token_ids, dtype=np.int64)})
        return np.asarray(states, dtype=np.float32)


class _BertGraph:
    """ONNX graph of a BERT encoder for the tokens of one text, of shape (tokens, dimension)."""

    def __init__(self, weights: Weights, *, heads: int) -> None:
        self._weights = weights
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self.names: list[str] = []
        self.arrays: list[NDArray[np.float32]] = []
        """Weights, by the names in `names`."""
        self.dimension = weights["embeddings.word_embeddings.weight"].shape[1]
        per_head = self.dimension // heads
        self._scale = self._constant("scale", np.array(per_head**-0.5, dtype=np.float32))
        self._split = self._constant("split", np.array([-1, heads, per_head]))
        self._join = self._constant("join", np.array([-1, self.dimension]))
        states = self._embeddings()
        layer = 0
        while f"encoder.layer.{layer}.output.dense.weight" in weights:
            states = self._layer(f"encoder.layer.{layer}.", states)
            layer += 1
        self._nodes.append(_node("Identity", [states], "states"))

    def model(self) -> bytes:
        """Return the ONNX model: the `ModelProto` in the encoding of protocol buffers."""
        graph = b"".join(
            [
                *(_field(1, node) for node in self._nodes),
                _field(2, "bert"),
                *(_field(5, constant) for constant in self._constants),
                _field(11, _value("tokens", _INT64, ["tokens"])),
                _field(12, _value("states", _FLOAT, ["tokens", self.dimension])),
            ]
        )
        operators = _field(1, "") + _field(2, _OPERATORS)
        return _field(1, _FORMAT) + _field(7, graph) + _field(8, operators)

    def _embeddings(self) -> str:
        """Add the sum of the embeddings of words, positions and the first segment type."""
        words = self._weight("embeddings.word_embeddings.weight")
        # Texts have one segment, so its embedding is part of those of the positions.
        positions = self._array(
            "positions",
            self._weights["embeddings.position_embeddings.weight"]
            + self._weights["embeddings.token_type_embeddings.weight"][0],
        )
        zero = self._constant("zero", np.array([0]))
        count = self._add("Shape", "tokens")
        used = self._add("Slice", positions, zero, count)
        total = self._add("Add", self._add("Gather", words, "tokens"), used)
        return self._normalised(total, "embeddings.LayerNorm")

    def _layer(self, prefix: str, states: str) -> str:
        """Add one layer: self-attention and the feed-forward network, each with its residual."""
        attention = f"{prefix}attention."
        query = self._heads(self._dense(states, f"{attention}self.query"), order=[1, 0, 2])
        keys = self._heads(self._dense(states, f"{attention}self.key"), order=[1, 2, 0])
        values = self._heads(self._dense(states, f"{attention}self.value"), order=[1, 0, 2])
        scores = self._add("MatMul", self._add("Mul", query, self._scale), keys)
        context = self._add("MatMul", self._add("Softmax", scores, axis=-1), values)
        rows = self._add("Transpose", context, perm=[1, 0, 2])
        joined = self._add("Reshape", rows, self._join)
        attended = self._add("Add", self._dense(joined, f"{attention}output.dense"), states)
        states = self._normalised(attended, f"{attention}output.LayerNorm")
        inner = self._add("Gelu", self._dense(states, f"{prefix}intermediate.dense"))
        output = self._add("Add", self._dense(inner, f"{prefix}output.dense"), states)
        return self._normalised(output, f"{prefix}output.LayerNorm")

    def _heads(self, rows: str, *, order: list[int]) -> str:
        """Split rows into heads, and transpose (tokens, heads, size) to an order of these axes."""
        return self._add("Transpose", self._add("Reshape", rows, self._split), perm=order)

    def _dense(self, rows: str, name: str) -> str:
        weight, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._add("Gemm", rows, weight, bias, transB=1)

    def _normalised(self, rows: str, name: str) -> str:
        weight, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._add("LayerNormalization", rows, weight, bias, axis=-1, epsilon=_EPSILON)

    def _add(self, operator: str, *inputs: str, **attributes: float | list[int]) -> str:
        """Add a node and return the name of its output."""
        output = f"{operator}_{len(self._nodes)}"
        self._nodes.append(_node(operator, inputs, output, **attributes))
        return output

    def _weight(self, name: str) -> str:
        return self._array(name, self._weights[name])

    def _array(self, name: str, array: NDArray[np.float32]) -> str:
        """Add an array that is passed to ONNX Runtime separately from the model."""
        self.names.append(name)
        self.arrays.append(array)
        # The place is ignored, but the format requires one.
        place = _field(1, "location") + _field(2, "weights")
        self._constants.append(_tensor(name, array) + _field(13, place) + _field(14, 1))
        return name

    def _constant(self, name: str, array: NDArray[np.generic]) -> str:
        """Add a small array that is part of the model."""
        self._constants.append(_tensor(name, array) + _field(9, array.tobytes()))
        return name


def _node(
    operator: str, inputs: Sequence[str], output: str, **attributes: float | list[int]
) -> bytes:
    """Return a `NodeProto`."""
    return b"".join(
        [
            *(_field(1, name) for name in inputs),
            _field(2, output),
            _field(4, operator),
            *(_field(5, _attribute(name, value)) for name, value in attributes.items()),
        ]
    )


def _attribute(name: str, value: float | list[int]) -> bytes:
    """Return an `AttributeProto`: a number or a list of whole numbers."""
    if isinstance(value, list):
        return _field(1, name) + b"".join(_field(8, item) for item in value) + _field(20, 7)
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    return _field(1, name) + _field(2, value) + _field(20, 1)


def _tensor(name: str, array: NDArray[np.generic]) -> bytes:
    """Return a `TensorProto` without its values."""
    kind = _FLOAT if array.dtype.kind == "f" else _INT64
    return b"".join(_field(1, size) for size in array.shape) + _field(2, kind) + _field(8, name)


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    """Return a `ValueInfoProto`; a size that is a text may differ between calls."""
    sizes = (_field(1 if isinstance(size, int) else 2, size) for size in shape)
    dimensions = b"".join(_field(1, size) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dimensions)))


def _field(number: int, value: float | str | bytes) -> bytes:
    """Return a field of a protocol buffer: a varint, a 32-bit float, or bytes with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + np.float32(value).tobytes()
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Return a whole number, seven bits a byte, lowest first; a negative one has 64 bits."""
    value %= 1 << 64
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
