"""Tensors, operations and gradients.

Prints:
x = tensor([1.0000, 2.0000, 3.0000], requires_grad)
d(sum of squares)/dx = tensor([2.0000, 4.0000, 6.0000])
shape of x @ w: (4,)
second derivative of x^3 at 2: 12.0
"""

import tapeformer as tape

x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
print("x =", x)

(x * x).sum().backward()
print("d(sum of squares)/dx =", x.grad)

w = tape.randn((3, 4))
print("shape of x @ w:", (x @ w).shape)

z = tape.tensor(2.0, requires_grad=True)
(first,) = tape.grad(z**3, [z], create_graph=True)
print("second derivative of x^3 at 2:", tape.grad(first, z).item())
