#include "nn/embeddings.h"

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "nn/check.h"

namespace tape::nn {
namespace {

const Tensor& sample_ids() {
  static const Tensor ids = tensor({{1, 4, 2}, {3, 3, 0}}, i64);
  return ids;
}

const ModuleCheck all_three("Embeddings", "token, position, segment", [](const Checker& check) {
  Embeddings layer({.vocab = 5, .d_model = 4, .max_length = 3, .segments = 2});
  return check(layer, {sample_ids(), tensor({{0, 1, 1}, {0, 0, 1}}, i64)});
});
const ModuleCheck without_norm("Embeddings", "without segments and norm", [](const Checker& check) {
  Embeddings layer({.vocab = 5, .d_model = 4, .max_length = 3, .norm_eps = {}});
  return check(layer, {sample_ids()});
});
const ModuleCheck tokens_alone("Embeddings", "tokens alone", [](const Checker& check) {
  Embeddings layer({.vocab = 5, .d_model = 4, .max_length = 0, .norm_eps = {}, .dropout = 0.2});
  return check(layer, {sample_ids()});
});

}  // namespace

Embeddings::Embeddings(const EmbeddingsOptions& o)
    : token(this, "token", o.vocab, o.d_model, EmbeddingOptions{.padding_index = o.padding_index}),
      position(o.max_length != 0 ? std::make_unique<Child<Embedding>>(this, "position", o.max_length, o.d_model)
                                 : nullptr),
      segment(o.segments > 0 ? std::make_unique<Child<Embedding>>(this, "segment", o.segments, o.d_model) : nullptr),
      norm(o.norm_eps ? std::make_unique<Child<LayerNorm>>(this, "norm", o.d_model, LayerNormOptions{*o.norm_eps})
                      : nullptr),
      dropout(this, "dropout", o.dropout) {
  if (o.segments < 0) raise(ErrorKind::config, "Embeddings: segments must not be negative, got {}", o.segments);
}

Tensor Embeddings::forward(const Tensor& ids, const Tensor& segments, int64_t first) {
  if (ids.rank() != 2) raise(ErrorKind::shape, "Embeddings: ids must be [B, T], got {}", to_string(ids.shape()));
  if (!position) return sum(ids, Tensor(), segments);
  const int64_t length = ids.size(1), most = (*position)->weight.size(0);
  if (first < 0 || first + length > most)
    raise(ErrorKind::shape, "Embeddings: positions {} to {} do not fit into max_length {}", first, first + length - 1,
          most);
  const auto end = static_cast<double>(first + length);
  return sum(ids, arange(static_cast<double>(first), end), segments);
}

Tensor Embeddings::at(const Tensor& ids, const Tensor& positions) {
  if (ids.rank() != 2 || !(positions.shape() == ids.shape()))
    raise(ErrorKind::shape, "Embeddings: ids must be [B, T] with as many positions, got {} and {}",
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
  if (segment) x = x + (*segment)(segments.defined() ? segments : zeros(ids.shape(), i64));
  return dropout(norm ? (*norm)(x) : x);
}

std::string Embeddings::settings() const {
  return fmt::format("{} ids{}{}", token->weight.size(0),
                     position ? fmt::format(", {} positions", (*position)->weight.size(0)) : "",
                     segment ? fmt::format(", {} segments", (*segment)->weight.size(0)) : "");
}

}  // namespace tape::nn
