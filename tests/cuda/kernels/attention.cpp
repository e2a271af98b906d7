#include "autograd/kernels/attention/attention.h"

#include "autograd/cuda/kernels/attention/attention_shape.h"
#include "tests/cuda/kernels/attention_case.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;
using namespace attention_cases;

template <class T>
class CudaAttention : public KernelTest<T> {
 protected:
  void check(const AttentionCase& c) {
    check_call(c);
    if (c.shape.Tq > AttentionParts::kMostQueries || !c.for_backward) return;
    AttentionCase inference = c;
    inference.for_backward = inference.probabilities = false;
    check_call(inference);
  }

 private:
  static constexpr double kTolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12;

  void check_call(const AttentionCase& c) {
    SCOPED_TRACE(text(c));
    const AttentionShape& s = c.shape;
    const Data data(c);
    const size_t rows = static_cast<size_t>(s.B * s.H * s.Tq), scores = rows * static_cast<size_t>(s.Tk);
    const size_t outputs = static_cast<size_t>(s.B * s.out.batch);
    // Values that no gap between batch elements may lose.
    Array<T> out(outputs, T(7)), highest(rows, T(7)), inverse(rows, T(7)), probabilities(scores, T(7));
    const auto forward = [&](const AttentionKernels<T>& kernels, const AttentionOperands<T>& in, T* to, T* most, T* sum,
                             T* p) {
      kernels.forward(s, in,
                      {.out = to,
                       .highest = most,
                       .inverse = sum,
                       .probabilities = c.probabilities ? p : nullptr,
                       .for_backward = c.for_backward});
    };
    forward(attention<T>(), data.on_host(), out.data(), highest.data(), inverse.data(), probabilities.data());
    const auto forward_there = this->on_device([&] {
      const DeviceData there(data);
      const DeviceArray<T> to(Array<T>(outputs, T(7))), most(Array<T>(rows, T(7))), sum(most.values()),
          p(Array<T>(scores, T(7)));
      forward(attention<T>(kOnDevice), there.operands(), to.get(), most.get(), sum.get(), p.get());
      return joined(to.values(), most.values(), sum.values(), p.values());
    });
    expect_close(forward_there, joined(out, highest, inverse, probabilities), "out, highest, inverse, probabilities", 1,
                 kTolerance);
    if (!c.for_backward) return;
    const auto backward = [&](const AttentionKernels<T>& kernels, const AttentionOperands<T>& in, const T* most,
                              const T* sum, const T* dout, const T* dp, T* dq, T* dk, T* dv, T* dadditive) {
      kernels.backward(s, in,
                       {.highest = most,
                        .inverse = sum,
                        .dout = dout,
                        .dprobabilities = c.dprobabilities ? dp : nullptr,
                        .dq = c.dq ? dq : nullptr,
                        .dk = c.dk ? dk : nullptr,
                        .dv = c.dv ? dv : nullptr,
                        .dadditive = c.dadditive ? dadditive : nullptr});
    };
    Array<T> dq(data.q.size(), T(7)), dk(data.k.size(), T(7)), dv(data.v.size(), T(7)), dadditive(scores, T(7));
    backward(attention<T>(), data.on_host(), highest.data(), inverse.data(), data.dout.data(), data.dp.data(),
             dq.data(), dk.data(), dv.data(), dadditive.data());
    const auto backward_there = this->on_device([&] {
      const DeviceData there(data);
      const DeviceArray<T> most(highest), sum(inverse), dout(data.dout), dp(data.dp);
      const DeviceArray<T> q(Array<T>(data.q.size(), T(7))), k(Array<T>(data.k.size(), T(7))),
          v(Array<T>(data.v.size(), T(7))), mask(Array<T>(scores, T(7)));
      backward(attention<T>(kOnDevice), there.operands(), most.constant(), sum.constant(), dout.constant(),
               dp.constant(), q.get(), k.get(), v.get(), mask.get());
      return joined(q.values(), k.values(), v.values(), mask.values());
    });
    double size = 1;
    for (const auto& gradient : {dq, dk, dv})
      for (const T value : gradient) size = std::max(size, std::abs(static_cast<double>(value)));
    expect_close(backward_there, joined(dq, dk, dv, dadditive), "dq, dk, dv, dadditive", size, kTolerance);
  }

