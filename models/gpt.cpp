#include "models/gpt.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/shape.h"
#include "base/check.h"
#include "nn/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

GptConfig small_gpt(bool tied) {
  return {.vocab = 5,
          .d_model = 4,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .max_length = 4,
          .tie_output = tied,
          .init_std = 0.5};
}

const nn::ModuleCheck tied_check("Gpt", "tied", [](const nn::Checker& check) {
  Gpt model(small_gpt(true));
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});
const nn::ModuleCheck apart_check("Gpt", "output of its own, probabilities", [](const nn::Checker& check) {
  GptConfig config = small_gpt(false);
  config.output = nn::TokenOutput::probabilities;
  Gpt model(config);
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

GptConfig completed(GptConfig c) {
  check_at_least_one("Gpt", {{"vocab", c.vocab},
                             {"d_model", c.d_model},
                             {"layers", c.layers},
                             {"heads", c.heads},
                             {"max_length", c.max_length}});
  if (c.d_ff < 0) raise(ErrorKind::config, "Gpt: d_ff must not be negative, got {}", c.d_ff);
  if (c.d_ff == 0) c.d_ff = 4 * c.d_model;
  return c;
}

nn::EmbeddingsOptions embeddings_of(const GptConfig& c) {
  return {.vocab = c.vocab,
          .d_model = c.d_model,
          .max_length = c.max_length,
          .norm_eps = {},
          .dropout = c.embedding_dropout};
}

nn::TransformerLayerOptions layers_of(const GptConfig& c) {
  return {.d_model = c.d_model,
          .heads = c.heads,
          .d_ff = c.d_ff,
          .dropout = c.dropout,
          .activation = c.activation,
          .norm = nn::NormPlace::pre,
          .norm_eps = c.norm_eps,
          .attention_dropout = c.attention_dropout,
          .activation_dropout = 0};
}

}  // namespace

Gpt::Gpt(const GptConfig& c)
    : embeddings(this, "embeddings", embeddings_of(completed(c))),
      encoder(this, "encoder", c.layers, layers_of(completed(c))),
      output(this, "output", c.d_model, c.vocab, nn::NextTokenHeadOptions{.output = c.output}),
      config_(completed(c)) {
  nn::init::start_normal(*this, c.init_std);
  // Two sums a layer go into the residual stream: smaller, they keep its variance (Radford et al. 2019, 2.3).
  const double smaller = c.init_std / std::sqrt(2.0 * static_cast<double>(c.layers));
  for (const NamedTensor& parameter : named_parameters())
    if (parameter.name.ends_with("self_attention.output.weight") ||
        parameter.name.ends_with("feed_forward.linear2.weight"))
      nn::init::normal_(parameter.tensor, 0, smaller);
  if (c.tie_output) output->weight = embeddings->token->weight;
}

Tensor Gpt::forward(const Tensor& ids, const Mask& mask) {
  return output(encoder(embeddings(ids), Mask::causal() & mask));
}

Tensor Gpt::forward_cached(const Tensor& ids, nn::EncoderCache& cache, const Mask& mask) {
  const int64_t past = cache.empty() ? 0 : cache.front().length();
  const Tensor x = embeddings(ids, Tensor(), past);
  return output(encoder.call(&nn::Encoder::forward_cached, x, cache, mask, nn::Positions()));
}

Tensor Gpt::next_logits(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask) {
  const Tensor x = embeddings.run([&](nn::Embeddings& e) { return e.dropout(e.token(ids) + e.position(positions)); });
  const Tensor hidden = encoder.call(&nn::Encoder::forward_cached, x, cache, mask, nn::Positions());
  return output(select(hidden, 1, -1));
}

std::string Gpt::settings() const { return fmt::format("{} ids, width {}", config_.vocab, config_.d_model); }

}  // namespace tape::models
