#include "autograd/kernels/convolution/common/convolution.h"

#include <algorithm>

#include "autograd/kernels/convolution/depthwise.h"
#include "autograd/kernels/convolution/im2col.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/kernels/runtime/common/work.h"
#include "autograd/kernels/runtime/level.h"

namespace tape::kernels {
namespace {

using TAPE_LEVEL::ceil_div, TAPE_LEVEL::Scratch;

/// Counts a convolution's flops once, instead of those of its products, which depend on the threads that run them.
class CountFlopsOnce {
 public:
  explicit CountFlopsOnce(const Convolution& s)
      : after_(flop_counter() + 2 * static_cast<double>(s.batch * s.groups * s.out_channels) *
                                    static_cast<double>(s.in_channels * s.windows.taps() * s.windows.out())) {}
  ~CountFlopsOnce() { flop_counter() = after_; }
  CountFlopsOnce(const CountFlopsOnce&) = delete;
  CountFlopsOnce& operator=(const CountFlopsOnce&) = delete;

 private:
  double after_;
};

/// Runs a few tasks one after the other, each product using all threads; many tasks run in parallel.
template <class Body>
void for_products(int64_t tasks, double multiplications, const Body& body) {
  constexpr int64_t kFew = 4;
  constexpr double kLittle = 1e5;
  if (tasks >= kFew && multiplications > kLittle) return run_tasks(tasks, body);
  for (int64_t task = 0; task < tasks; ++task) body(task);
}

/// Sizes of a convolution and its blocks.
template <class T>
struct Plan {
  explicit Plan(const Convolution& s)
      : depth(s.in_channels * s.windows.taps()),
        places(s.windows.out()),
        direct(s.windows.are_each_value()),
        width(width_for(depth, places)),
        blocks(ceil_div(places, width)),
        multiplications(static_cast<double>(s.batch * s.groups * s.out_channels) * static_cast<double>(depth) *
                        static_cast<double>(places)) {}

  /// Number of windows whose columns of `rows` values fit in the L2 cache during a product.
  static int64_t width_for(int64_t rows, int64_t places) {
    constexpr int64_t kBytes = 1 << 18, kPanel = 64;
    const int64_t most = std::max(kPanel, kBytes / (rows * static_cast<int64_t>(sizeof(T))) / kPanel * kPanel);
    return std::clamp<int64_t>(ceil_div(ceil_div(places, ceil_div(places, most)), kPanel) * kPanel, 1, places);
  }
  int64_t count(int64_t block) const { return std::min(width, places - block * width); }

