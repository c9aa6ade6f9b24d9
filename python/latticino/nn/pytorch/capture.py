"""Model graphs of PyTorch modules, through `torch.export`. Only this file needs torch, and only while it captures.

    graph = capture(model, torch.zeros(1, 3, 32, 32))

The module is traced on one input, as it computes in `eval()`. In a batch, each input must have the result that it has
alone. The graph is compared with the module itself before it is returned.
"""

from __future__ import annotations

import copy
import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ... import errors
from .. import reference
from ..builder import Builder
from ..graph import Graph
from ..labels.gaps import near
from . import comparing, layers
from .layers import Decided, Missing, Value

_CLOSE = 1e-3  # part of the largest result: float32 compared with doubles
_CLOSE_16_BITS = 0.05  # the same for types of 16 bits compared with each other

# Operations that torch would decompose, and that are single layers here.
KEPT = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "layer_norm",
        "group_norm", "instance_norm", "softmax", "log_softmax", "scaled_dot_product_attention",
        "avg_pool1d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
        "adaptive_max_pool2d", "adaptive_max_pool3d", "heaviside",
        "max_pool1d", "max_pool2d", "max_pool3d", "lstm", "gru", "rnn_tanh", "rnn_relu", "silu", "hardswish",
        "hardsigmoid", "mish", "celu", "selu", "elu", "softplus", "leaky_relu", "relu6", "prelu", "matmul", "square",
        "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "upsample_trilinear3d", "upsample_bicubic2d", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
        "replication_pad1d", "replication_pad2d", "replication_pad3d", "roll", "hardtanh", "log_sigmoid", "norm",
        "linalg_vector_norm", "var", "_pad_circular", "rrelu", "threshold", "cumsum",
        "unfold", "diagonal", "bilinear", "logsumexp", "log1p", "expm1", "exp2")


def is_torch(model: Any) -> bool:
    """Whether an object is one of PyTorch. PyTorch is not imported for that."""
    return any(kind.__module__.split(".")[0] == "torch" for kind in type(model).__mro__)


def capture(model: Any, sample: Any) -> Graph:
    """The graph of a `torch.nn.Module`, or of a `torch.export.ExportedProgram` of one input.

    ``sample``: inputs along a first axis, as the module takes them; a first one is enough, and its values do not matter
    unless the module looks at them. UnsupportedError, naming layer, operation and remedy, for what is not known here.
    """
    try:
        import torch
    except ImportError as why:
        raise errors.UnsupportedError.explain("compile", "a model of PyTorch and no torch", "it to read the model",
                                              errors.install("nn")) from why
    if isinstance(model, torch.export.ExportedProgram):
        return _captured(torch, model, model.module(), _one(torch, sample, model.state_dict.values()))
    if not isinstance(model, torch.nn.Module):
        raise errors.UnsupportedError.explain("compile", f"a {type(model).__name__}",
                                              "a torch.nn.Module or an ExportedProgram",
                                              "pass the module itself")
    _require_one_input(model)
    x = _one(torch, sample, model.parameters())
    if not x.is_floating_point() and not any("Embedding" in type(m).__name__ for m in model.modules()):
        # counts and pixels become floating-point numbers, but row numbers of an embedding stay integers
        x = x.to(torch.get_default_dtype())
        x = _one(torch, x, model.parameters())
    training = [m for m in model.modules() if m.training]
    model.eval()
    try:
        with torch.no_grad():
            _require_runs(model, x)
            _require_repeats(torch, model, x)
            program = torch.export.export(model, (x.clone(),))
            graph = _captured(torch, program, model, x)
            _require_apart(torch, model, x)
            return graph
    except errors.Error:
        raise
    except Exception as why:
        text = str(why).strip().splitlines() or [type(why).__name__]
        raise errors.UnsupportedError.explain(
            "compile", f"a module that torch.export does not follow ({text[0][:300]})",
            "a computation whose steps and shapes do not depend on values of its input or of buffers",
            "choose values by lists of integers, not by masks of a buffer; see torch.export's documentation, or pass "
            "an ExportedProgram") from why
    finally:
        for m in training:
            m.training = True


