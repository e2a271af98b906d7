#include "tests/autograd/ops/torch_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/tape/tape.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor tensor_of(const std::string& fixture, const std::string& name, const std::string& kind, size_t i) {
  const std::map<std::string, Tensor>& all = fixture_tensors(fixture);
  const auto found = all.find(name + "/" + kind + "." + std::to_string(i));
  return found == all.end() ? Tensor() : found->second;
}

/// Tensors 0, 1, ... of a case; a missing one ends the list.
Tensors tensors_of(const std::string& fixture, const std::string& name, const std::string& kind) {
  Tensors all;
  while (true) {
    const Tensor next = tensor_of(fixture, name, kind, all.size());
    if (!next.defined()) return all;
    all.push_back(next);
  }
}

}  // namespace

void expect_as_pytorch(const std::string& fixture, const std::string& name, const TorchCall& call, bool recorded) {
  for (const DType dtype : {f64, f32}) {
    const double tolerance = dtype == f64 ? 1e-11 : 2e-5;
    Tensors inputs;
    for (const Tensor& x : tensors_of(fixture, name, "in")) {
      inputs.push_back(is_floating(x.dtype()) ? x.to(dtype).clone() : x);
      if (is_floating(x.dtype())) inputs.back().requires_grad_();
    }
    const Tensors outputs = call(inputs), expected = tensors_of(fixture, name, "out");
    ASSERT_EQ(outputs.size(), expected.size());
    Tensors reached, seeds;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor wanted = is_floating(expected[i].dtype()) ? expected[i].to(dtype) : expected[i];
      EXPECT_TRUE(tensors_near(outputs[i].detach(), wanted, tolerance)) << to_string(dtype) << ", output " << i;
      const Tensor head = tensor_of(fixture, name, "head", i);
      if (!head.defined() || !outputs[i].requires_grad()) continue;
      reached.push_back(outputs[i]);
      seeds.push_back(head.to(dtype));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor wanted = tensor_of(fixture, name, "grad", i);
      if (!wanted.defined()) continue;
      for (const bool create_graph : {true, false}) {
        if (create_graph && !recorded) continue;
        const GradOptions options = {
            .gradients = seeds, .retain_graph = true, .create_graph = create_graph, .allow_unused = true};
        const Tensor found = reached.empty() ? Tensor() : grad(reached, {inputs[i]}, options)[0];
        EXPECT_TRUE(tensors_near(found.defined() ? found.detach() : zeros_like(inputs[i].detach()), wanted.to(dtype),
                                 tolerance))
            << to_string(dtype) << ", gradient of input " << i << (create_graph ? ", recorded" : "");
      }
    }
  }
}

void expect_all_called(const std::string& fixture, const TorchCalls& calls, const std::vector<std::string>& others) {
  for (const auto& [key, tensor] : fixture_tensors(fixture)) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    EXPECT_TRUE(calls.contains(key.substr(0, key.find('/')))) << key;
  }
}

std::vector<std::string> case_names(const TorchCalls& calls) {
  std::vector<std::string> all;
  for (const auto& [name, call] : calls) all.push_back(name);
  return all;
}

}  // namespace tape
