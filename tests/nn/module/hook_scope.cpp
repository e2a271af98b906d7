#include "nn/module/hook_scope.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "nn/linear.h"

namespace tape::nn {
namespace {

TEST(HookScope, RemovesOnlyItsOwnHooks) {
  Linear layer(2, 2);
  std::string calls;
  const auto hook = [&calls](const char* name) {
    return [&calls, name](Module&, const Tensors&, const Tensor&) {
      calls += name;
      return Tensor();
    };
  };
  layer.register_forward_hook(hook("a"));
  {
    HookScope scope;
    scope.forward_pre(layer, [&calls](Module&, const Tensors&) {
      calls += "<";
      return Tensors();
    });
    scope.forward(layer, hook("b"));
    layer(ones({1, 2}));
    EXPECT_EQ(calls, "<ab");
    scope.remove();
    layer(ones({1, 2}));
    EXPECT_EQ(calls, "<aba");
    scope.forward(layer, hook("c"));
  }
  layer(ones({1, 2}));
  EXPECT_EQ(calls, "<abaa");
}

TEST(HookScope, RemovesBackwardHooks) {
  Linear layer(2, 2);
  int64_t calls = 0;
  const auto backward = [&] { layer(ones({1, 2})).sum().backward(); };
  {
    HookScope scope;
    scope.backward(layer, [&calls](Module&, const Tensors&, const Tensor&) {
      ++calls;
      return Tensors();
    });
    backward();
  }
  backward();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tape::nn
