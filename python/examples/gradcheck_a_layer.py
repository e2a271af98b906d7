"""Checks the gradients of a layer with a mistake in its backward, and names the mistake.

Prints:
gradcheck: 3 of 3 gradients are wrong
gradient of    shape   max rel error  wrong  verdict
...
guilty: Swish (activation), called at gradcheck_a_layer.py:...: gradient of input 0 [2, 3]: [0, 0] is ...
gradcheck: all 3 gradients are right
...
"""

import tapeformer as tape


class Swish(tape.Function):
    """x σ(x)"""

    term = False  # whether backward() has the second term

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return grad * (s + x * s * (1 - s)) if Swish.term else grad * s


class Activation(tape.nn.Module):
    def forward(self, x):
        return Swish.apply(x)


class Layer(tape.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = tape.nn.Linear(4, 3)
        self.activation = Activation()

    def forward(self, x):
        return self.activation(self.linear(x))


tape.manual_seed(1)
layer, x = Layer(), tape.randn([2, 4], dtype=tape.f64)
print(tape.gradcheck(layer, x))
Swish.term = True
print(tape.gradcheck(layer, x))
