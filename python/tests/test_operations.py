"""Every operation against NumPy and PyTorch, in f64: values, and gradients against PyTorch."""

import pathlib

import numpy as np
import pytest
from operations import CASES, ELSEWHERE, torch

import tapeformer as tape
from tapeformer import _tapeformer


def names_of(module):
    """The functions that bindings define, not those of Python on top of them."""
    return [
        name
        for name in dir(module)
        if isinstance(getattr(module, name), type(_tapeformer.exp)) and not name.startswith("_")
    ]


def test_every_operation_has_a_case():
    bound = {*names_of(_tapeformer), *(f"linalg.{name}" for name in names_of(_tapeformer.linalg))}
    elsewhere = {name for names in ELSEWHERE.values() for name in names.split()}
    assert bound - set(CASES) - elsewhere == set(), "operations without a case in operations.py"
    assert (set(CASES) | elsewhere) - bound - set(FROM_PYTHON) == set(), "cases of operations that do not exist"


# Functions written in Python on top of the bindings.
FROM_PYTHON = ()


def test_functions_tested_elsewhere_are_named_there():
    for file, names in ELSEWHERE.items():
        text = (pathlib.Path(__file__).parent / file).read_text()
        missing = [name for name in names.split() if f"{name}(" not in text and f".{name}" not in text]
        assert not missing, f"{file} does not call {missing}"


def test_every_case_has_a_reference():
    assert [
        name
        for name, (_, _, numpy, torch_function) in CASES.items()
        if numpy is None and torch_function is None and torch
    ] == []


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case[2]))
def test_values_are_those_of_numpy(name):
    inputs, call, reference, _ = CASES[name]
    found = call(*(tape.tensor(x) for x in inputs)).numpy()
    expected = np.asarray(reference(*inputs))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not torch, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case[3] or not torch))
def test_values_and_gradients_are_those_of_pytorch(name):
    inputs, call, _, reference = CASES[name]
    ours = [tape.tensor(x) for x in inputs]
    theirs = [torch.tensor(x) for x in inputs]
    for a, b in zip(ours, theirs):
        if b.is_floating_point():
            a.requires_grad = True
            b.requires_grad = True
    found, expected = call(*ours), reference(*theirs)
    assert found.shape == tuple(expected.shape)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-11, atol=1e-11)
    if not expected.requires_grad:
        return
    weights = np.random.default_rng(7).uniform(0.5, 1.5, tuple(expected.shape))
    (found * tape.tensor(weights)).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if b.grad is not None:
            assert a.grad is not None, f"no gradient for input {i}"
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-9, err_msg=f"input {i}")
