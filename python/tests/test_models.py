"""Model classes, and folders loaded with tape.load()."""

import json
import warnings

import pytest
import tapeformer as tape
from fixture_folders import EXPECTED, FIXTURES, copy_model, run_command

models = tape.models
ENCODER = dict(vocab=20, d_model=8, layers=2, heads=2, d_ff=16, max_length=12)


def encoders():
    return {
        "Bert": models.BertConfig(**ENCODER),
        "Roberta": models.RobertaConfig(**ENCODER),
        "DistilBert": models.DistilBertConfig(**ENCODER),
        "MPNet": models.MPNetConfig(**ENCODER),
        "Deberta": models.DebertaConfig(**ENCODER),
        "ModernBert": models.ModernBertConfig(**ENCODER),
    }


def ids(*shape, low=3, high=20):
    return tape.randint(low, high, shape)


def check_gradients(loss, model):
    """Every parameter that takes part has a gradient that is not zero throughout."""
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.requires_grad]
    with_values = [g for g in gradients if g is not None and float(g.abs().max()) > 0]
    assert len(with_values) > 0.8 * len(gradients)


# --- classes ---


@pytest.mark.parametrize(
    "model",
    [
        lambda: models.Gpt(vocab=20, d_model=8, layers=2, heads=2, max_length=12),
        lambda: models.Llama(vocab=20, d_model=8, layers=2, heads=2, kv_heads=1, d_ff=16),
        lambda: models.Llama(kind="qwen3", vocab=20, d_model=8, layers=2, heads=2, head_width=4, d_ff=16),
        lambda: models.GptNeoX(vocab=20, d_model=16, layers=2, heads=2, d_ff=16),
    ],
)
def test_decoders(model):
    tape.manual_seed(1)
    made = model()
    assert isinstance(made, models.CausalLM) and isinstance(made, tape.nn.Module)
    x = ids(2, 6)
    logits = made(x[:, :-1])
    assert logits.shape == (2, 5, 20)
    made.eval()
    expected = tape.cross_entropy(made(x[:, :-1]), x[:, 1:])
    assert made.loss(x[:, :-1], x[:, 1:]).item() == pytest.approx(expected.item(), rel=1e-5)
    check_gradients(expected, made)


@pytest.mark.parametrize(
    "model",
    [
        lambda: models.Transformer(src_vocab=20, tgt_vocab=20, d_model=8, layers=1, heads=2, d_ff=16),
        lambda: models.Bart(
            vocab=20, d_model=8, layers=1, heads=2, d_ff=16, decoder_layers=1, decoder_heads=2, decoder_d_ff=16
        ),
        lambda: models.T5(vocab=20, d_model=8, layers=1, decoder_layers=1, heads=2, head_width=4, d_ff=16),
    ],
)
def test_encoder_decoders(model):
    tape.manual_seed(1)
    made = model()
    assert isinstance(made, models.EncoderDecoder)
    logits = made(ids(2, 5), ids(2, 4))
    assert logits.shape == (2, 4, 20)
    check_gradients(made.loss(ids(2, 5), ids(2, 4), ids(2, 4)), made)


@pytest.mark.parametrize("family", ["Bert", "Roberta", "DistilBert", "MPNet", "Deberta", "ModernBert"])
def test_encoders_with_and_without_heads(family):
    tape.manual_seed(1)
    encoder = getattr(models, family)(**ENCODER)
    assert encoder(ids(2, 6)).shape == (2, 6, 8)
    config = encoders()[family]
    classifier = models.SequenceClassifier(encoder=config, num_labels=3, labels=["a", "b", "c"])
    logits = classifier(ids(2, 6))
    assert logits.shape == (2, 3)
    check_gradients(classifier.loss(logits, tape.tensor([0, 2])), classifier)
    assert models.TokenClassifier(encoder=config, num_labels=4)(ids(2, 6)).shape == (2, 6, 4)
    assert models.QuestionAnswerer(encoder=config)(ids(2, 6)).shape == (2, 6, 2)
    assert models.SentenceEncoder(encoder=config)(ids(2, 6)).shape == (2, 8)
    assert models.MaskedLanguageModel(config)(ids(2, 6)).shape == (2, 6, 20)


