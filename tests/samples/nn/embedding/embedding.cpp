#include <cmath>

#include "autograd/create.h"
#include "nn/embedding/embedding.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck embedding_repeated("Embedding", "repeated ids", [](const Checker& check) {
  Embedding layer(5, 3);
  return check(layer, {tensor({{1, 4, 1}, {0, 2, 1}}, i64)});
});

const ModuleCheck embedding_padded("Embedding", "padding index", [](const Checker& check) {
  Embedding layer(4, 3, {.padding_index = 0});
  return check(layer, {tensor({1, 3, 2}, i64)});
});

}  // namespace
}  // namespace tape::nn
