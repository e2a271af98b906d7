#include "models/decoding/decoder_rows.h"

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"

namespace tape::models {

DecoderRows::DecoderRows(EncoderDecoder& model, const Tensor& src, bool use_cache)
    : model_(model), cached_(use_cache), src_(src), memory_(model.encode(src)) {
  if (cached_) cache_ = model.decoder->init_cache(memory_);
}

Tensor DecoderRows::next_logits(const Tensor& tokens) {
  if (cached_) return tape::select(model_.decode_cached(tokens, cache_, src_), 1, -1);
  if (tokens.size(0) == src_.size(0)) return tape::select(model_.decode(tokens, memory_, src_), 1, -1);
  const int64_t width = tokens.size(0) / src_.size(0);
  std::vector<int64_t> of_source;
  for (int64_t row = 0; row < tokens.size(0); ++row) of_source.push_back(row / width);
  const Tensor index = from_vector(of_source);
  return tape::select(model_.decode(tokens, index_select(memory_, 0, index), index_select(src_, 0, index)), 1, -1);
}

TopK DecoderRows::next_likeliest(const Tensor& tokens, int64_t words) {
  return cached_ ? model_.likeliest_cached(tokens, cache_, src_, words) : model_.likeliest(next_logits(tokens), words);
}

Tensor DecoderRows::next_top_k(const Tensor& tokens, int64_t k, int64_t words) {
  return cached_ ? model_.top_k_cached(tokens, cache_, src_, k, words)
                 : keep_top_k(model_.without_padding(next_logits(tokens)), k, words);
}

void DecoderRows::keep_sources(const std::vector<int64_t>& places) {
  const Tensor index = from_vector(places);
  src_ = index_select(src_, 0, index);
  memory_ = index_select(memory_, 0, index);
  for (nn::DecoderLayerCache& layer : cache_) layer.memory.select(index);
}

void DecoderRows::select(const std::vector<int64_t>& rows) {
  const Tensor index = from_vector(rows);
  for (nn::DecoderLayerCache& layer : cache_) layer.self.select(index);
}

}  // namespace tape::models
