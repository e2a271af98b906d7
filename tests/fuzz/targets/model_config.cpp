#include <functional>

#include "models/config_reader.h"
#include "models/hugging_face/bert.h"
#include "models/hugging_face/gpt2.h"
#include "models/hugging_face/gpt_neox.h"
#include "models/hugging_face/llama.h"
#include "models/hugging_face/llama_family.h"
#include "models/hugging_face/marian.h"
#include "models/hugging_face/mistral.h"
#include "models/hugging_face/qwen2.h"
#include "models/hugging_face/qwen3.h"
#include "models/transformer_json.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// A config.json, as each class of model reads it; those of the decoders and of the own kind are the same when they are
/// written and read again.
void fuzz_model_config(Bytes bytes) {
  namespace hf = models::hugging_face;
  const std::string text(text_of(bytes));
  const auto config = unless_refused([&] { return models::ConfigReader(text, "config.json"); });
  if (!config) return;
  const std::function<void()> readers[] = {
      [&] { hf::read_bert_config(*config); },
      [&] { hf::read_classifier_config(*config, nn::Pooling::first); },
      [&] { hf::read_classifier_config(*config, nn::Pooling::mean); },
      [&] { hf::read_gpt_config(*config); },
      [&] { hf::read_marian_config(*config); },
      [&] { hf::read_m2m100_config(*config); },
  };
  for (const auto& read : readers) unless_refused(read);
  for (const auto read :
       {hf::read_llama_config, hf::read_mistral_config, hf::read_qwen2_config, hf::read_qwen3_config}) {
    const auto found = unless_refused([&] { return completed(read(*config)); });
    if (!found) continue;
    const auto written = hf::config_json(*found, f32);
    expect(hf::config_json(completed(read({written.dump(), "what was written"})), f32) == written,
           "what was written reads as another configuration: {}", written.dump());
  }
  if (const auto found = unless_refused([&] { return hf::read_gpt_neox_config(*config); })) {
    const auto written = hf::config_json(*found, f32);
    expect(hf::config_json(hf::read_gpt_neox_config({written.dump(), "what was written"}), f32) == written,
           "what was written reads as another configuration: {}", written.dump());
  }
  const auto own = unless_refused([&] { return models::transformer_config_from_json(text, "config.json"); });
  if (!own) return;
  const std::string written = models::to_json(*own);
  expect(models::to_json(models::transformer_config_from_json(written, "what was written")) == written,
         "what was written reads as another configuration: {}", written);
}

}  // namespace tape::fuzz
