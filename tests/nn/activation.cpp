#include "nn/activation.h"

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

constexpr ActivationKind kAll[] = {ActivationKind::relu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                                   ActivationKind::silu, ActivationKind::tanh, ActivationKind::sigmoid};

TEST(Activation, AgreesWithTorch) {
  for (const ActivationKind kind : kAll) {
    Activation layer(kind);
    expect_agrees_with_torch("activation " + layer.settings(), layer);
  }
}

TEST(Activation, ConvertsKindsToNamesAndBack) {
  EXPECT_EQ(Activation(ActivationKind::gelu_tanh).settings(), "gelu_tanh");
  EXPECT_EQ(to_string(ActivationKind::relu), "relu");
  EXPECT_EQ(to_string(static_cast<ActivationKind>(77)), "?");
  const auto names = activation_names();
  EXPECT_EQ(names.size(), std::size(kAll));
  for (const auto& [name, kind] : names) EXPECT_EQ(to_string(kind), name);
}

TEST(Activation, RefusesAnUnknownKind) {
  EXPECT_TAPE_ERROR(Activation(static_cast<ActivationKind>(77)).forward(zeros({1})), ErrorKind::config,
                    "Activation: unknown kind 77");
}

}  // namespace
}  // namespace tape::nn
