#include <array>
#include <numeric>

#include "autograd/cuda/stream.h"
#include "tests/cuda/kernels/attention_case.h"

// The kernels of attention for bf16 beside those of the CPU for f32, on the same operands.

namespace tape::kernels {
namespace {
using namespace beside_cpu;
using namespace attention_cases;

using Halves = Array<BFloat16>;

/// The largest relative error of rounding to bf16, which has 8 significant bits. The root mean square of the errors of
/// many values is 0.4 of that.
constexpr double kRounding = 1.0 / 256;

Array<float> widened(const Halves& values) { return {values.begin(), values.end()}; }

/// What both passes compute, gradients in f32.
struct AttentionValues {
  Array<float> out, highest, inverse, dq, dk, dv;
};

class CudaAttentionBf16 : public KernelTest<BFloat16> {
 protected:
  /// Compares outputs, statistics and gradients.
  void check(const AttentionCase& c) {
    SCOPED_TRACE(text(c));
    ASSERT_TRUE(has_bf16_attention(c.shape));
    const Data data(c);
    const AttentionValues cpu = on_cpu(data), actual = on_gpu(data);
    const double most_value = c.shape.dropout < 1 ? kMost / (1 - c.shape.dropout) : 0;
    // Probabilities are rounded, which changes their sum of values by at most kRounding times the largest value, then
    // the sum is rounded.
    expect_close(actual.out, cpu.out, "out", most_value, 1.01 * kRounding);
    // The same products, summed in another order.
    expect_close(actual.highest, cpu.highest, "highest", 1, 1e-5);
    expect_close(actual.inverse, cpu.inverse, "inverse", 0, 1e-4);
    if (c.rows) return;  // for inference only
    const double of_delta = error_of_delta(data, cpu);
    expect_gradients(actual.dq, cpu.dq, c.dq, of_delta, "dq");
    expect_gradients(actual.dk, cpu.dk, c.dk, of_delta, "dk");
    expect_gradients(actual.dv, cpu.dv, c.dv, 0, "dv");
  }

 private:
  static constexpr double kMost = 2;  // of the operands

  struct Data {
    explicit Data(const AttentionCase& of)
        : c(of),
          q(values(c.shape.q, 1)),
          k(values(c.shape.k, 2, c.rows)),
          v(values(c.shape.v, 3, c.rows)),
          dout(values(c.shape.out, 4)),
          keep(random_keep(c.keep ? mask_elements(c.shape, c.shape.keep_strides) : 0)),
          rows(random_integers(c.rows ? c.shape.B * rows_stride() : 0, 0, kCached)) {}
    Halves values(const HeadLayout& layout, uint32_t seed, bool cached = false) const {
      return random_values<BFloat16>((cached ? kCached : c.shape.B) * layout.batch, seed, -kMost, kMost);
    }
    int64_t rows_stride() const { return c.shape.Tk + 2; }

    static constexpr int64_t kCached = 5;  // batch elements of a cache
    const AttentionCase& c;
    Halves q, k, v, dout;
    Array<uint8_t> keep;
    Array<int64_t> rows;
  };

  /// The error of delta in dq and dk, as the root of a sum of squares. delta is a sum over the rounded outputs, and is
  /// subtracted from each score's gradient, so that the scale times a weighted mean of keys, or of queries, is wrong by
  /// it. That is more than other errors where softmax is almost 1 for one key, as with few keys, and most of a gradient
  /// cancels.
  static double error_of_delta(const Data& data, const AttentionValues& cpu) {
    const AttentionShape& s = data.c.shape;
    double sum = 0;
    for (size_t i = 0; i < cpu.out.size(); ++i) {
      if (cpu.out[i] == kUntouched) continue;
      const double term = static_cast<double>(data.dout[i]) * static_cast<double>(cpu.out[i]);
      sum += term * term;
    }
    const double rms = kMost / std::sqrt(3.0);  // of operands
    return kRounding * std::abs(s.scale) * rms * std::sqrt(static_cast<double>(s.D) * sum);
  }
  /// A gradient is a sum of products with p or ds, which are rounded, and is rounded itself: errors of both signs,
  /// which together are 0.4 sqrt(2) kRounding of the gradient, as root mean squares, plus the error of delta. A single
  /// element can be off by a few times that.
  static void expect_gradients(const Array<float>& actual, const Array<float>& cpu, bool asked, double of_delta,
                               const char* what) {
    if (!asked) return expect_same_bits(actual, Array<float>(actual.size(), kUntouched), what);
    // What is 0 because terms cancel has the errors of sums in f32.
    constexpr double kOfSums = 1e-5;
    double size = 0, error = 0, norm = 0;
    for (size_t i = 0; i < cpu.size(); ++i) {
      if (cpu[i] == kUntouched) continue;
      const double x = static_cast<double>(cpu[i]), difference = static_cast<double>(actual[i]) - x;
      size = std::max(size, std::abs(x));
      error += difference * difference;
      norm += x * x;
    }
    expect_close(actual, cpu, what, size + (of_delta + kOfSums) / kRounding, 2 * kRounding);
    EXPECT_LE(std::sqrt(error), cuda_device::test_tolerance(kRounding * std::sqrt(norm) + of_delta + kOfSums)) << what;
  }

