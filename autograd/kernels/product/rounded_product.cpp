#include "autograd/kernels/product/rounded_product.h"

#include "autograd/kernels/product/rounded_row.h"

// With w = q + r and x = p + e, both rounded, and a = p.q, which whole numbers give exactly,
//
//     |c - a| <= |c - x.w| + |x.r| + |e.q|,   |e.q| <= |e| |q|,
//
// c the sum of floats, and the others as in rounded_rows.cpp.
//
// A few values of x that are far larger than the others leave these next to nothing of 8 bits. x is rounded twice then,
// as p = scale (v + l / 254), l what v leaves in 8 bits more: twice as much to multiply.
//
// v is kept as v + 128, since instructions multiply numbers with a sign by such without:
// v.v' = sum (v + 128) v' - 128 sum v'.

namespace tape::kernels::TAPE_LEVEL {
namespace {

constexpr int64_t kWidth = kLanes<float>, kQuad = 4;  // values of a row that share 32 bits
constexpr int kWords = 8;                             // rows of the weight at a time
constexpr int32_t kZero = 128;
constexpr float kParts = 254;
/// Rows of 512 random values leave 0.007 of their norm. From twice that on, products in two parts are cheaper than the
/// words that one part lets through.
constexpr double kLittle = 0.015;

/// sum + x . w of four values a lane: x without a sign, w, the same in all lanes, with one.
TAPE_INLINE I32 add_dot(I32 sum, I32 x, int32_t w) {
#if defined(__AVX512VNNI__)
  return (I32)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, _mm512_set1_epi32(w));
#else
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b) sum += ((x >> (8 * b)) & 255) * static_cast<int8_t>(w >> (8 * b));
  return sum;
#endif
}

/// Rows of x, one a lane: panels of kWidth rows, with zeros behind the last. In two parts, one of l follows each of v.
struct RoundedInputs {
  RoundedInputs(int64_t m, int64_t stride, int parts_)
      : parts(parts_),
        lanes(divide_up(m, kWidth) * kWidth),
        quads(stride / kQuad),
        values(lanes * parts * quads),
        scale(lanes),
        outside(lanes),
        inside(lanes),
        by_norm(lanes),
        least(lanes) {}
  int32_t* panel(int64_t at) const { return values.data() + at * quads * kWidth; }
  int64_t panels() const { return lanes / kWidth * parts; }

  const int parts;
  const int64_t lanes, quads;
  const Scratch<int32_t> values;                                // [panels, quads, kWidth], four values each
  const Scratch<float> scale, outside, inside, by_norm, least;  // [lanes]
};

/// l of a row whose v are given, in their place, and the norm of what both leave.
double round_rest(const float* x, const RoundedRow& row, int8_t* values) {
  if (row.scale == 0) return row.rest;
  F32 rests = {};
  for (int64_t j = 0; j < row.k; j += kLanes<float>) {
    const F32 t = load_first_or_all(x + j, row.k - j, 0.0F) * row.inverse;
    float left[kLanes<float>];
    store(left, (t - widen(values + j)) * kParts);
    for (int64_t i = 0; i < smaller(kLanes<float>, row.k - j); ++i)
      values[j + i] = static_cast<int8_t>(static_cast<int32_t>(nearest(left[i])));
    const F32 rest = load(left) - widen(values + j);
    rests += rest * rest;
  }
  return row.scale / kParts * std::sqrt(static_cast<double>(fold(rests, Add())));
}

