"""Layers of the library, and modules written in Python."""

import copy
import gc
import pickle
import weakref

import pytest

import tapeformer as tape
from tapeformer import nn

X = (2, 3, 8)
IDS = [[1, 2, 0], [3, 0, 0]]


def x():
    return tape.randn(X)


def ids():
    return tape.tensor(IDS)


# name -> (layer, inputs)
LAYERS = {
    "Activation": lambda: (nn.Activation("gelu"), [x()]),
    "AvgPool1d": lambda: (nn.AvgPool1d(2), [x()]),
    "AvgPool2d": lambda: (nn.AvgPool2d(2), [tape.randn((1, 2, 4, 4))]),
    "BatchNorm1d": lambda: (nn.BatchNorm1d(3), [x()]),
    "BatchNorm2d": lambda: (nn.BatchNorm2d(2), [tape.randn((1, 2, 4, 4))]),
    "ClassificationHead": lambda: (nn.ClassificationHead(8, 4), [x()]),
    "Conv1d": lambda: (nn.Conv1d(3, 4, 3, padding=1), [x()]),
    "Conv2d": lambda: (nn.Conv2d(2, 4, (3, 3), stride=2), [tape.randn((1, 2, 5, 5))]),
    "Decoder": lambda: (nn.Decoder(2, d_model=8, heads=2, d_ff=16), [x(), x()]),
    "DecoderLayer": lambda: (nn.DecoderLayer(d_model=8, heads=2, d_ff=16), [x(), x()]),
    "DisentangledAttention": lambda: (
        nn.DisentangledAttention(8, 2),
        [x(), tape.randn((2 * nn.DisentangledAttentionOptions().max_distance, 8))],
    ),
    "Dropout": lambda: (nn.Dropout(0.5), [x()]),
    "Embedding": lambda: (nn.Embedding(5, 8), [ids()]),
    "Embeddings": lambda: (nn.Embeddings(5, 8), [ids()]),
    "Encoder": lambda: (nn.Encoder(2, d_model=8, heads=2, d_ff=16, norm="pre"), [x()]),
    "EncoderLayer": lambda: (nn.EncoderLayer(d_model=8, heads=2, d_ff=16), [x()]),
    "FeedForward": lambda: (nn.FeedForward(8, 16), [x()]),
    "GatedFeedForward": lambda: (nn.GatedFeedForward(8, 16), [x()]),
    "GroupNorm": lambda: (nn.GroupNorm(2, 4), [tape.randn((2, 4, 3))]),
    "Identity": lambda: (nn.Identity(), [x()]),
    "LayerNorm": lambda: (nn.LayerNorm(8), [x()]),
    "LearnedPositionalEncoding": lambda: (nn.LearnedPositionalEncoding(8, 5), [x()]),
    "Linear": lambda: (nn.Linear(8, 4, bias=False), [x()]),
    "Lora": lambda: (nn.Lora(tape.randn((4, 8))), [x(), tape.randn((2, 3, 4)), tape.randn((4, 8)), tape.randn((4,))]),
    "MaskedTokenHead": lambda: (nn.MaskedTokenHead(8, 5), [x()]),
    "MaxPool1d": lambda: (nn.MaxPool1d(2), [x()]),
    "MaxPool2d": lambda: (nn.MaxPool2d(2, stride=1), [tape.randn((1, 2, 4, 4))]),
    "MultiHeadAttention": lambda: (nn.MultiHeadAttention(8, 2, rotary=nn.RotaryOptions(theta=100.0)), [x()]),
    "NextTokenHead": lambda: (nn.NextTokenHead(8, 5), [x()]),
    "PatchEmbeddings": lambda: (
        nn.PatchEmbeddings(image_size=4, patch_size=2, channels=2, d_model=8),
        [tape.randn((1, 2, 4, 4))],
    ),
    "Pooler": lambda: (nn.Pooler(8), [x()]),
    "PositionalEncoding": lambda: (nn.PositionalEncoding(8, 5), [x()]),
    "RMSNorm": lambda: (nn.RMSNorm(8), [x()]),
    "RelativeAttention": lambda: (nn.RelativeAttention(8, 2), [x()]),
    "RelativeBias": lambda: (nn.RelativeBias(2), [3, 3]),
    "Rotary": lambda: (nn.Rotary(8), [x()]),
    "Sequential": lambda: (nn.Sequential(nn.Linear(8, 4), tape.relu, nn.Linear(4, 2)), [x()]),
}


