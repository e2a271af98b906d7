#include "models/decoding/decoder_rows.h"

#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "models/decoding/host_ids.h"

namespace tape::models {
DecoderRows::DecoderRows(EncoderDecoder& model, const Tensor& src, bool use_cache)
    : model_(model), cached_(use_cache), src_(src), memory_(model.encode(src)) {
  if (cached_) cache_ = model.decoder->init_cache(memory_);
}

Tensor DecoderRows::next_logits(const Tensor& tokens, bool padded) {
  if (cached_) return tape::select(model_.decode_cached(tokens, cache_, src_, padded), 1, -1);
  if (tokens.size(0) == src_.size(0)) return tape::select(model_.decode(tokens, memory_, src_), 1, -1);
  const int64_t width = tokens.size(0) / src_.size(0);
  std::vector<int64_t> of_source;
  for (int64_t row = 0; row < tokens.size(0); ++row) of_source.push_back(row / width);
  const Tensor index = from_vector(of_source);
  return tape::select(model_.decode(tokens, index_select(memory_, 0, index), index_select(src_, 0, index)), 1, -1);
}

TopK DecoderRows::next_likeliest(const Tensor& tokens, int64_t vocab_limit) {
  return cached_ ? model_.likeliest_cached(tokens, cache_, src_, vocab_limit)
                 : model_.likeliest(next_logits(tokens), vocab_limit);
}

Tensor DecoderRows::next_top_k(const Tensor& tokens, int64_t k, int64_t vocab_limit) {
  return cached_ ? model_.top_k_cached(tokens, cache_, src_, k, vocab_limit)
                 : keep_top_k(model_.without_padding(next_logits(tokens)), k, vocab_limit);
}

void DecoderRows::keep_sources(const std::vector<int64_t>& places) {
  const Tensor index = from_vector(places);
  src_ = index_select(src_, 0, index);
  memory_ = index_select(memory_, 0, index);
  const Tensor on_host = host_ids(places, {std::ssize(places)});  // where a cache reads it
  for (nn::DecoderLayerCache& layer : cache_) layer.memory.select(on_host);
}

void DecoderRows::select(const std::vector<int64_t>& rows) {
  const Tensor index = host_ids(rows, {std::ssize(rows)});
  for (nn::DecoderLayerCache& layer : cache_) layer.self.select(index);
}

RunningRows::RunningRows(EncoderDecoder& model, const Tensor& src, int64_t bos, bool use_cache)
    : decoder_(model, src, use_cache), cached_(use_cache), tokens_(full({src.size(0), 1}, bos, i64)) {
  places_.resize(static_cast<size_t>(src.size(0)));
  std::iota(places_.begin(), places_.end(), 0);
}

void RunningRows::follow(const Tensor& next, const std::vector<bool>& ended) {
  append(next);
  std::vector<int64_t> rows;
  for (size_t row = 0; row < places_.size(); ++row)
    if (!ended[static_cast<size_t>(places_[row])]) rows.push_back(static_cast<int64_t>(row));
  if (rows.empty() || 4 * (places_.size() - rows.size()) >= places_.size()) keep(rows);
}

void RunningRows::append(const Tensor& next) { tokens_ = cached_ ? next : cat({tokens_, next}, 1); }

void RunningRows::keep(const std::vector<int64_t>& rows) {
  std::vector<int64_t> places;
  for (const int64_t row : rows) places.push_back(places_[static_cast<size_t>(row)]);
  places_ = std::move(places);
  if (places_.empty()) return;
  tokens_ = index_select(tokens_, 0, from_vector(rows));
  decoder_.keep_sources(rows);
  decoder_.select(rows);
}

void check_source(const char* operation, const EncoderDecoderOptions& model, std::span<const int64_t> ids, size_t row) {
  if (model.max_length && std::ssize(ids) > *model.max_length)
    raise(ErrorKind::shape, "{}: source {} has {} tokens, but the model has {} positions", operation, row, ids.size(),
          *model.max_length);
  for (size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < 0 || ids[t] >= model.src_vocab)
      raise(ErrorKind::index, "{}: source {} has id {} at position {}, which is not in 0..{}", operation, row, ids[t],
            t, model.src_vocab - 1);
    if (ids[t] == model.padding_id)
      raise(ErrorKind::index, "{}: source {} has the padding id {} at position {}, which the model ignores", operation,
            row, ids[t], t);
  }
}

}  // namespace tape::models
