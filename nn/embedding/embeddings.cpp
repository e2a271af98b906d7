#include "nn/embedding/embeddings.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "nn/position/positions.h"

namespace tape::nn {
namespace {

/// Number of rows of the position table.
int64_t position_rows(const EmbeddingsOptions& o) {
  if (!o.positions_skip_padding) return o.max_length;
  if (!o.padding_index || o.max_length < 1)
    raise(ErrorKind::config, "Embeddings: positions that skip padding need a padding_index and a position table");
  return o.max_length + *o.padding_index + 1;
}

}  // namespace

Embeddings::Embeddings(int64_t vocab, int64_t d_model, const EmbeddingsOptions& o)
    : token(this, "token", vocab, d_model, {.padding_index = o.padding_index}),
      position(o.max_length != 0 ? std::make_unique<Child<Embedding>>(
                                       this, "position", position_rows(o), d_model,
                                       EmbeddingOptions{o.positions_skip_padding ? o.padding_index : std::nullopt})
                                 : nullptr),
      segment(o.segments > 0 ? std::make_unique<Child<Embedding>>(this, "segment", o.segments, d_model) : nullptr),
      norm(o.norm_eps ? std::make_unique<Child<LayerNorm>>(this, "norm", d_model,
                                                           LayerNormOptions{.eps = *o.norm_eps, .bias = o.norm_bias})
                      : nullptr),
      dropout(this, "dropout", o.dropout),
      max_length_(o.max_length),
      padding_(o.positions_skip_padding ? o.padding_index : std::nullopt) {
  if (o.segments < 0) raise(ErrorKind::config, "Embeddings: segments must not be negative, got {}", o.segments);
}

Tensor Embeddings::forward(const Tensor& ids, const Tensor& segments, int64_t first) {
  if (ids.rank() != 2) raise(ErrorKind::shape, "Embeddings: ids must be [B, T], got {}", to_string(ids.shape()));
  if (ids.dtype() != i64) raise(ErrorKind::dtype, "Embeddings: ids must be i64, got {}", to_string(ids.dtype()));
  if (!position) return sum(ids, Tensor(), segments);
  const int64_t length = ids.size(1);
  if (first < 0 || first + length > max_length_)
    raise(ErrorKind::shape, "Embeddings: positions {} to {} do not fit into max_length {}", first, first + length - 1,
          max_length_);
  if (padding_ && first != 0)
    raise(ErrorKind::config, "Embeddings: positions that skip padding must begin at 0, got {}", first);
  if (padding_) return sum(ids, positions_skipping_padding(ids, *padding_, *padding_ + 1, *padding_), segments);
  const auto end = static_cast<double>(first + length);
  return sum(ids, arange(static_cast<double>(first), end, 1, ids.options()), segments);
}

Tensor Embeddings::at(const Tensor& ids, const Tensor& positions) {
  if (ids.rank() != 2 || !(positions.shape() == ids.shape()))
    raise(ErrorKind::shape, "Embeddings: ids and positions must have the same shape [B, T], got {} and {}",
          to_string(ids.shape()), to_string(positions.shape()));
  return sum(ids, positions, Tensor());
}

Tensor Embeddings::sum(const Tensor& ids, const Tensor& positions, const Tensor& segments) {
  if (segments.defined() && !segment)
    raise(ErrorKind::config, "Embeddings: got segments {}, but has no segment table", to_string(segments.shape()));
  if (segments.defined() && !(segments.shape() == ids.shape()))
    raise(ErrorKind::shape, "Embeddings: segments {} do not fit ids {}", to_string(segments.shape()),
          to_string(ids.shape()));
  Tensor x = token(ids);
  if (position) x = x + (*position)(positions);
  if (segment) x = x + (*segment)(segments.defined() ? segments : zeros_like(ids));
  return dropout(norm ? (*norm)(x) : x);
}

std::string Embeddings::settings() const {
  return fmt::format("{} ids{}{}", token->weight.size(0), position ? fmt::format(", {} positions", max_length_) : "",
                     segment ? fmt::format(", {} segments", (*segment)->weight.size(0)) : "");
}

}  // namespace tape::nn
