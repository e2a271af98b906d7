"""Compares an encoder layer with PyTorch's: once equal, once with another eps in its norms.

Prints:
compare: outputs, 5 module calls and ... gradients agree
compare: values diverge
Values diverge in norm1 (...): norm1: max error ... torch: layer_norm((16,), eps=1e-05); tape: layer_norm(eps=1e-12).
"""

import torch

import tapeformer as tape

torch.manual_seed(1)
theirs = torch.nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, batch_first=True, activation="gelu")
x = torch.randn(2, 5, 16)

options = dict(d_model=16, heads=2, d_ff=32, activation="gelu")
print(str(tape.compare(theirs, tape.nn.EncoderLayer(**options), x)).split("\n")[0])
report = tape.compare(theirs, tape.nn.EncoderLayer(**options, norm_eps=1e-12), x)
print(str(report).split("\n")[0])
print(report.first_value)