def _require_one_input(model: Any) -> None:
    """Raises UnsupportedError if forward() needs several arguments. torch.export would report a missing argument."""
    try:
        arguments = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        # TorchScript modules are refused here, because torch.export refuses them with an error of its own
        return
    needed = [p.name for p in arguments
              if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(needed) > 1:
        raise errors.UnsupportedError.explain(
            "compile", f"a module of several inputs: {', '.join(needed)}", "one input",
            "join them into one, and slice it in forward() of a module around this one")


def _require_runs(model: Any, x: Any) -> None:
    """Raises UnsupportedError if the module itself fails on the sample. torch.export would state a cause of its own."""
    try:
        model(x.clone())  # a module may change its input in place
    except Exception as why:
        text = str(why).strip().splitlines() or [type(why).__name__]
        raise errors.UnsupportedError.explain(
            "compile", f"a module that fails on a sample of shape {tuple(x.shape)} ({text[0][:300]})",
            "a sample that the module computes, in eval() and one at a time",
            "call the module with sample[:1], and correct the sample or the module") from why


def _require_repeats(torch: Any, model: Any, x: Any) -> None:
    """Raises UnsupportedError if the module gives two results for one input."""
    first, again = (next(iter(_tensors(torch, model(x.clone())))).double() for _ in range(2))
    close = _CLOSE_16_BITS if x.dtype in (torch.float16, torch.bfloat16) else _CLOSE
    most = float(torch.nan_to_num(first).abs().max())
    if not torch.allclose(first, again, rtol=0, atol=close * most, equal_nan=True):
        raise errors.UnsupportedError.explain(
            "compile", "a module that gives two results for one input, in eval() too",
            "a result that depends on the input alone",
            "pass training=self.training to functions of dropout, and leave random numbers and changes of buffers "
            "to training")


def _require_apart(torch: Any, model: Any, x: Any) -> None:
    """Raises UnsupportedError if the result for an input depends on the inputs beside it. What is compiled computes
    each input alone."""
    alone = next(iter(_tensors(torch, model(x.clone())))).double()
    other = x.flip(tuple(range(1, x.ndim)))
    if x.is_floating_point():
        other = other + torch.rand(x.shape, generator=torch.Generator().manual_seed(0)).to(x)
    try:
        both = next(iter(_tensors(torch, model(torch.cat([x, other])))))
    except Exception:  # raised by modules that take one input at a time
        return
    if both.numel() not in (alone.numel(), 2 * alone.numel()):
        return
    alone, first = alone.reshape(-1), both.reshape(-1)[:alone.numel()].double()
    close = (_CLOSE if x.dtype not in (torch.float16, torch.bfloat16) else _CLOSE_16_BITS) * float(
        torch.cat([alone, first]).abs().max())
    # If a result is NaN, the comparison is false, which is no sign of neighbours.
    if close < float((first - alone).abs().max()):
        raise errors.UnsupportedError.explain(
            "compile", "a module whose result for an input depends on the inputs beside it",
            "inputs along the first axis, and a result for each of them",
            "reduce and normalise over other axes; pass batch_first=True to recurrent and attention layers")


def _one(torch: Any, sample: Any, weights: Any) -> Any:
    """The first input of a sample, of the type of the module's weights."""
    if isinstance(sample, (tuple, list, dict)):
        raise errors.UnsupportedError.explain("compile", f"a sample that is a {type(sample).__name__}",
                                              "one array of inputs",
                                              "join the inputs of the model into one, and slice it in forward()")
    given = torch.as_tensor(np.asarray(sample) if not isinstance(sample, torch.Tensor) else sample).detach()
    x = given[:1].clone() if given.ndim else given
    if x.is_complex():
        raise errors.ShapeError.explain("compile", f"a sample of {x.dtype}", "real numbers",
                                        "pass real and imaginary parts as features of their own")
    if x.ndim < 2 or x.shape[0] != 1:
        raise errors.ShapeError.explain("compile", f"a sample of shape {tuple(given.shape)}",
                                        "inputs along a first axis, at least one",
                                        "pass sample[None]")
    first = next((w for w in weights if w.is_floating_point()), None)
    if first is None:
        return x
    return x.to(first.device, first.dtype) if x.is_floating_point() else x.to(first.device)


def _captured(torch: Any, program: Any, model: Callable[..., Any], x: Any) -> Graph:
    table = torch.export.default_decompositions()
    for op in list(table):
        if str(op).split(".")[:1] == ["aten"] and str(op).split(".")[1] in KEPT:
            del table[op]
    follow = Follower(torch, program.run_decompositions(table), x)
    graph = follow.graph()
    with torch.no_grad():
        wanted = _in_doubles(torch, model, x)
    wanted = next(iter(_tensors(torch, wanted))).detach().double().cpu().numpy()
    given = x.double().cpu().numpy()
    got = reference.run(graph, given)
    if graph.decision is not None:
        # Rounding may decide between values that are nearly equal, so these are not compared.
        got = np.where(near(graph, given, _CLOSE), wanted.reshape(-1), graph.decision.of(got).reshape(-1))
    error = float(np.abs(got.reshape(-1) - wanted.reshape(-1)).max())
    if not error <= _CLOSE * max(float(np.abs(wanted).max()), 1e-3):
        raise errors.PrecisionError.explain(
            "compile", f"a graph whose result differs from the module's by {error:.3g}", "the same result",
            "put the module into eval() if it changes its own mode; else report the module")
    return graph


def _in_doubles(torch: Any, model: Any, x: Any) -> Any:
    """The result of the module. Types of 16 bits hold too few digits to compare with, so a copy in doubles computes."""
    if x.dtype not in (torch.float16, torch.bfloat16):
        return model(x.clone())
    return copy.deepcopy(model).double()(x.double())


def _tensors(torch: Any, x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        yield x
    elif x is not None:
        for y in x.values() if isinstance(x, dict) else x:
            yield from _tensors(torch, y)


class Follower:
    """Adds the nodes of an exported program to a builder, one by one. torch computes constants."""

    def __init__(self, torch: Any, program: Any, x: Any) -> None:
        self.torch, self.program = torch, program
        self.shape_in = tuple(x.shape[1:])
        self.build = Builder(self.shape_in)
        self.known: dict[Any, Any] = {}
        self._inside = {path for n in program.graph.nodes for path in _paths(n)[:-1]}

    def graph(self) -> Graph:
        signature, program = self.program.graph_signature, self.program
        for node in program.graph.nodes:
            if node.op == "placeholder":
                self.known[node] = self._placed(node, signature, program)
            elif node.op == "call_function":
                self.known[node] = self._computed(node)
            elif node.op == "get_attr":
                self.known[node] = Missing(self.layer(node), "a branch or a loop of torch.cond and its kin",
                                           "steps that do not depend on values of the input",
                                           "compute both branches, and multiply them by smooth weights")
            elif node.op == "output":
                return self._result(node, signature)
        raise AssertionError("an exported program has an output")

    def _placed(self, node: Any, signature: Any, program: Any) -> Any:
        name = node.name
        stored = (signature.inputs_to_parameters.get(name) or signature.inputs_to_buffers.get(name)
                  or signature.inputs_to_lifted_tensor_constants.get(name))
        if stored is not None:
            return program.state_dict[stored] if stored in program.state_dict else program.constants[stored]
        if any(isinstance(v, Value) for v in self.known.values()):
            raise errors.UnsupportedError.explain("compile", "a module of several inputs", "one input",
                                                  "join them into one, and slice it in forward()")
        shape = tuple(int(n) for n in node.meta["val"].shape)
        if shape != (1, *self.shape_in):
            raise errors.ShapeError.explain("compile", f"a program exported for inputs of shape {shape}",
                                            f"{(1, *self.shape_in)}",
                                            "export it with one input, and pass a sample of the same shape")
        return Value(self.build.input, shape)

    def _computed(self, node: Any) -> Any:
        args, kwargs = self.torch.fx.node.map_arg((node.args, node.kwargs), lambda n: self.known[n])
        if not any(isinstance(a, (Value, Decided, Missing)) for a in _flat([args, kwargs])):
            return node.target(*args, **kwargs)
        if node.target is operator.getitem:
            return args[0][args[1]]
        name, layer = _name_of(node.target), self.layer(node)
        for a in _flat([args, kwargs]):
            if isinstance(a, Missing):
                raise errors.UnsupportedError.explain(f"layer {a.layer}", a.had, a.needs, a.remedy)
        if any(isinstance(a, Decided) for a in _flat([args, kwargs])):
            return self._moved(node, name, layer, args)
        rule = comparing.RULES.get(name)
        if rule is None:
            raise errors.UnsupportedError.explain(
                f"layer {layer}", f"the operation {name}", "one that has an encrypted form",
                layers.remedy(name))
        shape = node.meta.get("val")
        shape = tuple(int(n) for n in shape.shape) if isinstance(shape, self.torch.Tensor) else None
        return rule(layers.Call(self.build, self.torch, node, name, layer, shape), *args, **kwargs)

    def _moved(self, node: Any, name: str, layer: str, args: Any) -> Any:
        """The result of a comparison after an operation that changes its shape or its type; others are refused."""
        if name == "_assert_tensor_metadata":
            return None
        if name not in layers.MOVES:
            found = next(a for a in _flat(args) if isinstance(a, Decided))
            raise errors.UnsupportedError.explain(
                f"layer {layer}", f"the operation {name} on what {found.layer} decides",
                "argmax, thresholds and signs as the last step of a network",
                "return them, as y > 0, (y > 0).float() or y.argmax(1), and go on with the decrypted ones; inside of a "
                "network use a ReLU, torch.clamp or torch.maximum")
        was, to = args[0], node.meta["val"]
        kind = "bool" if to.dtype == self.torch.bool else "float64" if to.is_floating_point() else "int64"
        if kind == "bool" and was.decision.kind != "step":
            raise errors.UnsupportedError.explain(f"layer {layer}", f"{was.layer} as booleans", "numbers",
                                                  "leave the conversion to the client")
        return Decided(was.node, tuple(int(n) for n in to.shape), replace(was.decision, type=kind), was.layer)

    def layer(self, node: Any) -> str:
        """The layer's name for users: that of the innermost module, with the operation's name if the module has other
        modules inside."""
        paths = _paths(node)
        last = paths[-1] if paths else ""
        if last and last not in self._inside:
            return str(last)
        return f"{last}.{node.name}" if last else str(node.name)

    def _result(self, node: Any, signature: Any) -> Graph:
        outputs = [self.known[n] for n in _flat(list(node.args)) if hasattr(n, "op")]
        outputs = outputs[len(outputs) - len(signature.user_outputs):]
        for a in outputs:
            if isinstance(a, Missing):
                raise errors.UnsupportedError.explain(f"layer {a.layer}", a.had, a.needs, a.remedy)
        if len(outputs) != 1:
            raise errors.UnsupportedError.explain("compile", f"a module with {len(outputs)} results", "one result",
                                                  "return one tensor from forward(): torch.cat joins several")
        value = outputs[0]
        if not isinstance(value, (Value, Decided)):
            raise errors.UnsupportedError.explain(
                "compile", "a module whose result does not depend on its input", "a result that is computed from it",
                "return a tensor from forward(); a constant needs no encryption")
        shape = value.shape[1:] if value.shape[:1] == (1,) else value.shape
        if isinstance(value, Decided):
            return self.build.graph(value.node, replace(value.decision, shape=shape))
        return self.build.graph(self.build.reshape(value.node, shape, "output"))



def _paths(node: Any) -> list[str]:
    return [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]


def _flat(x: Any) -> list[Any]:
    if isinstance(x, (Value, Decided, Missing)) or not isinstance(x, (list, tuple, dict)):
        return [x]
    return [z for y in (x.values() if isinstance(x, dict) else x) for z in _flat(y)]


def _name_of(target: Any) -> str:
    """"conv2d" of aten.conv2d.default."""
    parts = str(target).split(".")
    return parts[1] if parts[0] == "aten" and len(parts) > 1 else str(target)


def sizes(x: Any) -> Sequence[int]:
    return [int(n) for n in (x if isinstance(x, (list, tuple)) else [x])]
