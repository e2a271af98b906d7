// What is computed on the host for tensors on a GPU, as docs/guide/cuda.md lists it.
#include "autograd/ops/host_fallbacks.h"

#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/emulation/emulation.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/reduce/counting.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "autograd/tape/op.h"
#include "base/file.h"
#include "nn/gradcheck/check.h"
#include "tests/support/paths.h"

namespace tape {
namespace {

using Names = std::set<std::string>;

/// Calls the samples of all registered operations, with first and second derivatives.
void call_operations() {
  for (const Op* op : registered_ops()) {
    for (const OpSample& sample : op->samples()) {
      Tensors inputs;
      for (const Tensor& input : sample.inputs) inputs.push_back(input.detach().requires_grad_());
      const Tensor output = sample.call(inputs);
      if (!output.requires_grad()) continue;
      Tensor total;
      for (const Tensor& gradient : grad({sum(output)}, inputs, {.create_graph = true, .allow_unused = true}))
        if (gradient.defined() && gradient.requires_grad())
          total = total.defined() ? total + sum(square(gradient)) : sum(square(gradient));
      if (total.defined() && total.requires_grad()) grad({total}, inputs, {.allow_unused = true});
    }
  }
}

/// Calls all registered modules, forward and backward.
void call_modules() {
  for (const nn::ModuleCheck* check : nn::registered_module_checks())
    check->run(nn::Checker([](nn::Module& module, const auto& forward, const Tensors& given, const GradcheckOptions&) {
      module.to(f64);
      Tensors inputs;
      for (const Tensor& input : given) {
        inputs.push_back(input.detach().to(cuda));
        if (is_floating(input.dtype())) inputs.back().requires_grad_();
      }
      sum(forward(inputs)).backward();
      return GradcheckReport();
    }));
}

/// Calls functions that nothing registers, since they have no gradient, wherever the sources name one in a call of
/// run_on_host().
void call_others() {
  unique(arange(3));
  unique(ones({2, 2}), 0);
  isclose(arange(3, i64), arange(3, i64));
}

Names counted(const std::function<void()>& calls) {
  auto before = host_fallbacks();
  calls();
  Names names;
  for (const auto& [name, count] : host_fallbacks())
    if (count != before[name]) names.insert(name);
  return names;
}

/// All matches of a pattern with one group.
Names matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  Names names;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), last; it != last; ++it) names.insert((*it)[1]);
  return names;
}

/// The names in the first column of the table below the heading.
Names listed() {
  std::istringstream lines(read_text(source_path("docs/guide/cuda.md")));
  Names names;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) inside = line == "## What the host computes";
    if (inside && line.starts_with("| ")) names.merge(matches(line.substr(0, line.find(" | ")), "`([^`]+)`"));
  }
  return names;
}

/// The names that library sources pass to run_on_host() and to on_host() of linear algebra.
Names named_in_sources() {
  Names names;
  for (const char* folder : {"autograd", "nn", "optim", "models", "text", "train", "inspect"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder)))
      if (entry.path().extension() == ".cpp")
        names.merge(matches(read_text(entry.path().string()), "on_host\\(\"([^\"]+)\""));
  return names;
}

TEST(HostFallbacks, AreThoseThatTheGuideLists) {
  const cuda_device::emulation::EmulatedDevice device;
  const DeviceScope on_device(cuda);
  const Names names = counted([] {
    call_operations();
    call_modules();
    call_others();
  });
  EXPECT_EQ(names, listed());
  for (const std::string& name : named_in_sources())
    EXPECT_TRUE(names.count(name)) << name << " may be computed on the host, but nothing here calls it";
}

}  // namespace
}  // namespace tape
