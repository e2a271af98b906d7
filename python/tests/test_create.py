"""Tensors from Python, NumPy, PyTorch and files, random ones, and back."""

import copy
import pickle

import numpy as np
import pytest

import tapeformer as tape


def test_lists_become_tensors():
    x = tape.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x.shape, x.dtype, x.tolist()) == ((2, 2), tape.f32, [[1, 2], [3, 4]])
    assert tape.tensor([1, 2]).dtype == tape.i64
    assert tape.tensor([True]).dtype == tape.bool
    assert tape.tensor([1, 2.5]).dtype == tape.f32
    assert tape.tensor(3).shape == ()
    assert tape.tensor([]).shape == (0,)
    assert tape.tensor([[], []]).shape == (2, 0)
    assert tape.tensor([2**62 + 1]).item() == 2**62 + 1
    assert tape.tensor([1], dtype=tape.f64).dtype == tape.f64
    assert tape.tensor([1.0], requires_grad=True).requires_grad
    assert tape.tensor([tape.tensor(2.0), 3.0]).tolist() == [2, 3]


def test_new_tensors_can_require_gradients():
    for made in (tape.zeros([2]), tape.randn([2]), tape.full([2], 3.0)):
        assert not made.requires_grad
    for made in (
        tape.zeros([2], requires_grad=True),
        tape.randn([2], dtype=tape.f64, requires_grad=True),
        tape.full([2], 3.0, requires_grad=True),
    ):
        made.sum().backward()
        assert made.grad.tolist() == [1, 1]
    with pytest.raises(tape.Error, match="i64"):
        tape.arange(3, requires_grad=True)


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(tape.Error, match="tensor: rows differ in length on axis 1: 2 and 1"):
        tape.tensor([[1, 2], [3]])
    with pytest.raises(tape.Error, match="tensor: takes numbers, lists of them and arrays of numbers, got str"):
        tape.tensor(["a"])


@pytest.mark.parametrize("dtype", ["bool", "u1", "i4", "i8", "f2", "f4", "f8"])
def test_arrays_keep_their_dtype(dtype):
    array = np.array([[0, 1], [1, 0]], dtype)
    for x in (tape.tensor(array), tape.from_numpy(array)):
        assert x.numpy().dtype == array.dtype
        assert x.tolist() == array.tolist()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
def test_scalars_of_numpy_keep_their_dtype(kind):
    assert tape.tensor(kind(1)).numpy().dtype == np.dtype(kind)


def test_arrays_of_other_types_are_refused():
    with pytest.raises(tape.Error, match="tensor: has no dtype for complex128") as error:
        tape.tensor(np.zeros(2, complex))
    assert error.value.kind == "dtype"
    with pytest.raises(tape.Error, match="arrays of numbers, got ndarray of >f8") as error:
        tape.tensor(np.zeros(2, ">f8"))
    assert error.value.kind == "dtype"
    with pytest.raises(tape.Error, match="from_numpy: takes an array of NumPy"):
        tape.from_numpy([1, 2])


def test_from_numpy_shares_memory_and_tensor_copies():
    array = np.arange(6.0).reshape(2, 3)
    shared, copied = tape.from_numpy(array), tape.tensor(array)
    array[0, 0] = 7
    assert shared[0, 0].item() == 7
    assert copied[0, 0].item() == 0
    shared.add_(1)
    assert array[0, 0] == 8


def test_what_cannot_be_shared_is_copied():
    array = np.arange(6.0).reshape(2, 3)
    strided = tape.from_numpy(array.T)
    assert strided.tolist() == array.T.tolist()
    strided.fill_(0)
    assert array[0, 1] == 1
    array.flags.writeable = False
    read_only = tape.from_numpy(array)
    read_only.fill_(0)
    assert array[0, 1] == 1
    backwards = tape.from_numpy(np.arange(3.0)[::-1])
    assert backwards.tolist() == [2, 1, 0]


def test_a_shared_array_outlives_its_name():
    x = tape.from_numpy(np.full(1000, 3.0))
    assert x.sum().item() == 3000


def test_numpy_is_a_read_only_view():
    x = tape.ones((2, 3))
    array = x.numpy()
    x.fill_(5)
    assert array[1, 2] == 5
    with pytest.raises(ValueError):
        array[0, 0] = 1
    assert np.asarray(x).sum() == 30
    assert np.array(x, dtype="f8").dtype == np.float64


