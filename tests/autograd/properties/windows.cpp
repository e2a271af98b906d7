// Windows over sequences and planes: loops over the definition.

#include <algorithm>
#include <cmath>

#include "autograd/ops/convolution/convolution.h"
#include "autograd/ops/convolution/pooling.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// One axis and its windows, of which at least one fits.
struct DrawnAxis {
  DrawnAxis() = default;  ///< a single value
  DrawnAxis(Draw& draw, bool pools) {
    kernel = draw.between(1, 4);
    stride = draw.chance(0.5) ? 1 : draw.between(1, 4);
    dilation = draw.chance(0.6) ? 1 : draw.between(1, 3);
    padding = draw.chance(0.5) ? 0 : draw.between(0, pools ? kernel / 2 : 4);
    const int64_t reach = (kernel - 1) * dilation + 1;
    // Long enough that every window contains a value.
    size = std::max<int64_t>(1, reach - padding) + draw.between(0, draw.chance(0.15) ? 40 : 4);
    out = (size + 2 * padding - reach) / stride + 1;
  }
  /// Position of value k of window i.
  int64_t place(int64_t i, int64_t k) const { return i * stride - padding + k * dilation; }
  bool inside(int64_t i, int64_t k) const { return place(i, k) >= 0 && place(i, k) < size; }

  int64_t kernel = 1, stride = 1, dilation = 1, padding = 0, size = 1, out = 1;
};

/// x with one or two spatial axes, with or without a batch axis.
struct DrawnWindows {
  DrawnWindows(Draw& draw, int64_t axes_, bool pools, int64_t channels_) : axes(axes_), channels(channels_) {
    if (draw.chance(0.8)) batch = draw.chance(0.05) ? 0 : draw.between(1, 3);
    if (axes == 2) rows = DrawnAxis(draw, pools);
    columns = DrawnAxis(draw, pools);
  }
  Shape shape(int64_t own_channels, const int64_t DrawnAxis::*size) const {
    std::vector<int64_t> sizes;
    if (batch >= 0) sizes.push_back(batch);
    sizes.push_back(own_channels);
    if (axes == 2) sizes.push_back(rows.*size);
    sizes.push_back(columns.*size);
    return sizes;
  }
  SpatialSizes both(const int64_t DrawnAxis::*size) const {
    return axes == 1 ? SpatialSizes({columns.*size}) : SpatialSizes({rows.*size, columns.*size});
  }
  /// value(n, c, i, j) of each element of y.
  template <class Value>
  Array outputs(int64_t own_channels, const Value& value) const {
    Array y = zeros_of(shape(own_channels, &DrawnAxis::out));
    double* to = y.data();
    for (int64_t n = 0; n < std::abs(batch); ++n)
      for (int64_t c = 0; c < own_channels; ++c)
        for (int64_t i = 0; i < rows.out; ++i)
          for (int64_t j = 0; j < columns.out; ++j) *to++ = value(n, c, i, j);
    return y;
  }
  /// Calls see(tap, value) for each value of window (i, j) inside the plane.
  template <class Visit>
  void window(const double* plane, int64_t i, int64_t j, const Visit& visit) const {
    for (int64_t k = 0; k < rows.kernel; ++k)
      for (int64_t l = 0; l < columns.kernel; ++l)
        if (rows.inside(i, k) && columns.inside(j, l))
          visit(k * columns.kernel + l, plane[rows.place(i, k) * columns.size + columns.place(j, l)]);
  }
  int64_t plane() const { return rows.size * columns.size; }

  int64_t axes, channels, batch = -1;  // -1: no batch axis
  DrawnAxis rows = {}, columns = {};
};

Case draw_convolution(Draw& draw, int64_t axes) {
  const DType dtype = draw.floating();
  const int64_t groups = draw.chance(0.6) ? 1 : draw.between(1, 3), in = draw.between(1, 3), out = draw.between(1, 3);
  const DrawnWindows w(draw, axes, false, groups * in);
  std::vector<int64_t> weight_shape{groups * out, in};
  if (axes == 2) weight_shape.push_back(w.rows.kernel);
  weight_shape.push_back(w.columns.kernel);
  Tensors inputs{draw.values(w.shape(w.channels, &DrawnAxis::size), dtype), draw.values(weight_shape, dtype)};
  if (draw.chance(0.5)) inputs.push_back(draw.values({groups * out}, dtype));
  const Array x = exact(inputs[0]), weight = exact(inputs[1]),
              bias = inputs.size() > 2 ? exact(inputs[2]) : zeros_of({groups * out});
  const int64_t taps = w.rows.kernel * w.columns.kernel;
  const auto part = [&](bool sizes) {
    return w.outputs(groups * out, [&](int64_t n, int64_t o, int64_t i, int64_t j) {
      double total = sizes ? std::abs(bias.data()[o]) : bias.data()[o];
      for (int64_t c = 0; c < in; ++c) {
        const double* plane = x.data() + (n * w.channels + o / out * in + c) * w.plane();
        w.window(plane, i, j, [&](int64_t tap, double value) {
          const double term = value * weight.data()[(o * in + c) * taps + tap];
          total += sizes ? std::abs(term) : term;
        });
      }
      return total;
    });
  };
  const ConvOptions options{.stride = w.both(&DrawnAxis::stride),
                            .padding = w.both(&DrawnAxis::padding),
                            .dilation = w.both(&DrawnAxis::dilation),
                            .groups = groups};
  return {.inputs = inputs,
          .call =
              [=](const Tensors& all) {
                const Tensor term = all.size() > 2 ? all[2] : Tensor();
                return axes == 1 ? conv1d(all[0], all[1], term, options) : conv2d(all[0], all[1], term, options);
              },
          .expected = part(false),
          .dtype = dtype,
          .magnitude = part(true),
          .length = in * taps + 1};
}
Case draw_conv1d(Draw& draw) { return draw_convolution(draw, 1); }
Case draw_conv2d(Draw& draw) { return draw_convolution(draw, 2); }

