#include <cmath>

#include "autograd/create.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/gradcheck/check.h"
#include "tests/samples/models/small_models.h"

namespace tape::models {
namespace {

TransformerConfig small_transformer() {
  return {.src_vocab = 5, .tgt_vocab = 5, .d_model = 4, .layers = 1, .heads = 2, .d_ff = 5, .max_length = 4};
}

TransformerConfig small_marian() {
  TransformerConfig c = small_transformer();
  c.positions = nn::SinusoidLayout::halves;
  return c;
}

TransformerConfig small_m2m100() {
  TransformerConfig c = small_transformer();
  c.norm = nn::NormPlace::pre, c.positions = nn::SinusoidLayout::fairseq;
  c.padding_id = 1, c.position_offset = 2;
  c.share_embeddings = c.tie_output = true;
  return c;
}

GradcheckReport check_small(const nn::Checker& check, nn::NormPlace norm, bool tied) {
  Transformer model({.src_vocab = 5,
                     .tgt_vocab = 5,
                     .d_model = 4,
                     .layers = 1,
                     .heads = 2,
                     .d_ff = 5,
                     .dropout = 0.1,
                     .activation = nn::ActivationKind::gelu,
                     .norm = norm,
                     .max_length = 4,
                     .share_embeddings = tied,
                     .tie_output = tied});
  // An untied padding row gets no gradient, so the untied target has no padding.
  const Tensor src = tensor({{1, 2, 4}, {3, 1, 0}}, i64);
  const Tensor tgt = tied ? tensor({{1, 4}, {2, 0}}, i64) : tensor({{1, 4}, {2, 3}}, i64);
  return check(model, {src, tgt}, "key.bias");
}

const nn::ModuleCheck post("Transformer", "post-LN",
                           [](const nn::Checker& check) { return check_small(check, nn::NormPlace::post, false); });

const nn::ModuleCheck pre("Transformer", "pre-LN, tied",
                          [](const nn::Checker& check) { return check_small(check, nn::NormPlace::pre, true); });

const SmallModels small_transformers([] {
  return made_of<Transformer>({small_marian(), small_m2m100(), small_transformer()});
});

}  // namespace
}  // namespace tape::models
