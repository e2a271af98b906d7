#include "models/adapters/initialization.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"

namespace tape::models {
namespace {

/// B0 [out, r] and A0 [r, in]; peft's base weight is W - scale B0 A0.
struct BaseFactors {
  Tensor b, a;
};

Tensor first_columns(const Tensor& x, int64_t count) { return slice(x, 1, {.end = count}); }
Tensor first_rows(const Tensor& x, int64_t count) { return slice(x, 0, {.end = count}); }

/// U diag(S) Vh / scale, for the largest singular values.
BaseFactors principal(const Tensor& weight, int64_t rank, double scale) {
  const linalg::Svd parts = linalg::svd(weight, {.full_matrices = false});
  return {first_columns(parts.u, rank),
          unsqueeze(slice(parts.s, 0, {.end = rank}), 1) * first_rows(parts.vh, rank) / scale};
}

/// The first columns of Q and rows of R. peft factors the weight as its module stores it: [in, out] in GPT-2's Conv1D.
BaseFactors orthonormal(const Tensor& weight, int64_t rank, bool transposed) {
  const linalg::Qr parts = linalg::qr(transposed ? transpose(weight) : weight);
  const Tensor q = first_columns(parts.q, rank), r = first_rows(parts.r, rank);
  return transposed ? BaseFactors{transpose(r), transpose(q)} : BaseFactors{q, r};
}

double scale_of(const nn::LoraOptions& options) {
  const auto rank = static_cast<double>(options.rank);
  return options.alpha / (options.rank_stabilized ? std::sqrt(rank) : rank);
}

nn::LoraOptions doubled(nn::LoraOptions options) {
  options.rank *= 2;
  options.alpha *= options.rank_stabilized ? std::sqrt(2.0) : 2.0;
  return options;
}

}  // namespace

void undo_base_change(AdapterFile& file, BaseChange change, const nn::StateDict& model, const Layout& layout,
                      const std::string& where) {
  if (change == BaseChange::none) return;
  const NoGrad no_grad;
  std::map<std::string, std::vector<std::string>> layers;  // name in the file -> our paths
  for (const auto& [path, options] : file.adapters) layers[layout.file_linear_name(path)].push_back(path);
  for (const auto& [theirs, paths] : layers) {
    nn::StateDict own;
    for (const std::string& path : paths) own.emplace(path + ".weight", model.at(path + ".weight"));
    const bool transposed = layout.stores_transposed(paths.front());
    const Tensor kept = layout.to_file(own).at(theirs + ".weight").to(f64);
    const Tensor weight = transposed ? transpose(kept) : kept;  // [out, in]
    const nn::LoraOptions options = file.adapters.at(paths.front());
    Tensor& a = file.tensors.low_rank.at(fmt::format("{}{}.lora_A.weight", kAdapterPrefix, theirs));
    Tensor& b = file.tensors.low_rank.at(fmt::format("{}{}.lora_B.weight", kAdapterPrefix, theirs));
    const int64_t out = weight.size(0), in = weight.size(1);
    if (options.rank > std::min(out, in) || (change == BaseChange::olora && transposed && out != in))
      raise(ErrorKind::format, "{}: \"{}{}.lora_A.weight\": init_lora_weights has no start of rank {} for a weight {}",
            where, kAdapterPrefix, theirs, options.rank, to_string(kept.shape()));
    const BaseFactors start = change == BaseChange::pissa ? principal(weight, options.rank, scale_of(options))
                                                          : orthonormal(weight, options.rank, transposed);
    a = cat({a, start.a.to(a.dtype())}, 0);
    b = cat({b, -start.b.to(b.dtype())}, 1);
    for (const std::string& path : paths) file.adapters.at(path) = doubled(options);
  }
}

}  // namespace tape::models