Case draw_max_pool(Draw& draw, int64_t axes) {
  const DType dtype = draw.floating();
  const DrawnWindows w(draw, axes, true, draw.between(1, 3));
  const Tensor x = draw.distinct(w.shape(w.channels, &DrawnAxis::size), dtype);
  const Array values = exact(x);
  const MaxPoolOptions options{.stride = w.both(&DrawnAxis::stride),
                               .padding = w.both(&DrawnAxis::padding),
                               .dilation = w.both(&DrawnAxis::dilation)};
  return {.inputs = {x},
          .call =
              [=, kernel = w.both(&DrawnAxis::kernel)](const Tensors& in) {
                return axes == 1 ? max_pool1d(in[0], kernel, options) : max_pool2d(in[0], kernel, options);
              },
          .expected = w.outputs(w.channels,
                                [&](int64_t n, int64_t c, int64_t i, int64_t j) {
                                  double best = -INFINITY;
                                  w.window(values.data() + (n * w.channels + c) * w.plane(), i, j,
                                           [&](int64_t, double value) { best = std::max(best, value); });
                                  return best;
                                }),
          .dtype = dtype,
          .length = 0};
}
Case draw_max_pool1d(Draw& draw) { return draw_max_pool(draw, 1); }
Case draw_max_pool2d(Draw& draw) { return draw_max_pool(draw, 2); }

Case draw_avg_pool(Draw& draw, int64_t axes) {
  const DType dtype = draw.floating();
  DrawnWindows w(draw, axes, true, draw.between(1, 3));
  for (DrawnAxis* axis : {&w.rows, &w.columns}) {
    axis->dilation = 1;
    axis->out = (axis->size + 2 * axis->padding - axis->kernel) / axis->stride + 1;
  }
  const bool counted = draw.chance(0.5);
  const Tensor x = draw.values(w.shape(w.channels, &DrawnAxis::size), dtype);
  const Array values = exact(x);
  const auto part = [&](bool sizes) {
    return w.outputs(w.channels, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
      double total = 0, count = 0;
      w.window(values.data() + (n * w.channels + c) * w.plane(), i, j, [&](int64_t, double value) {
        total += sizes ? std::abs(value) : value;
        count += 1;
      });
      return total / (counted ? static_cast<double>(w.rows.kernel * w.columns.kernel) : count);
    });
  };
  const AvgPoolOptions options{
      .stride = w.both(&DrawnAxis::stride), .padding = w.both(&DrawnAxis::padding), .count_include_pad = counted};
  return {.inputs = {x},
          .call =
              [=, kernel = w.both(&DrawnAxis::kernel)](const Tensors& in) {
                return axes == 1 ? avg_pool1d(in[0], kernel, options) : avg_pool2d(in[0], kernel, options);
              },
          .expected = part(false),
          .dtype = dtype,
          .magnitude = part(true),
          .length = w.rows.kernel * w.columns.kernel + 1};
}
Case draw_avg_pool1d(Draw& draw) { return draw_avg_pool(draw, 1); }
Case draw_avg_pool2d(Draw& draw) { return draw_avg_pool(draw, 2); }

Case draw_adaptive_avg_pool(Draw& draw) {
  const DType dtype = draw.floating();
  const int64_t channels = draw.between(1, 3), in = draw.between(1, 20), out = draw.between(1, 9);
  const Tensor x = draw.values({channels, in}, dtype);
  const Array values = exact(x);
  const auto part = [&](bool sizes) {
    return build({channels, out}, [&](const Index& index) {
      const int64_t begin = index[1] * in / out, end = ((index[1] + 1) * in + out - 1) / out;
      double total = 0;
      for (int64_t i = begin; i < end; ++i) {
        const double value = at(values, {index[0], i});
        total += (sizes ? std::abs(value) : value) / static_cast<double>(end - begin);
      }
      return total;
    });
  };
  return {.inputs = {x},
          .call = [out](const Tensors& all) { return adaptive_avg_pool1d(all[0], out); },
          .expected = part(false),
          .dtype = dtype,
          .magnitude = part(true),
          .length = in};
}

}  // namespace

void add_windows(std::vector<Property>& all) {
  all.insert(all.end(), {{"conv1d", "conv1d", draw_conv1d},
                         {"conv2d", "conv2d", draw_conv2d},
                         {"max_pool1d", "max_pool1d", draw_max_pool1d, 1e-3},
                         {"max_pool2d", "max_pool2d", draw_max_pool2d, 1e-3},
                         {"avg_pool1d", "avg_pool1d", draw_avg_pool1d},
                         {"avg_pool2d", "avg_pool2d", draw_avg_pool2d},
                         {"adaptive_avg_pool1d", nullptr, draw_adaptive_avg_pool}});
}

}  // namespace tape::properties
