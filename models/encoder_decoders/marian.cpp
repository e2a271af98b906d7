#include <algorithm>

#include "models/encoder_decoders/fairseq_family.h"
#include "models/encoder_decoders/transformer_json.h"
#include "models/folders/family_of.h"

namespace tape::models::hugging_face {
namespace {

template <class Config, class Visit>
void visit_marian_keys(Config& c, Visit&& visit) {
  visit("decoder_vocab_size", c.tgt_vocab);
  visit("share_encoder_decoder_embeddings", c.share_embeddings);
  visit("output_bias", c.output_bias);
}

/// Reads the file's values over those of `c`.
TransformerConfig read_with_defaults(const ConfigReader& given, TransformerConfig c) {
  const ConfigReader config = with_family_names(given);
  check_supported_decoder(config);
  c.src_vocab = config.whole("vocab_size");
  c.d_model = 1024;
  c.layers = 12, c.heads = 16, c.d_ff = 4096;
  c.decoder_layers = 12, c.decoder_heads = 16, c.decoder_d_ff = 4096;
  c.dropout = 0.1, c.attention_dropout = 0, c.activation_dropout = 0;
  c.norm_eps = 1e-5;
  c.max_length = 1024;
  c.freeze_padding = config.flag("freeze_padding", true);
  visit_family_sizes(c, ReadKeys{config});
  visit_family_choices(c, ReadKeys{config});
  c.tie_output = config.flag("tie_word_embeddings", c.tie_output);
  c.tgt_vocab = c.src_vocab;
  return c;
}

/// Fills in every optional value.
TransformerConfig with_every_value(TransformerConfig c) {
  const auto fill = [](auto& value, auto otherwise) { value = value.value_or(otherwise); };
  fill(c.decoder_layers, c.layers);
  fill(c.decoder_heads, c.heads);
  fill(c.decoder_d_ff, c.d_ff);
  fill(c.attention_dropout, c.dropout);
  fill(c.activation_dropout, c.dropout);
  fill(c.output_bias, !c.tie_output);
  fill(c.freeze_padding, !c.tie_output);
  return c;
}

/// Whether MarianMTModel computes the same as this Transformer: post-norm with eps 1e-5, and positions with all sines
/// before all cosines.
bool is_marian(const TransformerConfig& c) {
  return c.norm == nn::NormPlace::post && c.norm_eps == 1e-5 && c.positions == nn::SinusoidLayout::halves;
}

/// Whether M2M100ForConditionalGeneration computes the same: pre-norm with eps 1e-5, fairseq's positions starting at
/// padding_id + 1, one shared table and no output bias.
bool is_m2m100(const TransformerConfig& c) {
  return c.norm == nn::NormPlace::pre && c.norm_eps == 1e-5 && c.positions == nn::SinusoidLayout::fairseq &&
         c.position_offset.value_or(0) == c.padding_id + 1 && c.share_embeddings && c.tie_output &&
         !c.output_bias.value_or(false);
}

TransformerConfig read_marian_config(const ConfigReader& config) {
  TransformerConfig c = read_with_defaults(config, {.activation = nn::ActivationKind::gelu,
                                                    .norm = nn::NormPlace::post,
                                                    .positions = nn::SinusoidLayout::halves,
                                                    .scale_embedding = false,
                                                    .padding_id = -1,
                                                    .share_embeddings = true,
                                                    .tie_output = true,
                                                    .output_bias = true});
  visit_marian_keys(c, ReadKeys{config});
  if (c.share_embeddings) c.tgt_vocab = c.src_vocab;
  c.bos_id = config.whole("decoder_start_token_id", c.padding_id);
  c.eos_id = config.first_whole("eos_token_id", 0);
  return c;
}

TransformerConfig read_m2m100_config(const ConfigReader& config) {
  config.require_flag("tie_word_embeddings", true, true);
  TransformerConfig c = read_with_defaults(config, {.activation = nn::ActivationKind::relu,
                                                    .norm = nn::NormPlace::pre,
                                                    .positions = nn::SinusoidLayout::fairseq,
                                                    .scale_embedding = true,
                                                    .padding_id = 1,
                                                    .share_embeddings = true,
                                                    .tie_output = true,
                                                    .output_bias = false});
  c.position_offset = c.padding_id + 1;
  c.bos_id = config.whole("decoder_start_token_id", 2);
  c.eos_id = config.first_whole("eos_token_id", 2);
  return c;
}

/// config.json for the class of transformers that computes the same.
nlohmann::ordered_json transformer_json(const TransformerConfig& given, DType dtype) {
  const TransformerConfig c = with_every_value(given);
  const bool marian = is_marian(c);
  nlohmann::ordered_json json = marian ? begin_config("MarianMTModel", "marian", dtype)
                                       : begin_config("M2M100ForConditionalGeneration", "m2m_100", dtype);
  json["vocab_size"] = c.src_vocab;
  visit_family_sizes(c, WriteKeys{json});
  visit_family_choices(c, WriteKeys{json});
  write_family_rest(json, c.bos_id, c.eos_id);
  json["tie_word_embeddings"] = c.tie_output;
  // Our own key, which transformers ignores; without it, loading would fall back to transformers' behavior.
  json["freeze_padding"] = *c.freeze_padding;
  if (marian) visit_marian_keys(c, WriteKeys{json});
  return json;
}

bool has_transformers_class(const TransformerConfig& c) { return is_marian(c) || is_m2m100(c); }

/// Bounds the position table, which no file stores, by the file's size or a usual length.
void check_positions(TransformerConfig& c, Weights& weights) {
  constexpr int64_t kUsual = int64_t{1} << 15;
  int64_t values = 0;
  for (const auto& [name, tensor] : weights.tensors) values += tensor.numel();
  const int64_t most = std::max(kUsual, values / std::max<int64_t>(c.d_model, 1));
  if (c.max_length > most) raise(ErrorKind::config, "{} positions are more than the limit {}", c.max_length, most);
}

/// Also loads our own folders of models that transformers has no class for.
class TransformerFamily final : public FamilyOf<Transformer> {
 public:
  using FamilyOf::FamilyOf;

