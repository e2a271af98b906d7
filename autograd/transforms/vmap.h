#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../tensor.h"

namespace tape {

/// f on every sample at once: a function of the same arguments whose inputs have an axis of samples more, and whose
/// outputs have it in front (as torch.vmap and jax.vmap).
///
///   const auto f = [](const Tensors& in) { return Tensors{softmax(in[0] * in[1], -1)}; };
///   vmap(f, {0, std::nullopt})({x, w})  // x [B, 3], w [3] -> [B, 3]: what stack(f({x[b], w}) for each b) gives
///
/// in_axes says where each input has its samples, negative from the back; std::nullopt for one that all samples share.
/// Empty stands for 0 in each.
///
/// f runs once, on inputs whose samples lie in front and whose ranks are made alike by axes of 1 behind them. So it may
/// use what broadcasts over further axes in front: elementwise operations, matmul and linear, reductions, softmax,
/// norms and slices along axes counted from the back, tape::linalg. It then runs on the first, the middle and the last
/// sample alone, beside which its outputs are held. Error (graph) where they differ, with the operation that did
/// something else with the axis of samples: one with an axis counted from the front, a reshape, a sum over all. Call f
/// sample by sample then. What is random differs, too. The result is recorded where gradients are, so jvp(), jacobian()
/// and the like take vmap(f) as any function; gradients of each sample are per_sample_gradients()'s. Error (shape) for
/// an axis that an input does not have, for inputs of different numbers of samples and where there are none.
std::function<Tensors(const Tensors&)> vmap(std::function<Tensors(const Tensors&)> f,
                                            std::vector<std::optional<int64_t>> in_axes = {});

/// The same for a function with one output.
std::function<Tensor(const Tensors&)> vmap(std::function<Tensor(const Tensors&)> f,
                                           std::vector<std::optional<int64_t>> in_axes = {});

}  // namespace tape
