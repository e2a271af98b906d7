"""Explains where a tensor of a layer comes from and how its gradient reaches it; prints formulas and saved values.

Prints:
f32 [4, 2]: ... mean ...
made by 'linear' (node 2), at ...explain_a_tensor.py:...
  from input 0, which needs no gradient
  from f32 [2, 3], leaf weight
  from f32 [2], leaf bias
saved by no node
the gradient comes from the loss in 4 steps:
...
tanh: y [2, 3] = tanh x
    dx = dy ⊙ (1 − y²)
sum: y [] = x [2, 3] summed over axes [0, 1]
    dx [2, 3] = dy [] repeated along these axes

saved for the backward: 80 B in 2 values; parameters, not included: 24 B
...
"""

import tapeformer as tape

tape.manual_seed(1)
layer, x = tape.nn.Linear(3, 2), tape.randn([4, 3])
with tape.trace():
    y = layer(x)
    loss = (y.tanh() ** 2).mean()
loss.backward(retain_graph=True)

print(tape.explain(y, loss, names=layer))
print()
print(tape.formula(lambda h: h.tanh().sum(), tape.randn([2, 3]).requires_grad_()))
print()
print(tape.saved_tensors((layer(x).tanh() ** 2).mean()))
