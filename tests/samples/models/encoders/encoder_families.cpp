#include <variant>

#include "models/encoders/encoder_family.h"
#include "models/families.h"
#include "tests/samples/models/small_models.h"

namespace tape::models {
namespace {

const SmallModels small_encoders([] {
  std::vector<AnyModel> models;
  for (const hugging_face::EncoderFamily* family : hugging_face::encoder_families()) {
    EncoderConfig config = family->defaults;
    std::visit(
        [](auto& c) {
          c.vocab = 6, c.d_model = 4, c.layers = 2, c.heads = 2, c.d_ff = 5, c.max_length = 4, c.padding_id = 1;
        },
        config);
    models.emplace_back(family->make(config));
  }
  return models;
});

}  // namespace
}  // namespace tape::models
