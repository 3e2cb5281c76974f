"""The layers of BERT in int8, run by ONNX Runtime: for many texts.

Built in memory from the float32 weights of `bert.Transformer`, so that there is no second file with
weights. The only module that uses `onnx` and `onnxruntime`.

Weights have a scale for each output, and activations one for each batch. Before the last product of
a layer each row is divided by its maximum: otherwise a few rows with large numbers cost all others
their precision. Weights have 7 bits, because processors without VNNI add pairs of products in 16
bits. So the integers are the same everywhere. docs/relevance.md compares the vectors.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgrep.semantic.bert import Floats, Layer, Transformer
from ccgrep.semantic.model_settings import Bert

_MAX_WEIGHT = 64
_MICROSOFT = "com.microsoft"
_OPSET, _IR_VERSION = 17, 8


class Int8Layers:
    """The layers of a transformer. Embeddings stay in float32."""

    def __init__(self, transformer: Transformer) -> None:
        import onnxruntime  # noqa: PLC0415 - heavy

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # each thread of the encoder computes its own batch
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it keeps the largest batch of every thread
        options.log_severity_level = 3
        self._transformer = transformer
        self._session = onnxruntime.InferenceSession(
            _Graph(transformer.bert).build(transformer.layers),
            options,
            providers=["CPUExecutionProvider"],
        )

    def forward(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> Floats:
        """Return vectors as `Transformer.forward` does, within the precision of int8."""
        inputs = {"tokens": self._transformer.embed(ids), "lengths": lengths.astype(np.int32)}
        found: Floats = self._session.run(None, inputs)[0]
        return found


class _Graph:
    """Collects the operators and constants of an ONNX graph."""

    def __init__(self, bert: Bert) -> None:
        self._bert = bert
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def build(self, layers: list[Layer]) -> bytes:
        from onnx import TensorProto, helper  # noqa: PLC0415 - heavy

        output = "tokens"
        for number, layer in enumerate(layers):
            output = self._layer(layer, output, f"{number}.")
        shape = ["texts", "tokens", self._bert.hidden]
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [
                helper.make_tensor_value_info("tokens", TensorProto.FLOAT, shape),
                helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
            ],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        return bytes(model.SerializeToString())

    def _layer(self, layer: Layer, rows: str, prefix: str) -> str:
        """Add a layer that reads `rows`, and return the name of its output."""
        epsilon = self._bert.epsilon
        attended = self._attention(layer, rows, prefix)
        product = self._product(attended, layer.attended[0], prefix + "attended")
        norm = [*layer.attended_norm, layer.attended[1]]
        middle = self._add_and_normalise(product, rows, norm, epsilon, prefix + "middle")

        wide = self._product(middle, layer.widen[0], prefix + "wide")
        bias = self._constant(prefix + "wide.bias", layer.widen[1])
        active = self._add("BiasGelu", [wide, bias], prefix + "active", domain=_MICROSOFT)
        positive = self._add("Abs", [active], prefix + "abs")
        largest = self._add("ReduceMax", [positive], prefix + "largest", axes=[-1])
        scaled = self._add("Div", [active, largest], prefix + "scaled")
        product = self._product(scaled, layer.narrow[0], prefix + "narrow")
        product = self._add("Mul", [product, largest], prefix + "product")
        norm = [*layer.output_norm, layer.narrow[1]]
        return self._add_and_normalise(product, middle, norm, epsilon, prefix + "output")

    def _attention(self, layer: Layer, rows: str, prefix: str) -> str:
        parts = (layer.query, layer.key, layer.value)
        weight = np.concatenate([weight for weight, _ in parts], axis=1)
        bias = self._constant(prefix + "bias", np.concatenate([bias for _, bias in parts]))
        values, scale, zero = self._quantise(weight, prefix + "attention")
        names = [prefix + name for name in ("rows", "rows.scale", "rows.zero")]
        self._add("DynamicQuantizeLinear", [rows], *names)
        inputs = [names[0], values, bias, names[1], scale, "lengths", names[2], zero]
        heads = self._bert.heads
        return self._add("QAttention", inputs, prefix + "mixed", domain=_MICROSOFT, num_heads=heads)

    def _product(self, rows: str, weight: Floats, name: str) -> str:
        inputs = [rows, *self._quantise(weight, name)]
        return self._add("DynamicQuantizeMatMul", inputs, name, domain=_MICROSOFT)

    def _quantise(self, weight: Floats, name: str) -> list[str]:
        """Add a weight, and return the names of its integers, scales and zero points."""
        scale = np.abs(weight).max(axis=0) / np.float32(_MAX_WEIGHT)
        scale = np.where(scale > 0, scale, np.float32(1))
        integers = np.rint(weight / scale).astype(np.int8)
        parts = {"weight": integers, "scale": scale, "zero": np.zeros(len(scale), np.int8)}
        return [self._constant(f"{name}.{part}", value) for part, value in parts.items()]

    def _add_and_normalise(
        self, rows: str, others: str, norm: list[Floats], epsilon: float, name: str
    ) -> str:
        parts = [self._constant(f"{name}.{number}", part) for number, part in enumerate(norm)]
        inputs = [rows, others, *parts]
        return self._add("SkipLayerNormalization", inputs, name, domain=_MICROSOFT, epsilon=epsilon)

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper  # noqa: PLC0415

        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _add(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        """Add an operator, and return the name of its first output."""
        from onnx import helper  # noqa: PLC0415

        self._nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[0]
