#include "models/heads/question_answerer.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"
#include "models/heads/labels.h"
#include "nn/init.h"

namespace tape::models {
namespace {

/// Cross-entropy over the positions of scores [B, T].
Tensor position_loss(const Tensor& scores, const Tensor& places, const char* what) {
  const int64_t rows = scores.size(0), length = scores.size(1);
  if (places.dtype() != i64)
    raise(ErrorKind::dtype, "QuestionAnswerer: {} must be i64, got {}", what, to_string(places.dtype()));
  if (!(places.shape() == Shape{rows}))
    raise(ErrorKind::shape, "QuestionAnswerer: {} {} do not match scores {}", what, to_string(places.shape()),
          to_string(scores.shape()));
  std::vector<int64_t> held = places.to_vector<int64_t>();
  for (int64_t& place : held) place = std::clamp<int64_t>(place, 0, length);
  return cross_entropy(scores, from_vector(held, {rows}).to(scores.device()), {.ignore_index = length});
}

}  // namespace

QuestionAnswerer::QuestionAnswerer(const QuestionAnswererConfig& c)
    : base(this, model_options(c.encoder).family, options_without_pooler(c.encoder)),
      head(this, "head", base->width(), 2, with_dropout(base->options().span, c.dropout)),
      config_(c) {
  nn::init::start_normal(*head, base->options().init_std);
}

Tensor QuestionAnswerer::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  return head(base(ids, mask, segments));
}

Tensor QuestionAnswerer::forward(const Tensor& ids) { return forward(ids, base->padding(ids)); }

Tensor QuestionAnswerer::loss(const Tensor& logits, const Tensor& starts, const Tensor& ends) const {
  if (logits.rank() != 3 || logits.size(2) != 2)
    raise(ErrorKind::shape, "QuestionAnswerer: logits must be [B, T, 2], got {}", to_string(logits.shape()));
  return (position_loss(select(logits, 2, 0), starts, "starts") + position_loss(select(logits, 2, 1), ends, "ends")) *
         0.5;
}

}  // namespace tape::models