def test_vision():
    tape.manual_seed(1)
    sizes = dict(image_size=[8], patch_size=[4], channels=1, d_model=8, layers=1, heads=2, d_ff=16)
    pixels = tape.randn([2, 1, 8, 8])
    assert models.Vit(**sizes)(pixels).shape == (2, 5, 8)
    classifier = models.ImageClassifier(vit=models.VitConfig(**sizes), num_labels=3)
    check_gradients(classifier.loss(classifier(pixels), tape.tensor([0, 2])), classifier)
    ranked = tape.LoadedModel(classifier.eval(), None).classify(pixels, top_k=None)
    assert [sum(label["score"] for label in of_image) for of_image in ranked] == pytest.approx([1, 1])


def test_errors_name_the_option():
    with pytest.raises(tape.Error, match="heads 3") as raised:
        models.Gpt(vocab=20, d_model=8, layers=1, heads=3)
    assert raised.value.kind == "config"
    with pytest.raises(TypeError):
        models.Gpt(vocab=20, width=8)


def test_hooks_see_the_layers_of_a_model():
    model = models.Gpt(vocab=20, d_model=8, layers=2, heads=2, max_length=12)
    seen = []
    for name, module in model.named_modules():
        if name.endswith("self_attention"):
            module.register_forward_hook(lambda module, inputs, output, name=name: seen.append((name, output.shape)))
    model(ids(1, 3))
    assert seen == [("encoder.layers.0.self_attention", (1, 3, 8)), ("encoder.layers.1.self_attention", (1, 3, 8))]


# --- folders ---


def test_save_and_load_model(tmp_path):
    model = models.Llama(vocab=20, d_model=8, layers=2, heads=2, d_ff=16).eval()
    models.save(str(tmp_path), model)
    loaded = models.load_model(str(tmp_path))
    assert type(loaded) is models.Llama and not loaded.training
    x = ids(2, 5)
    assert loaded(x).tolist() == model(x).tolist()
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "llama"


def test_adapters_of_packed_layers_are_saved(tmp_path):
    base, folder = str(tmp_path / "base"), str(tmp_path / "adapters")
    models.save(base, models.Gpt(vocab=20, d_model=8, layers=2, heads=2, max_length=12))
    model = models.load_model(base)
    paths = models.add_adapter(model, "default", targets=["query"], rank=2, alpha=4, exclude=["encoder.layers.1"])
    # GPT-2's folder has query, key and value in one matrix.
    assert paths == [f"encoder.layers.0.self_attention.{part}" for part in ("query", "key", "value")]
    tape.nn.train_adapters_only(model)
    for parameter in model.trainable_parameters():
        tape.nn.init.normal_(parameter)
    models.save_adapter(folder, model, base_model=base)
    x = ids(2, 5)
    loaded = tape.LoadedModel(models.load_with_adapter(folder), None)
    assert loaded.model(x).tolist() == model(x).tolist()
    with pytest.raises(tape.Error, match='the adapter "default" is not merged'):
        loaded.save(tmp_path / "merged")
    tape.nn.merge_adapters(loaded.model)
    loaded.save(tmp_path / "merged")
    assert models.load_model(str(tmp_path / "merged"))(x).tolist() == loaded.model(x).tolist()


def lines(text):
    return text.removesuffix("\n").split("\n")


def test_translate_as_the_fixture(tmp_path):
    translator = tape.load(copy_model(tmp_path, "translator", "marian"))
    german = lines(EXPECTED["german"])
    found = translator.translate(german, beams=3, length_penalty=0.7, max_length=8)
    assert [one.replace("\n", " ") for one in found] == lines(EXPECTED["translations"])
    assert translator.translate(german[0], beams=3, length_penalty=0.7, max_length=8) == found[0]
    best = translator.translate(german[1], beams=3, length_penalty=0.7, max_length=8, n_best=2, details=True)
    assert [f"1 ||| {t} ||| {t.score:.4f}" for t in best] == lines(EXPECTED["n_best"])[2:4]
    aligned = translator.translate(german[1], beams=3, max_length=8, alignments=True)
    assert aligned.alignment.shape[0] == len(aligned.ids)
    with pytest.raises(tape.Error, match="n_best must be from 1 to beams, got 4"):
        translator.translate("neun", beams=3, n_best=4)


def test_generate_as_the_fixture(tmp_path):
    writer = tape.load(copy_model(tmp_path, "writer", "gpt2"))
    prompts = [line for line in lines(EXPECTED["english"])]
    found = writer.generate(prompts, max_new_tokens=12, temperature=0)
    assert "\n---\n".join(found) + "\n" == EXPECTED["continuations"]
    assert writer.generate(prompts, max_new_tokens=12, top_k=1, batch=1) == found


