#include "nn/transformer/heads.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/linear_cross_entropy.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

Shape next_token_shape(int64_t vocab, int64_t d_model) {
  if (vocab < 1 || d_model < 1)
    raise(ErrorKind::config, "NextTokenHead: sizes must be at least 1, got {} -> {}", d_model, vocab);
  return {vocab, d_model};
}

void check_hidden(const char* name, const Tensor& hidden) {
  if (hidden.rank() != 3)
    raise(ErrorKind::shape, "{}: hidden must be [B, T, C], got {}", name, to_string(hidden.shape()));
}

}  // namespace

Tensor mean_pool(const Tensor& hidden, const Mask& mask) {
  check_hidden("mean_pool", hidden);
  if (!mask.keep_mask().defined()) return mean(hidden, {1});
  const int64_t batch = hidden.size(0), length = hidden.size(1);
  const Shape& kept = mask.keep_mask().shape();
  if (kept.rank() != 4 || kept[1] != 1 || kept[2] != 1 || kept[3] != length || (kept[0] != batch && kept[0] != 1))
    raise(ErrorKind::shape, "mean_pool: mask {} must be [{}, 1, 1, {}] for hidden {}", to_string(kept), batch, length,
          to_string(hidden.shape()));
  const Tensor seen = cast(reshape(mask.keep_mask(), Shape{kept[0], 1, length}), hidden.dtype());
  const Tensor share = expand_to(seen / clamp(sum(seen, {-1}, Dims::keep), 1, INFINITY), Shape{batch, 1, length});
  return squeeze(matmul(share, hidden), {1});
}

Pooler::Pooler(int64_t d_model) : dense(this, "dense", d_model, d_model) {}

Tensor Pooler::forward(const Tensor& hidden) {
  check_hidden("Pooler", hidden);
  return tanh(dense(select(hidden, 1, 0)));
}

ClassificationHead::ClassificationHead(int64_t d_model, int64_t num_labels, const ClassificationHeadOptions& o)
    : input_dropout(o.activation && o.input_dropout != 0
                        ? std::make_unique<Child<Dropout>>(this, "input_dropout", o.input_dropout)
                        : nullptr),
      dense(o.activation ? std::make_unique<Child<Linear>>(this, "dense", d_model, d_model, LinearOptions{o.dense_bias})
                         : nullptr),
      activation(o.activation ? std::make_unique<Child<Activation>>(this, "activation", *o.activation) : nullptr),
      norm(o.activation && o.norm_eps
               ? std::make_unique<Child<LayerNorm>>(this, "norm", d_model,
                                                    LayerNormOptions{.eps = *o.norm_eps, .bias = o.norm_bias})
               : nullptr),
      dropout(this, "dropout", o.dropout),
      classifier(this, "classifier", d_model, num_labels) {}

Tensor ClassificationHead::forward(const Tensor& x) {
  Tensor h = input_dropout ? (*input_dropout)(x) : x;
  if (dense) h = (*activation)((*dense)(h));
  if (norm) h = (*norm)(h);
  return classifier(dropout(h));
}

MaskedTokenHead::MaskedTokenHead(int64_t d_model, int64_t vocab, const MaskedTokenHeadOptions& options)
    : dense(this, "dense", d_model, d_model, {options.dense_bias}),
      activation(this, "activation", options.activation),
      norm(this, "norm", d_model,
           LayerNormOptions{.eps = options.norm_eps, .bias = options.norm_bias.value_or(options.dense_bias)}),
      decoder(this, "decoder", d_model, vocab, {options.decoder_bias.value_or(options.dense_bias)}) {}

Tensor MaskedTokenHead::forward(const Tensor& hidden) { return decoder(norm(activation(dense(hidden)))); }

NextTokenHead::NextTokenHead(int64_t d_model, int64_t vocab, const NextTokenHeadOptions& options)
    : weight(this, "weight", empty(next_token_shape(vocab, d_model))),
      bias(this, "bias", options.bias ? zeros({vocab}) : Tensor()),
      output_(options.output) {
  init::xavier_uniform_(weight);
}

Tensor NextTokenHead::forward(const Tensor& hidden) const {
  const Tensor logits = linear(hidden, weight, bias);
  return output_ == TokenOutput::logits ? logits : softmax(logits, -1);
}

Tensor NextTokenHead::cross_entropy(const Tensor& hidden, const Tensor& target,
                                    const CrossEntropyOptions& options) const {
  return linear_cross_entropy(hidden, weight, bias, target, options);
}

TopK NextTokenHead::max_with_index(const Tensor& hidden, int64_t vocab_limit) const {
  if (output_ == TokenOutput::logits) return linear_max(hidden, weight, bias, vocab_limit);
  const NoGrad no_grad;
  return tape::max_with_index(forward(hidden), vocab_limit);
}

Tensor NextTokenHead::top_k(const Tensor& hidden, int64_t k, int64_t vocab_limit) const {
  if (output_ == TokenOutput::logits) return linear_top_k(hidden, weight, bias, k, vocab_limit);
  const NoGrad no_grad;
  return keep_top_k(forward(hidden), k, vocab_limit);
}

std::string NextTokenHead::settings() const {
  return fmt::format("{} -> {}{}", weight.size(1), weight.size(0),
                     output_ == TokenOutput::probabilities ? ", probabilities" : "");
}

}  // namespace tape::nn