  AttentionValues on_cpu(const Data& data) {
    const AttentionShape& s = data.c.shape;
    const Array<float> q = widened(data.q), k = widened(data.k), v = widened(data.v), dout = widened(data.dout);
    const AttentionOperands<float> in{.q = q.data(),
                                      .k = k.data(),
                                      .v = v.data(),
                                      .keep = data.c.keep ? flags(data.keep.data()) : nullptr,
                                      .rows = data.c.rows ? data.rows.data() : nullptr,
                                      .rows_stride = data.rows_stride()};
    AttentionValues y = untouched(data);
    attention<float>().forward(s, in, {.out = y.out.data(), .highest = y.highest.data(), .inverse = y.inverse.data()});
    if (data.c.rows) return y;  // for inference only
    attention<float>().backward(s, in,
                                {.highest = y.highest.data(),
                                 .inverse = y.inverse.data(),
                                 .dout = dout.data(),
                                 .dq = data.c.dq ? y.dq.data() : nullptr,
                                 .dk = data.c.dk ? y.dk.data() : nullptr,
                                 .dv = data.c.dv ? y.dv.data() : nullptr});
    return y;
  }
  AttentionValues on_gpu(const Data& data) {
    const AttentionShape& s = data.c.shape;
    const AttentionValues start = untouched(data);
    const auto rounded = [](const Array<float>& x) { return Halves(x.begin(), x.end()); };
    AttentionValues y;
    const auto all = on_device([&] {
      const DeviceArray<BFloat16> q(data.q), k(data.k), v(data.v), dout(data.dout), out(rounded(start.out)),
          dq(rounded(start.dq)), dk(rounded(start.dk)), dv(rounded(start.dv));
      const DeviceArray<uint8_t> keep(data.keep);
      const DeviceArray<int64_t> rows(data.rows);
      const DeviceArray<float> highest(start.highest), inverse(start.inverse);
      const AttentionOperands<BFloat16> in{.q = q.constant(),
                                           .k = k.constant(),
                                           .v = v.constant(),
                                           .keep = data.c.keep ? flags(keep.constant()) : nullptr,
                                           .rows = data.c.rows ? rows.constant() : nullptr,
                                           .rows_stride = data.rows_stride()};
      const AttentionKernels<BFloat16>& kernels = attention<BFloat16>(kOnDevice);
      kernels.forward(s, in, {.out = out.get(), .highest = highest.get(), .inverse = inverse.get()});
      if (!data.c.rows)
        kernels.backward(s, in,
                         {.highest = highest.constant(),
                          .inverse = inverse.constant(),
                          .dout = dout.constant(),
                          .dq = data.c.dq ? dq.get() : nullptr,
                          .dk = data.c.dk ? dk.get() : nullptr,
                          .dv = data.c.dv ? dv.get() : nullptr,
                          .out = out.constant()});
      y = {widened(out.values()), highest.values(),     inverse.values(),
           widened(dq.values()),  widened(dk.values()), widened(dv.values())};
      return joined(y);
    });
    EXPECT_EQ(all.size(), joined(y).size());
    return y;
  }
  static Array<float> joined(const AttentionValues& y) {
    Array<float> all;
    for (const Array<float>* part : {&y.out, &y.highest, &y.inverse, &y.dq, &y.dk, &y.dv})
      all.insert(all.end(), part->begin(), part->end());
    return all;
  }

