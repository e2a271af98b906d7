#include "models/encoder_config.h"

namespace tape::models {

EncoderModelOptions parts_of(const EncoderConfig& config) {
  return std::visit([](const auto& c) { return parts_of(c); }, config);
}

EncoderModelOptions parts_without_pooler(const EncoderConfig& config) {
  EncoderModelOptions parts = parts_of(config);
  parts.pooler = false;
  return parts;
}

EncoderConfig config_of(const EncoderModel& model) {
  if (const auto* bert = dynamic_cast<const Bert*>(&model)) return bert->config();
  if (const auto* roberta = dynamic_cast<const Roberta*>(&model)) return roberta->config();
  raise(ErrorKind::config, "{}: transformers has no class for an encoder of other parts", model.type_name());
}

}  // namespace tape::models
