#include <fmt/format.h>

#include "models/encoder_decoders/transformer_json.h"
#include "models/encoders/architectures.h"
#include "models/families.h"
#include "models/folders/config_reader.h"
#include "models/folders/family_of.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// A configuration read and written by each class of a family round-trips. `checked` completes what is read.
template <class M, class Checked>
void check_round_trip(const models::hugging_face::ModelFamily& any, const models::ConfigReader& config,
                      Checked&& checked) {
  const auto& family = models::hugging_face::family_of_class<M>(any);
  for (const auto& one : family.classes()) {
    const auto written = [&](const models::ConfigReader& from) {
      return family.json(checked(family.read(one.architecture, from)), f32);
    };
    const auto once = accepted([&] { return written(config); });
    if (!once) continue;
    expect(written({once->dump(), "written output"}) == *once, "the written configuration differs: {}", once->dump());
  }
}

/// A configuration read by the encoders of a family, without a head and with each.
void read_encoders(const std::string& family, const models::ConfigReader& config) {
  namespace hf = models::hugging_face;
  const auto encoder = hf::encoder_architecture(fmt::format("{}Model", family), config);
  expect(encoder.has_value(), "no encoders of the family {}", family);
  accepted([&] { hf::read_encoder(*encoder, config); });
  accepted([&] { hf::read_token_classifier(*encoder, config); });
  accepted([&] { hf::read_question_answerer(*encoder, config); });
  for (const nn::Pooling pooling : {nn::Pooling::first, nn::Pooling::mean}) {
    hf::EncoderArchitecture classifier = *encoder;
    classifier.pooling = pooling;
    accepted([&] { hf::read_sequence_classifier(classifier, config); });
  }
}

/// A config.json read by each model class. Configurations of decoders, BART, T5 and the native format round-trip.
void fuzz_model_config(Bytes bytes) {
  namespace hf = models::hugging_face;
  const std::string text(text_of(bytes));
  const auto config = accepted([&] { return models::ConfigReader(text, "config.json"); });
  if (!config) return;
  for (const hf::ModelFamily* family : hf::model_families())
    for (const hf::TransformersClass& one : family->classes()) {
      nlohmann::ordered_json json = config->json();
      json["architectures"] = {one.architecture};
      // Without weights, only the configuration is read.
      accepted([&] { family->load("nowhere", models::ConfigReader(json.dump(), "config.json")); });
    }
  for (const hf::EncoderFamily* family : hf::encoder_families()) read_encoders(family->stem, *config);
  const auto as_it_is = [](const auto& c) { return c; };
  check_round_trip<models::Llama>(hf::llama_family(), *config,
                                  [](const models::LlamaConfig& c) { return completed(c); });
  check_round_trip<models::GptNeoX>(hf::gpt_neox_family(), *config, as_it_is);
  check_round_trip<models::Bart>(hf::bart_family(), *config, as_it_is);
  check_round_trip<models::T5>(hf::t5_family(), *config, as_it_is);
  const auto own = accepted([&] { return models::transformer_config_from_json(*config); });
  if (!own) return;
  const std::string written = models::to_json(*own);
  expect(models::to_json(models::transformer_config_from_json({written, "written output"})) == written,
         "the written configuration differs: {}", written);
}

}  // namespace tape::fuzz