def test_numpy_of_a_tensor_with_gradients_is_refused():
    x = tape.ones((2,)).requires_grad_()
    with pytest.raises(tape.Error, match=r"numpy: the tensor requires gradients.*x.detach\(\).numpy\(\)"):
        x.numpy()
    with pytest.raises(TypeError):
        np.exp(x)


def test_numpy_numbers_are_numbers():
    x = tape.ones((2,))
    assert (x * np.float32(2)).tolist() == [2, 2]
    assert (np.float64(2) * x).tolist() == [2, 2]
    assert (x + np.int64(1)).dtype == tape.f32
    with pytest.raises(TypeError):
        np.ones(2) + x


def test_values_go_to_pytorch_and_back_without_a_copy():
    torch = pytest.importorskip("torch")
    theirs = torch.arange(6.0).reshape(2, 3)
    ours = tape.from_dlpack(theirs)
    theirs[0, 0] = 9
    assert ours[0, 0].item() == 9
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr()
    # An older library, which cannot know that the values are read-only, gets a copy.
    copy = torch.utils.dlpack.from_dlpack(ours.__dlpack__())
    assert torch.equal(copy, theirs) and copy.data_ptr() != theirs.data_ptr()
    assert torch.equal(torch.from_dlpack(tape.ones((2,), dtype=tape.bf16)), torch.ones(2, dtype=torch.bfloat16))


def test_creation():
    assert tape.zeros((2, 3)).shape == (2, 3)
    assert tape.ones(3, dtype=tape.i64).tolist() == [1, 1, 1]
    assert tape.full((2,), 0.5, dtype=tape.f64).tolist() == [0.5, 0.5]
    assert tape.empty([4]).shape == (4,)
    assert tape.empty_like(tape.ones((2,), dtype=tape.i32)).dtype == tape.i32
    assert tape.zeros_like(tape.ones((2,))).tolist() == [0, 0]
    assert tape.ones_like(tape.zeros((2,))).tolist() == [1, 1]
    assert tape.full_like(tape.zeros((2,), dtype=tape.i64), 7).tolist() == [7, 7]
    assert tape.scalar(2).item() == 2
    assert tape.eye(2).tolist() == [[1, 0], [0, 1]]
    assert tape.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert tape.arange(3).tolist() == [0, 1, 2]
    assert tape.arange(1, 7, 2).dtype == tape.i64
    assert tape.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    with pytest.raises(tape.Error, match="a size must not be negative|negative"):
        tape.zeros((-1,))
    with pytest.raises(tape.Error):
        tape.zeros((1,), device="gpu")


def test_random_numbers_follow_the_seed():
    draws = (
        lambda: tape.rand((3,)),
        lambda: tape.randn((3,)),
        lambda: tape.rand_like(tape.zeros((3,))),
        lambda: tape.randn_like(tape.zeros((3,))),
        lambda: tape.randint(0, 5, (3,)),
        lambda: tape.randperm(5),
        lambda: tape.exponential((3,)),
        lambda: tape.gumbel((3,)),
        lambda: tape.truncated_normal((3,), mean=1.0),
        lambda: tape.bernoulli(tape.full((3,), 0.5)),
        lambda: tape.multinomial(tape.ones((4,)), 2),
    )
    for draw in draws:
        tape.manual_seed(3)
        first = draw().tolist()
        tape.manual_seed(3)
        assert draw().tolist() == first
    own = tape.Generator(5)
    tape.exponential((3,), stream=own)
    assert own.counter > 0
    assert tape.generator("init").seed == 3


def test_files(tmp_path):
    tensors = {"a": tape.randn((2, 3)), "b": tape.arange(4)}
    tape.save_safetensors(str(tmp_path / "x.safetensors"), tensors, {"made by": "a test"})
    tape.save_npz(str(tmp_path / "x.npz"), tensors, compressed=True)
    for loaded in (tape.load_safetensors(str(tmp_path / "x.safetensors")), tape.load_npz(str(tmp_path / "x.npz"))):
        assert {name: x.tolist() for name, x in loaded.items()} == {name: x.tolist() for name, x in tensors.items()}
    tape.save_npy(str(tmp_path / "x.npy"), tensors["a"])
    assert np.load(tmp_path / "x.npy").tolist() == tape.load_npy(str(tmp_path / "x.npy")).tolist()
    with pytest.raises(tape.Error) as error:
        tape.load_npy(str(tmp_path / "missing.npy"))
    assert error.value.kind == "io"


