"""What is bound, file by file."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Unit:
    name: str
    headers: tuple[str, ...]
    module: str = ""  # submodule: "nn", "nn.init"
    by_hand: tuple[str, ...] = ()  # declarations that bindings/*.cpp binds
    run_as_task: bool = False  # functions train_*() and examine_*(), called through run_task() of bindings/training.h


def operations(family, *by_hand):
    """The headers of a family that autograd/ops.h includes; the others have no public operations."""
    headers = {
        "attention": ("attention", "heads", "rotary"),
        "convolution": ("convolution", "pooling"),
        "elementwise": ("activation", "arithmetic", "cast", "compare", "dropout", "exponential", "masked", "promote", "rounding",
                        "trigonometry", "unary"),
        "index": ("index", "indexing", "order", "scatter"),
        "loss": ("ctc_loss", "embedding_loss", "linear_cross_entropy", "loss", "probability_loss", "regression_loss"),
        "norm": ("batch_norm", "group_norm", "gumbel_softmax", "norm", "softmax"),
        "product": ("einsum", "linear_max", "matmul"),
        "reduce": ("counting", "product", "reduce", "scan", "statistics"),
        "shape": ("diagonal", "join", "pad", "repeat", "shape"),
    }[family]  # fmt: skip
    return Unit(family, tuple(f"autograd/ops/{family}/{name}.h" for name in headers), by_hand=by_hand)


# Classes whose subclasses are bound.
BASES = ("tape::nn::Module", "tape::optim::Optimizer", "tape::optim::Schedule", "tape::text::Tokenizer")

UNITS = [
    Unit(
        "create",
        ("autograd/create.h", "autograd/distributions.h"),
        by_hand=("tape::arange", "tape::from_blob", "tape::tensor"),
    ),
    operations("attention"),
    operations("convolution"),
    operations("elementwise", "tape::cast", "tape::same_arithmetic_dtype", "tape::same_compute_dtype"),
    operations("index", "tape::index", "tape::index_put"),
    operations("loss"),
    operations("norm"),
    operations("product"),
    operations("reduce"),
    operations(
        "shape",
        "tape::alias",
        "tape::expand_to",
        "tape::samples_first",
        "tape::sum_to",
        "tape::reshape",
        "tape::permute",
        "tape::expand",
    ),
    Unit("linalg", ("autograd/ops/linalg.h",), "linalg"),
    Unit(
        "nn_basic",
        tuple(
            f"nn/{name}.h"
            for name in ("activation", "adapters", "convolution", "dropout", "identity", "linear", "lora")
        ),
        "nn",
        by_hand=("tape::nn::activation_names",),
    ),
    Unit(
        "nn_blocks",
        ("nn/attention/*.h", "nn/embedding/*.h", "nn/norm/*.h", "nn/position/*.h", "nn/transformer/*.h"),
        "nn",
        by_hand=(
            *(f"tape::nn::{name}" for name in ("AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d")),
            # parts of layers
            *(
                f"tape::nn::{name}"
                for name in (
                    "check_d_model",
                    "cross_attention_options",
                    "has_content_to_position",
                    "has_position_to_content",
                    "relative_position_rows",
                    "self_attention_options",
                    "to_string",
                    "uniform_if_all_hidden",
                )
            ),
        ),
    ),
    Unit("nn_init", ("nn/init.h",), "nn.init"),
    Unit(
        "runtime",
        ("autograd/devices.h", "autograd/memory.h", "autograd/print.h", "autograd/io/npy.h", "models/npz/npz.h"),
        by_hand=("tape::to_string",),
    ),
    Unit("optim", ("optim/*.h",), "optim"),
    Unit("models_decoders", ("models/decoders/*.h", "models/decoding/*.h"), "models"),
    Unit("models_encoder_decoders", ("models/encoder_decoders/*.h",), "models"),
    Unit("models_encoders", ("models/encoders/*.h", "models/vision/*.h"), "models"),
    Unit("models_heads", ("models/heads/*.h", "models/sentence/*.h"), "models", by_hand=("tape::models::load",)),
    Unit(
        "text",
        (
            "text/corpus/number_words.h",
            "text/corpus/word_ids.h",
            "text/scores/bleu.h",
            "text/scores/chrf.h",
            "text/tokenizers/byte_level_bpe.h",
            "text/tokenizers/characters.h",
            "text/tokenizers/fairseq.h",
            "text/tokenizers/load_tokenizer.h",
            "text/tokenizers/marian.h",
            "text/tokenizers/piece_tokenizer.h",
            "text/tokenizers/sentence_piece.h",
            "text/tokenizers/tokenizer_json.h",
            "text/tokenizers/train_byte_level_bpe.h",
            "text/tokenizers/train_sentence_piece.h",
            "text/tokenizers/word_piece.h",
        ),
        "text",
    ),
    Unit("train", ("train/tasks/*.h",), "train", run_as_task=True),
]

# Options inside of options that Python takes as arguments of their own, with the prefix of their names.
FLATTENED = {
    "tape::models::GenerateOptions::sampling": "",
    "tape::train::AdapterTraining::lora": "",
    "tape::train::ClassificationOptions::fields": "",
    "tape::train::ClassificationOptions::run": "",
    "tape::train::LanguageModelOptions::fields": "",
    "tape::train::LanguageModelOptions::init": "",
    "tape::train::LanguageModelOptions::run": "",
    "tape::train::MaskedLMOptions::run": "",
    "tape::train::ParallelFiles::fields": "",
    "tape::train::TextEmbeddingOptions::fields": "",
    "tape::train::TextEmbeddingOptions::run": "",
    "tape::train::TokenClassificationOptions::fields": "",
    "tape::train::TokenClassificationOptions::run": "",
    "tape::train::TranslationOptions::languages": "",
    "tape::train::TranslationOptions::run": "",
    "tape::train::TranslationOptions::train": "",
    "tape::train::TranslationOptions::valid": "valid_",
}

# Fields of options that Python names otherwise.
FIELD_NAMES = {
    "tape::text::DocumentFields::completion": "completion_column",
    "tape::text::DocumentFields::prompt": "prompt_column",
    "tape::text::DocumentFields::text": "text_column",
    "tape::text::LabeledFields::label": "label_column",
    "tape::text::LabeledFields::pair": "pair_column",
    "tape::text::LabeledFields::text": "text_column",
    "tape::text::LabeledWordsFields::labels": "labels_column",
    "tape::text::LabeledWordsFields::tokens": "tokens_column",
    "tape::text::Languages::source": "source_language",
    "tape::text::Languages::target": "target_language",
    "tape::text::PairFields::source": "source_column",
    "tape::text::PairFields::target": "target_column",
    "tape::train::DecoderInit::folder": "init",
    "tape::train::TaskOptions::out": "out_",
}

# Fields of options that have no argument: bindings/training.cpp sets them.
UNSET = (
    "tape::train::TaskOptions::command_json", "tape::train::TaskOptions::distributed", "tape::train::TaskOptions::interrupted",
    "tape::train::TaskOptions::ranks", "tape::train::TaskOptions::report",
)  # fmt: skip

# Operations of these units whose first argument is a tensor are methods of Tensor too.
METHODS = ("elementwise", "index", "norm", "product", "reduce", "shape")

BOUND_BY_HAND = (
    "tape::Generator", "tape::Mask", "tape::Tensor", "tape::nn::KeyValueCache", "tape::nn::Module", "tape::nn::Positions", "tape::nn::Sequential", "tape::text::Tokenizer",
    "tape::optim::Optimizer", "tape::optim::ParameterGroup", "tape::optim::Schedule",
)  # fmt: skip