  int64_t depth, places;
  bool direct;  // whether the columns are x itself
  int64_t width, blocks;
  double multiplications;
};

/// The columns of one block of windows: their address and row stride.
template <class T>
struct Columns {
  const T* values;
  int64_t stride;
};

/// `image` holds one group's channels of one batch element.
template <class T>
Columns<T> columns_of(const Convolution& s, const Plan<T>& plan, const T* image, int64_t block,
                      const Scratch<T>& room) {
  if (plan.direct) return {image + block * plan.width, plan.places};
  im2col<T>().im2col(s.windows, s.in_channels, image, block * plan.width, plan.count(block), room.data());
  return {room.data(), plan.count(block)};
}

Depthwise depthwise_of(const Convolution& s) { return {s.batch, s.groups, s.out_channels, s.windows}; }

/// Size of an axis including the border that its windows read.
double bordered(const Window& w) {
  return static_cast<double>(w.in + w.out) + static_cast<double>(w.out) * static_cast<double>(w.stride) +
         static_cast<double>(w.kernel) * static_cast<double>(w.dilation);
}

/// Whether to use the depthwise loops: each group has one input channel, there is more than one group (a single group's
/// product has enough rows), and the padding of planes, which the loops write out, is not disproportionate.
bool is_depthwise(const Convolution& s) {
  constexpr double kMost = 1 << 14, kTimes = 64;
  const double values = bordered(s.windows.rows) * bordered(s.windows.columns);
  return s.in_channels == 1 && s.groups > 1 &&
         values <= kMost + kTimes * static_cast<double>(s.windows.in() + s.windows.out());
}

template <class T>
void forward(const Convolution& s, const T* x, const T* weight, const T* bias, T* y) {
  const CountFlopsOnce counted(s);
  if (is_depthwise(s)) return depthwise<T>().forward(depthwise_of(s), x, weight, bias, y);
  const Plan<T> plan(s);
  for_products(s.batch * s.groups * plan.blocks, plan.multiplications, [&](int64_t task) {
    const int64_t image = task / plan.blocks, block = task % plan.blocks, group = image % s.groups;
    const Scratch<T> room(plan.direct ? 1 : plan.depth * plan.width);
    const Columns<T> columns = columns_of(s, plan, x + image * s.in_channels * s.windows.in(), block, room);
    const int64_t count = plan.count(block);
    T* const to = y + image * s.out_channels * plan.places + block * plan.width;
    if (bias)
      for (int64_t o = 0; o < s.out_channels; ++o)
        std::fill_n(to + o * plan.places, count, bias[group * s.out_channels + o]);
    gemm({.m = s.out_channels,
          .n = count,
          .k = plan.depth,
          .lda = plan.depth,
          .ldb = columns.stride,
          .ldc = plan.places,
          .accumulate = bias != nullptr,
          .precision = s.precision},
         weight + group * s.out_channels * plan.depth, columns.values, to);
  });
}

/// Number of channels whose gradients are computed together: about as many rows of a product.
int64_t channels_together(const Convolution& s) {
  constexpr int64_t kRows = 512;
  const int64_t most = std::max<int64_t>(1, kRows / s.windows.taps());
  return ceil_div(s.in_channels, ceil_div(s.in_channels, most));
}

template <class T>
void input_gradient(const Convolution& s, const T* weight, const T* dy, T* dx) {
  const CountFlopsOnce counted(s);
  if (is_depthwise(s)) return depthwise<T>().input_gradient(depthwise_of(s), weight, dy, dx);
  const Plan<T> plan(s);
  const int64_t taps = s.windows.taps(), together = channels_together(s), in = s.windows.in();
  const int64_t parts = ceil_div(s.in_channels, together);
  const int64_t width = plan.direct ? plan.places : Plan<T>::width_for(together * taps, plan.places);
  for_products(s.batch * s.groups * parts, plan.multiplications, [&](int64_t task) {
    const int64_t image = task / parts, channel = task % parts * together;
    const int64_t channels = std::min(together, s.in_channels - channel);
    const Scratch<T> room(plan.direct ? 1 : together * taps * width);
    T* const to = dx + (image * s.in_channels + channel) * in;
    if (!plan.direct) std::fill_n(to, channels * in, T(0));
    for (int64_t first = 0; first < plan.places; first += width) {
      const int64_t count = std::min(width, plan.places - first);
      gemm({.transpose_a = true,
            .m = channels * taps,
            .n = count,
            .k = s.out_channels,
            .lda = plan.depth,
            .ldb = plan.places,
            .ldc = count,
            .precision = s.precision},
           weight + image % s.groups * s.out_channels * plan.depth + channel * taps,
           dy + image * s.out_channels * plan.places + first, plan.direct ? to : room.data());
      if (!plan.direct) im2col<T>().col2im(s.windows, channels, room.data(), first, count, to);
    }
  });
}

/// Number of partial sums of a weight gradient: enough to occupy threads, fewer if the gradient itself is large.
int64_t sums_of(int64_t units, int64_t values) {
  constexpr int64_t kMost = 8, kValues = 1 << 21;
  return std::clamp<int64_t>(std::min(kValues / std::max<int64_t>(values, 1), units), 1, kMost);
}

template <class T>
void weight_gradient(const Convolution& s, const T* x, const T* dy, T* dweight) {
  const CountFlopsOnce counted(s);
  if (is_depthwise(s)) return depthwise<T>().weight_gradient(depthwise_of(s), x, dy, dweight);
  const Plan<T> plan(s);
  const int64_t own = s.out_channels * plan.depth, all = s.groups * own, units = s.batch * plan.blocks;
  if (units == 0) return void(std::fill_n(dweight, all, T(0)));
  const int64_t sums = sums_of(units, all);
  const Scratch<T> partial(sums > 1 ? (sums - 1) * all : 1);
  const auto place = [&](int64_t sum) { return sum == 0 ? dweight : partial.data() + (sum - 1) * all; };
  for_products(s.groups * sums, plan.multiplications, [&](int64_t task) {
    const int64_t group = task % s.groups, sum = task / s.groups;
    const int64_t begin = units * sum / sums, end = units * (sum + 1) / sums;
    const Scratch<T> room(plan.direct ? 1 : plan.depth * plan.width);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / plan.blocks * s.groups + group, block = unit % plan.blocks;
      const Columns<T> columns = columns_of(s, plan, x + image * s.in_channels * s.windows.in(), block, room);
      gemm({.transpose_b = true,
            .m = s.out_channels,
            .n = plan.depth,
            .k = plan.count(block),
            .lda = plan.places,
            .ldb = columns.stride,
            .ldc = plan.depth,
            .accumulate = unit > begin,
            .precision = s.precision},
           dy + image * s.out_channels * plan.places + block * plan.width, columns.values, place(sum) + group * own);
    }
  });
  for (int64_t sum = 1; sum < sums; ++sum) {
    const T* const from = place(sum);
    for (int64_t i = 0; i < all; ++i) dweight[i] += from[i];
  }
}

/// The sum of dy of each channel, whose values are first gathered into one row.
template <class T>
void bias_gradient(const Convolution& s, const T* dy, T* dbias) {
  const int64_t channels = s.groups * s.out_channels, places = s.windows.out();
  run_tasks(channels, [&](int64_t channel) {
    const Scratch<T> row(s.batch * places);
    for (int64_t n = 0; n < s.batch; ++n)
      std::copy_n(dy + (n * channels + channel) * places, places, row.data() + n * places);
    reduce<T>().sum(1, s.batch * places, 1, row.data(), dbias + channel);
  });
}

template <class T>
void backward(const Convolution& s, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias) {
  if (dx) input_gradient(s, weight, dy, dx);
  if (dweight) weight_gradient(s, x, dy, dweight);
  if (dbias) bias_gradient(s, dy, dbias);
}

template <class T>
void weight_gradients(const Convolution& s, int64_t samples, const T* x, const T* dy, T* dweights) {
  const int64_t in = s.batch * s.groups * s.in_channels * s.windows.in();
  const int64_t out = s.batch * s.groups * s.out_channels * s.windows.out();
  const int64_t own = s.groups * s.out_channels * s.in_channels * s.windows.taps();
  run_tasks(samples, [&](int64_t b) { weight_gradient(s, x + b * in, dy + b * out, dweights + b * own); });
}
}  // namespace

namespace common {
TAPE_DEFINE_TABLES(ConvolutionKernels, convolution, forward<T>, backward<T>, weight_gradients<T>)
}  // namespace common

}  // namespace tape::kernels
