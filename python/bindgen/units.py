"""What is bound, file by file."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Unit:
    name: str
    headers: tuple[str, ...]
    module: str = ""  # submodule: "nn", "nn.init"
    by_hand: tuple[str, ...] = ()  # declarations that bindings/*.cpp binds


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


UNITS = [
    Unit(
        "create",
        ("autograd/create.h", "autograd/distributions.h"),
        by_hand=("tape::arange", "tape::from_blob", "tape::tensor"),
    ),
    operations("attention"),
    operations("convolution"),
    operations("elementwise", "tape::cast", "tape::same_compute_dtype"),
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
]

# Operations of these units whose first argument is a tensor are methods of Tensor too.
METHODS = ("elementwise", "index", "norm", "product", "reduce", "shape")

BOUND_BY_HAND = (
    "tape::Generator", "tape::Mask", "tape::Tensor", "tape::nn::KeyValueCache", "tape::nn::Module", "tape::nn::Positions", "tape::nn::Sequential",
    "tape::optim::Optimizer", "tape::optim::ParameterGroup", "tape::optim::Schedule",
)  # fmt: skip
