#include "models/decoding/running_rows.h"

#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/join.h"

namespace tape::models {

RunningRows::RunningRows(EncoderDecoder& model, const Tensor& src, int64_t bos, bool use_cache)
    : decoder_(model, src, use_cache), cached_(use_cache), tokens_(full({src.size(0), 1}, bos, i64)) {
  places_.resize(static_cast<size_t>(src.size(0)));
  std::iota(places_.begin(), places_.end(), 0);
}

void RunningRows::follow(const Tensor& next, const std::vector<bool>& ended) {
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

}  // namespace tape::models
