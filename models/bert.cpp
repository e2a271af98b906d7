#include "models/bert.h"

#include "autograd/create.h"
#include "base/check.h"
#include "nn/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck bert_check("Bert", "small", [](const nn::Checker& check) {
  Bert model(detail::small_bert());
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

}  // namespace

EncoderModelOptions parts_of(const BertConfig& c) {
  check_at_least_one("Bert", {{"vocab", c.vocab},
                              {"d_model", c.d_model},
                              {"layers", c.layers},
                              {"heads", c.heads},
                              {"d_ff", c.d_ff},
                              {"max_length", c.max_length}});
  EncoderModelOptions parts = encoder_parts("bert",
                                            {.vocab = c.vocab,
                                             .max_length = c.max_length,
                                             .segments = c.segments,
                                             .padding_id = c.padding_id,
                                             .layers = c.layers},
                                            {.d_model = c.d_model,
                                             .heads = c.heads,
                                             .d_ff = c.d_ff,
                                             .dropout = c.dropout,
                                             .activation = c.activation,
                                             .norm = nn::NormPlace::post,
                                             .norm_eps = c.norm_eps,
                                             .attention_dropout = c.attention_dropout,
                                             .activation_dropout = 0});
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
