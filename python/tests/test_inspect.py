"""Pages, explanations, formulas and logs."""

import json
import pathlib
import re
import sys

import pytest

import tapeformer as tape

WIDTH, LETTERS = 8, "abeot "


@pytest.fixture
def text_model(tmp_path):
    """A folder with a small GPT-2 of characters."""
    vocabulary = ["<pad>", "<s>", "</s>", *LETTERS.replace(" ", "Ġ")]
    config = dict(
        architectures=["GPT2LMHeadModel"],
        model_type="gpt2",
        n_embd=WIDTH,
        n_head=2,
        n_inner=12,
        n_layer=1,
        n_positions=32,
        vocab_size=len(vocabulary),
        bos_token_id=1,
        eos_token_id=2,
    )
    shapes = {"wte.weight": [len(vocabulary), WIDTH], "wpe.weight": [32, WIDTH]}
    shapes |= {
        f"h.0.{name}.weight": shape
        for name, shape in {
            "attn.c_attn": [WIDTH, 3 * WIDTH],
            "attn.c_proj": [WIDTH, WIDTH],
            "mlp.c_fc": [WIDTH, 12],
            "mlp.c_proj": [12, WIDTH],
        }.items()
    }
    tensors = {name: 0.5 * tape.randn(shape) for name, shape in shapes.items()}
    tensors |= {
        name.replace("weight", "bias"): tape.zeros(shape[-1:])
        for name, shape in shapes.items()
        if name.startswith("h.")
    }
    for norm in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        tensors |= {f"{norm}.weight": tape.ones([WIDTH]), f"{norm}.bias": tape.zeros([WIDTH])}
    tape.save_safetensors(
        str(tmp_path / "model.safetensors"), {f"transformer.{name}": value for name, value in tensors.items()}
    )
    (tmp_path / "config.json").write_text(json.dumps(config))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    special = [
        dict(id=i, content=vocabulary[i], single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
        for i in range(3)
    ]
    model = {"type": "BPE", "vocab": {piece: i for i, piece in enumerate(vocabulary)}, "merges": []}
    (tmp_path / "tokenizer.json").write_text(
        json.dumps(
            dict(
                version="1.0",
                added_tokens=special,
                normalizer=None,
                pre_tokenizer=byte_level,
                post_processor=None,
                decoder=byte_level,
                model=model,
            )
        )
    )
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps(dict(tokenizer_class="GPT2Tokenizer", bos_token="<s>", eos_token="</s>"))
    )
    return tmp_path


class Layer(tape.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = tape.nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x).tanh()


def test_a_page_of_a_module_of_ones_own(tmp_path):
    layer, x = Layer(), tape.randn([4, 3])
    page = tape.inspect(
        layer,
        loss=lambda x: (layer(x) ** 2).mean(),
        inputs=x,
        out=tmp_path / "page.html",
        title="<b>mine</b>",
        gradcheck=True,
    )
    assert page.outputs[0][0] == "loss" and page.outputs[0][1] == pytest.approx((layer(x) ** 2).mean().item(), rel=1e-5)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert page.html.lower().startswith("<!doctype html>") and "linear.weight" in page.html
    assert not re.search(r'(src|href)="https?:', page.html)
    assert layer.linear.weight.grad is None
    assert repr(page).startswith("ExplorerPage(loss: ")


def test_a_page_in_a_notebook():
    layer, x = Layer(), tape.randn([4, 3])
    cell = tape.inspect(layer, loss=lambda: layer(x).sum(), height=500)._repr_html_()
    assert cell.startswith('<iframe srcdoc="') and "height:500px" in cell and 'sandbox="allow-scripts' in cell
    content = cell[len('<iframe srcdoc="') : cell.index('" sandbox=')]
    assert '"' not in content and "<" not in content
    # Fragments refer to the page, not to the notebook.
    assert "<head><base href=&quot;about:srcdoc&quot;>".replace("<", "&lt;").replace(">", "&gt;") in content


def test_attention_of_a_module_of_ones_own_is_shown_with_its_tokens():
    layer, x = tape.nn.EncoderLayer(d_model=8, heads=2, d_ff=12, dropout=0.0), tape.randn([1, 3, 8])
    options = dict(loss=lambda x: (layer(x) ** 2).mean(), inputs=x)
    assert '"attention":[]' in tape.inspect(layer, **options).html
    page = tape.inspect(layer, **options, tokens=["the", "<cat>", "sat"])
    assert '"attention":[{' in page.html and '"the"' in page.html and "<cat>" not in page.html


def test_a_page_of_a_function_of_tensors():
    w = tape.randn([3]).requires_grad_()
    page = tape.inspect(None, loss=lambda: (w * w).sum(), leaves=[("w", w)])
    assert page.outputs[0][1] == pytest.approx((w * w).sum().item(), rel=1e-5)


class Loaded:
    """As tape.load() returns it."""

    _model = None

    def __init__(self, folder):
        self.folder = folder

    def save(self, folder):
        for file in pathlib.Path(self.folder).iterdir():
            if file.is_file():
                (pathlib.Path(folder) / file.name).write_bytes(file.read_bytes())


