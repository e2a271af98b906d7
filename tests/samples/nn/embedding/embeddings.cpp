#include "nn/embedding/embeddings.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const Tensor& sample_ids() {
  // On the CPU, since it outlives the emulated device of a test whose scope the first call is in.
  static const auto& ids = *new const Tensor(tensor({{1, 4, 2}, {3, 3, 0}}, {i64, cpu}));
  return ids;
}

const ModuleCheck all_three("Embeddings", "token, position, segment", [](const Checker& check) {
  Embeddings layer(5, 4, {.max_length = 3, .segments = 2});
  return check(layer, {sample_ids(), tensor({{0, 1, 1}, {0, 0, 1}}, i64)});
});

const ModuleCheck without_norm("Embeddings", "without segments and norm", [](const Checker& check) {
  Embeddings layer(5, 4, {.max_length = 3, .norm_eps = {}});
  return check(layer, {sample_ids()});
});

const ModuleCheck tokens_only("Embeddings", "tokens only", [](const Checker& check) {
  Embeddings layer(5, 4, {.max_length = 0, .norm_eps = {}, .dropout = 0.2});
  return check(layer, {sample_ids()});
});

const ModuleCheck skipped_padding_id("Embeddings", "positions skip padding", [](const Checker& check) {
  Embeddings layer(6, 4, {.max_length = 3, .padding_index = 5, .positions_skip_padding = true});
  return check(layer, {sample_ids()});
});

}  // namespace
}  // namespace tape::nn
