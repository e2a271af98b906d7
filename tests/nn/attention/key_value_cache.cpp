#include "nn/attention/key_value_cache.h"

#include <random>

#include <fmt/ranges.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "nn/attention/attention.h"
#include "nn/attention/attention_weights.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(KeyValueCache, ReturnsTheAppendedPositions) {
  const Tensor keys = randn({2, 40, 3}), values = randn({2, 40, 4});
  KeyValueCache cache;
  EXPECT_EQ(cache.length(), 0);
  for (int64_t first = 0, step = 1; first < 40; first += step, step = std::min<int64_t>(step + 1, 40 - first)) {
    cache.append(slice(keys, 1, {.start = first, .end = first + step}),
                 slice(values, 1, {.start = first, .end = first + step}));
    ASSERT_EQ(cache.length(), first + step);
    EXPECT_TRUE(tensors_equal(cache.keys(), slice(keys, 1, {.end = first + step})));
    EXPECT_TRUE(tensors_equal(cache.values(), slice(values, 1, {.end = first + step})));
  }
}

TEST(KeyValueCache, AppendsInPlaceUntilItsCapacityIsReached) {
  KeyValueCache cache;
  int64_t made = 0;
  for (int64_t t = 0; t < 100; ++t) {
    const void* before = cache.length() ? cache.key.raw() : nullptr;
    cache.append(ones({1, 1, 2}), ones({1, 1, 2}));
    made += cache.key.raw() != before;
  }
  EXPECT_LE(made, 6);  // 1, 16, 32, 64, 128
}

TEST(KeyValueCache, EvictsOnceAsManyPositionsGoAsRemain) {
  const Tensor keys = randn({2, 100, 3});
  KeyValueCache cache;
  const auto next = [&](int64_t t) { return slice(keys, 1, {.start = t, .end = t + 1}); };
  for (int64_t t = 0; t < 100; ++t) {
    cache.evict_before(20);
    cache.append(next(t), next(t));
    ASSERT_EQ(cache.length(), t + 1);
    ASSERT_EQ(cache.size(), t < 40 ? t + 1 : 21 + t % 20);
    const Tensor last = slice(keys, 1, {.start = t + 1 - cache.size(), .end = t + 1});
    ASSERT_TRUE(tensors_equal(slice(cache.key, 1, {.end = cache.size()}), last));
    ASSERT_TRUE(tensors_equal(slice(cache.value, 1, {.end = cache.size()}), last));
    ASSERT_LE(cache.key.size(1), t < 40 ? 64 : 40);
  }
  cache.evict_before(0);
  EXPECT_EQ(cache.size(), 0);
  EXPECT_EQ(cache.length(), 100);
  cache.append(next(7), next(7));
  EXPECT_EQ(cache.size(), 1);
}

TEST(KeyValueCache, CopiesAreIndependent) {
  KeyValueCache cache;
  for (int i = 0; i < 2; ++i) cache.append(full({1, 1, 1}, i), full({1, 1, 1}, i));
  KeyValueCache copy = cache;
  cache.append(full({1, 1, 1}, 7), full({1, 1, 1}, 7));
  copy.append(full({1, 1, 1}, 8), full({1, 1, 1}, 8));
  EXPECT_TRUE(tensors_equal(cache.keys(), tensor({{{0}, {1}, {7}}})));
  EXPECT_TRUE(tensors_equal(copy.values(), tensor({{{0}, {1}, {8}}})));
}

TEST(KeyValueCache, DoesNotModifyAppendedTensors) {
  const Tensor first = zeros({1, 20, 1}), second = ones({1, 1, 1});
  KeyValueCache cache(first, first);
  cache.append(second, second);
  EXPECT_TRUE(tensors_equal(first, zeros({1, 20, 1})));
  EXPECT_EQ(cache.length(), 21);
}

