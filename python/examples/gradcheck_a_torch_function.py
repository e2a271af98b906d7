"""Checks a torch.autograd.Function inside a PyTorch module. Its backward has a factor of 2 too many.

Prints:
False
first.weight: Every element is 2 times the numeric value: a constant factor is wrong.
first.bias: Every element is 2 times the numeric value: a constant factor is wrong.
guilty: Square in 'square', gradcheck_a_torch_function.py:...
"""

import pathlib

import torch

import tapeformer as tape


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 4 * x


class Squared(torch.nn.Module):
    def forward(self, x):
        return Square.apply(x)


torch.manual_seed(1)
model = torch.nn.Sequential()
model.add_module("first", torch.nn.Linear(3, 4))
model.add_module("square", Squared())
model.add_module("last", torch.nn.Linear(4, 3))

report = tape.gradcheck(model, torch.randn(5, 3))
print(report.ok)
for result in report.variables:
    if not result.ok and result.name != "input":
        print(f"{result.name}: {result.explanation}")
for guilty in report.guilty:
    print(f"guilty: {guilty.operation} in {guilty.module_path!r}, {pathlib.Path(guilty.source).name}")
