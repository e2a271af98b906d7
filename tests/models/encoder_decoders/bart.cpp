#include "models/encoder_decoders/bart.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/shape/shape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

BartConfig bart_of(BartKind kind) {
  return {.kind = kind,
          .vocab = 11,
          .d_model = 8,
          .layers = 1,
          .heads = 2,
          .d_ff = 12,
          .decoder_layers = 2,
          .decoder_heads = 4,
          .decoder_d_ff = 10,
          .max_length = 5,
          .dropout = 0,
          .scale_embedding = kind == BartKind::mbart};
}

TEST(Bart, IsPostNormOrPreNorm) {
  Bart bart(bart_of(BartKind::bart)), mbart(bart_of(BartKind::mbart));
  EXPECT_FALSE(bart.encoder->norm || bart.decoder->norm);
  EXPECT_TRUE(mbart.encoder->norm && mbart.decoder->norm);
  EXPECT_EQ(to_string(BartKind::bart), "bart");
  EXPECT_EQ(to_string(BartKind::mbart), "mbart");
}

TEST(Bart, NormalizesTokensPlusPositionsFromTheThirdRow) {
  for (const BartKind kind : {BartKind::bart, BartKind::mbart}) {
    manual_seed(5);
    Bart model(bart_of(kind));
    const NoGrad no_grad;
    const Tensor src = tensor({{4, 3, 7}}, i64);
    const double scale = kind == BartKind::mbart ? std::sqrt(8) : 1;
    const Tensor rows = slice((*model.src_positions)->weight, 0, {.start = 2, .end = 5});
    const Tensor read = (*model.src_norm)(model.src_embedding(src) * scale + rows);
    EXPECT_TRUE(tensors_near(model.encode(src), model.encoder(read), 1e-6));
  }
}

TEST(Bart, HasOneSharedTableAndAnOutputBias) {
  Bart model(bart_of(BartKind::bart));
  EXPECT_TRUE(model.src_embedding->weight.is(model.tgt_embedding->weight));
  EXPECT_TRUE(model.src_embedding->weight.is(model.output->weight));
  EXPECT_FALSE((*model.src_positions)->weight.is((*model.tgt_positions)->weight));
  EXPECT_EQ(to_string(model.output->bias.shape()), "[11]");
  EXPECT_EQ(to_string((*model.src_positions)->weight.shape()), "[7, 8]");
}

TEST(Bart, DecodesTheSameWithACache) {
  for (const BartKind kind : {BartKind::bart, BartKind::mbart}) {
    manual_seed(8);
    Bart model(bart_of(kind));
    const NoGrad no_grad;
    const Tensor src = tensor({{2, 3, 4}, {5, 6, 1}}, i64), tgt = tensor({{2, 7, 3}, {2, 4, 9}}, i64);
    const Tensor whole = model(src, tgt);
    nn::DecoderCache cache = model.decoder->init_cache(model.encode(src));
    for (int64_t t = 0; t < 3; ++t) {
      const SliceOptions here{.start = t, .end = t + 1};
      EXPECT_TRUE(tensors_near(model.decode_cached(slice(tgt, 1, here), cache, src), slice(whole, 1, here), 1e-6));
    }
  }
}

TEST(Bart, NamesTheInvalidValue) {
  const auto refused = [](const std::function<void(BartConfig&)>& change, const std::string& sentence) {
    BartConfig config = bart_of(BartKind::bart);
    change(config);
    EXPECT_TAPE_ERROR(Bart(config), ErrorKind::config, sentence);
  };
  refused([](auto& c) { c.vocab = 0; }, "Bart: vocab must be at least 1, got 0");
  refused([](auto& c) { c.decoder_layers = 0; }, "Bart: decoder_layers must be at least 1, got 0");
  refused([](auto& c) { c.decoder_heads = 3; }, "MultiHeadAttention: d_model 8 is not divisible by heads 3");
  refused([](auto& c) { c.max_length = -1; }, "Bart: max_length must be at least 1, got -1");
}

TEST(Bart, RefusesInvalidIds) {
  Bart model(bart_of(BartKind::bart));
  const Tensor six = full({1, 6}, 3, i64), one = tensor({{2}}, i64);
  EXPECT_TAPE_ERROR(model(six, one), ErrorKind::shape,
                    "src_positions: LearnedPositionalEncoding: positions 0 to 5 are beyond the table of 5");
  EXPECT_TAPE_ERROR(model(one, tensor({2}, i64)), ErrorKind::shape,
                    "Bart: src must be [B, S] and tgt [B, T], got [1, 1] and [1]");
}

}  // namespace
}  // namespace tape::models