def test_keys_of_the_generation_config_that_are_not_followed(tmp_path):
    folder = copy_model(tmp_path, "writer", "gpt2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tape.load(folder).generate("one two", max_new_tokens=2)
    (folder / "generation_config.json").write_text('{"repetition_penalty": 1.2, "num_beams": 4}')
    with pytest.warns(UserWarning, match="generation_config.json: repetition_penalty, num_beams are not followed"):
        tape.load(folder).generate("one two", max_new_tokens=2)
    folder = copy_model(tmp_path, "translator", "marian")
    (folder / "generation_config.json").write_text('{"repetition_penalty": 1.2}')
    with pytest.warns(UserWarning, match="repetition_penalty is not followed"):
        tape.load(folder).translate("neun", max_length=2)


def test_generate_as_the_command(tmp_path):
    folder = copy_model(tmp_path, "writer", "gpt2")
    writer = tape.load(folder)
    options = dict(max_new_tokens=12, temperature=2, seed=5)
    arguments = (
        "generate",
        "--model",
        folder,
        "--max-new-tokens",
        12,
        "--prompt",
        "one two",
        "--temperature",
        2,
        "--seed",
        5,
    )
    assert writer.generate("one two", **options) + "\n" == run_command(*arguments)
    three = writer.generate("one two", count=3, **options)
    assert "\n---\n".join(three) + "\n" == run_command(*arguments, "--count", 3)
    assert writer.generate("one two", count=3, batch=2, **options) == three
    assert writer.generate("one two", max_new_tokens=12, temperature=2, seed=6) == three[1]
    answer = writer.generate("one two", continuation_only=True, **options)
    assert "one two" + answer == three[0]


def test_stream(tmp_path):
    writer = tape.load(copy_model(tmp_path, "writer", "gpt2"))
    options = dict(max_new_tokens=12, temperature=0)
    text = writer.generate("one two", continuation_only=True, **options)
    pieces = []
    assert writer.generate("one two", stream=pieces.append, **options) == "one two" + text
    assert "".join(pieces) == text and len(pieces) > 3
    assert list(writer.generate("one two", stream=True, **options)) == pieces
    iterator = writer.generate("one two", stream=True, max_new_tokens=100_000, temperature=0)
    assert next(iterator) == pieces[0]
    iterator.close()  # ends the generation
    with pytest.raises(tape.Error, match="stream needs one prompt and one text, got 2"):
        writer.generate(["a", "b"], stream=True)
    with pytest.raises(tape.Error, match="temperature"):
        list(writer.generate("a", stream=True, temperature=-1))

    class Own(Exception):
        pass

    def fail(piece):
        raise Own

    with pytest.raises(Own):
        writer.generate("one two", stream=fail, **options)


def test_generate_of_an_encoder_decoder(tmp_path):
    reader = tape.load(copy_model(tmp_path, "reader", "t5"))
    told = lines(EXPECTED["told"])
    assert "\n---\n".join(reader.generate(told, temperature=0, max_new_tokens=8)) + "\n" == EXPECTED["told_answers"]


def test_chat(tmp_path):
    folder = copy_model(tmp_path, "writer", "gpt2")
    template = json.loads((FIXTURES / "chat.json").read_text())["templates"]["chatml"]
    (folder / "chat_template.jinja").write_text(template)
    writer = tape.load(folder)
    answer = writer.chat("one two", system="Be brief.", temperature=0, max_new_tokens=12)
    prompt = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\none two<|im_end|>\n<|im_start|>assistant\n"
    assert answer == writer.generate(prompt, temperature=0, max_new_tokens=12, continuation_only=True)
    assert "".join(writer.chat("one two", system="Be brief.", temperature=0, max_new_tokens=12, stream=True)) == answer


def test_classify_as_the_fixture(tmp_path):
    classifier = tape.load(copy_model(tmp_path, "classifier", "bert"))
    found = classifier.classify(lines(EXPECTED["english"]), top_k=None)
    printed = ["\t".join(f"{one['label']}\t{one['score']:.6f}" for one in row) for row in found]
    assert printed == lines(EXPECTED["labels"])
    pairs = [line.split("\t") for line in lines(EXPECTED["pairs"]) if line]
    best = classifier.classify([first for first, _ in pairs], [second for _, second in pairs])
    assert [f"{one['label']}\t{one['score']:.6f}" for one in best] == [
        line for line in lines(EXPECTED["pair_labels"]) if line
    ]
    assert classifier.classify("nine")["label"] == "plain"
    assert [one["label"] for one in classifier.classify("nine", top_k=2)][0] == "plain"
    assert classifier.classify("") == {"label": None, "score": None}
    with pytest.raises(tape.Error, match="classify: 1 texts, but 2 pairs"):
        classifier.classify(["a"], ["b", "c"])


def test_label_words(tmp_path):
    tape.manual_seed(1)
    tokenizer = tape.text.WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "anna", "sings"])
    config = models.BertConfig(**{**ENCODER, "vocab": tokenizer.vocab_size})
    models.save(str(tmp_path), models.TokenClassifier(encoder=config, num_labels=2, labels=["O", "PER"]))
    tokenizer.save(str(tmp_path))
    found = tape.load(tmp_path).classify("Anna  sings \u200b")
    assert [one["word"] for one in found] == ["Anna", "sings", "\u200b"]
    assert found[0]["label"] in ("O", "PER") and found[0]["score"] >= 0.5
    assert found[2]["label"] is None  # without a token


