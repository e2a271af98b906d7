#include <cmath>

#include "autograd/create.h"
#include "models/encoder_decoders/encoder_decoder.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck mixed_stacks_check(
    "EncoderDecoder", "learned positions, embedding norm, relative bias, scales", [](const nn::Checker& check) {
      nn::TransformerLayerOptions layer{.d_model = 4,
                                        .heads = 2,
                                        .d_ff = 5,
                                        .dropout = 0.1,
                                        .norm = nn::NormPlace::pre,
                                        .bias = false,
                                        .attention_scale = 0.8,
                                        .relative_bias = nn::RelativeBiasOptions{4, 3, nn::RelativeDirection::past}};
      const nn::TransformerLayerOptions decoder_layer = layer;
      layer.relative_bias->direction = nn::RelativeDirection::both;
      EncoderDecoder model({.src_vocab = 5,
                            .tgt_vocab = 6,
                            .layers = 1,
                            .decoder_layers = 2,
                            .encoder = layer,
                            .decoder = decoder_layer,
                            .learned_positions = nn::LearnedPositionalEncodingOptions{1},
                            .max_length = 3,
                            .embedding_norm_eps = 1e-5,
                            .embedding_scale = 2,
                            .dropout = 0.1,
                            .output_dropout = true,
                            .output_scale = 0.5,
                            .freeze_padding = false});
      const Tensor src = tensor({{1, 2, 4}, {3, 1, 0}}, i64);
      return check(model, {src, tensor({{1, 4}, {2, 5}}, i64)});
    });

}  // namespace
}  // namespace tape::models
