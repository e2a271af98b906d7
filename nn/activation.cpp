#include "nn/activation.h"

#include <algorithm>
#include <array>

#include "autograd/ops/elementwise/unary.h"

namespace tape::nn {
namespace {

struct Known {
  ActivationKind kind;
  std::string_view name;
  Tensor (*apply)(const Tensor&);
};
constexpr std::array<Known, 6> kKnown{{{ActivationKind::relu, "relu", relu},
                                       {ActivationKind::gelu, "gelu", gelu},
                                       {ActivationKind::gelu_tanh, "gelu_tanh", gelu_tanh},
                                       {ActivationKind::silu, "silu", silu},
                                       {ActivationKind::tanh, "tanh", tape::tanh},
                                       {ActivationKind::sigmoid, "sigmoid", sigmoid}}};

/// Returns null for an unknown kind.
const Known* find(ActivationKind kind) {
  const auto row =
      std::find_if(kKnown.begin(), kKnown.end(), [kind](const Known& known) { return known.kind == kind; });
  return row == kKnown.end() ? nullptr : &*row;
}

}  // namespace

std::string_view to_string(ActivationKind kind) {
  const Known* row = find(kind);
  return row ? row->name : "?";
}

std::vector<std::pair<std::string_view, ActivationKind>> activation_names() {
  std::vector<std::pair<std::string_view, ActivationKind>> names;
  names.reserve(std::size(kKnown));
  for (const Known& row : kKnown) names.emplace_back(row.name, row.kind);
  return names;
}

Tensor Activation::forward(const Tensor& x) const {
  if (const Known* row = find(kind_)) return row->apply(x);
  raise(ErrorKind::config, "Activation: unknown kind {}", static_cast<int>(kind_));
}

}  // namespace tape::nn
