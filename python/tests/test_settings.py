"""Dtypes, devices, memory, threads and printing."""

import pytest

import tapeformer as tape


def test_dtypes():
    assert repr(tape.f32) == "tapeformer.f32"
    assert (tape.f64.itemsize, tape.i32.is_floating, tape.bf16.is_floating) == (8, False, True)
    assert tape.can_cast(tape.i32, tape.f32) and not tape.can_cast(tape.f32, tape.i32)
    assert tape.result_type(tape.ones((1,), dtype=tape.i64), tape.ones((1,))) == tape.f32


def test_devices():
    assert tape.ones((1,)).device == "cpu"
    assert tape.describe("cpu")
    devices = tape.devices()
    assert devices.missing or devices.gpus
    assert tape.cublaslt().version >= 0
    tape.synchronize("cpu")
    with pytest.raises(tape.Error, match='"tpu"'):
        tape.ones((1,)).to("tpu")


def test_memory():
    kept = tape.ones((1000,))
    assert tape.memory_stats().live_bytes >= 4000
    tape.reset_peak_memory()
    tape.empty_cache()
    tape.set_memory_limit(tape.memory_stats().live_bytes + 2**20)
    with pytest.raises(tape.Error) as error:
        tape.ones((2**24,))
    assert error.value.kind == "out_of_memory"
    tape.set_memory_limit(2**62)
    assert kept.sum().item() == 1000


def test_threads():
    before = tape.num_threads()
    tape.set_num_threads(1)
    assert tape.num_threads() == 1
    tape.set_num_threads(before)


def test_printing():
    before = tape.printoptions()
    tape.set_printoptions(precision=1)
    assert repr(tape.tensor([1.25])) == "tensor([1.2])"
    tape.set_printoptions(precision=before.precision)
