#include "autograd/kernels/norm/channel_norm.h"

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class ChannelNorm : public EveryLevel {};

std::vector<ChannelPlanes> all_planes() {
  std::vector<ChannelPlanes> all;
  for (const auto numbers : {ChannelPlanes::Numbers::of_plane, ChannelPlanes::Numbers::of_channel})
    for (const int64_t size : {1, 2, 17, 300})
      for (const int64_t outer : {0, 1, 7, 700})
        for (const int64_t channels : {1, 20})
          if (outer * size < 30000) all.push_back({outer, channels, size, numbers});
  return all;
}

template <class T>
void check_planes() {
  for (const ChannelPlanes& s : all_planes()) {
    const bool per_plane = s.numbers == ChannelPlanes::Numbers::of_plane;
    const int64_t n = s.outer * s.channels * s.size, numbers = per_plane ? s.outer * s.channels : s.channels;
    const std::vector<T> x = random_values<T>(n, 1), dy = random_values<T>(n, 2), mean = random_values<T>(numbers, 3),
                         scale = random_values<T>(numbers, 4), shift = random_values<T>(numbers, 5),
                         slope = random_values<T>(numbers, 6);
    std::vector<T> y(x.size()), dx(x.size()), dy_sum(mean.size(), T(9)), product_sum(mean.size(), T(9));
    const ChannelNormKernels<T>& table = channel_norm<T>();
    table.apply(s, x.data(), mean.data(), scale.data(), shift.data(), y.data());
    table.sums(s, x.data(), mean.data(), dy.data(), dy_sum.data(), product_sum.data());
    table.gradient(s, x.data(), mean.data(), dy.data(), scale.data(), slope.data(), shift.data(), dx.data());
    std::vector<double> wanted_y, wanted_dx, wanted_sum(mean.size()), wanted_product(mean.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t plane = static_cast<int64_t>(i) / s.size;
      const size_t k = static_cast<size_t>(per_plane ? plane : plane % s.channels);
      const double centered = static_cast<double>(x[i]) - static_cast<double>(mean[k]), g = static_cast<double>(dy[i]),
                   a = static_cast<double>(scale[k]), b = static_cast<double>(shift[k]);
      wanted_y.push_back(centered * a + b);
      wanted_dx.push_back(g * a + centered * static_cast<double>(slope[k]) + b);
      wanted_sum[k] += g;
      wanted_product[k] += g * centered;
    }
    expect_close(y, wanted_y, tolerance<T>(2e-6, 1e-14), "y");
    expect_close(dx, wanted_dx, tolerance<T>(3e-6, 1e-14), "dx");
    expect_close(dy_sum, wanted_sum, tolerance<T>(3e-4, 1e-12), "sum of dy");
    expect_close(product_sum, wanted_product, tolerance<T>(3e-4, 1e-12), "sum of products");
  }
}

TEST_P(ChannelNorm, passes_are_their_formulas) {
  check_planes<float>();
  check_planes<double>();
}

TEST_P(ChannelNorm, same_bits_for_every_number_of_threads) {
  for (const ChannelPlanes& s : {ChannelPlanes{3000, 20, 1}, ChannelPlanes{300, 20, 17}}) {
    const int64_t n = s.outer * s.channels * s.size;
    const std::vector<float> x = random_values<float>(n, 1), dy = random_values<float>(n, 2), mean(20, 0.5F);
    expect_same_bits([&] {
      std::vector<float> sums(40);
      channel_norm<float>().sums(s, x.data(), mean.data(), dy.data(), sums.data(), sums.data() + 20);
      return sums;
    });
  }
}

TAPE_EVERY_LEVEL(ChannelNorm);

}  // namespace
}  // namespace tape::kernels::testing
