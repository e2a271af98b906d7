"""Optimizers and schedules; what they compute is compared with PyTorch."""

import numpy as np
import pytest

import tapeformer as tape
from tapeformer import optim

START = np.random.default_rng(0).normal(size=(3, 4))
OPTIMIZERS = {
    "Adam": ({"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.01}, {}),
    "AdamW": ({"lr": 0.1, "weight_decay": 0.1}, {}),
    "Sgd": ({"lr": 0.1, "momentum": 0.9, "nesterov": True}, {}),
}


def loss_of(w):
    return ((w - 1) ** 4).sum()


def test_every_optimizer_and_schedule_is_tested():
    classes = {name for name in dir(optim) if isinstance(getattr(optim, name), type)}
    optimizers = {name for name in classes if issubclass(getattr(optim, name), optim.Optimizer)} - {"Optimizer"}
    schedules = {name for name in classes if issubclass(getattr(optim, name), optim.Schedule)} - {"Schedule"}
    assert optimizers == set(OPTIMIZERS)
    assert schedules == set(SCHEDULES)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    options, others = OPTIMIZERS[name]
    ours, theirs = tape.tensor(START, requires_grad=True), torch.tensor(START, requires_grad=True)
    mine = getattr(optim, name)([ours], **options)
    other = getattr(torch.optim, name.replace("Sgd", "SGD"))([theirs], **options, **others)
    for _ in range(5):
        mine.zero_grad()
        loss_of(ours).backward()
        mine.step()
        other.zero_grad()
        loss_of(theirs).backward()
        other.step()
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)


def test_states_continue_exactly():
    def run(steps, state=None, w=None):
        w = tape.tensor(START, requires_grad=True) if w is None else w
        adam = optim.AdamW([w], lr=0.1)
        if state:
            adam.load_state_dict(state)
        for _ in range(steps):
            adam.zero_grad()
            loss_of(w).backward()
            adam.step()
        return w, {name: value.clone() for name, value in adam.state_dict().items()}

    whole, _ = run(4)
    half, state = run(2)
    continued, _ = run(2, state, half)
    assert whole.tolist() == continued.tolist()


def test_groups_and_lr():
    a, b = tape.ones((2,)).requires_grad_(), tape.ones((2,)).requires_grad_()
    sgd = optim.Sgd([optim.ParameterGroup([a]), optim.ParameterGroup([b], lr_factor=0.5)], lr=0.1)
    (a + b).sum().backward()
    sgd.step()
    assert a.tolist() == pytest.approx([0.9, 0.9]) and b.tolist() == pytest.approx([0.95, 0.95])
    sgd.lr = 1.0
    assert (sgd.lr, sgd.group_count()) == (1.0, 2)
    with pytest.raises(tape.Error):
        sgd.lr = -1
    with pytest.raises(tape.Error):
        optim.Sgd([])


def test_gradients_that_are_not_finite_are_refused():
    w = tape.ones((2,)).requires_grad_()
    sgd = optim.Sgd([w])
    (w * float("nan")).sum().backward()
    with pytest.raises(tape.Error) as error:
        sgd.step()
    assert error.value.kind == "numeric" and w.tolist() == [1, 1]


SCHEDULES = {
    "ConstantSchedule": ({}, [1, 1, 1]),
    "CosineSchedule": ({"total": 3, "warmup": 1}, None),
    "InverseSqrtSchedule": ({"warmup": 1}, [1, 2**-0.5, 3**-0.5]),
    "LinearSchedule": ({"total": 3, "warmup": 1}, None),
    "NoamSchedule": ({"d_model": 1, "warmup": 1}, [1, 2**-0.5, 3**-0.5]),
    "WarmupSchedule": ({"warmup": 2}, [0.5, 1, 1]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    options, expected = SCHEDULES[name]
    sgd = optim.Sgd([tape.ones((1,)).requires_grad_()], lr=1.0)
    schedule = getattr(optim, name)(sgd, **options)
    rates = []
    for _ in range(3):
        rates.append(sgd.lr)
        sgd.step()
        schedule.step()
    if expected:
        assert rates == pytest.approx(expected)
    assert rates == pytest.approx([schedule.lr_at(step) for step in (1, 2, 3)])
    assert schedule.last_step == 3


def test_a_formula_is_a_schedule_and_keeps_the_optimizer_alive():
    schedule = optim.Schedule(optim.Sgd([tape.ones((1,)).requires_grad_()]), lambda step: 1 / step)
    schedule.step()
    assert schedule.lr == 0.5


def test_clipping():
    w = tape.ones((2,)).requires_grad_()
    (3 * w).sum().backward()
    assert optim.grad_norm([w]) == pytest.approx(18**0.5)
    assert optim.clip_grad_norm([w], 1.0) == pytest.approx(18**0.5)
    assert w.grad.norm().item() == pytest.approx(1, rel=1e-5)
    optim.clip_grad_value([w], 0.1)
    assert w.grad.tolist() == pytest.approx([0.1, 0.1])


def test_settings_of_a_group_that_are_not_given_remain():
    w = tape.ones((1,), requires_grad=True)
    optimizer = optim.AdamW([w], lr=0.1, weight_decay=0.5)
    optimizer.set_group(0, lr_factor=1.0)
    w.grad = tape.zeros((1,))
    optimizer.step()
    assert w.item() == pytest.approx(0.95)


def test_a_formula_must_return_a_number():
    adam = optim.Adam([tape.ones((1,), requires_grad=True)])
    for lr, name in (("text", "str"), (None, "NoneType")):
        with pytest.raises(TypeError, match=f"formula: must return the lr, got {name}"):
            optim.Schedule(adam, lambda step: lr)