  std::optional<AnyModel> load(const std::string& folder, const ConfigReader& config) const override {
    if (config.text("model_type", "") != kOwnModelType) return FamilyOf::load(folder, config);
    const TransformerConfig c = transformer_config_from_json(config);
    return made(config.where(), c, read_weights(folder));
  }
  FolderTextFiles texts(const nn::Module& model, const SaveOptions& options) const override {
    const TransformerConfig& c = config_of(model);
    return has_transformers_class(c) ? FamilyOf::texts(model, options) : FolderTextFiles{{kConfig, to_json(c)}};
  }
};

}  // namespace

Layout marian_layout(const TransformerConfig& c) {
  Layout layout;
  const std::string encoder = "model.encoder.embed_tokens.weight", decoder = "model.decoder.embed_tokens.weight";
  if (c.share_embeddings) {
    add_shared_table(layout, c.src_vocab, c.d_model);
  } else {
    layout.tensor("src_embedding.weight", encoder, {c.src_vocab, c.d_model});
    layout.tensor("tgt_embedding.weight", decoder, {c.tgt_vocab, c.d_model});
  }
  if (c.tie_output)
    layout.copy("lm_head.weight", c.share_embeddings ? "model.shared.weight" : decoder);
  else
    layout.tensor("output.weight", "lm_head.weight", {c.tgt_vocab, c.d_model});
  if (c.output_bias.value_or(!c.tie_output)) layout.optional_row("output.bias", "final_logits_bias", c.tgt_vocab);
  add_family_stacks(layout, {.width = c.d_model,
                             .layers = c.layers,
                             .d_ff = c.d_ff,
                             .decoder_layers = c.decoder_layers.value_or(c.layers),
                             .decoder_d_ff = c.decoder_d_ff.value_or(c.d_ff),
                             .last_norms = c.norm == nn::NormPlace::pre});
  layout.ignore("embed_positions.weight");  // sinusoids, which older versions saved
  return layout;
}

const ModelFamily& transformer_family() {
  static const auto& family = *new const TransformerFamily(
      {.display_name = "a Transformer (Marian, M2M100)",
       .classes = {{.name = {"MarianMTModel", "marian", "Marian"}, .read = read_marian_config, .forced_eos = true},
                   {.name = {"M2M100ForConditionalGeneration", "m2m_100", "M2M100"}, .read = read_m2m100_config}},
       .prefix = "model.",
       .write = transformer_json,
       .layout =
           [](const TransformerConfig& c) {
             return has_transformers_class(c) ? marian_layout(c) : transformer_layout(c);
           },
       .fit = check_positions});
  return family;
}

}  // namespace tape::models::hugging_face
