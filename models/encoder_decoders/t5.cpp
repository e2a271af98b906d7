#include "models/encoder_decoders/t5.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/scope.h"
#include "base/check.h"
#include "models/folders/config_keys.h"
#include "models/folders/family_of.h"
#include "nn/init.h"

namespace tape::models {
namespace {

const T5Config& checked(const T5Config& c) {
  check_at_least_one("T5", {{"vocab", c.vocab},
                            {"d_model", c.d_model},
                            {"layers", c.layers},
                            {"decoder_layers", c.decoder_layers},
                            {"heads", c.heads},
                            {"head_width", c.head_width},
                            {"d_ff", c.d_ff}});
  return c;
}

EncoderDecoderOptions model_options(const T5Config& c) {
  nn::TransformerLayerOptions layer{.d_model = c.d_model,
                                    .heads = c.heads,
                                    .d_ff = c.d_ff,
                                    .dropout = c.dropout,
                                    .activation = c.activation,
                                    .norm = nn::NormPlace::pre,
                                    .norm_eps = c.norm_eps,
                                    .norm_kind = nn::NormKind::rms_norm,
                                    .feed_forward = c.gated ? nn::FeedForwardKind::gated : nn::FeedForwardKind::plain,
                                    .bias = false,
                                    .head_width = c.head_width,
                                    .attention_scale = 1,
                                    .relative_bias = c.relative_bias};
  nn::TransformerLayerOptions decoder_layer = layer;
  layer.relative_bias->direction = nn::RelativeDirection::both;
  decoder_layer.relative_bias->direction = nn::RelativeDirection::past;
  return {.src_vocab = c.vocab,
          .tgt_vocab = c.vocab,
          .layers = c.layers,
          .decoder_layers = c.decoder_layers,
          .encoder = layer,
          .decoder = decoder_layer,
          .dropout = c.dropout,
          .output_dropout = true,
          .output_scale = c.scale_output ? 1 / std::sqrt(static_cast<double>(c.d_model)) : 1,
          .share_embeddings = true,
          .tie_output = c.tie_output,
          .output_bias = false,
          .freeze_padding = false,
          .padding_id = c.padding_id,
          .bos_id = c.bos_id,
          .eos_id = c.eos_id,
          .forced_bos = c.forced_bos};
}

/// Standard deviation of a matrix's initial values. Queries absorb the factor of the unscaled attention scores (the
/// authors' code, mesh_tensorflow/transformer).
double deviation(const std::string& name, const Shape& shape, const T5Config& c) {
  if (name.ends_with("embedding.weight") || name == "output.weight") return 1;
  const double fan_in = static_cast<double>(name.ends_with("relative_bias.weight") ? c.d_model : shape[1]);
  const bool query = name.ends_with(".query.weight");
  return 1 / std::sqrt(query ? fan_in * static_cast<double>(c.head_width) : fan_in);
}

}  // namespace

std::string_view to_string(T5Kind kind) { return kind == T5Kind::mt5 ? "mt5" : "t5"; }

T5::T5(const T5Config& c) : EncoderDecoder(model_options(checked(c))), config_(c) {
  for (const NamedTensor& parameter : named_parameters())
    if (parameter.tensor.rank() == 2)
      nn::init::normal_(parameter.tensor, 0, deviation(parameter.name, parameter.tensor.shape(), c));
}

}  // namespace tape::models

