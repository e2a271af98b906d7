#include "nn/embedding/embedding.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

Shape embedding_shape(int64_t count, int64_t width) {
  if (count < 1 || width < 1)
    raise(ErrorKind::config, "Embedding: sizes must be at least 1, got {} x {}", count, width);
  return {count, width};
}

}  // namespace

Embedding::Embedding(int64_t count, int64_t width, const EmbeddingOptions& options)
    : weight(this, "weight", empty(embedding_shape(count, width))), padding_index_(options.padding_index) {
  init::normal_(weight, 0, 1 / std::sqrt(static_cast<double>(width)));
  if (!padding_index_) return;
  if (*padding_index_ < 0 || *padding_index_ >= count)
    raise(ErrorKind::config, "Embedding: padding_index {} is outside [0, {})", *padding_index_, count);
  clear_padding_row();
}

void Embedding::clear_padding_row() {
  if (!padding_index_) return;
  const NoGrad no_grad;
  Tensor(weight)[*padding_index_].zero_();
}

Tensor Embedding::forward(const Tensor& ids) const { return embedding(weight, ids, {.padding_index = padding_index_}); }

std::string Embedding::settings() const {
  return fmt::format("{} x {}{}", weight.size(0), weight.size(1),
                     padding_index_ ? fmt::format(", padding {}", *padding_index_) : "");
}

}  // namespace tape::nn
