#include "models/bert.h"

#include "autograd/create.h"
#include "models/encoder_sizes.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck bert_check("Bert", "small", [](const nn::Checker& check) {
  Bert model(detail::small_bert());
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

}  // namespace

EncoderModelOptions parts_of(const BertConfig& c) {
  EncoderModelOptions parts = encoder_parts("bert", encoder_sizes("Bert", c), post_norm_layer(c, c.norm_eps));
  parts.pooler = c.pooler;
  parts.sequence_reads_pooler = true;
  parts.init_std = c.init_std;
  return parts;
}

BertConfig detail::small_bert() {
  return {.vocab = 6,
          .d_model = 4,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .max_length = 3,
          .padding_id = 5,
          .pooler = false,
          .init_std = 0.5};
}

}  // namespace tape::models
