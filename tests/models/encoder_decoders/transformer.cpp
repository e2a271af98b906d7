#include "models/encoder_decoders/transformer.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

/// The sizes of make_layers.py.
TransformerConfig config_of(nn::NormPlace norm, bool tied) {
  return {.src_vocab = 11,
          .tgt_vocab = 11,
          .d_model = 8,
          .layers = 2,
          .heads = 2,
          .d_ff = 12,
          .dropout = 0,
          .activation = tied ? nn::ActivationKind::gelu : nn::ActivationKind::relu,
          .norm = norm,
          .max_length = 6,
          .share_embeddings = tied,
          .tie_output = tied};
}

void expect_model_as_torch(const std::string& name, Transformer& model) {
  expect_agrees_with_torch(
      TorchCase("transformer", name),
      [&](const Named& in) {
        return Named{{"y", model(in.at("src"), in.at("tgt"))}};
      },
      &model);
}

TEST(Transformer, SkipsPaddingWithFairseqsPositions) {
  manual_seed(3);
  TransformerConfig c = config_of(nn::NormPlace::pre, true);
  c.positions = nn::SinusoidLayout::fairseq;
  c.position_offset = 1;
  Transformer model(c);
  model.eval();
  const NoGrad no_grad;
  const Tensor alone = model.encode(tensor({{3, 4, 5}}, i64));
  for (const auto& [ids, places] : {std::pair{tensor({{0, 0, 3, 4, 5}}, i64), tensor({2, 3, 4}, i64)},
                                    std::pair{tensor({{3, 0, 4, 0, 5}}, i64), tensor({0, 2, 4}, i64)},
                                    std::pair{tensor({{3, 4, 5, 0}}, i64), tensor({0, 1, 2}, i64)}})
    EXPECT_TRUE(tensors_near(index_select(model.encode(ids), 1, places), alone, 1e-5)) << to_string(ids.shape());
  c.positions = nn::SinusoidLayout::halves;
  Transformer counting(c);
  counting.eval();
  EXPECT_FALSE(tensors_near(slice(counting.encode(tensor({{0, 3, 4, 5}}, i64)), 1, {.start = 1}),
                            counting.encode(tensor({{3, 4, 5}}, i64)), 1e-5));
}

TEST(Transformer, AgreesWithTorch) {
  Transformer post(config_of(nn::NormPlace::post, false)), pre(config_of(nn::NormPlace::pre, true));
  expect_model_as_torch("post", post);
  expect_model_as_torch("pre tied", pre);
}

TEST(Transformer, ComputesTheLossOfItsLogits) {
  Transformer model(config_of(nn::NormPlace::pre, true));
  model.eval();
  const Tensor src = tensor({{4, 2, 3}, {1, 5, 0}}, i64), tgt = tensor({{1, 3}, {1, 0}}, i64),
               next = tensor({{3, 2}, {2, 0}}, i64);
  const CrossEntropyOptions options{.ignore_index = 0, .label_smoothing = 0.1};
  EXPECT_TRUE(tensors_equal(model.loss(src, tgt, next, options), cross_entropy(model(src, tgt), next, options)));
  EXPECT_TAPE_ERROR(model.loss(src, next[0], next), ErrorKind::shape,
                    "Transformer: src must be [B, S] and tgt [B, T], got [2, 3] and [2]");
}

TEST(Transformer, TiesItsTables) {
  Transformer model(config_of(nn::NormPlace::pre, true));
  EXPECT_TRUE(model.src_embedding->weight.is(model.tgt_embedding->weight));
  EXPECT_TRUE(model.src_embedding->weight.is(model.output->weight));
  EXPECT_FALSE(model.output->bias.defined());
  Transformer apart(config_of(nn::NormPlace::pre, false));
  EXPECT_EQ(apart.parameter_count() - model.parameter_count(), 2 * 11 * 8 + 11);
  TransformerConfig output_only = config_of(nn::NormPlace::post, false);
  output_only.tie_output = true;
  Transformer half(output_only);
  EXPECT_FALSE(half.src_embedding->weight.is(half.tgt_embedding->weight));
  EXPECT_TRUE(half.tgt_embedding->weight.is(half.output->weight));
}

