#pragma once

#include <memory>

#include "autograd/random.h"
#include "models/encoder_decoders/transformer.h"

namespace tape::inspect {

/// 2 + 2 layers of width 8, in evaluation mode.
inline std::unique_ptr<models::Transformer> small_translator(nn::NormPlace norm = nn::NormPlace::pre) {
  manual_seed(3);
  auto model = std::make_unique<models::Transformer>(models::TransformerConfig{.src_vocab = 9,
                                                                               .tgt_vocab = 7,
                                                                               .d_model = 8,
                                                                               .layers = 2,
                                                                               .heads = 2,
                                                                               .d_ff = 12,
                                                                               .norm = norm,
                                                                               .max_length = 8});
  model->eval();
  return model;
}

}  // namespace tape::inspect
