"""Trains, and computes with OpenBLAS's LAPACK, as a user of the wheel would; scripts/check_wheel.sh runs it."""

import numpy
import tapeformer as tape

tape.manual_seed(0)
x = tape.randn([64, 8])
target = tape.matmul(x, tape.randn([8, 1]))
model = tape.nn.Linear(8, 1)
optimizer = tape.optim.AdamW(model.parameters(), lr=0.1)
losses = []
for _ in range(100):
    optimizer.zero_grad()
    loss = ((model(x) - target) * (model(x) - target)).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < 0.01 * losses[0], losses

matrix = numpy.array([[4.0, 1.0], [1.0, 3.0]], dtype=numpy.float32)
inverse = tape.linalg.inv(tape.from_numpy(matrix)).numpy()
assert numpy.allclose(inverse @ matrix, numpy.eye(2), atol=1e-5), inverse
print(f"loss {losses[0]:.3f} to {losses[-1]:.5f}")
