#include "models/greedy.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/compare.h"
#include "autograd/ops/join.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/shape.h"
#include "base/check.h"

namespace tape::models {
namespace {

/// logits [B, V] -> [B, 1]. Padding is never a word: chosen, it would be hidden from the positions behind it.
Tensor likeliest(const Tensor& logits, int64_t padding_id) {
  Tensor best = argmax(logits, -1, Dims::keep);
  const int64_t* words = best.data<int64_t>();
  if (std::find(words, words + best.numel(), padding_id) == words + best.numel()) return best;
  const Tensor padding = eq(arange(logits.size(-1)), static_cast<double>(padding_id));
  return argmax(masked_fill(logits, padding, -INFINITY), -1, Dims::keep);
}

}  // namespace

std::vector<std::vector<int64_t>> greedy_decode(Transformer& model, const Tensor& src, const GreedyOptions& options) {
  check_at_least_one("greedy_decode", {{"max_length", options.max_length}});
  const NoGrad no_grad;
  const int64_t batch = src.size(0);
  std::vector<std::vector<int64_t>> found(static_cast<size_t>(batch));
  std::vector<bool> ended(static_cast<size_t>(batch), false);
  const Tensor memory = model.encode(src);
  nn::DecoderCache cache;
  if (options.use_cache) cache = model.decoder->init_cache(memory);
  Tensor all = full({batch, 1}, static_cast<double>(options.bos), i64), last = all;
  for (int64_t length = 1; length <= options.max_length && batch > 0; ++length) {
    const Tensor logits = options.use_cache ? model.decode_cached(last, cache, src) : model.decode(all, memory, src);
    last = likeliest(select(logits, 1, -1), model.config().padding_id);
    int64_t* next = last.mutable_data<int64_t>();
    for (size_t row = 0; row < found.size(); ++row) {
      ended[row] = ended[row] || next[row] == options.eos;
      // A row that has ended goes on with eos, whatever the model says, so that padding never enters.
      if (ended[row])
        next[row] = options.eos;
      else
        found[row].push_back(next[row]);
    }
    if (std::all_of(ended.begin(), ended.end(), [](bool e) { return e; })) break;
    if (!options.use_cache) all = cat({all, last}, 1);
  }
  return found;
}

}  // namespace tape::models
