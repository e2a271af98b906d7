#include "models/adapters/part.h"

#include <fmt/format.h>

#include "models/encoders/architectures.h"

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
  return {.module = model, .layout = layout_of(model), .note = {.task = "SEQ_CLS", .config = config_of_labels(model)}};
}

AdapterPart adapter_part(TokenClassifier& model) {
  return {
      .module = model, .layout = layout_of(model), .note = {.task = "TOKEN_CLS", .config = config_of_labels(model)}};
}

AdapterPart adapter_part(MaskedLanguageModel& model) { return {.module = model, .layout = layout_of(model)}; }

AdapterPart adapter_part(SentenceEncoder& model) {
  // transformers' class has a pooler, whose layer is not one that has adapters.
  const EncoderConfig encoder = with_pooler(model.config().encoder, true);
  return {.module = *model.base,
          .prefix = fmt::format("{}.", model.base->name()),
          .layout = hf::encoder_layout(encoder),
          .note = {.task = "FEATURE_EXTRACTION"}};
}

}  // namespace tape::models