TEST(KeyValueCache, SelectsRows) {
  KeyValueCache cache;
  cache.select(tensor({0}, i64));
  EXPECT_EQ(cache.length(), 0);
  for (int i = 0; i < 2; ++i) cache.append(tensor({{{1}}, {{2}}}), tensor({{{3}}, {{4}}}));
  cache.select(tensor({1, 1, 0}, i64));
  cache.append(tensor({{{5}}, {{6}}, {{7}}}), tensor({{{5}}, {{6}}, {{7}}}));
  EXPECT_TRUE(tensors_equal(cache.keys(), tensor({{{2}, {2}, {5}}, {{2}, {2}, {6}}, {{1}, {1}, {7}}})));
  EXPECT_TRUE(tensors_equal(cache.values(), tensor({{{4}, {4}, {5}}, {{4}, {4}, {6}}, {{3}, {3}, {7}}})));
}

/// All ways of choosing `count` of `rows` rows, in any order and with repetition, as the digits of a counter.
std::vector<std::vector<int64_t>> all_choices(int64_t rows, int64_t count) {
  std::vector<std::vector<int64_t>> all{{}};
  for (int64_t i = 0; i < count; ++i) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& choice : all)
      for (int64_t row = 0; row < rows; ++row) {
        longer.push_back(choice);
        longer.back().push_back(row);
      }
    all = std::move(longer);
  }
  return all;
}

TEST(KeyValueCache, SelectsRowsInAnyOrderAndRepeated) {
  const Tensor keys = randn({4, 3, 2}), values = randn({4, 3, 5}, f64);
  for (const int64_t count : {1, 3, 4, 5})
    for (const std::vector<int64_t>& rows : all_choices(4, count)) {
      KeyValueCache cache(slice(keys, 1, {.end = 2}), slice(values, 1, {.end = 2}));
      cache.append(slice(keys, 1, {.start = 2}), slice(values, 1, {.start = 2}));  // into its own buffer
      ASSERT_GT(cache.key.size(1), 3);
      const void* before = cache.key.raw();
      const Tensor index = from_vector(rows);
      cache.select(index);
      EXPECT_EQ(cache.key.raw() == before, count == 4) << "as many as before change places without copies";
      ASSERT_EQ(cache.length(), 3);
      ASSERT_TRUE(tensors_equal(cache.keys(), index_select(keys, 0, index))) << fmt::format("{}", fmt::join(rows, " "));
      ASSERT_TRUE(tensors_equal(cache.values(), index_select(values, 0, index)))
          << fmt::format("{}", fmt::join(rows, " "));
    }
}

TEST(KeyValueCache, SelectsLargeRowsOnSeveralThreads) {
  const Tensor keys = randn({6, 40, 301}), values = randn({6, 40, 7});
  for (const std::vector<int64_t>& rows :
       {std::vector<int64_t>{1, 2, 0, 4, 3, 3}, {5, 0, 1, 2, 3, 4}, {2, 2, 2}, {5, 4, 3, 2, 1, 0, 5}}) {
    KeyValueCache cache(slice(keys, 1, {.end = 39}), slice(values, 1, {.end = 39}));
    cache.append(slice(keys, 1, {.start = 39}), slice(values, 1, {.start = 39}));
    const Tensor index = from_vector(rows);
    cache.select(index);
    EXPECT_TRUE(tensors_equal(cache.keys(), index_select(keys, 0, index)));
    EXPECT_TRUE(tensors_equal(cache.values(), index_select(values, 0, index)));
  }
}

