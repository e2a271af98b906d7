#include <functional>

#include "models/config_reader.h"
#include "models/hugging_face/bart.h"
#include "models/hugging_face/encoders.h"
#include "models/hugging_face/gpt2.h"
#include "models/hugging_face/gpt_neox.h"
#include "models/hugging_face/llama.h"
#include "models/hugging_face/llama_family.h"
#include "models/hugging_face/marian.h"
#include "models/hugging_face/mistral.h"
#include "models/hugging_face/qwen2.h"
#include "models/hugging_face/qwen3.h"
#include "models/hugging_face/t5.h"
#include "models/hugging_face/vit.h"
#include "models/transformer_json.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// What is read of a configuration and written is the same when it is read again. `checked` completes what is read.
template <class Read, class Checked>
void expect_read_again(const models::ConfigReader& config, Read&& read, Checked&& checked) {
  namespace hf = models::hugging_face;
  const auto written = [&](const models::ConfigReader& from) { return hf::config_json(checked(read(from)), f32); };
  const auto once = unless_refused([&] { return written(config); });
  if (!once) return;
  expect(written({once->dump(), "what was written"}) == *once, "what was written reads as another configuration: {}",
         once->dump());
}

/// A configuration as the encoders of a family read it, without and with each head.
void read_encoders(const std::string& family, const models::ConfigReader& config) {
  namespace hf = models::hugging_face;
  const auto encoder = hf::encoder_architecture(fmt::format("{}Model", family), config);
  expect(encoder.has_value(), "no encoders of the family {}", family);
  unless_refused([&] { hf::read_encoder(*encoder, config); });
  unless_refused([&] { hf::read_token_classifier(*encoder, config); });
  unless_refused([&] { hf::read_question_answerer(*encoder, config); });
  for (const nn::Pooling pooling : {nn::Pooling::first, nn::Pooling::mean}) {
    hf::EncoderArchitecture classifier = *encoder;
    classifier.pooling = pooling;
    unless_refused([&] { hf::read_sequence_classifier(classifier, config); });
  }
}

/// A config.json, as each class of model reads it; those of the decoders, of the encoder-decoders since BART and of the
/// own kind are the same when they are written and read again.
void fuzz_model_config(Bytes bytes) {
  namespace hf = models::hugging_face;
  const std::string text(text_of(bytes));
  const auto config = unless_refused([&] { return models::ConfigReader(text, "config.json"); });
  if (!config) return;
  const std::function<void()> readers[] = {
      [&] { hf::read_vit_config(*config); },    [&] { hf::read_image_classifier_config(*config); },
      [&] { hf::read_gpt_config(*config); },    [&] { hf::read_marian_config(*config); },
      [&] { hf::read_m2m100_config(*config); },
  };
  for (const auto& read : readers) unless_refused(read);
  for (const char* family : {"Bert", "Roberta", "XLMRoberta", "DistilBert", "MPNet", "DebertaV2", "ModernBert"})
    read_encoders(family, *config);
  for (const auto read : {hf::read_llama_config, hf::read_mistral_config, hf::read_qwen2_config, hf::read_qwen3_config})
    expect_read_again(*config, read, [](const models::LlamaConfig& c) { return completed(c); });
  const auto as_it_is = [](const auto& c) { return c; };
  expect_read_again(*config, hf::read_gpt_neox_config, as_it_is);
  using models::BartKind, models::T5Kind, models::ConfigReader;
  for (const auto kind : {BartKind::bart, BartKind::mbart})
    expect_read_again(
        *config, [kind](const ConfigReader& c) { return hf::read_bart_config(c, kind); }, as_it_is);
  for (const auto kind : {T5Kind::t5, T5Kind::mt5})
    expect_read_again(
        *config, [kind](const ConfigReader& c) { return hf::read_t5_config(c, kind); }, as_it_is);
  const auto own = unless_refused([&] { return models::transformer_config_from_json(text, "config.json"); });
  if (!own) return;
  const std::string written = models::to_json(*own);
  expect(models::to_json(models::transformer_config_from_json(written, "what was written")) == written,
         "what was written reads as another configuration: {}", written);
}

}  // namespace tape::fuzz
