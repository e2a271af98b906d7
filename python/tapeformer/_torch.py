"""PyTorch's tensors and functions, if the program has imported PyTorch; this package never does."""

import sys

from . import _tapeformer


def torch():
    """The module if the program has imported it, else None."""
    return sys.modules.get("torch")


def is_tensor(value):
    return torch() is not None and isinstance(value, torch().Tensor)


def is_module(value):
    return torch() is not None and isinstance(value, torch().nn.Module)


def is_function(f):
    """Whether it is a module, a torch.autograd.Function or its apply(), or one of PyTorch's own functions."""
    if torch() is None:
        return False
    owners = (getattr(f, "__module__", None), type(getattr(f, "__self__", None)).__module__)
    return is_module(f) or function_class(f) is not None or any(f"{owner}.".startswith("torch.") for owner in owners)


def function_class(f):
    """The torch.autograd.Function that f is, or whose apply() it is; else None."""
    if torch() is None:
        return None
    owner = f if isinstance(f, type) else getattr(f, "__self__", None)
    return owner if isinstance(owner, type) and issubclass(owner, torch().autograd.Function) else None


def to_torch(tensor, device="cpu"):
    """A copy of the values."""
    return torch().from_dlpack(tensor.detach()).to(device, copy=True)


def from_torch(tensor):
    """A copy of the values, on the CPU."""
    tensor = tensor.detach()
    if tensor.layout != torch().strided:
        tensor = tensor.to_dense()
    return _tapeformer.tensor(tensor.resolve_neg().cpu())


def call(name, function, inputs, device="cpu"):
    """function(*tensors of PyTorch), a list of them, as one operation on tensors of this library.

    Its gradient is torch.autograd.grad(), whose own gradient is again such an operation, so all derivatives are
    PyTorch's.
    """
    graph = []

    def forward(context):
        needed = [context.needs(i) for i in range(len(inputs))]
        recorded = any(needed)
        # Always with gradients: PyTorch may choose other kernels without, which round differently.
        leaves = [
            to_torch(tensor, device).requires_grad_(need or not recorded)
            for tensor, need in zip(context.inputs, needed)
        ]
        with torch().enable_grad():
            # Copies, because an operation in place on a leaf is an error.
            outputs = function(*(leaf.clone() for leaf in leaves))
        if not recorded:
            return [from_torch(output) for output in outputs]
        graph.extend([leaves, outputs])
        context.save(context.inputs)
        return [from_torch(output) for output in outputs]

    def backward(context):
        heads = [context.grad(i) for i in range(len(graph[1]))]
        if context.create_graph:
            values = [context.saved(i) for i in range(len(inputs))]
            return list(call(f"{name} backward", gradients_of(function, len(inputs)), [*values, *heads], device))
        found = _gradients(graph[1], graph[0], [to_torch(head, device) for head in heads], create_graph=False)
        return [None if gradient is None else from_torch(gradient) for gradient in found]

    return _tapeformer.custom(name, inputs, forward, backward)


def gradients_of(function, count):
    """The function of `count` inputs and the gradients of its outputs that returns the gradients of the inputs."""

    def gradients(*given):
        with torch().enable_grad():
            leaves = [tensor if tensor.requires_grad else tensor.detach().requires_grad_() for tensor in given[:count]]
            outputs = function(*(leaf.clone() for leaf in leaves))
            found = _gradients(outputs, leaves, given[count:], create_graph=True)
        return [torch().zeros_like(leaf) if gradient is None else gradient for leaf, gradient in zip(leaves, found)]

    return gradients


def _gradients(outputs, leaves, heads, create_graph):
    """None where no gradient arrives."""
    pairs = [(output, head) for output, head in zip(outputs, heads) if output.requires_grad]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if not pairs or not wanted:
        return [None] * len(leaves)
    found = iter(torch().autograd.grad([output for output, _ in pairs], wanted, [head for _, head in pairs],
                                       create_graph=create_graph, retain_graph=True, allow_unused=True))  # fmt: skip
    return [next(found) if leaf.requires_grad else None for leaf in leaves]