TEST(KeyValueCache, AlternatesBetweenSelectAndAppend) {
  std::mt19937 draws(3);
  for (int64_t last = 1; last < 4; ++last) {
    KeyValueCache cache;
    Tensor keys = zeros({3, 0, 2}), values = zeros({3, 0, 1});
    int64_t changes = 0;
    for (int step = 0; step < 60; ++step) {
      const int64_t count = keys.size(0);
      const Tensor key = randn({count, 1 + step % 3, 2}), value = randn({count, 1 + step % 3, 1});
      cache.append(key, value);
      keys = cat({keys, key}, 1), values = cat({values, value}, 1);
      // Mostly as many as before, sometimes more or fewer.
      std::vector<int64_t> chosen(static_cast<size_t>(step % 10 == 9 ? 1 + draws() % 5 : static_cast<size_t>(count)));
      for (int64_t& row : chosen) row = static_cast<int64_t>(draws()) % count;
      const Tensor index = from_vector(chosen);
      cache.select(index);
      changes += cache.rows().defined();
      keys = index_select(keys, 0, index), values = index_select(values, 0, index);
      if (step % 20 == last) {
        cache.evict_before(16);
        const SliceOptions size{.start = keys.size(1) - cache.size()};
        keys = slice(keys, 1, size), values = slice(values, 1, size);
      }
      ASSERT_TRUE(tensors_equal(cache.keys(), keys)) << last << " " << step;
      ASSERT_TRUE(tensors_equal(cache.values(), values)) << last << " " << step;
      ASSERT_EQ(cache.size(), keys.size(1));
    }
    EXPECT_GT(changes, 30);
  }
}

TEST(KeyValueCache, SelectDoesNotAffectCopiesAndRefusesRowsOutOfRange) {
  KeyValueCache cache;
  for (int i = 0; i < 2; ++i) cache.append(tensor({{{1}}, {{2}}}), tensor({{{3}}, {{4}}}));
  const KeyValueCache copy = cache;
  cache.select(tensor({1, 0}, i64));
  EXPECT_TRUE(tensors_equal(cache.keys(), tensor({{{2}, {2}}, {{1}, {1}}})));
  EXPECT_TRUE(tensors_equal(copy.keys(), tensor({{{1}, {1}}, {{2}, {2}}})));
  for (const int64_t row : {-1, 2})
    EXPECT_TAPE_ERROR(cache.select(from_vector(std::vector<int64_t>{0, row})), ErrorKind::index,
                      fmt::format("KeyValueCache::select: row {} at position 1 is outside [0, 2)", row));
  EXPECT_TRUE(tensors_equal(cache.keys(), tensor({{{2}, {2}}, {{1}, {1}}})));
}

TEST(KeyValueCache, SelectPropagatesGradients) {
  const Tensor a = randn({2, 1, 2}).requires_grad_();
  KeyValueCache cache(a, a);
  cache.select(tensor({1, 1, 0}, i64));
  sum(cache.key).backward();
  EXPECT_TRUE(tensors_equal(a.grad(), tensor({{{1, 1}}, {{2, 2}}})));
}

TEST(KeyValueCache, PropagatesGradientsAfterSequencesWereReordered) {
  const Tensor first = randn({2, 1, 2}), second = randn({2, 1, 2}).requires_grad_();
  KeyValueCache cache(first, first);
  {
    const NoGrad no_grad;
    cache.select(tensor({1, 0}, i64));
  }
  cache.append(second, second);
  const Tensor expected = cat({index_select(first, 0, tensor({1, 0}, i64)), second}, 1);
  EXPECT_TRUE(tensors_equal(cache.key, expected));
  cache.select(tensor({1, 1}, i64));
  EXPECT_TRUE(tensors_equal(cache.key, index_select(expected, 0, tensor({1, 1}, i64))));
  sum(cache.key).backward();
  EXPECT_TRUE(tensors_equal(second.grad(), tensor({{{0, 0}}, {{2, 2}}})));
}