def test_arrays_outlive_new_values():
    x = tape.tensor(np.arange(6.0))
    array = x.numpy()
    x.set_data(tape.zeros((6,), dtype=tape.f64))
    others = [tape.full((6,), 7.0, dtype=tape.f64) for _ in range(8)]
    assert array.tolist() == [0, 1, 2, 3, 4, 5] and len(others) == 8


def test_lists_that_are_refused():
    with pytest.raises(tape.Error, match="rows differ in length"):
        tape.tensor([[], [1.0, 2.0]])
    for value, dtype in ((300, tape.u8), (2**40, tape.i32)):
        with pytest.raises(tape.Error, match=f"{value} does not fit"):
            tape.tensor([value], dtype=dtype)
    with pytest.raises(tape.Error, match="9223372036854775808 does not fit i64"):
        tape.tensor(2**63)
    with pytest.raises(tape.Error, match="ndarray of object"):
        tape.from_numpy(np.array([None]))


def test_ranges_of_integers_are_exact():
    assert tape.arange(2**53 + 1, 2**53 + 4).tolist() == [2**53 + 1, 2**53 + 2, 2**53 + 3]
    assert tape.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert tape.arange(3, 0, -2).tolist() == [3, 1]
    assert tape.arange(0, 2, dtype=tape.f32).tolist() == [0, 1]
    with pytest.raises(tape.Error):
        tape.arange(254, 260, dtype=tape.u8)
    with pytest.raises(tape.Error, match="does not lead"):
        tape.arange(0, 3, -1)


def test_numbers_and_tensors():
    assert (2.5 ** tape.tensor([1, 2])).tolist() == [2.5, 6.25]
    assert (2 ** tape.tensor([1, 2])).dtype == tape.i64
    assert (7 % tape.tensor([2, 4])).tolist() == [1, 3]
    mask = tape.tensor([True, False])
    assert tape.where(mask, tape.tensor([1, 2]), 0).tolist() == [1, 0]
    assert tape.where(mask, 0.5, tape.tensor([1.0, 2.0])).tolist() == [0.5, 2]
    assert tape.tensor([np.True_, np.False_]).dtype == tape.bool
    assert (tape.tensor([1]) * np.bool_(True)).dtype == tape.i64
    assert (tape.tensor([44], dtype=tape.u8) == 300).tolist() == [False]
    assert [10, 20, 30][tape.tensor(1)] == 20
    assert f"{tape.tensor(2.5):.2f} {tape.tensor([1])}" == f"2.50 {tape.tensor([1])!s}"
    assert (+tape.tensor([1.0])).tolist() == [1]
    assert tape.zeros((2, 3)).reshape(np.int64(6)).shape == (6,)


def test_indices_of_other_integers():
    x = tape.tensor([[1, 2], [3, 4]])
    assert x[tape.tensor([1], dtype=tape.i32)].tolist() == [[3, 4]]
    assert x[np.array([1], dtype=np.uint8)].tolist() == [[3, 4]]
    assert x[[]].shape == (0, 2)
    assert x[None].shape == (1, 2, 2)


def test_indices_of_one_element_keep_their_axis():
    x = tape.tensor([[1, 2], [3, 4]])
    assert x[tape.tensor([1])].shape == (1, 2)
    assert x[tape.tensor(1)].shape == (2,)
    torch = pytest.importorskip("torch")
    assert x[torch.tensor([1])].shape == (1, 2)


def test_arrays_are_not_compared_by_identity():
    x = tape.tensor([1.0, 2.0])
    array = np.array([1.0, 2.0])
    for compare in (lambda: x == array, lambda: array == x, lambda: x != array):
        with pytest.raises(TypeError, match="cannot be compared with a ndarray; make a tensor of it"):
            compare()
    assert (x == tape.tensor(array).float()).tolist() == [True, True]
    assert (x == None) is False and (x != "text") is True  # noqa: E711


def test_numbers_are_formatted_as_in_python():
    assert f"{tape.tensor(7):3d}|{tape.tensor(1.5):.2f}|{tape.tensor(2**60 + 1):d}" == f"  7|1.50|{2**60 + 1}"


