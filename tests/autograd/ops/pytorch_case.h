#pragma once

// Operations against PyTorch: cases of a file that a script of tests/fixtures wrote, in f64 and f32, with both
// backwards: the kernels' and the recorded one.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "autograd/create.h"
#include "autograd/tape/tape.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

namespace tape {

using Call = std::function<Tensors(const Tensors&)>;

/// Tensor i of a kind ("in", "out", "head", "grad") of a case; undefined where there is none.
inline Tensor tensor_of(const std::string& file, const std::string& name, const std::string& kind, size_t i) {
  const std::map<std::string, Tensor>& fixture = fixture_tensors(file);
  const auto found = fixture.find(name + "/" + kind + "." + std::to_string(i));
  return found == fixture.end() ? Tensor() : found->second;
}
/// Tensors 0, 1, ... of a case; one that is not there ends the list.
inline Tensors tensors_of(const std::string& file, const std::string& name, const std::string& kind) {
  Tensors all;
  for (Tensor next; (next = tensor_of(file, name, kind, all.size())).defined();) all.push_back(next);
  return all;
}

/// `recorded`: whether the operation has second derivatives.
inline void expect_as_pytorch(const std::string& file, const std::string& name, const Call& call,
                              bool recorded = true) {
  for (const DType dtype : {f64, f32}) {
    const double tolerance = dtype == f64 ? 1e-11 : 2e-5;
    Tensors inputs;
    for (const Tensor& x : tensors_of(file, name, "in")) {
      inputs.push_back(is_floating(x.dtype()) ? x.to(dtype).clone() : x);
      if (is_floating(x.dtype())) inputs.back().requires_grad_();
    }
    const Tensors outputs = call(inputs), expected = tensors_of(file, name, "out");
    ASSERT_EQ(outputs.size(), expected.size());
    Tensors reached, seeds;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor wanted = is_floating(expected[i].dtype()) ? expected[i].to(dtype) : expected[i];
      EXPECT_TRUE(tensors_near(outputs[i].detach(), wanted, tolerance)) << to_string(dtype) << ", output " << i;
      const Tensor head = tensor_of(file, name, "head", i);
      if (!head.defined() || !outputs[i].requires_grad()) continue;
      reached.push_back(outputs[i]);
      seeds.push_back(head.to(dtype));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor wanted = tensor_of(file, name, "grad", i);
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

}  // namespace tape
