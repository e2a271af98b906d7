#include "models/encoder_decoder_folder.h"

#include <algorithm>

#include "models/folder_loading.h"
#include "models/hugging_face/bart.h"
#include "models/hugging_face/generation.h"
#include "models/hugging_face/marian.h"
#include "models/hugging_face/t5.h"
#include "models/transformer_json.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

void check_stacks(const std::string& file, int64_t layers, int64_t decoder_layers, const Weights& weights) {
  check_layers(file, layers, weights);
  check_layers(file, decoder_layers, weights);
}

AnyModel load_transformer(const std::string& file, const TransformerConfig& c, const Weights& weights, bool own) {
  check_stacks(file, c.layers, c.decoder_layers.value_or(c.layers), weights);
  // The table of positions is in no file: it may be as large as what is there, or of a usual length.
  constexpr int64_t kUsual = int64_t{1} << 15;
  int64_t values = 0;
  for (const auto& [name, tensor] : weights.tensors) values += tensor.numel();
  const int64_t most = std::max(kUsual, values / std::max<int64_t>(c.d_model, 1));
  if (c.max_length > most) raise(ErrorKind::config, "{}: {} positions are more than {}", file, c.max_length, most);
  return filled<Transformer>(
      file, c, weights, [&] { return own ? transformer_layout(c) : hf::marian_layout(c); }, own ? "" : "model.");
}

AnyModel load_bart(const std::string& file, const BartConfig& c, const Weights& weights) {
  check_stacks(file, c.layers, c.decoder_layers, weights);
  return filled<Bart>(
      file, c, weights, [&] { return hf::bart_layout(c); }, "model.");
}

AnyModel load_t5(const std::string& file, const T5Config& given, Weights weights) {
  weights.tensors = without_prefix(std::move(weights.tensors), "transformer.");
  check_stacks(file, given.layers, given.decoder_layers, weights);
  const T5Config c = hf::with_own_output(given, weights.tensors);
  return filled<T5>(file, c, weights, [&] { return hf::t5_layout(c); });
}

}  // namespace

AnyModel load_own_transformer(const std::string& folder, const std::string& file, const std::string& text) {
  const TransformerConfig c = transformer_config_from_json(text, file);
  return load_transformer(file, c, read_weights(folder), true);
}

namespace {

/// The model, but for how it is to be searched.
std::optional<AnyModel> load_stacks(const std::string& folder, const ConfigReader& config,
                                    const std::string& architecture) {
  const std::string& file = config.where();
  const auto completed = [&](auto c) {
    return hf::with_target_ids(c, hf::open_generation_config(folder), config.has("decoder_start_token_id"));
  };
  const auto transformer = [&](const TransformerConfig& c) {
    return load_transformer(file, completed(c), read_weights(folder), false);
  };
  const auto bart = [&](BartKind kind) {
    return load_bart(file, completed(hf::read_bart_config(config, kind)), read_weights(folder));
  };
  const auto t5 = [&](T5Kind kind) {
    return load_t5(file, completed(hf::read_t5_config(config, kind)), read_weights(folder));
  };
  if (architecture == "MarianMTModel") return transformer(hf::read_marian_config(config));
  if (architecture == "M2M100ForConditionalGeneration") return transformer(hf::read_m2m100_config(config));
  if (architecture == "BartForConditionalGeneration") return bart(BartKind::bart);
  if (architecture == "MBartForConditionalGeneration") return bart(BartKind::mbart);
  if (architecture == "T5ForConditionalGeneration") return t5(T5Kind::t5);
  if (architecture == "MT5ForConditionalGeneration") return t5(T5Kind::mt5);
  return std::nullopt;
}

}  // namespace

std::optional<AnyModel> load_encoder_decoder(const std::string& folder, const ConfigReader& config,
                                             const std::string& architecture) {
  std::optional<AnyModel> model = load_stacks(folder, config, architecture);
  if (!model) return model;
  auto& stacks = dynamic_cast<EncoderDecoder&>(module_of(*model));
  const std::optional<ConfigReader> generation = hf::open_generation_config(folder);
  stacks.search = hf::read_search_defaults(generation ? *generation : config, stacks.options());
  // What these classes have where neither file says anything.
  const bool usually_ends = architecture == "MarianMTModel" || architecture == "BartForConditionalGeneration" ||
                            architecture == "MBartForConditionalGeneration";
  if (!generation && !config.contains("forced_eos_token_id")) stacks.search.forced_eos = usually_ends;
  return model;
}

}  // namespace tape::models
