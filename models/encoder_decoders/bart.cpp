#include "models/encoder_decoders/bart.h"

#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "models/encoder_decoders/fairseq_family.h"
#include "models/folders/config_keys.h"
#include "models/folders/family_of.h"
#include "nn/init.h"

namespace tape::models {
namespace {

const BartConfig& checked(const BartConfig& c) {
  check_at_least_one("Bart", {{"vocab", c.vocab},
                              {"d_model", c.d_model},
                              {"layers", c.layers},
                              {"heads", c.heads},
                              {"d_ff", c.d_ff},
                              {"decoder_layers", c.decoder_layers},
                              {"decoder_heads", c.decoder_heads},
                              {"decoder_d_ff", c.decoder_d_ff},
                              {"max_length", c.max_length}});
  return c;
}

EncoderDecoderOptions model_options(const BartConfig& c) {
  const nn::TransformerLayerOptions encoder{
      .d_model = c.d_model,
      .heads = c.heads,
      .d_ff = c.d_ff,
      .dropout = c.dropout,
      .activation = c.activation,
      .norm = c.kind == BartKind::mbart ? nn::NormPlace::pre : nn::NormPlace::post,
      .attention_dropout = c.attention_dropout,
      .activation_dropout = c.activation_dropout};
  nn::TransformerLayerOptions decoder = encoder;
  decoder.heads = c.decoder_heads, decoder.d_ff = c.decoder_d_ff;
  return {.src_vocab = c.vocab,
          .tgt_vocab = c.vocab,
          .layers = c.layers,
          .decoder_layers = c.decoder_layers,
          .encoder = encoder,
          .decoder = decoder,
          .learned_positions = nn::LearnedPositionalEncodingOptions{kBartPositionOffset},
          .max_length = c.max_length,
          .embedding_norm_eps = 1e-5,
          .embedding_scale = c.scale_embedding ? std::sqrt(static_cast<double>(c.d_model)) : 1,
          .dropout = c.dropout,
          .share_embeddings = true,
          .tie_output = true,
          .output_bias = true,
          .freeze_padding = true,  // as in transformers: only the output layer trains the row
          .padding_id = c.padding_id,
          .bos_id = c.bos_id,
          .eos_id = c.eos_id,
          .forced_bos = c.forced_bos,
          .wraps_last_token = c.kind == BartKind::mbart};
}

}  // namespace

std::string_view to_string(BartKind kind) { return kind == BartKind::mbart ? "mbart" : "bart"; }

Bart::Bart(const BartConfig& c) : EncoderDecoder(model_options(checked(c))), config_(c) {
  nn::init::start_normal(*this, c.init_std);
}

}  // namespace tape::models

namespace tape::models::hugging_face {
namespace {

constexpr int64_t kMostPositions = int64_t{1} << 24;

/// Rejects options of transformers before 3.2 with values that are not supported.
void check_legacy_options(const ConfigReader& config, bool mbart) {
  config.require_flag("add_bias_logits", false, false);
  config.require_flag("normalize_before", mbart, mbart);
  config.require_flag("add_final_layer_norm", mbart, mbart);
  config.require_flag("normalize_embedding", true, true);
  config.require_flag("static_position_embeddings", false, false);
  if (config.whole("extra_pos_embeddings", kBartPositionOffset) != kBartPositionOffset)
    config.wrong("extra_pos_embeddings", fmt::format("{}", kBartPositionOffset));
}

template <BartKind kind>
BartConfig read_bart_config(const ConfigReader& given) {
  const ConfigReader config = with_family_names(given);
  check_supported_decoder(config);
  check_legacy_options(config, kind == BartKind::mbart);
  config.require_flag("tie_word_embeddings", true, true);
  BartConfig c{.kind = kind};
  c.vocab = config.whole("vocab_size", c.vocab);
  visit_family_sizes(c, ReadKeys{config});
  visit_family_choices(c, ReadKeys{config});
  if (c.max_length < 1 || c.max_length > kMostPositions)
    config.wrong("max_position_embeddings", fmt::format("from 1 to {}", kMostPositions));
  c.init_std = config.number("init_std", c.init_std);
  c.eos_id = config.first_whole("eos_token_id", c.eos_id);
  // The default of transformers' generate() for mBART.
  c.bos_id =
      config.whole("decoder_start_token_id", kind == BartKind::mbart ? config.whole("bos_token_id", 0) : c.bos_id);
  return c;
}

nlohmann::ordered_json bart_json(const BartConfig& c, DType dtype) {
  nlohmann::ordered_json json =
      begin_config(c.kind == BartKind::mbart ? "MBartForConditionalGeneration" : "BartForConditionalGeneration",
                   to_string(c.kind), dtype);
  json["vocab_size"] = c.vocab;
  visit_family_sizes(c, WriteKeys{json});
  visit_family_choices(c, WriteKeys{json});
  write_family_rest(json, c.bos_id, c.eos_id);
  json.update({{"tie_word_embeddings", true}, {"init_std", c.init_std}});
  return json;
}

Layout bart_layout(const BartConfig& c) {
  Layout layout;
  add_shared_table(layout, c.vocab, c.d_model);
  layout.copy("lm_head.weight", "model.shared.weight");
  layout.optional_row("output.bias", "final_logits_bias", c.vocab);
  const Shape positions{kBartPositionOffset + c.max_length, c.d_model};
  for (const auto& [ours, theirs] : {std::pair{"src", "model.encoder"}, std::pair{"tgt", "model.decoder"}}) {
    const Layout::Scope stack(layout, ours, theirs);
    layout.tensor("_positions.weight", ".embed_positions.weight", positions);
    layout.norm("_norm", ".layernorm_embedding", c.d_model);
  }
  add_family_stacks(layout, {.width = c.d_model,
                             .layers = c.layers,
                             .d_ff = c.d_ff,
                             .decoder_layers = c.decoder_layers,
                             .decoder_d_ff = c.decoder_d_ff,
                             .last_norms = c.kind == BartKind::mbart});
  // fairseq's format version, which older versions of transformers saved.
  for (const char* old : {"encoder.version", "decoder.version"}) layout.ignore(old);
  return layout;
}

}  // namespace

const ModelFamily& bart_family() {
  static const auto& family =
      *new const FamilyOf<Bart>({.display_name = "a Bart (BART, mBART)",
                                 .classes = {{.name = {"BartForConditionalGeneration", "bart", "BART"},
                                              .read = read_bart_config<BartKind::bart>,
                                              .forced_eos = true},
                                             {.name = {"MBartForConditionalGeneration", "mbart", "mBART"},
                                              .read = read_bart_config<BartKind::mbart>,
                                              .forced_eos = true}},
                                 .prefix = "model.",
                                 .write = bart_json,
                                 .layout = bart_layout});
  return family;
}

}  // namespace tape::models::hugging_face
