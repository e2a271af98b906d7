#include "models/encoders/encoder_model.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck mixed_encoder_check("EncoderModel", "different layers, relative bias",
                                          [](const nn::Checker& check) {
                                            const nn::TransformerLayerOptions first{
                                                .d_model = 4,
                                                .heads = 2,
                                                .d_ff = 5,
                                                .bias = false,
                                                .relative_bias =
                                                    nn::RelativeBiasOptions{.buckets = 8, .max_distance = 4}};
                                            nn::TransformerLayerOptions second = first;
                                            second.window = nn::AttentionWindow::around(2);
                                            EncoderModel model({.vocab = 6,
                                                                .d_model = 4,
                                                                .embeddings = {.max_length = 0, .norm_eps = 1e-12},
                                                                .layers = {first, second},
                                                                .padding_id = 5,
                                                                .init_std = 0.5});
                                            return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
                                          });

}  // namespace
}  // namespace tape::models