@pytest.mark.parametrize("folder", ["all", "cls", "dense", "prompt"])
def test_embed_as_the_command(folder):
    path = FIXTURES / "sentence_encoders" / folder
    texts = ["the cat sat on the mat", "cat"]
    encoder = tape.load(path)
    vectors = encoder.embed(texts)
    printed = [
        [float(value) for value in line.split()]
        for line in lines(run_command("embed", "--model", path, text="\n".join(texts)))
    ]
    assert vectors.shape == (2, len(printed[0]))
    for row, expected in zip(vectors.tolist(), printed):
        assert row == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert encoder.embed(texts[1]).tolist() == pytest.approx(printed[1], rel=1e-4, abs=1e-6)


def test_embed_of_an_encoder_without_pooling(tmp_path):
    tape.manual_seed(1)
    tokenizer = tape.text.WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two"])
    models.save(str(tmp_path), models.Bert(**{**ENCODER, "vocab": tokenizer.vocab_size}))
    tokenizer.save(str(tmp_path))
    encoder = tape.load(tmp_path)
    texts = ["one two one", "two", "one one one one two"]
    printed = [
        [float(value) for value in line.split()]
        for line in lines(run_command("embed", "--model", tmp_path, text="\n".join(texts)))
    ]
    for batch_tokens in (4096, 4):
        for row, expected in zip(encoder.embed(texts, batch_tokens=batch_tokens).tolist(), printed):
            assert row == pytest.approx(expected, rel=1e-5, abs=1e-6)
    with pytest.raises(tape.Error, match="has no prompts, so none named 'query'"):
        encoder.embed("one", prompt_name="query")


def test_gguf(tmp_path):
    folder = copy_model(tmp_path, "writer", "gpt2")
    run_command("export", "--model", folder, "--format", "gguf", "--out", tmp_path / "writer.gguf")
    loaded = tape.load(tmp_path / "writer.gguf")
    options = dict(temperature=0, max_new_tokens=12)
    assert loaded.generate("one two", **options) == tape.load(folder).generate("one two", **options)


def test_abilities(tmp_path):
    classifier = tape.load(copy_model(tmp_path, "classifier", "bert"))
    with pytest.raises(tape.Error) as raised:
        classifier.generate("one")
    assert str(raised.value) == (
        f"generate: {tmp_path}/classifier holds a SequenceClassifier, which cannot generate text; it has classify()"
    )
    assert raised.value.kind == "config"
    writer = tape.load(copy_model(tmp_path, "writer", "gpt2"))
    for ability in (writer.classify, writer.embed, writer.translate):
        with pytest.raises(tape.Error, match="holds a Gpt, which cannot"):
            ability("one")


def test_load_errors(tmp_path):
    with pytest.raises(tape.Error, match="config.json") as raised:
        tape.load(tmp_path / "none")
    assert raised.value.kind == "io"
    with pytest.raises(tape.Error, match="device|cuda|driver"):
        tape.load(copy_model(tmp_path, "writer", "gpt2"), device="cuda:7")


def test_save(tmp_path):
    writer = tape.load(copy_model(tmp_path, "writer", "gpt2"))
    writer.save(tmp_path / "copy")
    again = tape.load(tmp_path / "copy")
    assert again.generate("one two", temperature=0, max_new_tokens=12) == writer.generate(
        "one two", temperature=0, max_new_tokens=12
    )
    assert repr(again).startswith("LoadedModel(Gpt, ")
