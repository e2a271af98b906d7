#include <functional>

#include "models/config_reader.h"
#include "models/hugging_face/bert.h"
#include "models/hugging_face/gpt2.h"
#include "models/hugging_face/marian.h"
#include "models/transformer_json.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// A config.json, as each class of model reads it; that of the own kind is the same when it is written and read again.
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
  const auto own = unless_refused([&] { return models::transformer_config_from_json(text, "config.json"); });
  if (!own) return;
  const std::string written = models::to_json(*own);
  expect(models::to_json(models::transformer_config_from_json(written, "what was written")) == written,
         "what was written reads as another configuration: {}", written);
}

}  // namespace tape::fuzz