/// Rows of x in as many parts as `to` has; whether what they leave is little beside them, and the largest norm.
bool round_inputs(const RoundedRows& rows, int64_t m, const float* x, const RoundedInputs& to, float& largest) {
  const Scratch<int8_t> values(rows.stride());
  bool little = true;
  largest = 0;
  for (int64_t r = 0; r < to.lanes; ++r) {
    const float* const from = x + r * rows.k;
    RoundedRow row = round_row(r < m ? rows.k : 0, from, rows.stride(), values.data());
    const auto put = [&](int64_t part) {
      int32_t* const lane = to.panel(r / kWidth * to.parts + part) + r % kWidth;
      for (int64_t q = 0; q < to.quads; ++q) {
        uint32_t quad;
        __builtin_memcpy(&quad, values.data() + q * kQuad, sizeof(quad));
        lane[q * kWidth] = static_cast<int32_t>(quad ^ 0x80808080U);  // 128 more each
      }
    };
    const Spread spread = spread_of(from, row);
    put(0);
    if (to.parts == 2) {
      row.rest = round_rest(from, row, values.data());
      put(1);
    }
    little = little && !(row.rest > kLittle * row.whole);
    largest = spread.norm < largest ? largest : spread.norm;  // NaN and infinity stay
    to.scale[r] = row.scale;
    const Off<float> off = off_of(rows.k, spread, static_cast<float>(row.rest_above() * 1.000001));
    to.outside[r] = off.outside;
    to.inside[r] = off.inside;
    to.by_norm[r] = off.by_norm;
    to.least[r] = off.least;
  }
  return little;
}

/// Sums of products of a row of the weight each with the rows of one panel or two. Of one, two sums of each run side by
/// side, so that instructions need not wait for each other.
template <int panels>
TAPE_INLINE void multiply(const int8_t* const (&word)[kWords], const int8_t* ahead, int64_t stride, const int32_t* x,
                          I32 (&sums)[kWords][panels]) {
  constexpr int kChains = 2 / panels;
  const int64_t panel = stride / kQuad * kWidth;
  I32 partial[kWords][2] = {};
  for (int64_t j = 0; j < stride; j += RoundedRows::kBlock) {
    for (int w = 0; w < kWords; ++w) __builtin_prefetch(ahead + kWords * j + w * RoundedRows::kBlock);
    for (int64_t i = j; i < j + RoundedRows::kBlock; i += kChains * kQuad, x += kChains * kWidth) {
      I32 inputs[2];
#pragma GCC unroll 2
      for (int s = 0; s < 2; ++s) __builtin_memcpy(&inputs[s], x + (panels == 2 ? s * panel : s * kWidth), sizeof(I32));
#pragma GCC unroll 8
      for (int w = 0; w < kWords; ++w) {
#pragma GCC unroll 2
        for (int s = 0; s < 2; ++s) {
          int32_t quad;
          __builtin_memcpy(&quad, word[w] + i + (panels == 2 ? 0 : s * kQuad), sizeof(quad));
          partial[w][s] = add_dot(partial[w][s], inputs[s], quad);
        }
      }
    }
  }
  for (int w = 0; w < kWords; ++w) {
    sums[w][0] = panels == 2 ? partial[w][0] : partial[w][0] + partial[w][1];
    if constexpr (panels == 2) sums[w][1] = partial[w][1];
  }
}

/// What y of kWidth rows from `at` on and word i cannot be above; `least` becomes what the largest of them are not
/// below.
TAPE_INLINE F32 bracket(const RoundedRows& rows, int64_t i, const RoundedInputs& x, int64_t at, F32 product, float bias,
                        F32& least) {
  const auto of = [&](const Scratch<float>& values) { return load(values.data() + at); };
  const F32 y = product * (of(x.scale) * rows.scale[i]) + bias;
  const F32 off = Off<F32>{of(x.outside), of(x.inside), of(x.by_norm), of(x.least)}.of(rows, i, y);
  const F32 below = y - off;
  least = below > least ? below : least;
  return y + off;
}

