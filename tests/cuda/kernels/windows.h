#pragma once

#include <vector>

#include "autograd/kernels/convolution/window.h"

namespace tape::kernels {

/// Windows over an axis; with `over`, the last ones extend past its end.
inline Window window_over(int64_t in, int64_t kernel, int64_t stride, int64_t before, int64_t dilation = 1,
                          bool over = false) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  return {in, kernel, stride, before, dilation, (in + 2 * before - reach + (over ? stride - 1 : 0)) / stride + 1};
}

/// Windows that touch, overlap, leave gaps or are padded, along one and two axes.
inline std::vector<Windows> windows_of_planes() {
  return {{window_over(8, 2, 2, 0), window_over(20, 2, 2, 0)},
          {window_over(9, 3, 1, 1), window_over(11, 3, 1, 1)},
          {window_over(10, 3, 2, 1, 1, true), window_over(13, 3, 3, 1, 1, true)},
          {{}, window_over(50, 4, 3, 2)},
          {window_over(5, 2, 3, 0), window_over(7, 1, 2, 0)},
          {window_over(5, 5, 1, 0), window_over(6, 6, 1, 0)}};
}
/// The same with dilation.
inline std::vector<Windows> dilated_windows_of_planes() {
  std::vector<Windows> all = windows_of_planes();
  all.push_back({window_over(12, 2, 1, 0, 3), window_over(9, 3, 2, 1, 2)});
  all.push_back({{}, window_over(31, 3, 1, 4, 4)});
  return all;
}

}  // namespace tape::kernels
