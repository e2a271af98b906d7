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

namespace {

template <class M, class... Others>
std::optional<EncoderConfig> config_of_one(const EncoderModel& model) {
  if (const auto* found = dynamic_cast<const M*>(&model)) return found->config();
  if constexpr (sizeof...(Others) > 0) return config_of_one<Others...>(model);
  return std::nullopt;
}

}  // namespace

EncoderConfig config_of(const EncoderModel& model) {
  if (const auto config = config_of_one<Bert, Roberta, DistilBert, MPNet, Deberta, ModernBert>(model)) return *config;
  raise(ErrorKind::config, "{}: transformers has no class for an encoder of other parts", model.type_name());
}

}  // namespace tape::models