def test_every_layer_has_a_case():
    layers = {
        name
        for name in dir(nn)
        if isinstance(getattr(nn, name), type)
        and issubclass(getattr(nn, name), nn.Module)
        and name not in ("Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList")
    }
    assert layers == set(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_run_and_have_gradients(name):
    layer, inputs = LAYERS[name]()
    if isinstance(inputs[0], tape.Tensor) and inputs[0].dtype == tape.f32:
        inputs[0].requires_grad_()
    output = layer(*inputs)
    output.square().sum().backward()
    if isinstance(inputs[0], tape.Tensor) and inputs[0].dtype == tape.f32:
        assert inputs[0].grad.isfinite().all()
    for parameter, values in layer.named_parameters():
        assert values.grad is not None and values.grad.isfinite().all(), parameter
    layer.load_state_dict(layer.state_dict())
    assert repr(layer).startswith(name)


class Gated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.value = nn.Linear(d, d)
        self.gate = nn.Linear(d, d, bias=False)
        self.scale = nn.Parameter(tape.ones((d,)))
        self.register_buffer("calls", tape.zeros((), dtype=tape.i64))

    def settings(self):
        return str(self.d)

    def forward(self, x):
        self.calls = self.calls + 1
        return self.value(x) * self.gate(x).sigmoid() * self.scale


class Block(nn.Module):
    def __init__(self, d, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(Gated(d) for _ in range(layers))
        self.parts = nn.ModuleDict({"norm": nn.LayerNorm(d), "head": nn.Sequential(Gated(d), tape.tanh)})

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(self.parts["norm"](x))
        return self.parts["head"](x)


def test_attributes_are_registered():
    block = Block(4)
    names = [name for name, _ in block.named_parameters()]
    assert names[:4] == ["layers.0.value.weight", "layers.0.value.bias", "layers.0.gate.weight", "layers.0.scale"]
    assert "parts.head.0.gate.weight" in names and len(names) == 3 * 4 + 2
    assert [name for name, _ in block.named_buffers()] == ["layers.0.calls", "layers.1.calls", "parts.head.0.calls"]
    assert [path for path, _ in block.named_modules()][:4] == ["", "layers", "layers.0", "layers.0.value"]
    assert block.layers[1].value is block.layers[1].value
    assert len(block.layers) == 2 and "norm" in block.parts
    block(tape.ones((1, 4))).sum().backward()
    assert all(p.grad is not None for p in block.parameters())
    assert block.layers[0].calls.item() == 1


def test_printing_shows_classes_and_settings():
    text = repr(Block(4))
    assert text.splitlines()[0].startswith("Block(")
    assert "(0): Gated(4," in text or "(0): Gated(4" in text


def test_errors_name_the_module():
    with pytest.raises(tape.Error) as error:
        Block(4)(tape.ones((1, 5)))
    assert error.value.module_path == "parts.norm"
    assert str(error.value).startswith("parts.norm: layer_norm: ")
    with pytest.raises(tape.Error, match=r"^layers\.0\.value: linear: inner sizes differ"):

        class Outer(Block):
            def forward(self, x):
                return self.layers[0](x)

        Outer(4)(tape.ones((1, 5)))


def test_state_dicts_and_files(tmp_path):
    a, b = Block(4), Block(4)
    b.load_state_dict(a.state_dict())
    z = tape.randn((2, 4))
    assert tape.allclose(a(z), b(z))
    a.save(str(tmp_path / "a.safetensors"))
    c = Block(4)
    c.load(str(tmp_path / "a.safetensors"))
    assert tape.allclose(c(z), b(z))
    with pytest.raises(tape.Error) as error:
        Gated(3).load_state_dict(Gated(4).state_dict())
    assert error.value.kind == "format" and "value.weight" in str(error.value)
    missing, unexpected = Gated(3).load_state_dict(
        {"value.bias": tape.zeros((3,)), "other": tape.zeros((1,))}, strict=False
    )
    assert "scale" in missing and unexpected == ["other"]


def test_assignment_replaces_and_deletes():
    layer = Gated(4)
    layer.scale = nn.Parameter(tape.zeros((4,)))
    assert layer(tape.ones((1, 4))).abs().sum().item() == 0
    layer.gate = nn.Linear(4, 4)
    assert [name for name, _ in layer.named_parameters()][-3:] == ["gate.weight", "gate.bias", "scale"]
    with pytest.raises(tape.Error, match='"scale" is a parameter'):
        layer.scale = tape.ones((4,))
    del layer.gate
    assert "gate.weight" not in layer.state_dict()
    with pytest.raises(AttributeError, match="'Gated' object has no attribute 'gate'"):
        layer.gate
    layer.gate = None
    assert layer.gate is None
    plain = nn.Linear(2, 2)
    plain.note = "mine"
    assert plain.note == "mine"


def test_a_layer_of_the_library_can_be_extended():
    class Scaled(nn.Linear):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.factor = nn.Parameter(tape.ones((1,)))

        def forward(self, x):
            return self.factor * super().forward(x)

    layer = Scaled(3, 2)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias", "factor"]
    layer(tape.ones((1, 3))).sum().backward()
    assert layer.factor.grad is not None


def test_parts_of_layers_of_the_library_are_attributes():
    encoder = nn.Encoder(2, d_model=8, heads=2, d_ff=16)
    assert isinstance(encoder.layers[1].self_attention.query, nn.Linear)
    assert encoder.layers[0].self_attention.query.weight.shape == (8, 8)
    query = encoder.layers[0].self_attention.query
    del encoder
    gc.collect()
    assert query(tape.ones((1, 8))).shape == (1, 8)
    assert nn.Linear(2, 2, bias=False).bias is None


def test_modes_dtypes_and_freezing():
    block = Block(4)
    assert block.training and not block.eval().training and block.train().training
    assert block.layers[0].training
    block.to(tape.f64)
    assert block.layers[0].scale.dtype == tape.f64
    assert block(tape.ones((1, 4), dtype=tape.f64)).dtype == tape.f64
    assert block.to("cpu").device == "cpu"
    block.freeze()
    assert block.trainable_parameter_count() == 0
    block.unfreeze()
    assert block.trainable_parameter_count() == block.parameter_count()
    block(tape.ones((1, 4), dtype=tape.f64)).sum().backward()
    block.zero_grad()
    assert block.layers[0].scale.grad is None


def test_hooks():
    net = nn.Sequential(nn.Linear(2, 2), tape.relu)
    layer, seen = net[0], []
    first = layer.register_forward_hook(
        lambda module, inputs, output: seen.append((type(module).__name__, inputs[0].shape, output.shape))
    )
    net(tape.ones((1, 2)))
    assert seen == [("Linear", (1, 2), (1, 2))]
    layer.remove_hook(first)
    layer.register_forward_pre_hook(lambda module, inputs: [inputs[0] * 0])
    layer.register_forward_hook(lambda module, inputs, output: output + 1)
    assert tape.allclose(net(tape.ones((1, 2))), (layer.bias + 1).relu())
    gradients = []
    gated = Gated(2)
    gated.register_backward_hook(lambda module, given, output: gradients.append((given[0].shape, output.tolist())))
    gated(tape.ones((1, 2)).requires_grad_()).sum().backward()
    assert gradients == [((1, 2), [[1, 1]])]


def test_a_shared_module_is_listed_once():
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, shared)
    assert len(net.parameters()) == 2


def test_modules_are_freed():
    block = Block(4)
    block(tape.ones((1, 4)))
    gone = weakref.ref(block.layers[0])
    del block
    gc.collect()
    assert gone() is None
    before = tape.memory_stats().live_bytes
    for _ in range(3):
        nn.Encoder(1, d_model=16, heads=2, d_ff=16).layers[0].feed_forward
    gc.collect()
    assert tape.memory_stats().live_bytes <= before + 4096


def test_masks():
    attention = nn.MultiHeadAttention(8, 2)
    z = x()
    mask = tape.Mask.causal() & tape.Mask.padding(ids(), 0)
    assert mask.to_tensor(3, 3).shape[-1] == 3
    output = attention.with_weights(z, z, z, mask)
    assert output.weights.shape == (2, 2, 3, 3)
    assert output.weights[0, 0, 0].tolist() == [1, 0, 0]


def test_initialization():
    weight = tape.empty((4, 6))
    nn.init.xavier_uniform_(weight)
    assert weight.abs().max().item() <= (6 / 10) ** 0.5
    nn.init.constant_(weight, 2.0)
    assert weight.sum().item() == 48
    tape.manual_seed(1)
    nn.init.normal_(weight, 0.0, 0.02)
    assert weight.std().item() < 0.05


def test_copies_of_tensors():
    weight = nn.Parameter(tape.ones((2,)))
    other = copy.deepcopy(weight)
    assert other.requires_grad and not other.shares_storage(weight)


def test_parameters_keep_whether_they_are_trained():
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(tape.ones((2,)), requires_grad=False)

    model = Frozen()
    assert not model.w.requires_grad and len(model.parameters()) == 1
    with pytest.raises(tape.Error, match="cannot have gradients"):
        model.w = nn.Parameter(tape.tensor([1, 2]), requires_grad=False)
    assert model.w.tolist() == [1, 1], "the one before remains"


def test_parameters_are_shared_by_assignment():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    b.weight = a.weight
    x = tape.ones((1, 2))
    (a(x) + b(x)).sum().backward()
    assert b.weight.grad.tolist() == a.weight.grad.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(tape.Error, match="is a parameter"):
        b.weight = tape.ones((2, 2))


def test_parts_of_layers_of_the_library_cannot_be_replaced():
    layer = nn.Linear(2, 2)
    weight = nn.Parameter(tape.zeros((2, 2)))
    layer.weight = weight  # shared, as by an assignment of another layer's
    layer(tape.ones((1, 2))).sum().backward()
    assert weight.grad.tolist() == [[1, 1], [1, 1]]
    layer.bias = nn.Parameter(tape.ones((2,)), requires_grad=False)
    assert layer.bias.tolist() == [1, 1] and not layer.bias.requires_grad
    with pytest.raises(tape.Error, match=r"tie: the parameter is \[2, 2\], the other tensor is \[3, 2\]"):
        layer.weight = nn.Parameter(tape.zeros((3, 2)))
    with pytest.raises(tape.Error, match='"bias" is a member of the C\\+\\+ class Linear and cannot be replaced'):
        layer.bias = None
    with pytest.raises(tape.Error, match='"norm1" is a member'):
        nn.EncoderLayer(d_model=8, heads=2, d_ff=8).norm1 = nn.LayerNorm(8)


def test_modules_are_not_copied():
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(tape.Error, match="Block: a module is not copied or pickled; construct another one"):
            copied(Block(4))


def test_a_call_without_positions_keeps_nothing():
    rotary = nn.Rotary(8)
    rotary(tape.zeros((1, 3, 8)))
    before = tape.memory_stats().live_bytes
    for length in range(1, 200):
        rotary(tape.zeros((1, length, 8)))
    assert tape.memory_stats().live_bytes == before
    x = tape.randn((1, 3, 8))
    assert rotary(x).tolist() == rotary(x, 0).tolist() != rotary(x, 5).tolist()


def test_a_refused_assignment_changes_nothing():
    model = nn.Sequential(nn.Linear(2, 2))
    outer = nn.ModuleDict({"inner": model})
    with pytest.raises(tape.Error, match="contains the module"):
        outer.inner = outer
    assert len(outer.parameters()) == 2


def test_init_must_call_that_of_the_base_class():
    class Forgotten(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(2, 2)

    with pytest.raises(tape.Error, match=r"Forgotten: __init__\(\) must call super\(\).__init__\(\)"):
        Forgotten()


def test_hooks_and_outputs_of_other_kinds():
    class Pair(nn.Module):
        def forward(self, x):
            return x, x * 2

    seen = []
    pair = Pair()
    pair.register_forward_hook(lambda module, inputs, output: seen.append(output))
    assert pair(tape.ones((1,)))[1].tolist() == [2]
    assert seen == [], "an output that is no tensor"
    attention = nn.MultiHeadAttention(4, 2)
    attention.register_forward_hook(lambda module, inputs, output: output * 0)
    q = tape.randn((1, 3, 4))
    result = attention(q, q, q)
    output = result if isinstance(result, tape.Tensor) else result.output
    assert output.abs().sum().item() == 0
    wrong = nn.Linear(2, 2)
    wrong.register_forward_hook(lambda module, inputs, output: "text")
    with pytest.raises(tape.Error, match="must return a tensor, or None"):
        wrong(tape.ones((1, 2)))


def test_sequential_is_a_sequence():
    steps = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    assert [step.weight.shape for step in steps] == [(3, 2), (1, 3)]
    with pytest.raises(IndexError):
        steps[2]


@pytest.mark.parametrize("container", ["Sequential", "ModuleList"])
def test_steps_are_set_inserted_and_removed_as_in_a_list(container):
    def linear(width):
        return nn.Linear(width, width)

    def state(sizes):
        return sorted(f"{i}.{name}" for i in range(len(sizes)) for name in ("weight", "bias"))

    parts = [linear(width) for width in (1, 2, 3)]
    net = nn.Sequential(*parts) if container == "Sequential" else nn.ModuleList(parts)
    net[0], net[-1] = linear(4), linear(5)
    net.insert(1, linear(6))
    net.extend([linear(7)])
    net += [linear(8)]
    del net[2]
    assert net.pop().weight.shape == (8, 8)
    widths = [4, 6, 5, 7]
    assert [part.weight.shape[0] for part in net] == widths and len(net) == 4
    assert sorted(net.state_dict()) == state(widths)
    assert [part.name for part in net] == ["0", "1", "2", "3"]
    assert [part.weight.shape[0] for part in net[1:3]] == [6, 5] and isinstance(net[1:3], type(net))
    assert net[1:][0] is net[1] and net[1] in net
    net[:2] = [linear(9)]
    del net[1:]
    assert [part.weight.shape[0] for part in net] == [9] and sorted(net.state_dict()) == state([9])
    for position in (1, -2):
        with pytest.raises(IndexError, match="outside the 1 positions"):
            net[position] = linear(1)
    with pytest.raises(TypeError):
        net[:] = [3]
    assert net[0].weight.shape == (9, 9)


def test_a_changed_sequential_runs_its_steps():
    net = nn.Sequential(nn.Linear(2, 3), tape.relu, nn.Linear(3, 1))
    net[1] = tape.tanh
    net.insert(1, nn.Linear(3, 3))
    x = tape.ones((1, 2))
    assert net(x).tolist() == net[3](net[1](net[0](x)).tanh()).tolist()
    assert net[:2](x).tolist() == net[1](net[0](x)).tolist()
    assert list(net[2:].state_dict()) == ["3.bias", "3.weight"]


def test_steps_with_names():
    net = nn.Sequential({"fc": nn.Linear(2, 3), "act": tape.relu})
    assert list(net.state_dict()) == ["fc.bias", "fc.weight"] and net.fc is net[0] and net[1] is tape.relu
    with pytest.raises(tape.Error, match='cannot be named "forward"'):
        nn.Sequential({"forward": tape.relu})


def test_lists_and_dictionaries_of_parameters():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = nn.ParameterList(nn.Parameter(tape.full((2,), float(i))) for i in range(3))
            self.extra = nn.ParameterDict({"a": nn.Parameter(tape.ones((2,))), "b": tape.zeros((2,))})

        def forward(self, x):
            for scale in self.scales:
                x = x + scale
            return x * self.extra["a"]

    net = Net()
    net(tape.ones((2,))).sum().backward()
    names = ["scales.0", "scales.1", "scales.2", "extra.a", "extra.b"]
    assert [name for name, _ in net.named_parameters()] == names
    assert net.scales[-1].grad.tolist() == [1, 1] and net.extra["a"].grad.tolist() == [4, 4]
    net.scales[1] = nn.Parameter(tape.full((2,), 7.0))
    net.scales.append(tape.full((2,), 8.0))
    del net.scales[0]
    assert [scale.tolist()[0] for scale in net.scales] == [7, 2, 8] and len(net.scales) == 3
    assert [scale.tolist()[0] for scale in net.scales[1:]] == [2, 8]
    assert list(net.extra) == ["a", "b"] and "a" in net.extra and net.extra.get("c") is None
    assert net.extra.pop("a").tolist() == [1, 1] and net.extra.keys() == ["b"]
    with pytest.raises(KeyError):
        net.extra["a"]
    tied = nn.ParameterList([net.scales[0], net.scales[0]])
    assert len(tied) == 2 and len(tied.parameters()) == 1
    with pytest.raises(TypeError, match="ParameterList: takes parameters and tensors, got int"):
        nn.ParameterList([3])


def test_dictionaries_of_modules_are_changed_as_dictionaries():
    parts = nn.ModuleDict({"a": nn.Linear(1, 2)})
    parts.update({"b": nn.Linear(2, 3), "c": nn.Identity()})
    del parts["a"]
    assert parts.keys() == ["b", "c"] and parts.pop("b").weight.shape == (3, 2)
    with pytest.raises(KeyError):
        del parts["a"]
    parts.clear()
    assert len(parts) == 0


def test_modules_are_visited():
    net = nn.Sequential(nn.Sequential(nn.Linear(1, 2)), nn.BatchNorm1d(2))
    seen = []
    assert net.apply(lambda module: seen.append(module)) is net
    assert [type(module).__name__ for module in seen] == ["Linear", "Sequential", "BatchNorm1d", "Sequential"]
    assert net.modules() == [net, net[0], net[0][0], net[1]] and net.children() == [net[0], net[1]]
    assert len(net.buffers()) == len(net.named_buffers()) == 3
    assert net.requires_grad_(False) is net and not net.trainable_parameters()


def test_parts_are_registered_by_name():
    net = nn.Module()
    net.register_parameter("w", nn.Parameter(tape.ones((2,))))
    net.register_parameter("bias", None)
    net.register_buffer("mask", None)
    net.register_module("fc", nn.Linear(1, 1))
    assert list(net.state_dict()) == ["fc.bias", "fc.weight", "w"] and net.bias is None and net.mask is None


def test_a_forgotten_constructor_is_named():
    class Net(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    for use in (lambda net: net(tape.ones((1,))), lambda net: nn.Sequential(net), lambda net: net.weight):
        with pytest.raises(tape.Error, match=r"Net: __init__\(\) must call super\(\).__init__\(\)"):
            use(Net())


def test_properties():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        @property
        def weight(self):
            return self.fc.weight

        @weight.setter
        def weight(self, value):
            self.fc.weight = value

        @property
        def broken(self):
            return self.fc.nothing

    net = Tied()
    net.weight = nn.Parameter(tape.ones((2, 2)))
    assert net.fc.weight.tolist() == [[1, 1], [1, 1]] and len(net.parameters()) == 2
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nothing'"):
        net.broken
    with pytest.raises(tape.Error, match='Tied: "device" is a property that cannot be assigned'):
        net.device = "cpu"
    with pytest.raises(tape.Error, match=r'"training" is a property that cannot be assigned; call train\(\)'):
        net.training = False


def test_names_in_containers():
    with pytest.raises(tape.Error, match='cannot be named "values"'):
        nn.ModuleDict({"values": nn.Linear(2, 2)})
    layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    delattr(layers, "0")
    kept = layers[0]
    layers.append(nn.Linear(2, 2))
    assert layers[0] is kept and len(layers) == 2


def test_errors_of_a_program():
    class Refusing(nn.Module):
        def forward(self, x):
            raise tape.Error("too long")

    with pytest.raises(tape.Error, match="too long") as error:
        Refusing()(tape.ones((1,)))
    assert error.value.kind == "config"


def test_a_replaced_module_keeps_its_place():
    net = nn.Module()
    net.a, net.b = nn.Linear(2, 3), nn.Linear(3, 4)
    net.a = nn.Linear(2, 3, bias=False)
    assert [name for name, _ in net.named_parameters()] == ["a.weight", "b.weight", "b.bias"]
    layers = nn.ModuleList([nn.Linear(1, 2), nn.Linear(2, 3), nn.Linear(3, 4)])
    setattr(layers, "0", nn.Linear(1, 2))
    assert [layer.weight.shape for layer in layers] == [(2, 1), (3, 2), (4, 3)]
    parts = nn.ModuleDict({"a": nn.Linear(1, 2), "b": nn.Linear(2, 3)})
    parts["a"] = nn.Identity()
    assert parts.keys() == ["a", "b"]


def test_sequential_runs_what_replaced_a_step():
    net = nn.Sequential(nn.Linear(1, 2), tape.relu, nn.Linear(2, 3))
    x = tape.ones((1, 1))
    for name, module in net.named_children():
        setattr(net, name, nn.Linear(*module.weight.shape[::-1], bias=False))
    assert net(x).tolist() == net[2](net[0](x).relu()).tolist()
    net(x).sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())
    setattr(net, "1", tape.tanh)
    assert net(x).tolist() == net[2](net[0](x).tanh()).tolist()
    delattr(net, "1")
    with pytest.raises(tape.Error, match="Sequential: step 1 was removed"):
        net(x)


def test_steps_and_children_of_other_types_are_refused():
    for steps in ([nn.Linear(1, 1)], 3, "text", None):
        with pytest.raises(TypeError, match="Sequential: takes modules and functions of one tensor, got"):
            nn.Sequential(steps)
    with pytest.raises(TypeError, match="Sequential: step 0: must return a tensor, got int"):
        nn.Sequential(lambda x: 3)(tape.ones((1,)))
    for other, name in ((tape.relu, "nanobind.nb_func"), (None, "NoneType")):
        with pytest.raises(TypeError, match=f'add_module: "1" must be a module, got {name}'):
            nn.ModuleList([nn.Linear(1, 1), other])


def test_a_parameter_of_another_module_is_shared_by_a_new_attribute():
    class Head(nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.weight = weight

        def forward(self, x):
            return x @ self.weight

    layer = nn.Linear(2, 2)
    head = Head(layer.weight)
    assert isinstance(layer.weight, nn.Parameter) and isinstance(layer.parameters()[0], nn.Parameter)
    assert [name for name, _ in head.named_parameters()] == ["weight"]
    head(tape.ones((1, 2))).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [1, 1]]
    copied = Head(copy.deepcopy(layer.weight))
    assert len(copied.parameters()) == 1 and not copied.weight.shares_storage(layer.weight)
    layer.freeze()
    assert not Head(layer.weight).weight.requires_grad


def test_hooks_return_one_tensor_or_a_list():
    layer = nn.Linear(2, 2, bias=False)
    x = tape.ones((1, 2), requires_grad=True)
    hook = layer.register_forward_pre_hook(lambda module, inputs: inputs[0] * 0)
    assert layer(x).tolist() == [[0, 0]]
    layer.remove_hook(hook)
    layer.register_backward_hook(lambda module, given, output: given[0] * 0 + 5)
    layer(x).sum().backward()
    assert x.grad.tolist() == [[5, 5]]
