#include "nn/transformer/layer_checkpoints.h"

#include "nn/transformer/decoder.h"
#include "nn/transformer/encoder.h"

namespace tape::nn {

int64_t set_layer_checkpoints(Module& module, bool checkpoints) {
  int64_t layers = 0;
  for (const auto& [path, inner] : module.named_modules()) {
    if (auto* const stack = dynamic_cast<CheckpointedStack*>(inner)) stack->set_checkpoints_layers(checkpoints);
    if (const auto* const encoder = dynamic_cast<const Encoder*>(inner)) layers += encoder->layers.size();
    if (const auto* const decoder = dynamic_cast<const Decoder*>(inner)) layers += decoder->layers.size();
  }
  return layers;
}

}  // namespace tape::nn
