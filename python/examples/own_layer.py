"""A layer written in Python, inside of layers of the library, and its training with AdamW.

Prints:
Net(...4,450
  (enter): Linear(2 -> 32)...96
  (layers): ModuleList(...4,224
    (0): Gated(...2,112
      (value): Linear(32 -> 32)...1,056
...
4,450 parameters
step 1: loss 1.3...
step 100: loss 0.0...
100% right
layers.1.gate: linear: inner sizes differ: x [256, 32] x weight [32, 5] (32 vs 5)
"""

import tapeformer as tape
from tapeformer import nn, optim


class Gated(nn.Module):
    """y = value(x) * sigmoid(gate(x))"""

    def __init__(self, d):
        super().__init__()
        self.value = nn.Linear(d, d)
        self.gate = nn.Linear(d, d)

    def forward(self, x):
        return self.value(x) * self.gate(x).sigmoid()


class Net(nn.Module):
    def __init__(self, d=32, layers=2):
        super().__init__()
        self.enter = nn.Linear(2, d)
        self.layers = nn.ModuleList(Gated(d) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 2)

    def forward(self, x):
        x = self.enter(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(self.norm(x))


# Two classes: inside and outside of a circle.
tape.manual_seed(0)
points = tape.randn((256, 2))
inside = (points.square().sum(-1) < 1.2).long()

model = Net()
print(model)
adam = optim.AdamW(model.parameters(), lr=0.01)
for step in range(1, 101):
    loss = tape.cross_entropy(model(points), inside)
    adam.zero_grad()
    loss.backward()
    optim.clip_grad_norm(model.parameters(), 1.0)
    adam.step()
    if step in (1, 100):
        print(f"step {step}: loss {loss.item():.2f}")

with tape.no_grad():
    right = (model(points).argmax(-1) == inside).float().mean().item()
print(f"{right:.0%} right")

# An error names the layer and the shapes.
model.layers[1].gate = nn.Linear(5, 32)
try:
    model(points)
except tape.Error as error:
    print(error)