namespace tape::models::hugging_face {
namespace {

constexpr const char* kTable = "shared.weight";
constexpr const char* kOutputWeight = "lm_head.weight";
constexpr std::string_view kGated = "gated-";

template <class Config, class Visit>
void visit_t5_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("d_model", c.d_model);
  visit("d_kv", c.head_width);
  visit("d_ff", c.d_ff);
  visit("num_layers", c.layers);
  visit("num_heads", c.heads);
  visit("relative_attention_num_buckets", c.relative_bias.buckets);
  visit("relative_attention_max_distance", c.relative_bias.max_distance);
  visit("dropout_rate", c.dropout);
  visit("layer_norm_epsilon", c.norm_eps);
  visit("pad_token_id", c.padding_id);
  visit("forced_bos_token_id", c.forced_bos);
}

/// Reads "relu", "gated-gelu" (the tanh approximation) and so on.
void read_feed_forward(const ConfigReader& config, T5Config& c) {
  constexpr const char* kKey = "feed_forward_proj";
  const std::string given = config.text(kKey, c.kind == T5Kind::mt5 ? "gated-gelu" : "relu");
  c.gated = given.starts_with(kGated);
  const std::string name = given == "gated-gelu" ? "gelu_new" : given.substr(c.gated ? kGated.size() : 0);
  const auto activation = find_activation(name);
  if (!activation) config.wrong(kKey, "an activation (relu, gelu_new, silu, ...), optionally prefixed with \"gated-\"");
  c.activation = *activation;
  // transformers derives these keys from it and writes them too.
  if (config.text("dense_act_fn", name) != name) config.wrong("dense_act_fn", fmt::format("\"{}\"", name));
  config.require_flag("is_gated_act", c.gated, c.gated);
}

std::string feed_forward_name(const T5Config& c) {
  if (!c.gated) return activation_name(c.activation);
  if (c.activation == nn::ActivationKind::gelu_tanh) return "gated-gelu";
  if (c.activation == nn::ActivationKind::gelu)
    raise(ErrorKind::config, "T5: transformers has no name for a gelu gate; gelu_tanh is its \"gated-gelu\"");
  return fmt::format("{}{}", kGated, activation_name(c.activation));
}

void add_attention(Layout& layout, const T5Config& c) {
  const int64_t inner = checked_multiply(c.heads, c.head_width, "num_heads x d_kv");
  for (const auto& [ours, theirs] : {std::pair{"query", "q"}, std::pair{"key", "k"}, std::pair{"value", "v"}})
    layout.linear(ours, theirs, c.d_model, inner, false);
  layout.linear("output", "o", inner, c.d_model, false);
}

void add_feed_forward(Layout& layout, const T5Config& c) {
  if (c.gated) {
    layout.linear("gate", "wi_0", c.d_model, c.d_ff, false);
    layout.linear("up", "wi_1", c.d_model, c.d_ff, false);
  } else {
    layout.linear("linear1", "wi", c.d_model, c.d_ff, false);
  }
  layout.linear(c.gated ? "down" : "linear2", "wo", c.d_ff, c.d_model, false);
}

/// A block stores its sublayers in a list, each with its norm.
void add_block(Layout& layout, const T5Config& c, bool decoder) {
  int place = 0;
  const auto sublayer = [&](const char* ours, const char* theirs, auto&& add) {
    const std::string their = fmt::format("layer.{}.", place++);
    {
      const Layout::Scope part(layout, ours, their + theirs);
      add(layout, c);
    }
    layout.norm(fmt::format("norm{}", place), their + "layer_norm", c.d_model, false);
  };
  sublayer("self_attention.", "SelfAttention.", add_attention);
  if (decoder) sublayer("cross_attention.", "EncDecAttention.", add_attention);
  sublayer("feed_forward.", "DenseReluDense.", add_feed_forward);
}

void add_stack(Layout& layout, const std::string& stack, int64_t layers, const T5Config& c) {
  const Layout::Scope all(layout, stack + ".", stack + ".");
  layout.tensor("relative_bias.weight", "block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                {c.relative_bias.buckets, c.heads});
  for (int64_t i = 0; i < layers; ++i) {
    const Layout::Scope block(layout, fmt::format("layers.{}.", i), fmt::format("block.{}.", i));
    add_block(layout, c, stack == "decoder");
  }
  layout.norm("norm", "final_layer_norm", c.d_model, false);
}

/// tie_output is config.json's value; with_own_output() overrides it for a file that has an output matrix.
template <T5Kind kind>
T5Config read_t5_config(const ConfigReader& given) {
  const ConfigReader config = given.renamed({{"hidden_size", "d_model"},
                                             {"num_hidden_layers", "num_layers"},
                                             {"num_attention_heads", "num_heads"},
                                             {"head_dim", "d_kv"}});
  check_supported_decoder(config);
  T5Config c{.kind = kind};
  if (kind == T5Kind::mt5) c.vocab = 250112, c.d_ff = 1024, c.layers = 8, c.heads = 6;
  visit_t5_keys(c, ReadKeys{config});
  c.eos_id = config.first_whole("eos_token_id", c.eos_id);
  c.decoder_layers = config.whole("num_decoder_layers", c.layers);
  c.bos_id = config.whole("decoder_start_token_id", c.padding_id);
  read_feed_forward(config, c);
  c.tie_output = config.flag("tie_word_embeddings", true);
  // transformers before 5 scales if tied; since 5, T5 has a separate key for it (null: no) and mT5 is never scaled.
  const bool said_apart = config.contains("scale_decoder_outputs");
  c.scale_output = kind == T5Kind::t5 && config.flag("scale_decoder_outputs", said_apart ? false : c.tie_output);
  return c;
}

/// Throws Error (config) for an exact gelu gate, for which "feed_forward_proj" has no name.
nlohmann::ordered_json t5_json(const T5Config& c, DType dtype) {
  if (c.kind == T5Kind::mt5 && c.scale_output)
    raise(ErrorKind::config, "T5: scale_output must be false for mT5, whose output transformers does not scale");
  nlohmann::ordered_json json = begin_config(
      c.kind == T5Kind::mt5 ? "MT5ForConditionalGeneration" : "T5ForConditionalGeneration", to_string(c.kind), dtype);
  visit_t5_keys(c, WriteKeys{json});
  json.update({{"eos_token_id", c.eos_id},
               {"num_decoder_layers", c.decoder_layers},
               {"feed_forward_proj", feed_forward_name(c)},
               {"decoder_start_token_id", c.bos_id},
               {"bos_token_id", nullptr},
               {"is_encoder_decoder", true},
               {"tie_word_embeddings", c.tie_output}});
  if (c.kind == T5Kind::t5) json["scale_decoder_outputs"] = c.scale_output;
  return json;
}

Layout t5_layout(const T5Config& c) {
  Layout layout;
  layout.tensor("src_embedding.weight", kTable, {c.vocab, c.d_model});
  for (const char* copy : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}) layout.copy(copy, kTable);
  if (c.tie_output)
    layout.copy(kOutputWeight, kTable);
  else
    layout.tensor("output.weight", kOutputWeight, {c.vocab, c.d_model});
  add_stack(layout, "encoder", c.layers, c);
  add_stack(layout, "decoder", c.decoder_layers, c);
  // A bias that the original files contain and that no version of transformers uses.
  layout.ignore("layer.1.EncDecAttention.relative_attention_bias.weight");
  return layout;
}

/// Ties the output as transformers does since version 5, whose config.json always says it is tied: only if the file has
/// no output matrix, or one equal to the table.
T5Config with_own_output(T5Config c, const std::map<std::string, Tensor>& tensors) {
  const NoGrad no_grad;
  const auto table = tensors.find(kTable), output = tensors.find(kOutputWeight);
  const bool comparable = table != tensors.end() && output != tensors.end() &&
                          table->second.shape() == output->second.shape() &&
                          table->second.dtype() == output->second.dtype();
  c.tie_output = output == tensors.end() || (comparable && any(ne(table->second, output->second)).item() == 0);
  return c;
}

}  // namespace

const ModelFamily& t5_family() {
  static const auto& family = *new const FamilyOf<T5>(
      {.display_name = "a T5 (T5, mT5)",
       .classes = {{{"T5ForConditionalGeneration", "t5", "T5"}, read_t5_config<T5Kind::t5>},
                   {{"MT5ForConditionalGeneration", "mt5", "mT5"}, read_t5_config<T5Kind::mt5>}},
       .prefix = "",
       .write = t5_json,
       .layout = t5_layout,
       .fit = [](T5Config& c, Weights& weights) {
         weights.tensors = without_prefix(std::move(weights.tensors), "transformer.");
         c = with_own_output(c, weights.tensors);
       }});
  return family;
}

}  // namespace tape::models::hugging_face
