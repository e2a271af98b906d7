#include "models/encoders/encoder_config.h"

#include "models/encoders/encoder_family.h"
#include "models/families.h"

namespace tape::models {

EncoderModelOptions model_options(const EncoderConfig& config) {
  return std::visit([](const auto& c) { return model_options(c); }, config);
}

EncoderModelOptions options_without_pooler(const EncoderConfig& config) {
  EncoderModelOptions parts = model_options(config);
  parts.pooler = false;
  return parts;
}

EncoderConfig with_pooler(EncoderConfig config, bool pooler) {
  std::visit(
      [pooler](auto& c) {
        if constexpr (requires { c.pooler; }) c.pooler = pooler;
      },
      config);
  return config;
}

EncoderConfig config_of(const EncoderModel& model) {
  for (const hugging_face::EncoderFamily* family : hugging_face::encoder_families())
    if (const auto config = family->config_of(model)) return *config;
  raise(ErrorKind::config, "{}: transformers has no class for a custom encoder", model.type_name());
}

}  // namespace tape::models