TEST(Transformer, ScalesTokensByTheRootOfTheWidthAndAddsSinusoids) {
  manual_seed(8);
  Transformer model(config_of(nn::NormPlace::post, false));
  const std::vector<int64_t> ids{1, 2, 3, 4, 5, 0};
  const Tensor src = from_vector(ids, {2, 3}), table = model.src_embedding->weight.detach();
  std::vector<float> values;
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t column = 0; column < 8; ++column) {
      const double angle = static_cast<double>(i % 3) / std::pow(10000, static_cast<double>(column / 2 * 2) / 8);
      const double sinusoid = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
      values.push_back(static_cast<float>(table[ids[i]][column].item() * std::sqrt(8) + sinusoid));
    }
  const Tensor memory = model.encoder(from_vector(values, {2, 3, 8}), Mask::padding(src, 0));
  EXPECT_TRUE(tensors_near(model.encode(src), memory, 1e-5));
  EXPECT_FALSE(tensors_near(model.encode(src), model.encoder(from_vector(values, {2, 3, 8})), 1e-3))
      << "the padding is hidden";
}

TEST(Transformer, DecodesTheSameWithACache) {
  manual_seed(8);
  Transformer model(config_of(nn::NormPlace::post, false));
  const Tensor src = tensor({{1, 2, 3}, {4, 5, 0}}, i64), tgt = tensor({{1, 2}, {3, 4}}, i64);
  nn::DecoderCache cache = model.decoder->init_cache(model.encode(src));
  EXPECT_TRUE(tensors_near(model.decode_cached(tgt, cache, src), model(src, tgt), 1e-5));
}

TEST(Transformer, AcceptsEmptyBatches) {
  Transformer model(config_of(nn::NormPlace::post, false));
  EXPECT_EQ(to_string(model(empty({0, 3}, i64), empty({0, 2}, i64)).shape()), "[0, 2, 11]");
}

TEST(Transformer, ReturnsItsConfigAndSettings) {
  Transformer model(config_of(nn::NormPlace::pre, false));
  EXPECT_EQ(model.config().d_ff, 12);
  EXPECT_EQ(model.settings(), "11 -> 11 words, width 8");
}

TEST(Transformer, NamesTheInvalidValue) {
  const auto refused = [](const std::function<void(TransformerConfig&)>& change, const std::string& sentence) {
    TransformerConfig config = config_of(nn::NormPlace::post, false);
    change(config);
    EXPECT_TAPE_ERROR(Transformer(config), ErrorKind::config, sentence);
  };
  refused([](auto& c) { c.src_vocab = 0; }, "Transformer: src_vocab must be at least 1, got 0");
  refused([](auto& c) { c.tgt_vocab = -1; }, "Transformer: tgt_vocab must be at least 1, got -1");
  refused([](auto& c) { c.d_model = 0; }, "Transformer: d_model must be at least 1, got 0");
  refused([](auto& c) { c.layers = 0; }, "Transformer: layers must be at least 1, got 0");
  refused([](auto& c) { c.heads = 0; }, "Transformer: heads must be at least 1, got 0");
  refused([](auto& c) { c.d_ff = 0; }, "Transformer: d_ff must be at least 1, got 0");
  refused([](auto& c) { c.max_length = 0; }, "Transformer: max_length must be at least 1, got 0");
  refused([](auto& c) { c.heads = 3; }, "MultiHeadAttention: d_model 8 is not divisible by heads 3");
  refused([](auto& c) { c.norm_eps = -1; }, "LayerNorm: eps must not be negative, got -1");
  refused([](auto& c) { c.dropout = 1.5; }, "Dropout: the probability must be in [0, 1), got 1.5");
  refused([](auto& c) { c.share_embeddings = true, c.tgt_vocab = 12; },
          "Transformer: share_embeddings needs equal vocabularies, got 11 and 12");
}

TEST(Transformer, RefusesInvalidIds) {
  Transformer model(config_of(nn::NormPlace::post, false));
  const Tensor two = tensor({{1, 2}, {3, 4}}, i64), one = tensor({1, 2}, i64);
  EXPECT_TAPE_ERROR(model(two, one), ErrorKind::shape,
                    "Transformer: src must be [B, S] and tgt [B, T], got [2, 2] and [2]");
  EXPECT_TAPE_ERROR(model(two, zeros({3, 2}, i64)), ErrorKind::shape,
                    "Transformer: src must be [B, S] and tgt [B, T], got [2, 2] and [3, 2]");
  EXPECT_TAPE_ERROR(model.encode(one), ErrorKind::shape, "Transformer: ids must be [B, T], got [2]");
  EXPECT_TAPE_ERROR(model(tensor({{1, 11}, {0, 0}}, i64), two), ErrorKind::index,
                    "src_embedding: embedding: id 11 at position [0, 1] is outside [0, 11)");
  EXPECT_TAPE_ERROR(model(two, ones({2, 7}, i64)), ErrorKind::shape,
                    "positions: PositionalEncoding: positions 0 to 6 are beyond the table of 6");
}

}  // namespace
}  // namespace tape::models
