"""device="cuda", here the emulated device of the C++ tests: the same values and gradients as on the CPU."""

import os
import pathlib
import subprocess
import sys

import pytest

# Loaded before everything else, it answers for the driver.
DEVICE = pathlib.Path(__file__).parents[2] / "build/release/tests/libpreloaded_device.so"
PROGRAM = """
import numpy as np
import tapeformer as tape

tape.manual_seed(0)
x, w = tape.randn([8, 4]), tape.randn([4, 2], requires_grad=True)


def step(device):
    a, b = x.to(device), w.detach().to(device).requires_grad_()
    y = (a @ b).gelu().sum()
    y.backward()
    assert b.grad.device == y.device == device
    return y.item(), b.grad.to("cpu").numpy()


for cpu, cuda in zip(step("cpu"), step("cuda")):
    np.testing.assert_allclose(cuda, cpu, rtol=1e-5)

with tape.default_device("cuda"):
    model = tape.nn.Linear(4, 3)
    assert tape.zeros([2]).device == "cuda"
assert model.weight.device == "cuda"
optimizer = tape.optim.AdamW(model.parameters(), lr=0.1)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = (model(x.to("cuda")) ** 2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]
model.to("cpu")
assert model.weight.device == "cpu"

rows = tape.arange(6).reshape(3, 2).to("cuda")
for key in ([0, 2], np.array([0, 2]), [True, False, True], (slice(None), [1, 0])):
    assert rows[key].tolist() == rows.to("cpu")[key].tolist()
rows[[0, 2]] = 7
assert rows.tolist() == [[7, 7], [2, 3], [7, 7]]

check = tape.gradcheck(lambda a: (a * a).sum(), [tape.randn([3], dtype=tape.f64, device="cuda")])
assert check, check
for wrong, said in ((lambda: x + x.to("cuda"), "cpu and cuda"), (lambda: x.to("cuda").numpy(), "is on cuda")):
    try:
        wrong()
        raise SystemExit("no error")
    except tape.Error as error:
        assert said in str(error), error
print("done")
"""


@pytest.mark.skipif(not DEVICE.exists(), reason="the C++ tests are not built")
def test_on_the_emulated_device():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "LD_PRELOAD": str(DEVICE)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
