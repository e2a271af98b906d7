#include "models/decoders/causal_lm.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/shape/shape.h"
#include "nn/init.h"

namespace tape::models {
namespace {

bool is_residual_projection(const std::string& parameter) {
  for (const char* end : {"self_attention.output.weight", "feed_forward.linear2.weight", "feed_forward.down.weight"})
    if (parameter.ends_with(end)) return true;
  return false;
}

}  // namespace

CausalLM::CausalLM(const CausalLMOptions& o)
    : embeddings(this, "embeddings", o.vocab, o.d_model, o.embeddings),
      encoder(this, "encoder", o.layers),
      output(this, "output", o.d_model, o.vocab, {.output = o.output}),
      options_(o) {
  nn::init::start_normal(*this, o.init_std);
  const double smaller = o.init_std / std::sqrt(2.0 * static_cast<double>(o.layers.size()));
  for (const NamedTensor& parameter : named_parameters())
    if (is_residual_projection(parameter.name)) nn::init::normal_(parameter.tensor, 0, smaller);
  if (o.tie_output) output->weight.tie(embeddings->token->weight);
}

Tensor CausalLM::hidden(const Tensor& ids, const Mask& mask) { return encoder(embeddings(ids), Mask::causal() & mask); }

Tensor CausalLM::hidden_at(const Tensor& ids, const Tensor& positions, const Mask& mask) {
  const Tensor x = embeddings.call(&nn::Embeddings::at, ids, positions);
  return encoder(x, Mask::causal() & mask, positions);
}

Tensor CausalLM::forward(const Tensor& ids, const Mask& mask) { return output(hidden(ids, mask)); }

Tensor CausalLM::at(const Tensor& ids, const Tensor& positions, const Mask& mask) {
  return output(hidden_at(ids, positions, mask));
}

Tensor CausalLM::loss(const Tensor& ids, const Tensor& target, const CrossEntropyOptions& options, const Mask& mask) {
  return output.call(&nn::NextTokenHead::cross_entropy, hidden(ids, mask), target, options);
}

Tensor CausalLM::loss_at(const Tensor& ids, const Tensor& positions, const Tensor& target,
                         const CrossEntropyOptions& options, const Mask& mask) {
  return output.call(&nn::NextTokenHead::cross_entropy, hidden_at(ids, positions, mask), target, options);
}

Tensor CausalLM::forward_cached(const Tensor& ids, nn::EncoderCache& cache, const Mask& mask) {
  const int64_t past = cache.empty() ? 0 : cache.front().length();
  const Tensor x = embeddings(ids, Tensor(), past);
  return output(encoder.call(&nn::Encoder::forward_cached, x, cache, mask, nn::Positions()));
}

Tensor CausalLM::next_hidden(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask) {
  // Rotations are computed on the host; only a table of positions needs them where the ids are.
  const Tensor x =
      embeddings.call(&nn::Embeddings::at, ids, embeddings->position ? positions.to(ids.device()) : positions);
  return select(encoder.call(&nn::Encoder::forward_cached, x, cache, mask, positions), 1, -1);
}

Tensor CausalLM::next_logits(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask) {
  return output(next_hidden(ids, positions, cache, mask));
}

// Hooks of the head may change the scores, so all of them must be computed.

TopK CausalLM::next_likeliest(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask,
                              int64_t vocab_limit) {
  const Tensor hidden = next_hidden(ids, positions, cache, mask);
  return output->has_hooks() ? max_with_index(output(hidden), vocab_limit)
                             : output.call(&nn::NextTokenHead::max_with_index, hidden, vocab_limit);
}

Tensor CausalLM::next_top_k(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, int64_t k,
                            const Mask& mask, int64_t vocab_limit) {
  const Tensor hidden = next_hidden(ids, positions, cache, mask);
  return output->has_hooks() ? keep_top_k(output(hidden), k, vocab_limit)
                             : output.call(&nn::NextTokenHead::top_k, hidden, k, vocab_limit);
}

std::optional<int64_t> CausalLM::max_length() const {
  if (!embeddings->position) return std::nullopt;
  return options_.embeddings.max_length;
}

std::string CausalLM::settings() const { return fmt::format("{} ids, width {}", vocab(), options_.d_model); }

}  // namespace tape::models
