"""compare(): runs of PyTorch's modules beside this library's."""

import pytest

import tapeformer as tape

torch = pytest.importorskip("torch")

OPTIONS = dict(d_model=16, heads=2, d_ff=24, dropout=0.0)


def torch_layer(**options):
    torch.manual_seed(1)
    return torch.nn.TransformerEncoderLayer(16, 2, 24, batch_first=True, dropout=0.1, **options)


def x(*shape):
    return torch.randn(*(shape or (2, 5, 16)), generator=torch.Generator().manual_seed(2))


class TorchGpt(torch.nn.Module):
    """A tiny GPT with pre-norm blocks."""

    def __init__(self, gelu="tanh", eps=1e-5):
        super().__init__()
        torch.manual_seed(3)
        self.wte, self.wpe = torch.nn.Embedding(11, 16), torch.nn.Embedding(8, 16)
        self.h = torch.nn.ModuleList(TorchBlock(gelu, eps) for _ in range(2))
        self.ln_f = torch.nn.LayerNorm(16)
        self.head = torch.nn.Linear(16, 11, bias=False)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))


class TorchBlock(torch.nn.Module):
    def __init__(self, gelu, eps):
        super().__init__()
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(16, eps=eps), torch.nn.LayerNorm(16, eps=eps)
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (torch.nn.Linear(16, 16) for _ in range(4))
        self.fc1, self.fc2 = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.gelu = gelu

    def forward(self, x):
        y = self.ln_1(x)
        q, k, v = (f(y).unflatten(-1, (2, 8)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out_proj(y.transpose(1, 2).flatten(2))
        return x + self.fc2(torch.nn.functional.gelu(self.fc1(self.ln_2(x)), approximate=self.gelu))


class TapeGpt(tape.nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding, self.position_embedding = tape.nn.Embedding(11, 16), tape.nn.Embedding(8, 16)
        options = dict(d_model=16, heads=2, d_ff=32, dropout=0.0, activation="gelu_tanh", norm="pre")
        self.layers = tape.nn.ModuleList(tape.nn.EncoderLayer(**options) for _ in range(2))
        self.norm = tape.nn.LayerNorm(16)
        self.lm_head = tape.nn.Linear(16, 11, bias=False)

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding(tape.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x, tape.Mask.causal())
        return self.lm_head(self.norm(x))


IDS = torch.tensor([[1, 5, 10, 3], [0, 2, 2, 7]])


def test_an_encoder_layer_agrees():
    left, right = torch_layer(), tape.nn.EncoderLayer(**OPTIONS)
    right.train()
    report = tape.compare(left, right, x())
    assert report and report.ok, report
    assert not report.only_torch and not report.only_tape
    assert ("linear1.weight", "feed_forward.linear1.weight") in report.guessed
    assert ("linear2", "feed_forward.linear2") in [(pair.torch_name, pair.tape_name) for pair in report.modules]
    assert max(pair.error for pair in report.outputs) < 1e-12
    # The state of both is as before, except for the copied weights.
    assert left.training and right.training and left.linear1.weight.dtype == torch.float32
    assert right.feed_forward.linear1.weight.dtype == tape.f32
    assert right.feed_forward.linear1.weight.tolist() == left.linear1.weight.tolist()
    assert not left._forward_hooks and not left.linear1._forward_hooks
    assert str(report).startswith("compare: outputs, 5 module calls and ")


def test_another_eps_is_named():
    report = tape.compare(torch_layer(), tape.nn.EncoderLayer(**OPTIONS, norm_eps=1e-12), x())
    assert not report
    assert report.first_value.startswith(
        "Values diverge in norm1 (torch LayerNorm((16,), eps=1e-05, elementwise_affine=True"
    )
    assert "torch: layer_norm((16,), eps=1e-05)" in report.first_value
    assert "tape: layer_norm(eps=1e-12" in report.first_value
    assert [pair.ok for pair in report.modules[:2]] == [True, False]


def test_another_gelu_is_named():
    report = tape.compare(torch_layer(activation="gelu"), tape.nn.EncoderLayer(**OPTIONS, activation="gelu_tanh"), x())
    assert not report
    assert report.first_value.startswith("Values diverge before linear2 / feed_forward.linear2 ")
    assert "torch: gelu" in report.first_value and "tape: gelu" in report.first_value
    assert "linear(" not in report.first_value.partition(". torch:")[2]
    assert tape.compare(torch_layer(activation="gelu"), tape.nn.EncoderLayer(**OPTIONS, activation="gelu"), x())


def test_a_tiny_gpt_agrees_and_a_planted_difference_in_one_block_is_named():
    report = tape.compare(TorchGpt(), TapeGpt(), IDS)
    assert report, report
    assert ("h.1.k_proj.weight", "layers.1.self_attention.key.weight") in report.guessed
    wrong = TorchGpt()
    wrong.h[1].gelu = "none"
    report = tape.compare(wrong, TapeGpt(), IDS)
    assert report.first_value.startswith("Values diverge before h.1.fc2 / layers.1.feed_forward.linear2 ")
    assert "gelu(approximate='none')" in report.first_value
    wrong = TorchGpt()
    wrong.h[1].ln_2.eps = 1e-3
    report = tape.compare(wrong, TapeGpt(), IDS)
    assert report.first_value.startswith("Values diverge in h.1.ln_2 / layers.1.norm2 ")
    assert "eps=0.001" in report.first_value


class Conv1D(torch.nn.Module):
    """As in transformers: weight [in, out]."""

    def __init__(self, width, out):
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(torch.randn(width, out) / 4), torch.nn.Parameter(torch.randn(out))

    def forward(self, x):
        return x @ self.weight + self.bias


class TorchAttention(torch.nn.Module):
    """GPT-2's attention: query, key and value in one transposed weight."""

    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = Conv1D(16, 48), Conv1D(16, 16)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.c_attn(x).split(16, -1))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class TapeAttention(tape.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = tape.nn.MultiHeadAttention(16, 2)

    def forward(self, x):
        return self.attention(x)


def test_packed_and_transposed_weights_are_matched():
    report = tape.compare(TorchAttention(), TapeAttention(), x())
    assert report, report
    assert report.guessed[0] == (
        "c_attn.weight",
        " + ".join(f"attention.{n}.weight" for n in ("query", "key", "value")),
    )


@pytest.mark.parametrize("layers", [2, 11])
def test_packed_weights_belong_to_their_layer(layers):
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0, batch_first=True)
    theirs = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    ours = tape.nn.Encoder(layers, d_model=16, heads=4, d_ff=32, dropout=0)
    report = tape.compare(theirs, ours, [torch.randn(2, 5, 16)])
    assert report, report
    for i in range(layers):
        packed = theirs.layers[i].self_attn.in_proj_weight.detach().numpy()
        assert (ours.layers[i].self_attention.query.weight.detach().numpy() == packed[:16]).all()


class TorchPair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.b(self.a(x).tanh())


class WrongTanh(tape.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.tanh())
        return x.tanh()

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (1 - y)


class TapePair(tape.nn.Module):
    def __init__(self, tanh=tape.tanh, names=("a", "b")):
        super().__init__()
        self.tanh, self.names = tanh, names
        for name in names:
            self.add_module(name, tape.nn.Linear(3, 3))

    def forward(self, x):
        first, second = (getattr(self, name) for name in self.names)
        return second(self.tanh(first(x)))


def test_diverging_gradients_are_named():
    report = tape.compare(TorchPair(), TapePair(WrongTanh.apply), x(2, 3))
    assert not report and not report.first_value
    assert str(report).startswith("compare: values agree, gradients diverge")
    assert report.first_gradient.startswith("Gradients diverge after the output of a (torch Linear(")
    assert "tape: WrongTanh" in report.first_gradient
    assert [pair.torch_name for pair in report.gradients if not pair.ok] == ["input 0", "a.weight", "a.bias"]


def test_rename():
    right = TapePair(names=("second", "first"))
    with_prefixes = tape.compare(TorchPair(), right, x(2, 3), rename={"a": "second", "b": "first"})
    assert with_prefixes, with_prefixes
    assert not with_prefixes.guessed
    with_function = tape.compare(
        TorchPair(),
        right,
        x(2, 3),
        rename=lambda name: name.replace("a.", "second.", 1).replace("b.", "first.") if name[1:2] == "." else name,
    )
    assert with_function, with_function
    # Names that say nothing are not guessed.
    report = tape.compare(TorchPair(), right, x(2, 3))
    assert (
        not report and report.only_torch == ["a.weight", "a.bias", "b.weight", "b.bias"] and len(report.only_tape) == 4
    )
    assert "Use rename=" in str(report)
    with pytest.raises(
        ValueError, match="rename maps 'a.weight' to 'c.weight', which the module of this library does not have"
    ):
        tape.compare(TorchPair(), right, x(2, 3), rename={"a.weight": "c.weight"})
    with pytest.raises(ValueError, match=r"rename maps 'a.weight' of shape \[3, 3\] to 'first.bias' of shape \[3\]"):
        tape.compare(TorchPair(), right, x(2, 3), rename={"a.weight": "first.bias"})


def test_a_packed_weight_by_rename():
    class Packed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.both = torch.nn.Linear(3, 5)

        def forward(self, x):
            first, second = self.both(x).split([2, 3], -1)
            return torch.cat([first.exp(), second], -1)

    class Apart(tape.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = tape.nn.Linear(3, 2), tape.nn.Linear(3, 3)

        def forward(self, x):
            return tape.cat([self.one(x).exp(), self.two(x)], -1)

    rename = {f"both.{kind}": [f"one.{kind}", f"two.{kind}"] for kind in ("weight", "bias")}
    report = tape.compare(Packed(), Apart(), x(2, 3), rename=rename)
    assert report, report


def test_weights_are_compared_without_copying():
    left, right = TorchPair(), TapePair()
    before = right.a.weight.tolist()
    report = tape.compare(left, right, x(2, 3), copy=False)
    assert not report and not report.copied
    assert right.a.weight.tolist() == before
    assert "Weights differ: a.weight: max error" in str(report)
    tape.compare(left, right, x(2, 3))
    assert tape.compare(left, right, x(2, 3), copy=False)


def test_reports_for_notebooks():
    page = tape.compare(TorchPair(), TapePair(WrongTanh.apply), x(2, 3))._repr_html_()
    assert '<tr class="wrong">' in page and "Gradients diverge after" in page and "http" not in page


def test_what_cannot_be_compared_is_an_error():
    with pytest.raises(TypeError, match="torch_module must be a torch.nn.Module, got int"):
        tape.compare(3, TapePair(), x())
    with pytest.raises(TypeError, match="tape_module must be a module of this library, got TorchPair"):
        tape.compare(TorchPair(), TorchPair(), x())