  /// A value that gaps between batch elements must keep.
  static constexpr float kUntouched = 77;
  static AttentionValues untouched(const Data& data) {
    const AttentionShape& s = data.c.shape;
    const auto values = [](size_t n) { return Array<float>(n, kUntouched); };
    const auto rows = static_cast<size_t>(s.B * s.H * s.Tq);
    return {values(data.dout.size()), values(rows),          values(rows),
            values(data.q.size()),    values(data.k.size()), values(data.v.size())};
  }
};

/// As attention_case(), with a gap that keeps rows aligned.
AttentionCase aligned_case(int64_t B, int64_t kv_heads, int64_t group, int64_t Tq, int64_t Tk, int64_t D, int64_t Dv,
                           bool packed = false) {
  return attention_case(B, kv_heads, group, Tq, Tk, D, Dv, packed, 8);
}

TEST_F(CudaAttentionBf16, IsThatOfTheCpuForAllSizes) {
  using Sizes = std::array<int64_t, 4>;
  for (const auto& [Tq, Tk, D, Dv] : std::vector<Sizes>{{5, 1, 8, 8},
                                                        {16, 16, 32, 32},
                                                        {17, 33, 64, 64},
                                                        {150, 140, 64, 64},
                                                        {65, 70, 96, 96},
                                                        {33, 65, 128, 128},
                                                        {140, 37, 128, 128},
                                                        {9, 130, 40, 16},
                                                        {40, 20, 16, 72},
                                                        {20, 40, 128, 104},
                                                        {6, 0, 32, 32},
                                                        {0, 6, 32, 32}}) {
    if (Tq > 0) check(aligned_case(1, 1, 1, Tq, Tk, D, Dv));
    if (Tq > 0 && Tq < 50) check(aligned_case(2, 1, 2, Tq, Tk, D, Dv, true));
  }
  check(aligned_case(2, 3, 2, 40, 33, 24, 8, true));
}

TEST_F(CudaAttentionBf16, IsThatOfTheCpuForMasks) {
  for (const int64_t Tq : {20, 140}) {
    const AttentionCase plain = aligned_case(1, 1, 2, Tq, 150, 32, 16);
    // Causal, shifted to the last keys, to the first ones only, and windows; some queries see no key, and of some
    // tiles of 32 all elements but one are visible, or only one.
    for (const auto& [first, causal] : std::vector<std::pair<int64_t, int64_t>>{{-kNotCausal, 0},
                                                                                {-kNotCausal, 150 - Tq},
                                                                                {-kNotCausal, -4},
                                                                                {-5, 0},
                                                                                {-2, 3},
                                                                                {-kNotCausal, 30},
                                                                                {-30, kNotCausal},
                                                                                {-kNotCausal, 1},
                                                                                {-1, kNotCausal},
                                                                                {120, kNotCausal},
                                                                                {1, 0}}) {
      AttentionCase c = plain;
      c.shape.first_offset = first;
      c.shape.causal_offset = causal;
      check(c);
    }
  }
  for (const int axes : {0b1000, 0b1001, 0b1100, 0b1111, 0b0000, 0b0101}) {
    AttentionCase c = aligned_case(2, 2, 1, 20, 70, 32, 24);
    c.keep = true;
    set_strides(c.shape, axes, c.shape.keep_strides);
    check(c);
  }
}

TEST_F(CudaAttentionBf16, TakesAnyScale) {
  for (const double scale : {0.0, -0.3, 2.0}) {
    AttentionCase c = aligned_case(1, 1, 1, 40, 70, 64, 64);
    c.shape.scale = scale;
    check(c);
    c.shape.causal_offset = -2;  // the first two queries see no key
    check(c);
  }
}

TEST_F(CudaAttentionBf16, DropsTheProbabilitiesThatTheCpuDrops) {
  for (const double rate : {0.1, 0.5, 1.0})
    for (const int64_t Tq : {6, 37})
      for (const int64_t Tk : {35, 72}) {
        AttentionCase c = aligned_case(2, 1, 2, Tq, Tk, 32, 8);
        c.shape.dropout = rate;
        check(c);
        c.shape.counter = ~uint64_t{0} - 20;
        check(c);
      }
  for (const int64_t width : {64, 128}) {
    AttentionCase c = aligned_case(1, 1, 1, 70, 66, width, width);
    c.shape.dropout = 0.3;
    c.shape.causal_offset = 0;
    check(c);
  }
}

TEST_F(CudaAttentionBf16, IsThatOfTheCpuForFewQueries) {
  for (const int64_t Tq : {1, 3, 4})
    for (const int64_t Tk : {1, 6, 300})
      for (const int64_t width : {8, 40, 128}) {
        AttentionCase c = aligned_case(2, 2, Tq == 1 ? 2 : 1, Tq, Tk, width, 128 - width + 8, true);
        c.shape.causal_offset = Tk - Tq;
        check(c);
        c.rows = true;
        check(c);
      }
}

TEST_F(CudaAttentionBf16, SkipsGradientsThatAreNotAskedFor) {
  for (int asked = 0; asked < 8; ++asked) {
    AttentionCase c = aligned_case(1, 1, 2, 20, 37, 32, 32);
    c.dq = asked & 1, c.dk = asked & 2, c.dv = asked & 4;
    check(c);
  }
}

TEST_F(CudaAttentionBf16, IsThatOfTheCpuForRandomOptions) {
  std::mt19937 engine(2024);
  const auto pick = [&](std::vector<int64_t> values) { return values[engine() % values.size()]; };
  for (int trial = 0; trial < 20; ++trial) {
    const int64_t Tk = pick({1, 5, 16, 33, 70, 129});
    AttentionCase c = aligned_case(pick({1, 1, 2}), pick({1, 1, 2}), pick({1, 1, 2, 3}), pick({2, 5, 16, 33, 66, 131}),
                                   Tk, pick({8, 16, 32, 40, 72}), pick({8, 16, 32, 40, 72}), engine() % 2);
    AttentionShape& s = c.shape;
    if (engine() % 2) s.causal_offset = pick({0, Tk - s.Tq, -3, 7});
    if (engine() % 3 == 0) s.first_offset = pick({-4, -20, Tk - s.Tq - 9, 2});
    c.keep = engine() % 3 == 0;
    set_strides(s, static_cast<int>(engine() % 16), s.keep_strides);
    s.dropout = engine() % 2 ? 0.3 : 0;
    s.scale = engine() % 4 ? s.scale : -s.scale;
    c.dq = engine() % 4, c.dk = engine() % 4, c.dv = engine() % 4;
    check(c);
  }
}

}  // namespace
}  // namespace tape::kernels
