"""Declarations that have no binding, with the reason. The generator fails if this list is not exact."""

CACHES = "appends to a list of caches in place; generate() of a model decodes with caches"
PARTS = "makes parts of a C++ layer"
POINTERS = "lists layers of a model; named_modules() does in Python"

OMITTED = {
    "tape::nn::Decoder::forward_cached": CACHES,
    "tape::nn::DecoderLayer::forward_cached": CACHES,
    "tape::nn::Encoder::forward_cached": CACHES,
    "tape::nn::RelativeBias::combine_with": PARTS,
    "tape::nn::adapters_of": POINTERS,
    "tape::nn::make_attention_norm": PARTS,
    "tape::nn::make_feed_forward": PARTS,
    "tape::nn::make_feed_forward_norm": PARTS,
    "tape::nn::make_norm": PARTS,
    "tape::nn::make_relative_bias": PARTS,
    "tape::nn::make_self_attention": PARTS,
    "tape::nn::named_linears": POINTERS,
}