  template <class... More>
  static Array<T> joined(Array<T> first, const More&... more) {
    (first.insert(first.end(), more.begin(), more.end()), ...);
    return first;
  }

  /// The operands of both passes.
  struct Data {
    explicit Data(const AttentionCase& of)
        : c(of),
          q(random_values<T>(c.shape.B * c.shape.q.batch, 1)),
          k(random_values<T>((c.rows ? kCached : c.shape.B) * c.shape.k.batch, 2)),
          v(random_values<T>((c.rows ? kCached : c.shape.B) * c.shape.v.batch, 3)),
          dout(random_values<T>(c.shape.B * c.shape.out.batch, 4)),
          dp(random_values<T>(c.shape.B * c.shape.H * c.shape.Tq * c.shape.Tk, 5)),
          additive(random_values<T>(c.additive ? mask_elements(c.shape, c.shape.additive_strides) : 0, 6)),
          keep(random_keep(c.keep ? mask_elements(c.shape, c.shape.keep_strides) : 0)) {
      for (size_t i = 0; i < additive.size(); i += 11) additive[i] = static_cast<T>(-kInf);
      if (!c.rows) return;
      rows.resize(static_cast<size_t>(c.shape.B * (c.shape.Tk + 2)));
      std::mt19937 engine(8);
      for (int64_t& row : rows) row = static_cast<int64_t>(engine() % kCached);
    }
    AttentionOperands<T> on_host() const {
      return {.q = q.data(),
              .k = k.data(),
              .v = v.data(),
              .keep = c.keep ? reinterpret_cast<const bool*>(keep.data()) : nullptr,
              .additive = c.additive ? additive.data() : nullptr,
              .rows = c.rows ? rows.data() : nullptr,
              .rows_stride = c.shape.Tk + 2};
    }

    static constexpr int64_t kCached = 5;  // batch elements of a cache
    const AttentionCase& c;
    Array<T> q, k, v, dout, dp, additive;
    Array<uint8_t> keep;
    Array<int64_t> rows;
  };
  struct DeviceData {
    explicit DeviceData(const Data& data)
        : of(data), q(data.q), k(data.k), v(data.v), additive(data.additive), keep(data.keep), rows(data.rows) {}
    AttentionOperands<T> operands() const {
      return {.q = q.constant(),
              .k = k.constant(),
              .v = v.constant(),
              .keep = of.c.keep ? reinterpret_cast<const bool*>(keep.constant()) : nullptr,
              .additive = of.c.additive ? additive.constant() : nullptr,
              .rows = of.c.rows ? rows.constant() : nullptr,
              .rows_stride = of.c.shape.Tk + 2};
    }
    const Data& of;
    const DeviceArray<T> q, k, v, additive;
    const DeviceArray<uint8_t> keep;
    const DeviceArray<int64_t> rows;
  };
};
TYPED_TEST_SUITE(CudaAttention, BothTypes);

TYPED_TEST(CudaAttention, IsThatOfTheCpuForAllSizes) {
  using Sizes = std::array<int64_t, 4>;
  for (const auto& [Tq, Tk, D, Dv] : std::vector<Sizes>{{1, 1, 1, 1},
                                                        {16, 16, 8, 8},
                                                        {17, 31, 33, 5},
                                                        {5, 64, 40, 64},
                                                        {65, 70, 20, 24},
                                                        {70, 3, 7, 40},
                                                        {9, 11, 300, 129},
                                                        {6, 40, 140, 150},
                                                        {3, 270, 256, 200},
                                                        {3, 9, 128, 100},
                                                        {2, 9, 257, 2},
                                                        {0, 5, 4, 4},
                                                        {5, 0, 4, 4},
                                                        {5, 6, 0, 4},
                                                        {5, 6, 4, 0},
                                                        {2, 6, 0, 0},
                                                        {1, 0, 3, 2}}) {
    this->check(attention_case(1, 1, 1, Tq, Tk, D, Dv));
    if (Tk < 32) this->check(attention_case(2, 1, 2, Tq, Tk, D, Dv, true));
  }
  this->check(attention_case(2, 3, 2, 40, 33, 6, 7, true));
  this->check(attention_case(0, 2, 1, 5, 6, 4, 4));
}