TEST(KeyValueCache, PropagatesGradients) {
  const Tensor a = randn({1, 1, 2}).requires_grad_(), b = randn({1, 1, 2}).requires_grad_();
  KeyValueCache cache;
  {
    const NoGrad no_grad;  // leaves spare capacity
    for (int i = 0; i < 2; ++i) cache.append(ones({1, 1, 2}), ones({1, 1, 2}));
  }
  cache.append(a, a);
  cache.append(b, a);
  EXPECT_EQ(cache.key.size(1), 4);
  sum(cache.key * 2.0).backward();
  EXPECT_TRUE(tensors_equal(a.grad(), full({1, 1, 2}, 2)));
  EXPECT_TRUE(tensors_equal(b.grad(), full({1, 1, 2}, 2)));
  // Values that a backward may still need are not overwritten.
  const Tensor kept = cache.key.detach().clone();
  const NoGrad no_grad;
  const Tensor before = cache.key;
  cache.append(ones({1, 1, 2}), ones({1, 1, 2}));
  EXPECT_TRUE(tensors_equal(before, kept));
}

TEST(MultiHeadAttention, EqualsCausalAttentionWithSpareCapacityInTheCache) {
  manual_seed(4);
  MultiHeadAttention layer(8, 4, {.kv_heads = 2});
  layer.to(f64);
  const Tensor x = randn({3, 20, 8}, f64);
  const Mask mask = Mask::padding(randint(0, 3, {3, 20}), 0);
  const NoGrad no_grad;
  const Tensor whole = layer(x, Mask::causal() & mask);
  const AttentionWeights weights(layer);
  KeyValueCache cache;
  for (int64_t t = 0; t < 20; ++t) {
    const Mask seen_now = Mask::keep(slice(mask.keep_mask(), 3, {.end = t + 1}));
    const Tensor y = layer.forward_cached(slice(x, 1, {.start = t, .end = t + 1}), cache, seen_now);
    EXPECT_TRUE(tensors_near(y, slice(whole, 1, {.start = t, .end = t + 1}), 1e-13)) << t;
    EXPECT_EQ(weights.of(layer).size(-1), t + 1);
  }
  EXPECT_GT(cache.key.size(1), 20) << "there was room";
}

TEST(MultiHeadAttention, ReadsReorderedSequencesFromTheCache) {
  manual_seed(6);
  MultiHeadAttention layer(8, 2, {.kv_heads = 1});
  layer.to(f64);
  const NoGrad no_grad;
  const Tensor x = randn({3, 6, 8}, f64), index = tensor({2, 0, 0}, i64);
  const Tensor past = slice(x, 1, {.end = 5}), next = slice(x, 1, {.start = 5});
  KeyValueCache moved, copied;
  layer.forward_cached(past, moved);
  layer.forward_cached(index_select(past, 0, index), copied);
  moved.select(index);
  ASSERT_TRUE(moved.rows().defined());
  EXPECT_TRUE(tensors_equal(layer.forward_cached(next, moved), layer.forward_cached(next, copied)));
  // With several tokens at once, keys are packed.
  moved.select(index), copied.select(index);
  EXPECT_TRUE(tensors_equal(layer.forward_cached(past, moved), layer.forward_cached(past, copied)));
}

TEST(MultiHeadAttention, SharesAMemoryAmongRows) {
  manual_seed(5);
  MultiHeadAttention layer(6, 2);
  layer.to(f64);
  const Tensor q = randn({6, 2, 6}, f64), memory = randn({2, 4, 6}, f64);
  const Mask mask = Mask::padding(tensor({{1, 1, 1, 0}, {1, 1, 0, 0}}, i64), 0);
  const Tensor y = layer.forward_projected(q, layer.project(memory), mask);
  EXPECT_EQ(to_string(y.shape()), "[6, 2, 6]");
  for (int64_t row = 0; row < 6; ++row) {
    const Tensor one = slice(memory, 0, {.start = row / 3, .end = row / 3 + 1});
    const Mask own = Mask::keep(slice(mask.keep_mask(), 0, {.start = row / 3, .end = row / 3 + 1}));
    EXPECT_TRUE(tensors_near(slice(y, 0, {.start = row, .end = row + 1}),
                             layer(slice(q, 0, {.start = row, .end = row + 1}), one, one, own), 1e-13));
  }
}

}  // namespace
}  // namespace tape::nn