def test_lists_of_arrays_and_ranges_become_tensors():
    x = tape.tensor([np.ones(2), np.zeros(2)])
    assert x.tolist() == [[1, 1], [0, 0]] and x.dtype == tape.f64
    assert tape.tensor([np.arange(2), np.arange(2)], dtype=tape.f32).dtype == tape.f32
    assert tape.tensor([[np.ones(3, np.float32)]]).shape == (1, 1, 3)
    assert tape.tensor(range(3)).tolist() == [0, 1, 2] and tape.tensor(range(3)).dtype == tape.i64
    with pytest.raises(tape.Error, match=r"rows differ in shape: \[2\] and \[3\]"):
        tape.tensor([np.ones(2), np.ones(3)])
    with pytest.raises(tape.Error, match=r"join them with tape.stack\(\)"):
        tape.tensor([tape.ones((2,)), tape.ones((2,))])


def test_arrays_are_no_operands():
    x, array = tape.ones((2, 2)), np.ones((2, 2))
    for use in (
        lambda: x + array,
        lambda: array + x,
        lambda: x @ array,
        lambda: array @ x,
        lambda: array / x,
        lambda: x // array,
    ):
        with pytest.raises(TypeError, match="a Tensor cannot be combined with a ndarray; make a tensor of it"):
            use()
    assert (np.float32(2) * x).tolist() == [[2, 2], [2, 2]]


def test_tensors_contain_values():
    x = tape.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert 2.0 in x and 5 not in x and x[0] in x and float("nan") not in x


def test_floor_division_is_that_of_python():
    integers = [1, -1, 3, -3, 7, 10, -(2**62) - 1, 2**63 - 1, -(2**63) + 1, 2**53 + 1]
    for a in integers:
        for b in integers:
            quotient, rest = divmod(tape.tensor(a), tape.tensor(b))
            assert (quotient.item(), rest.item()) == divmod(a, b)
            assert (tape.tensor(a) // b).item() == (a // tape.tensor(b)).item() == a // b
    numbers = [0.5, -0.5, 3.0, -7.25, 1e300, -1e-300, float("inf"), float("-inf")]
    for a in numbers[:6]:
        for b in numbers:
            assert (tape.tensor(a, dtype=tape.f64) // tape.tensor(b, dtype=tape.f64)).item() == a // b
    assert (tape.tensor([1.0, -1.0, 0.0]) // 0).tolist()[:2] == [float("inf"), float("-inf")]
    for dtype in (tape.u8, tape.i32, tape.f16, tape.bf16):
        quotient = tape.tensor([7], dtype=dtype) // 2
        assert quotient.tolist() == [3] and quotient.dtype == dtype
    assert not (tape.ones((2,), requires_grad=True) // 2).requires_grad
    with pytest.raises(tape.Error, match="contains a 0"):
        tape.tensor([1]) // 0


def test_tensors_are_pickled_and_copied():
    for tensor in (
        tape.randn((2, 3)),
        tape.randn((2,)).to(tape.bf16),
        tape.tensor([1, 2]),
        tape.tensor(True),
        tape.zeros((0, 3)),
        tape.ones((2,), requires_grad=True),
        tape.nn.Parameter(tape.ones((2,))),
        tape.nn.Parameter(tape.ones((2,)), requires_grad=False),
    ):
        loaded, copied = pickle.loads(pickle.dumps(tensor)), copy.copy(tensor)
        for other in (loaded, copied):
            assert type(other) is type(tensor) and other.tolist() == tensor.tolist() and other.shape == tensor.shape
            assert (other.dtype, other.requires_grad) == (tensor.dtype, tensor.requires_grad)
        assert copied.shares_storage(tensor) and not loaded.shares_storage(tensor)
    result = 2 * tape.ones((2,), requires_grad=True)
    assert copy.copy(result).requires_grad
    with pytest.raises(tape.Error, match=r"pickle: .* use x.detach\(\)"):
        pickle.dumps(result)


def test_data_is_the_values_without_history():
    weight = tape.nn.Parameter(tape.ones((2,)))
    weight.data -= 0.5
    assert weight.tolist() == [0.5, 0.5] and weight.requires_grad and not weight.data.requires_grad
    weight.data = tape.zeros((3,))
    assert weight.shape == (3,)