def test_a_page_of_a_folder_and_of_a_loaded_model(text_model):
    page = tape.inspect(text_model, "to be", logits=["1:e"], title="a page")
    names = [name for name, _ in page.outputs]
    assert names[0] == "loss" and len(names) == 2
    again = tape.inspect(Loaded(text_model), "to be", logits=["1:e"], title="a page")
    assert again.outputs == page.outputs
    cut = tape.inspect(text_model, "to be", cuts=["encoder.layers.0.self_attention:1"], nudges=True)
    assert "encoder.layers.0.self_attention" in cut.html


def test_what_cannot_be_shown_is_an_error(tmp_path):
    with pytest.raises(
        TypeError, match="model must be a folder or a model from tape.load\\(\\), got Layer; .* pass loss="
    ):
        tape.inspect(Layer(), "text")
    with pytest.raises(TypeError, match="with loss, model must be an nn.Module or None, got str"):
        tape.inspect("folder", loss=lambda: None)
    with pytest.raises(tape.Error, match="config.json"):
        tape.inspect(tmp_path, "text")


def test_explanations_name_modules_and_lines_of_python():
    layer, x = Layer(), tape.randn([4, 3])
    with tape.trace():
        y = layer.linear(x)  # the line
        loss = y.tanh().sum()
    text = tape.explain(y, loss, names=layer)
    with open(__file__) as file:
        line = next(i for i, text_line in enumerate(file, 1) if "# the line" in text_line)
    assert f"test_inspect.py:{line}" in text
    assert "linear" in text and "weight" in text and "[4, 2]" in text
    assert repr(text) == str(text)
    with pytest.raises(tape.Error):
        tape.explain(y, x)


def test_drawings():
    layer, x = Layer(), tape.randn([4, 3])
    with tape.trace():
        loss = layer(x).sum()
    dot = tape.to_dot(loss, names=layer)
    assert dot.startswith("digraph") and "linear.weight" in dot and "tanh" in dot


def test_saved_tensors():
    layer, x = Layer(), tape.randn([4, 3])
    with tape.trace():
        loss = layer(x).sum()
    report = tape.saved_tensors(loss)
    assert report.bytes > 0 and report.bytes == sum(entry.bytes for entry in report.entries)
    assert {entry.operation for entry in report.entries} >= {"tanh"}
    assert "tanh" in str(report)
    assert [entry.module_path for entry in report.by_module()]


def test_formulas():
    steps = tape.formula(lambda x: x.tanh().sum(), tape.randn([2, 3]).requires_grad_())
    assert [step["operation"] for step in steps] == ["tanh", "sum"]
    assert "[2, 3]" in steps[0]["forward"] and steps[0]["backward"][0].startswith("d")
    assert steps[0]["source"].startswith(__file__)
    assert "tanh: " in repr(steps) and "<table>" in steps._repr_html_()
    with pytest.raises(ZeroDivisionError):
        tape.formula(lambda x: x.exp() * (1 // 0), tape.randn([2]).requires_grad_())


# --- logs ---

LOG = [
    {"event": "start", "task": "lm", "parameters": 10},
    {"event": "step", "step": 1, "epoch": 0.5, "loss": 3.0, "lr": 0.1},
    {"event": "step", "step": 2, "epoch": 1.0, "loss": 2.0, "lr": 0.1},
    {"event": "eval", "step": 2, "loss": 2.5, "metrics": {"bleu": 1.5}},
    {"event": "step", "step": 3, "epoch": 1.5, "loss": 9.0, "lr": 0.1},
    {"event": "resume", "step": 2},
    {"event": "step", "step": 3, "epoch": 1.5, "loss": 1.0, "lr": None},
    {"event": "end", "step": 3, "reason": "steps", "metrics": {}},
]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LOG) + '{"event": "st')
    return tmp_path


def test_a_log_as_a_table(run):
    pandas = pytest.importorskip("pandas")
    steps = tape.read_log(run)
    assert isinstance(steps, pandas.DataFrame)
    assert list(steps.columns) == ["step", "epoch", "loss", "lr"]
    assert steps["loss"].tolist() == [3.0, 2.0, 1.0]
    assert steps["lr"].isna().tolist() == [False, False, True]
    assert tape.read_log(run / "log.jsonl", "eval")["bleu"].tolist() == [1.5]
    assert tape.read_log(run, None)["event"].tolist() == ["start", "step", "step", "eval", "resume", "step", "end"]


def test_a_log_without_pandas(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert tape.read_log(run, "eval") == [{"step": 2, "loss": 2.5, "bleu": 1.5}]


def test_a_broken_log_is_an_error(run):
    path = run / "log.jsonl"
    path.write_text("{}\nnonsense\n{}\n")
    with pytest.raises(ValueError, match="log.jsonl: line 2: not JSON"):
        tape.read_log(path)
    path.write_text("[1]\n")
    with pytest.raises(ValueError, match="line 1: not an event of a run"):
        tape.read_log(path)
    with pytest.raises(OSError):
        tape.read_log(run / "none.jsonl")
