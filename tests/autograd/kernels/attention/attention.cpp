#include "autograd/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "autograd/kernels/attention/amx/tile_attention.h"
#include "autograd/kernels/attention/common/attention_dispatch.h"
#include "autograd/kernels/random/common/random_draw.h"
#include "tests/autograd/kernels/levels.h"
#include "tests/autograd/kernels/product/common/bf16_configs.h"

namespace tape::kernels::testing {
namespace {

using Wide = long double;

template <class T>
struct Case {
  std::string name;
  AttentionShape shape;
  std::vector<T> q, k, v, dout, additive, dprobabilities;
  std::vector<int64_t> keep;  // 0 or 1
  bool has_keep = false, has_additive = false, has_dprobabilities = false;
};

template <class T>
struct Result {
  std::vector<T> out, highest, inverse, probabilities, dq, dk, dv, dadditive;
};

HeadLayout heads_first(int64_t H, int64_t rows, int64_t D) { return {H * rows * D, rows * D, D}; }
HeadLayout time_first(int64_t H, int64_t rows, int64_t D) { return {rows * H * D, D, H * D}; }

template <class T>
Case<T> make_case(const std::string& name, int64_t B, int64_t H, int64_t Tq, int64_t Tk, int64_t D, int64_t Dv,
                  bool packed, int64_t group = 1) {
  Case<T> c;
  c.name = name;
  const auto layout = packed ? time_first : heads_first;
  const int64_t shared = H / group;
  c.shape = {B, H, Tq, Tk, D, Dv, layout(H, Tq, D), layout(shared, Tk, D), layout(shared, Tk, Dv), layout(H, Tq, Dv)};
  c.shape.scale = 1 / std::sqrt(static_cast<double>(D));
  c.shape.group = group;
  c.q = random_values<T>(B * H * Tq * D, 1);
  c.k = random_values<T>(B * shared * Tk * D, 2);
  c.v = random_values<T>(B * shared * Tk * Dv, 3);
  c.dout = random_values<T>(B * H * Tq * Dv, 4);
  return c;
}

/// One value per (b, h, i, j), in order.
void for_scores(const AttentionShape& s, const std::function<void(int64_t, int64_t, int64_t, int64_t, size_t)>& visit) {
  size_t n = 0;
  for (int64_t b = 0; b < s.B; ++b)
    for (int64_t h = 0; h < s.H; ++h)
      for (int64_t i = 0; i < s.Tq; ++i)
        for (int64_t j = 0; j < s.Tk; ++j) visit(b, h, i, j, n++);
}

size_t place(const HeadLayout& l, int64_t b, int64_t h, int64_t t, int64_t d) {
  return static_cast<size_t>(b * l.batch + h * l.head + t * l.row + d);
}
size_t by_strides(const int64_t* s, int64_t b, int64_t h, int64_t i, int64_t j) {
  return static_cast<size_t>(b * s[0] + h * s[1] + i * s[2] + j * s[3]);
}

template <class T>
Result<Wide> reference(const Case<T>& c) {
  const AttentionShape& s = c.shape;
  const size_t scores = static_cast<size_t>(s.B * s.H * s.Tq * s.Tk);
  const size_t rows = static_cast<size_t>(s.B * s.H * s.Tq);
  Result<Wide> r{std::vector<Wide>(c.dout.size()), std::vector<Wide>(rows),       std::vector<Wide>(rows),
                 std::vector<Wide>(scores),        std::vector<Wide>(c.q.size()), std::vector<Wide>(c.k.size()),
                 std::vector<Wide>(c.v.size()),    std::vector<Wide>(scores)};
  const Wide hidden = -std::numeric_limits<Wide>::infinity();
  std::vector<Wide> x(scores, hidden), factor(scores, 1);
  for_scores(s, [&](int64_t b, int64_t h, int64_t i, int64_t j, size_t n) {
    if (c.has_keep && !c.keep[by_strides(s.keep_strides, b, h, i, j)]) return;
    if (j > i + s.causal_offset || j < i + s.first_offset) return;
    Wide dot = 0;
    for (int64_t d = 0; d < s.D; ++d)
      dot += static_cast<Wide>(c.q[place(s.q, b, h, i, d)]) * static_cast<Wide>(c.k[place(s.k, b, h / s.group, j, d)]);
    x[n] = dot * static_cast<Wide>(s.scale);
    if (c.has_additive) x[n] += static_cast<Wide>(c.additive[by_strides(s.additive_strides, b, h, i, j)]);
    if (s.dropout > 0) {
      const bool kept = static_cast<double>(philox_draw(s.seed, s.counter + n)) >= s.dropout * 4294967296.0;
      factor[n] = kept ? 1 / (1 - static_cast<Wide>(s.dropout)) : 0;
    }
  });
  const size_t keys = static_cast<size_t>(s.Tk);
  for (size_t row = 0; row < r.highest.size(); ++row) {
    Wide highest = hidden, sum = 0;
    for (size_t j = 0; j < keys; ++j) highest = std::max(highest, x[row * keys + j]);
    r.highest[row] = highest == hidden ? 0 : highest;
    for (size_t j = row * keys; j < (row + 1) * keys; ++j)
      if (x[j] != hidden) sum += r.probabilities[j] = std::exp(x[j] - r.highest[row]);
    r.inverse[row] = sum == 0 ? 0 : 1 / sum;
    for (size_t j = row * keys; j < (row + 1) * keys; ++j) r.probabilities[j] *= r.inverse[row];
  }
  std::vector<Wide> dp(scores), delta(r.highest.size());
  for_scores(s, [&](int64_t b, int64_t h, int64_t i, int64_t j, size_t n) {
    if (x[n] == hidden) return;
    const Wide p = r.probabilities[n] * factor[n];
    for (int64_t d = 0; d < s.Dv; ++d) {
      const Wide g = c.dout[place(s.out, b, h, i, d)], value = c.v[place(s.v, b, h / s.group, j, d)];
      r.out[place(s.out, b, h, i, d)] += p * value;
      r.dv[place(s.v, b, h / s.group, j, d)] += p * g;
      dp[n] += factor[n] * g * value;
    }
    if (c.has_dprobabilities) dp[n] += static_cast<Wide>(c.dprobabilities[n]);
    delta[n / keys] += dp[n] * r.probabilities[n];
  });
  for_scores(s, [&](int64_t b, int64_t h, int64_t i, int64_t j, size_t n) {
    if (x[n] == hidden) return;
    const Wide ds = r.probabilities[n] * (dp[n] - delta[n / keys]);
    r.dadditive[n] = ds;
    for (int64_t d = 0; d < s.D; ++d) {
      r.dq[place(s.q, b, h, i, d)] +=
          ds * static_cast<Wide>(s.scale) * static_cast<Wide>(c.k[place(s.k, b, h / s.group, j, d)]);
      r.dk[place(s.k, b, h / s.group, j, d)] +=
          ds * static_cast<Wide>(s.scale) * static_cast<Wide>(c.q[place(s.q, b, h, i, d)]);
    }
  });
  return r;
}

template <class T>
Flags kept(const Case<T>& c) {
  Flags keep(static_cast<int64_t>(c.keep.size()));
  for (size_t i = 0; i < c.keep.size(); ++i) keep[static_cast<int64_t>(i)] = c.keep[i] != 0;
  return keep;
}

template <class T>
Result<T> run(const Case<T>& c, bool extras = true, const AttentionKernels<T>& kernels = attention<T>()) {
  const AttentionShape& s = c.shape;
  const size_t scores = extras ? static_cast<size_t>(s.B * s.H * s.Tq * s.Tk) : 0;
  const size_t rows = static_cast<size_t>(s.B * s.H * s.Tq);
  const T nan = std::numeric_limits<T>::quiet_NaN();  // everything must be overwritten
  Result<T> r{std::vector<T>(c.dout.size(), nan), std::vector<T>(rows, nan),       std::vector<T>(rows, nan),
              std::vector<T>(scores, nan),        std::vector<T>(c.q.size(), nan), std::vector<T>(c.k.size(), nan),
              std::vector<T>(c.v.size(), nan),    std::vector<T>(scores, nan)};
  Flags keep = kept(c);
  const AttentionOperands<T> in{.q = c.q.data(),
                                .k = c.k.data(),
                                .v = c.v.data(),
                                .keep = c.has_keep ? keep.data() : nullptr,
                                .additive = c.has_additive ? c.additive.data() : nullptr};
  kernels.forward(s, in,
                  {.out = r.out.data(),
                   .highest = r.highest.data(),
                   .inverse = r.inverse.data(),
                   .probabilities = extras ? r.probabilities.data() : nullptr});
  kernels.backward(s, in,
                   {.highest = r.highest.data(),
                    .inverse = r.inverse.data(),
                    .dout = c.dout.data(),
                    .dprobabilities = c.has_dprobabilities ? c.dprobabilities.data() : nullptr,
                    .dq = r.dq.data(),
                    .dk = r.dk.data(),
                    .dv = r.dv.data(),
                    .dadditive = extras ? r.dadditive.data() : nullptr});
  return r;
}

template <class T>
void check(const Case<T>& c, double bound = tolerance<T>(1e-5, 1e-12),
           const AttentionKernels<T>& kernels = attention<T>()) {
  const Result<Wide> wanted = reference(c);
  const Result<T> got = run(c, true, kernels), plain = run(c, false, kernels);
  expect_close(got.out, wanted.out, bound, c.name + ": out");
  expect_close(got.highest, wanted.highest, bound, c.name + ": highest");
  expect_close(got.inverse, wanted.inverse, bound, c.name + ": inverse");
  expect_close(got.probabilities, wanted.probabilities, bound, c.name + ": probabilities");
  expect_close(got.dq, wanted.dq, bound, c.name + ": dq");
  expect_close(got.dk, wanted.dk, bound, c.name + ": dk");
  expect_close(got.dv, wanted.dv, bound, c.name + ": dv");
  expect_close(got.dadditive, wanted.dadditive, bound, c.name + ": dadditive");
  EXPECT_EQ(plain.out, got.out) << c.name;
  EXPECT_EQ(plain.dq, got.dq) << c.name;
  EXPECT_EQ(plain.dk, got.dk) << c.name;
}

template <class T>
std::vector<Case<T>> cases() {
  std::vector<Case<T>> all;
  int number = 0;
  const int64_t sizes[][6] = {{1, 1, 1, 1, 1, 1},     {2, 3, 12, 12, 32, 32},   {1, 2, 5, 9, 20, 12},
                              {1, 2, 70, 33, 17, 16}, {2, 1, 130, 150, 64, 40}, {1, 1, 9, 3, 8, 70}};
  for (const auto& z : sizes)
    for (const bool packed : {false, true}) {
      const auto fresh = [&](const std::string& name) {
        all.push_back(make_case<T>(name + " " + std::to_string(number++), z[0], z[1], z[2], z[3], z[4], z[5], packed));
        return &all.back();
      };
      const int64_t B = z[0], H = z[1], Tq = z[2], Tk = z[3];
      fresh("plain");
      fresh("causal")->shape.causal_offset = 0;
      fresh("causal with a cache")->shape.causal_offset = Tk - Tq;
      fresh("dropout")->shape.dropout = 0.3;
      Case<T>* padding = fresh("padding, causal, dropout");
      padding->has_keep = true;
      padding->keep = random_indices(B * Tk, 6, 2);
      padding->shape.keep_strides[0] = Tk;
      padding->shape.keep_strides[3] = 1;
      padding->shape.causal_offset = 2;
      padding->shape.dropout = 0.1;
      padding->shape.seed = 99;
      padding->shape.counter = 1234567;
      Case<T>* full = fresh("all masks");
      full->has_keep = full->has_additive = full->has_dprobabilities = true;
      full->keep = random_indices(B * H * Tq * Tk, 7, 3);
      for (int64_t j = 0; j < Tk; ++j) full->keep[static_cast<size_t>((Tq - 1) * Tk + j)] = 0;  // a fully masked row
      full->additive = random_values<T>(H * Tq * Tk, 8);
      full->dprobabilities = random_values<T>(B * H * Tq * Tk, 9);
      const int64_t keep_strides[] = {H * Tq * Tk, Tq * Tk, Tk, 1}, additive_strides[] = {0, 1, Tk * H, H};
      std::copy(keep_strides, keep_strides + 4, full->shape.keep_strides);
      std::copy(additive_strides, additive_strides + 4, full->shape.additive_strides);
      full->shape.dropout = 0.5;
    }
  return all;
}

/// Windows and grouped heads, with few and with many blocks of queries: offsets of the first and last visible key.
template <class T>
std::vector<Case<T>> banded_cases() {
  const std::pair<int64_t, int64_t> bands[] = {{-3, 0}, {-20, 20}, {-kNotCausal, 0}, {60, 80}, {-1, 300}};
  std::vector<Case<T>> all;
  for (const int64_t group : {1, 2, 4})
    for (const auto& [Tq, Tk] : {std::pair<int64_t, int64_t>{1, 150}, {7, 9}, {60, 150}})
      for (const auto& [first, last] : bands) {
        // Cases with several blocks combine all features.
        const bool everything = Tq > 10, packed = group != 2;
        const int64_t B = packed ? 1 : 2;  // with groups of 2, enough heads to sum one after the other
        all.push_back(make_case<T>("", B, 4, Tq, Tk, 19, 17, packed, group));
        Case<T>& c = all.back();
        c.name = "groups of " + std::to_string(group) + ", " + std::to_string(Tq) + " x " + std::to_string(Tk) +
                 ", keys " + std::to_string(first) + " to " + std::to_string(last);
        c.shape.first_offset = first;
        c.shape.causal_offset = last;
        if (!everything) continue;
        c.shape.dropout = 0.2;
        c.shape.counter = 7;
        c.has_keep = c.has_additive = c.has_dprobabilities = true;
        c.keep = random_indices(Tk, 6, 5);
        c.shape.keep_strides[3] = 1;
        c.additive = random_values<T>(4 * Tk, 8);
        c.shape.additive_strides[1] = Tk;
        c.shape.additive_strides[3] = 1;
        c.dprobabilities = random_values<T>(B * 4 * Tq * Tk, 9);
      }
  return all;
}

/// Masks that hide keys before and after those that a block of queries sees: packed documents, and padding.
template <class T>
std::vector<Case<T>> kept_cases() {
  std::vector<Case<T>> all;
  for (const bool causal : {false, true})
    for (const bool everything : {false, true}) {
      const int64_t B = 2, H = 2, length = 210;
      const auto fresh = [&](const std::string& name) {
        Case<T> c = make_case<T>(name, B, H, length, length, 19, 17, true);
        if (causal) c.shape.causal_offset = 0;
        c.has_keep = true;
        if (!everything) return c;
        c.shape.dropout = 0.2;
        c.has_additive = c.has_dprobabilities = true;
        c.additive = random_values<T>(length, 8);
        c.shape.additive_strides[3] = 1;
        c.dprobabilities = random_values<T>(B * H * length * length, 9);
        return c;
      };
      Case<T> documents = fresh("documents");
      const auto document = [](int64_t b, int64_t t) {
        return (t >= 40) + (t >= 41) + (b == 0 && t >= 130) + (t >= 205);
      };
      for (int64_t b = 0; b < B; ++b)
        for (int64_t i = 0; i < length; ++i)
          for (int64_t j = 0; j < length; ++j) documents.keep.push_back(document(b, i) == document(b, j));
      const int64_t by_rows[] = {length * length, 0, length, 1}, by_batch[] = {length, 0, 0, 1};
      std::copy(by_rows, by_rows + 4, documents.shape.keep_strides);
      all.push_back(documents);
      Case<T> padding = fresh("padding");
      for (int64_t b = 0; b < B; ++b)
        for (int64_t j = 0; j < length; ++j) padding.keep.push_back(b == 0 ? j >= 70 : j >= 3 && j < 75);
      std::copy(by_batch, by_batch + 4, padding.shape.keep_strides);
      all.push_back(padding);
      Case<T> one = fresh("one key of one example, none of the other");
      for (int64_t b = 0; b < B; ++b)
        for (int64_t j = 0; j < length; ++j) one.keep.push_back(b == 0 && j == 101);
      std::copy(by_batch, by_batch + 4, one.shape.keep_strides);
      all.push_back(one);
    }
  return all;
}

/// A requested gradient has the same bits whether or not the other gradients are requested.
template <class T>
void check_some_gradients(const Case<T>& c) {
  const Result<T> whole = run(c);
  for (int wanted = 0; wanted < 16; ++wanted) {
    Result<T> r = whole;
    const auto given = [&](int bit, std::vector<T>& gradient) {
      std::fill(gradient.begin(), gradient.end(), std::numeric_limits<T>::quiet_NaN());
      return wanted >> bit & 1 ? gradient.data() : nullptr;
    };
    attention<T>().backward(c.shape, {.q = c.q.data(), .k = c.k.data(), .v = c.v.data()},
                            {.highest = whole.highest.data(),
                             .inverse = whole.inverse.data(),
                             .dout = c.dout.data(),
                             .dq = given(0, r.dq),
                             .dk = given(1, r.dk),
                             .dv = given(2, r.dv),
                             .dadditive = given(3, r.dadditive)});
    const std::pair<const std::vector<T>*, const std::vector<T>*> gradients[] = {
        {&r.dq, &whole.dq}, {&r.dk, &whole.dk}, {&r.dv, &whole.dv}, {&r.dadditive, &whole.dadditive}};
    for (int bit = 0; bit < 4; ++bit)
      if (wanted >> bit & 1) {
        EXPECT_EQ(*gradients[bit].first, *gradients[bit].second) << c.name << ": " << bit << " of " << wanted;
      }
  }
}

class Attention : public EveryLevel {};

TEST_P(Attention, AgreesWithComposedF32) {
  for (const Case<float>& c : cases<float>()) check(c);
}
TEST_P(Attention, AgreesWithComposedF64) {
  for (const Case<double>& c : cases<double>()) check(c);
}

TEST_P(Attention, AgreesWithComposedForWindowsAndGroups) {
  for (const Case<float>& c : banded_cases<float>()) check(c);
  for (const Case<double>& c : banded_cases<double>()) check(c);
}

TEST_P(Attention, AgreesWithComposedForDocumentsAndPadding) {
  for (const Case<float>& c : kept_cases<float>()) check(c);
  for (const Case<double>& c : kept_cases<double>()) check(c);
}

/// Keys outside every window, or before and after all kept ones, are not read: they may contain anything.
template <class T>
void check_unread(const AttentionKernels<T>& kernels, bool by_window) {
  Case<T> c = make_case<T>("unread", 1, 2, 100, 400, 16, 16, true, 2);
  if (by_window) {
    c.shape.first_offset = 190;
    c.shape.causal_offset = 200;
  } else {
    c.has_keep = true;
    for (int64_t j = 0; j < 400; ++j) c.keep.push_back(j >= 190 && j < 300);
    c.shape.keep_strides[3] = 1;
  }
  const Result<T> whole = run(c, true, kernels);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const int64_t j : {0, 100, 399})
    for (int64_t d = 0; d < 16; ++d) c.k[place(c.shape.k, 0, 0, j, d)] = c.v[place(c.shape.v, 0, 0, j, d)] = nan;
  const Result<T> found = run(c, true, kernels);
  EXPECT_EQ(found.out, whole.out);
  EXPECT_EQ(found.dq, whole.dq);
  EXPECT_EQ(found.probabilities, whole.probabilities);
}

/// With few queries, keys and values read from rows of other batch elements give the same bits as copies of those rows.
template <class T>
void check_chosen_rows(int64_t Tq, int64_t group, int64_t D, int64_t Dv) {
  const int64_t B = 3, elements = 5, H = 4, Tk = 280;
  Case<T> c = make_case<T>("chosen rows", B, H, Tq, Tk, D, Dv, true, group);
  c.shape.first_offset = 70;  // not all of them are read from the first key on
  c.shape.causal_offset = Tk - Tq;
  c.has_keep = true;
  c.keep = random_indices(B * Tk, 6, 4);
  std::fill_n(c.keep.begin() + Tk, 150, 0);
  c.shape.keep_strides[0] = Tk;
  c.shape.keep_strides[3] = 1;
  const std::vector<T> k = random_values<T>(elements * c.shape.k.batch, 2),
                       v = random_values<T>(elements * c.shape.v.batch, 3);
  const std::vector<int64_t> rows = random_indices(B * (Tk + 3), 11, elements);  // with spare capacity after each row
  for (int64_t b = 0; b < B; ++b)
    for (int64_t j = 0; j < Tk; ++j) {
      const int64_t row = rows[static_cast<size_t>(b * (Tk + 3) + j)];
      const auto copy = [&](const std::vector<T>& from, const HeadLayout& layout, std::vector<T>& to) {
        std::copy_n(from.begin() + row * layout.batch + j * layout.row, layout.row,
                    to.begin() + b * layout.batch + j * layout.row);
      };
      copy(k, c.shape.k, c.k);
      copy(v, c.shape.v, c.v);
    }
  check(c);
  const Result<T> copied = run(c);
  Result<T> found = copied;
  Flags keep = kept(c);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (auto* all : {&found.out, &found.highest, &found.inverse, &found.probabilities})
    std::fill(all->begin(), all->end(), nan);
  attention<T>().forward(
      c.shape,
      {.q = c.q.data(), .k = k.data(), .v = v.data(), .keep = keep.data(), .rows = rows.data(), .rows_stride = Tk + 3},
      {.out = found.out.data(),
       .highest = found.highest.data(),
       .inverse = found.inverse.data(),
       .probabilities = found.probabilities.data()});
  EXPECT_EQ(found.out, copied.out) << Tq << " queries, groups of " << group << ", widths " << D << " and " << Dv;
  EXPECT_EQ(found.highest, copied.highest);
  EXPECT_EQ(found.inverse, copied.inverse);
  EXPECT_EQ(found.probabilities, copied.probabilities);
}

TEST_P(Attention, ReadsSelectedKeyRowsForFewQueries) {
  for (const auto& [Tq, group] : {std::pair<int64_t, int64_t>{1, 1}, {4, 1}, {1, 4}, {2, 2}})
    for (const auto& [D, Dv] : {std::pair<int64_t, int64_t>{64, 64}, {1, 3}, {17, 70}, {5, 130}}) {
      check_chosen_rows<float>(Tq, group, D, Dv);
      check_chosen_rows<double>(Tq, group, D, Dv);
    }
}

TEST_P(Attention, DoesNotReadKeysOutsideTheWindows) {
  check_unread(attention<float>(), true);
  check_unread(attention<double>(), true);
}
TEST_P(Attention, DoesNotReadKeysMaskedOnEitherSide) {
  check_unread(attention<float>(), false);
  check_unread(attention<double>(), false);
}

TEST_P(Attention, WritesOnlyTheRequestedGradients) {
  for (const int64_t group : {1, 2, 4})
    for (const int64_t B : {1, 4}) {  // with a batch of one, the heads of a group are summed separately
      Case<float> c = make_case<float>("groups of " + std::to_string(group), B, 4, 9, 11, 7, 5, true, group);
      c.shape.causal_offset = 3;
      c.shape.dropout = 0.3;
      check_some_gradients(c);
    }
}

TEST_P(Attention, GivesExactZerosForFullyMaskedRows) {
  for (const bool by_causality : {false, true}) {
    Case<float> c = make_case<float>("hidden", 1, 2, 20, 18, 16, 16, true);
    c.has_dprobabilities = true;
    c.dprobabilities = random_values<float>(2 * 20 * 18, 5);
    if (by_causality) {
      c.shape.causal_offset = -25;
    } else {
      c.has_keep = true;
      c.keep = {0};
    }
    const Result<float> r = run(c);
    for (const std::vector<float>* values : {&r.out, &r.probabilities, &r.dq, &r.dk, &r.dv, &r.dadditive})
      for (const float value : *values) ASSERT_EQ(value, 0);
    for (const std::vector<float>* values : {&r.highest, &r.inverse})
      for (const float value : *values) ASSERT_EQ(value, 0);
  }
}

TEST_P(Attention, AcceptsEmptyKeysQueriesAndBatches) {
  Case<float> no_keys = make_case<float>("no keys", 1, 2, 3, 0, 4, 4, false);
  const Result<float> r = run(no_keys);
  EXPECT_EQ(r.out, std::vector<float>(24, 0));
  EXPECT_EQ(r.dq, std::vector<float>(24, 0));
  Case<float> no_queries = make_case<float>("no queries", 1, 2, 0, 3, 4, 4, false);
  EXPECT_EQ(run(no_queries).dk, std::vector<float>(24, 0));
  EXPECT_TRUE(run(make_case<float>("no batch", 0, 2, 3, 3, 4, 4, false)).out.empty());
}

/// What an additive mask of huge finite values leaves of a masked row: all scores are equal.
TEST_P(Attention, HasGradientsForHugeScores) {
  for (const float score : {-std::numeric_limits<float>::max(), 3e38F}) {
    Case<float> c = make_case<float>("huge", 1, 2, 5, 19, 8, 8, true);
    c.has_additive = true;
    c.additive.assign(19, score);
    c.shape.additive_strides[3] = 1;
    check(c);
  }
}

TEST_P(Attention, GivesZerosIfEverythingIsDropped) {
  Case<float> c = make_case<float>("dropped", 1, 1, 6, 6, 8, 8, false);
  c.shape.dropout = 1;
  const Result<float> r = run(c);
  EXPECT_EQ(r.out, std::vector<float>(48, 0));
  EXPECT_EQ(r.dv, std::vector<float>(48, 0));
}

TEST_P(Attention, PropagatesNaN) {
  Case<float> c = make_case<float>("nan", 1, 1, 20, 20, 8, 8, false);
  c.q[8 * 3] = std::nanf("");
  const Result<float> r = run(c);
  EXPECT_TRUE(std::isnan(r.out[8 * 3]));
  EXPECT_TRUE(std::isnan(r.dq[8 * 3]));
  EXPECT_FALSE(std::isnan(r.out[8 * 4]));
}

TEST_P(Attention, IsBitwiseEqualForAnyThreadCount) {
  for (const int64_t B : {1, 8}) {
    Case<float> c = make_case<float>("threads", B, 1, 200, 200, 32, 32, true);
    c.shape.causal_offset = 0;
    c.shape.dropout = 0.1;
    expect_same_bits([&] { return run(c, false).out; });
    expect_same_bits([&] { return run(c, false).dk; });
    expect_same_bits([&] { return run(c, false).dq; });
  }
  for (const int64_t B : {1, 3}) {
    Case<float> c = make_case<float>("threads", B, 6, 150, 150, 32, 32, true, 3);
    c.shape.causal_offset = 0;
    c.shape.first_offset = -40;
    c.shape.dropout = 0.1;
    expect_same_bits([&] { return run(c, false).out; });
    expect_same_bits([&] { return run(c, false).dk; });
    expect_same_bits([&] { return run(c, false).dq; });
  }
}

TAPE_EVERY_LEVEL(Attention);

/// Attention on AMX tiles, at two precisions.
class TileAttention : public ::testing::TestWithParam<Bf16Config> {
 protected:
  static const AttentionKernels<float>& kernels() {
    const int parts = parts_of(GetParam().precision);
#if defined(__x86_64__)
    if (!GetParam().emulated) return amx::attention(parts);
#endif
    return emulated_tiles().attention(parts);
  }
};

TEST_P(TileAttention, AgreesWithComposed) {
  for (const Case<float>& c : cases<float>())
    check(c, GetParam().precision == MatmulPrecision::high ? 2e-4 : 5e-2, kernels());
}

TEST_P(TileAttention, AgreesWithComposedForWindowsAndGroups) {
  for (const Case<float>& c : banded_cases<float>())
    check(c, GetParam().precision == MatmulPrecision::high ? 2e-4 : 5e-2, kernels());
  check_unread(kernels(), true);
}

TEST_P(TileAttention, AgreesWithComposedForDocumentsAndPadding) {
  for (const Case<float>& c : kept_cases<float>())
    check(c, GetParam().precision == MatmulPrecision::high ? 2e-4 : 5e-2, kernels());
  check_unread(kernels(), false);
}

TEST_P(TileAttention, GivesZerosForMaskedRowsAndPropagatesNaN) {
  Case<float> c = make_case<float>("hidden", 1, 2, 70, 65, 16, 16, true);
  c.shape.causal_offset = -100;
  const Result<float> hidden = run(c, true, kernels());
  for (const std::vector<float>* values : {&hidden.out, &hidden.dq, &hidden.dk, &hidden.dv})
    for (const float value : *values) ASSERT_EQ(value, 0);
  // A window that ends before it begins, in several blocks of queries.
  Case<float> empty = make_case<float>("empty", 1, 2, 200, 400, 16, 16, true);
  empty.shape.first_offset = 100;
  empty.shape.causal_offset = 0;
  const Result<float> nothing = run(empty, true, kernels());
  for (const std::vector<float>* values : {&nothing.out, &nothing.dq, &nothing.dk, &nothing.dv})
    for (const float value : *values) ASSERT_EQ(value, 0);
  c.shape.causal_offset = kNotCausal;
  c.q[place(c.shape.q, 0, 1, 33, 5)] = std::nanf("");
  const Result<float> r = run(c, true, kernels());
  EXPECT_TRUE(std::isnan(r.out[place(c.shape.out, 0, 1, 33, 0)]));
  EXPECT_FALSE(std::isnan(r.out[place(c.shape.out, 0, 1, 34, 0)]));
  EXPECT_FALSE(std::isnan(r.out[place(c.shape.out, 0, 0, 33, 0)]));
}

TEST_P(TileAttention, IsBitwiseEqualForAnyThreadCount) {
  const int threads = num_threads();
  for (const int64_t B : {1, 8}) {
    Case<float> c = make_case<float>("threads", B, 1, 200, 200, 32, 32, true);
    c.shape.causal_offset = 0;
    c.shape.dropout = 0.1;
    expect_same_bits([&] { return run(c, false, kernels()).out; });
    expect_same_bits([&] { return run(c, false, kernels()).dk; });
    expect_same_bits([&] { return run(c, false, kernels()).dq; });
  }
  set_num_threads(threads);
}

std::vector<Bf16Config> tile_configs() {
  std::vector<Bf16Config> all = bf16_configs();
  std::erase_if(all, [](const Bf16Config& way) { return way.backend == Bf16Backend::avx512; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Backends, TileAttention, ::testing::ValuesIn(tile_configs()), bf16_config_name);

TEST(AttentionByPrecision, UsesTilesIfThereAreEnoughScores) {
  using enum MatmulPrecision;
  const auto on_tiles = [](MatmulPrecision precision, int64_t Tq, int64_t Tk, int64_t D) {
    AttentionShape shape = make_case<float>("sizes", 1, 1, Tq, Tk, D, D, false).shape;
    shape.precision = precision;
    return &attention_by_precision(shape) != &attention<float>();
  };
  {
    const EmulatedTiles scope;
    EXPECT_TRUE(on_tiles(medium, 128, 128, 16));
    EXPECT_TRUE(on_tiles(high, 256, 256, 16));
    EXPECT_FALSE(on_tiles(medium, 128, 127, 16));
    EXPECT_FALSE(on_tiles(high, 256, 255, 16));
    EXPECT_FALSE(on_tiles(medium, 15, 2000, 16));
    EXPECT_FALSE(on_tiles(medium, 2000, 15, 16));
    EXPECT_FALSE(on_tiles(medium, 128, 128, 15));
    EXPECT_FALSE(on_tiles(highest, 512, 512, 64));
  }
  const BackendScope scope(Bf16Backend::none);
  EXPECT_FALSE(on_tiles(medium, 512, 512, 64));
}

}  // namespace
}  // namespace tape::kernels::testing
