#include "models/adapters/part.h"

#include "models/hugging_face/encoders.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

template <class Model>
std::string config_of_labels(const Model& model) {
  return fmt::format("{}\n", hf::config_json(model, model.parameters().front().dtype()).dump(2));
}

}  // namespace

AdapterPart adapter_part(CausalLM& model) {
  return {.module = model, .layout = layout_of(model), .note = {.task = "CAUSAL_LM"}};
}

AdapterPart adapter_part(SequenceClassifier& model) {
  return {.module = model,
          .layout = hf::sequence_classifier_layout(model.config()),
          .note = {.task = "SEQ_CLS", .config = config_of_labels(model)}};
}

AdapterPart adapter_part(TokenClassifier& model) {
  return {.module = model,
          .layout = hf::token_classifier_layout(model.config()),
          .note = {.task = "TOKEN_CLS", .config = config_of_labels(model)}};
}

AdapterPart adapter_part(MaskedLanguageModel& model) {
  return {.module = model, .layout = hf::masked_language_model_layout(model.config())};
}

AdapterPart adapter_part(SentenceEncoder& model) {
  // transformers' class has a pooler, whose layer is none of those that have adapters.
  EncoderConfig encoder = model.config().encoder;
  std::visit(
      [](auto& c) {
        if constexpr (requires { c.pooler; }) c.pooler = true;
      },
      encoder);
  return {.module = *model.base,
          .prefix = fmt::format("{}.", model.base->name()),
          .layout = hf::encoder_layout(encoder),
          .note = {.task = "FEATURE_EXTRACTION"}};
}

}  // namespace tape::models
