#include "tools/bench/bench_model.h"

#include <map>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"

namespace tape::tools {
namespace {

struct Size {
  int64_t vocab, batch, length, d_model, heads, layers, d_ff;
  bool tied = false;
  int64_t kv_heads = 0;  // for a Llama; 0 for a Gpt
};

const std::map<std::string, Size>& translators() {
  static const std::map<std::string, Size> sizes{
      {"base", {.vocab = 10000, .batch = 32, .length = 32, .d_model = 512, .heads = 8, .layers = 6, .d_ff = 2048}},
      {"tiny",
       {.vocab = 10000,
        .batch = 256,
        .length = 16,
        .d_model = 128,
        .heads = 4,
        .layers = 4,
        .d_ff = 256,
        .tied = true}},
  };
  return sizes;
}

const std::map<std::string, Size>& language_models() {
  static const std::map<std::string, Size> sizes{
      {"gpt-char", {.vocab = 65, .batch = 16, .length = 256, .d_model = 384, .heads = 6, .layers = 6, .d_ff = 1536}},
      {"gpt-nano", {.vocab = 65, .batch = 12, .length = 64, .d_model = 128, .heads = 4, .layers = 4, .d_ff = 512}},
      {"gpt-124m",
       {.vocab = 50257, .batch = 2, .length = 256, .d_model = 768, .heads = 12, .layers = 12, .d_ff = 3072}},
      {"gpt-300m", {.vocab = 8192, .batch = 4, .length = 64, .d_model = 1024, .heads = 16, .layers = 24, .d_ff = 4096}},
      // As many feed-forward weights as gpt-char, but in three matrices.
      {"llama-char",
       {.vocab = 65, .batch = 16, .length = 256, .d_model = 384, .heads = 6, .layers = 6, .d_ff = 1024, .kv_heads = 2}},
  };
  return sizes;
}

/// The size of a benchmark on the default device.
Size size_of(const std::string& name, Size size) {
  if (default_device().is_cpu()) return size;
  if (name == "gpt-char") size.batch = 64;
  if (name == "base") size.batch = 128, size.length = 64;
  if (name == "gpt-124m") size.vocab = 50304, size.batch = 32, size.length = 1024, size.tied = true;
  return size;
}

std::unique_ptr<models::Transformer> make_translator(const Size& s, double dropout) {
  return std::make_unique<models::Transformer>(models::TransformerConfig{.src_vocab = s.vocab,
                                                                         .tgt_vocab = s.vocab,
                                                                         .d_model = s.d_model,
                                                                         .layers = s.layers,
                                                                         .heads = s.heads,
                                                                         .d_ff = s.d_ff,
                                                                         .dropout = dropout,
                                                                         .max_length = 2 * s.length,
                                                                         .share_embeddings = true,
                                                                         .tie_output = s.tied});
}

/// The rows of a batch that a process computes.
struct Share {
  int rank, ranks;
  Tensor of(const Tensor& rows) const { return ranks == 1 ? rows : slice(rows, 0, {.start = rank, .step = ranks}); }
  double part(const Tensor& mine, int64_t all) const {
    if (mine.size(0) == 0)
      raise(ErrorKind::config, "bench train-step: a batch of {} rows leaves none for rank {} of {}", all, rank, ranks);
    return static_cast<double>(mine.size(0)) / static_cast<double>(all);
  }
};

BenchModel translation(const Size& s, double dropout, const Share& share) {
  auto model = make_translator(s, dropout);
  models::Transformer& transformer = *model;
  // Ids from 3 on: padding would be masked.
  const Tensor src = share.of(randint(3, s.vocab, {s.batch, s.length})),
               tgt = share.of(randint(3, s.vocab, {s.batch, s.length + 1}));
  const Tensor in = slice(tgt, 1, {.end = s.length}), out = slice(tgt, 1, {.start = 1});
  return {std::move(model),
          [&transformer, src, in, out] {
            return nn::call_method(transformer, &models::EncoderDecoder::loss, src, in, out,
                                   CrossEntropyOptions{.label_smoothing = 0.1});
          },
          2 * s.batch * s.length, share.part(src, s.batch)};
}

std::unique_ptr<models::CausalLM> make_language_model(const Size& s, double dropout) {
  if (s.kv_heads > 0)
    return std::make_unique<models::Llama>(models::LlamaConfig{.vocab = s.vocab,
                                                               .d_model = s.d_model,
                                                               .layers = s.layers,
                                                               .heads = s.heads,
                                                               .kv_heads = s.kv_heads,
                                                               .d_ff = s.d_ff,
                                                               .max_length = s.length,
                                                               .attention_dropout = dropout,
                                                               .tie_output = s.tied});
  return std::make_unique<models::Gpt>(models::GptConfig{.vocab = s.vocab,
                                                         .d_model = s.d_model,
                                                         .layers = s.layers,
                                                         .heads = s.heads,
                                                         .d_ff = s.d_ff,
                                                         .max_length = s.length,
                                                         .activation = nn::ActivationKind::gelu,
                                                         .dropout = dropout,
                                                         .attention_dropout = dropout,
                                                         .embedding_dropout = dropout,
                                                         .tie_output = s.tied});
}

BenchModel language_model(const Size& s, double dropout, const Share& share) {
  auto model = make_language_model(s, dropout);
  models::CausalLM& decoder = *model;
  const Tensor ids = share.of(randint(0, s.vocab, {s.batch, s.length + 1}));
  const Tensor in = slice(ids, 1, {.end = s.length}), out = slice(ids, 1, {.start = 1});
  return {std::move(model),
          [&decoder, in, out] {
            return nn::call_method(decoder, &models::CausalLM::loss, in, out, CrossEntropyOptions{}, Mask());
          },
          s.batch * s.length, share.part(ids, s.batch)};
}

}  // namespace

std::vector<std::string> bench_names() {
  return {"base", "tiny", "gpt-char", "gpt-nano", "gpt-124m", "gpt-300m", "llama-char"};
}

BenchModel make_bench_model(const std::string& name, double dropout, int rank, int ranks) {
  const Share share{rank, ranks};
  if (const auto found = translators().find(name); found != translators().end())
    return translation(size_of(name, found->second), dropout, share);
  return language_model(size_of(name, language_models().at(name)), dropout, share);
}

std::unique_ptr<models::CausalLM> make_bench_gpt2() {
  Size size = language_models().at("gpt-124m");
  size.length = 1024;
  size.tied = true;
  return make_language_model(size, 0);
}

std::unique_ptr<models::Transformer> make_bench_transformer(const std::string& name, double dropout) {
  const auto found = translators().find(name);
  if (found == translators().end())
    raise(ErrorKind::config, "bench decode: {} is not an encoder-decoder model; use base or tiny", name);
  return make_translator(found->second, dropout);
}

}  // namespace tape::tools