TYPED_TEST(CudaAttention, IsThatOfTheCpuForMasks) {
  for (const int64_t Tq : {3, 20, 70}) {
    const AttentionCase plain = attention_case(1, 2, 1, Tq, 75, 5, 6);
    // Causal, shifted to the last keys, to the first ones only, and windows; some queries see no key.
    for (const auto& [first, causal] : std::vector<std::pair<int64_t, int64_t>>{
             {-kNotCausal, 0}, {-kNotCausal, 75 - Tq}, {-kNotCausal, -4}, {-5, 0}, {-2, 3}, {60, kNotCausal}, {1, 0}}) {
      AttentionCase c = plain;
      c.shape.first_offset = first;
      c.shape.causal_offset = causal;
      this->check(c);
    }
  }
  for (const int64_t Tq : {3, 20})
    for (const int axes : {0b1000, 0b1001, 0b1100, 0b1111, 0b0000, 0b0101}) {
      AttentionCase c = attention_case(2, 2, 1, Tq, 35, 5, 6);
      c.keep = true;
      set_strides(c.shape, axes, c.shape.keep_strides);
      this->check(c);
      c.keep = false;
      c.additive = true;
      set_strides(c.shape, axes, c.shape.additive_strides);
      this->check(c);
    }
}

TYPED_TEST(CudaAttention, DropsTheProbabilitiesThatTheCpuDrops) {
  for (const double rate : {0.1, 0.5, 1.0})
    for (const int64_t Tq : {2, 16, 67}) {
      AttentionCase c = attention_case(2, 1, 2, Tq, 35, 8, 4);
      c.shape.dropout = rate;
      this->check(c);
      c.dprobabilities = true;
      c.shape.counter = ~uint64_t{0} - 20;
      this->check(c);
    }
}

TYPED_TEST(CudaAttention, ReadsTheRowsOfACache) {
  for (const int64_t Tq : {1, 2, 4})
    for (const int64_t Tk : {1, 6, 300}) {
      AttentionCase c = attention_case(3, 2, Tq == 2 ? 2 : 1, Tq, Tk, 9, 10, true);
      c.rows = true;
      c.for_backward = false;
      this->check(c);
      c.probabilities = false;
      c.shape.causal_offset = Tk - Tq;
      this->check(c);
    }
}

TYPED_TEST(CudaAttention, SkipsGradientsThatAreNotAskedFor) {
  for (int asked = 0; asked < 16; ++asked) {
    AttentionCase c = attention_case(1, 1, 2, 20, 37, 6, 5);
    c.dq = asked & 1, c.dk = asked & 2, c.dv = asked & 4, c.dadditive = asked & 8;
    this->check(c);
  }
}

TYPED_TEST(CudaAttention, IsThatOfTheCpuForRandomOptions) {
  std::mt19937 engine(2024);
  const auto pick = [&](std::vector<int64_t> values) { return values[engine() % values.size()]; };
  for (int trial = 0; trial < 30; ++trial) {
    const int64_t Tk = pick({1, 5, 16, 33, 70});
    AttentionCase c =
        attention_case(pick({1, 1, 2}), pick({1, 1, 2}), pick({1, 1, 2, 3}), pick({1, 2, 4, 5, 16, 33, 66}), Tk,
                       pick({1, 4, 8, 17, 40}), pick({1, 4, 8, 17, 40}), engine() % 2);
    AttentionShape& s = c.shape;
    if (engine() % 2) s.causal_offset = pick({0, Tk - s.Tq, -3, 7});
    if (engine() % 3 == 0) s.first_offset = pick({-4, -20, Tk - s.Tq - 9, 2});
    c.keep = engine() % 3 == 0;
    set_strides(s, static_cast<int>(engine() % 16), s.keep_strides);
    c.additive = engine() % 3 == 0;
    set_strides(s, static_cast<int>(engine() % 16), s.additive_strides);
    s.dropout = engine() % 2 ? 0.3 : 0;
    c.dprobabilities = engine() % 2;
    c.probabilities = engine() % 2;
    c.rows = s.Tq * s.group <= kFewQueries && engine() % 2;
    c.for_backward = !c.rows;
    c.dq = engine() % 4, c.dk = engine() % 4, c.dv = engine() % 4, c.dadditive = c.additive && engine() % 2;
    this->check(c);
  }
}

}  // namespace
}  // namespace tape::kernels
