#include <cmath>

#include "autograd/create.h"
#include "models/encoder_decoders/bart.h"
#include "nn/gradcheck/check.h"
#include "tests/samples/models/small_models.h"

namespace tape::models {
namespace {

BartConfig small_bart(BartKind kind) {
  return {.kind = kind,
          .vocab = 5,
          .d_model = 4,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .decoder_layers = 1,
          .decoder_heads = 1,
          .decoder_d_ff = 6,
          .max_length = 3,
          .scale_embedding = kind == BartKind::mbart,
          .init_std = 0.5};
}

GradcheckReport check_small_bart(const nn::Checker& check, BartKind kind) {
  Bart model(small_bart(kind));
  return check(model, {tensor({{0, 2, 4}, {3, 2, 1}}, i64), tensor({{2, 4}, {2, 3}}, i64)}, "key.bias");
}

const nn::ModuleCheck bart_check("Bart", "BART",
                                 [](const nn::Checker& check) { return check_small_bart(check, BartKind::bart); });

const nn::ModuleCheck mbart_check("Bart", "mBART",
                                  [](const nn::Checker& check) { return check_small_bart(check, BartKind::mbart); });

const SmallModels small_barts([] { return made_of<Bart>({small_bart(BartKind::bart), small_bart(BartKind::mbart)}); });

}  // namespace
}  // namespace tape::models
