"""Declarations that have no binding, with the reason. The generator fails if this list is not exact."""

CACHES = "appends to a list of caches in place; generate() of a model decodes with caches"
PARTS = "makes parts of a C++ layer"
POINTERS = "lists layers of a model; named_modules() does in Python"

LABELS = "is a step of the heads' loss()"
PACKED = "stores values in a file of a run"

OMITTED = {
    "tape::models::CausalLM::forward_cached": CACHES,
    "tape::models::CausalLM::next_likeliest": CACHES,
    "tape::models::CausalLM::next_logits": CACHES,
    "tape::models::CausalLM::next_top_k": CACHES,
    "tape::models::EncoderDecoder::decode_cached": CACHES,
    "tape::models::EncoderDecoder::likeliest_cached": CACHES,
    "tape::models::EncoderDecoder::top_k_cached": CACHES,
    "tape::models::classification_loss": LABELS,
    "tape::models::label_targets": LABELS,
    "tape::models::load_translator": "tapeformer.load() loads a model with its tokenizer",
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
    "tape::text::Marian::from_parts": "takes the contents of files; load() reads them",
    "tape::text::append_packed": PACKED,
    "tape::text::character_tokenizer": "the overload that reads a text piece by piece",
    "tape::text::take_packed": PACKED,
    "tape::text::train_byte_level_bpe": "the overload that reads lines piece by piece",
}