/// bracket() of up to kWords words from `first` on with the rows of one panel or two; upper [words, lanes].
template <int panels>
TAPE_INLINE void bracket_words(const RoundedRows& rows, int64_t first, int64_t words, const RoundedInputs& x,
                               int64_t panel, const float* bias, float* upper, float* least) {
  const int8_t* word[kWords];
  for (int w = 0; w < kWords; ++w) word[w] = rows.values + (first + smaller(w, words - 1)) * rows.stride();
  // Behind the last words these once more.
  const int8_t* const ahead = rows.values + (first + 2 * kWords <= rows.n ? first + kWords : first) * rows.stride();
  I32 sums[kWords][panels];
  multiply<panels>(word, ahead, rows.stride(), x.panel(panel), sums);
  for (int64_t w = 0; w < words; ++w) {
    const int64_t i = first + w;
    const auto bracket_rows = [&](int64_t at, F32 product) __attribute__((always_inline)) {
      F32 most = load(least + at);
      store(upper + w * x.lanes + at, bracket(rows, i, x, at, product, bias ? bias[i] : 0, most));
      store(least + at, most);
    };
    F32 products[panels];
    for (int p = 0; p < panels; ++p) products[p] = __builtin_convertvector(sums[w][p] - kZero * rows.sums[i], F32);
    if (panels == 2 && x.parts == 2)
      bracket_rows(panel / 2 * kWidth, products[0] + products[panels - 1] * (1 / kParts));
    else
      for (int p = 0; p < panels; ++p) bracket_rows((panel + p) * kWidth, products[p]);
  }
}

constexpr int64_t kTaskWords = 256;

/// Every lane of `least` of a task, and upper.
void bracket_task(const RoundedRows& rows, int64_t task, const RoundedInputs& x, const float* bias, float* upper,
                  float* least) {
  const int64_t end = smaller(rows.n, (task + 1) * kTaskWords);
  for (int64_t r = 0; r < x.lanes; ++r) least[r] = -kInfinity;
  for (int64_t first = task * kTaskWords; first < end; first += kWords) {
    const int64_t words = smaller(kWords, end - first);
    float* const to = upper + first * x.lanes;
    int64_t panel = 0;
    for (; panel + 2 <= x.panels(); panel += 2) bracket_words<2>(rows, first, words, x, panel, bias, to, least);
    if (panel < x.panels()) bracket_words<1>(rows, first, words, x, panel, bias, to, least);
  }
}

void mark_by(const RoundedRows& rows, int64_t m, const RoundedInputs& x, const float* bias, bool* may) {
  const int64_t tasks = divide_up(rows.n, kTaskWords);
  const Scratch<float> upper(rows.n * x.lanes), least((tasks + 1) * x.lanes);
  for_tasks(tasks, tasks > 1,
            [&](int64_t task) { bracket_task(rows, task, x, bias, upper.data(), least.data() + task * x.lanes); });
  float* const all = least.data() + tasks * x.lanes;
  for (int64_t r = 0; r < x.lanes; ++r) {
    all[r] = r < m ? -kInfinity : kInfinity;  // of no row there is no largest
    for (int64_t task = 0; r < m && task < tasks; ++task)
      all[r] = least[task * x.lanes + r] > all[r] ? least[task * x.lanes + r] : all[r];
  }
  for_tasks(tasks, tasks > 1, [&](int64_t task) {
    for (int64_t i = task * kTaskWords; i < smaller(rows.n, (task + 1) * kTaskWords); ++i) {
      I32 below = ~I32{};
      for (int64_t r = 0; r < x.lanes; r += kWidth) below &= load(upper.data() + i * x.lanes + r) < load(all + r);
      may[i] = fold(below ? F32{} : fill(1.0F), Add()) > 0;  // NaN is not below either
    }
  });
}

void mark(const RoundedRows& rows, int64_t m, const float* x, const float* bias, bool* may) {
  float largest;
  const RoundedInputs once(m, rows.stride(), 1);
  const bool little = round_inputs(rows, m, x, once, largest);
  if (may_overflow(rows, largest)) {
    for (int64_t i = 0; i < rows.n; ++i) may[i] = true;
    return;
  }
  if (little) return mark_by(rows, m, once, bias, may);
  const RoundedInputs twice(m, rows.stride(), 2);
  round_inputs(rows, m, x, twice, largest);
  mark_by(rows, m, twice, bias, may);
}

}  // namespace

extern const RoundedProductKernels rounded_product = {mark};

}  // namespace tape::kernels::TAPE_LEVEL
