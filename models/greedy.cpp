#include "models/greedy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/compare.h"
#include "autograd/ops/index.h"
#include "autograd/ops/join.h"
#include "autograd/ops/reduce.h"
#include "base/check.h"
#include "models/decoder_rows.h"

namespace tape::models {
namespace {

/// logits [B, V] -> [B, 1]. Padding is never a word: chosen, it would be hidden from the positions behind it.
Tensor likeliest(const Tensor& logits, int64_t padding_id) {
  Tensor best = argmax(logits, -1, Dims::keep);
  const int64_t* words = best.data<int64_t>();
  if (std::find(words, words + best.numel(), padding_id) == words + best.numel()) return best;
  const Tensor padding = eq(arange(logits.size(-1)), padding_id);
  return argmax(masked_fill(logits, padding, -INFINITY), -1, Dims::keep);
}

/// The source rows that are still decoded.
class RunningRows {
 public:
  RunningRows(Transformer& model, const Tensor& src, const GreedyOptions& options)
      : decoder_(model, src, options.use_cache), cached_(options.use_cache), padding_id_(model.config().padding_id) {
    tokens_ = full({src.size(0), 1}, options.bos, i64);
    places_.resize(static_cast<size_t>(src.size(0)));
    std::iota(places_.begin(), places_.end(), 0);
  }

  /// Which source row each one is.
  const std::vector<int64_t>& places() const { return places_; }

  /// The next token of each row.
  Tensor next() { return likeliest(decoder_.next_logits(tokens_), padding_id_); }

  /// Goes on with `next`, in which rows that have ended have some token or other: they leave once they are a quarter of
  /// all.
  void follow(const Tensor& next, const std::vector<bool>& ended) {
    tokens_ = cached_ ? next : cat({tokens_, next}, 1);
    std::vector<int64_t> rows, places;
    for (size_t row = 0; row < places_.size(); ++row) {
      if (ended[static_cast<size_t>(places_[row])]) continue;
      rows.push_back(static_cast<int64_t>(row));
      places.push_back(places_[row]);
    }
    if (!rows.empty() && 4 * (places_.size() - rows.size()) < places_.size()) return;
    places_ = std::move(places);
    if (places_.empty()) return;
    tokens_ = index_select(tokens_, 0, from_vector(rows));
    decoder_.keep_sources(rows);
    decoder_.select(rows);
  }

 private:
  DecoderRows decoder_;
  bool cached_;
  int64_t padding_id_;
  Tensor tokens_;  // [rows, 1], without a cache [rows, T]
  std::vector<int64_t> places_;
};

}  // namespace

std::vector<std::vector<int64_t>> greedy_decode(Transformer& model, const Tensor& src, const GreedyOptions& options) {
  check_at_least_one("greedy_decode", {{"max_length", options.max_length}});
  const NoGrad no_grad;
  std::vector<std::vector<int64_t>> found(static_cast<size_t>(src.size(0)));
  std::vector<bool> ended(found.size(), false);
  RunningRows rows(model, src, options);
  for (int64_t length = 1; length <= options.max_length && !rows.places().empty(); ++length) {
    Tensor next = rows.next();
    int64_t* tokens = next.mutable_data<int64_t>();
    for (const int64_t at : rows.places()) {
      const auto place = static_cast<size_t>(at);
      int64_t& token = *tokens++;
      ended[place] = ended[place] || token == options.eos;
      // A row that has ended goes on with eos, whatever the model says, so that padding never enters.
      if (ended[place])
        token = options.eos;
      else
        found[place].push_back(token);
    }
    rows.follow(next, ended);
  }
  return found;
}

}  // namespace tape::models
