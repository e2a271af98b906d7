#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/tape/tape.h"
#include "nn/module/module.h"
#include "tests/support/fixtures.h"

// Compares layers with PyTorch, using the cases that tests/fixtures/make_layers.py wrote.

namespace tape {

using Named = std::map<std::string, Tensor>;

/// Returns the tensors of a file whose names begin with the prefix, with the prefix removed.
inline Named with_prefix(const Named& file, const std::string& prefix) {
  Named found;
  for (const auto& [name, tensor] : file)
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), tensor);
  return found;
}

struct TorchCase {
  TorchCase(const std::string& file, const std::string& name_)
      : name(name_),
        in(with_prefix(fixture_tensors(file), name + "/in.")),
        parameter(with_prefix(fixture_tensors(file), name + "/parameter.")),
        out(with_prefix(fixture_tensors(file), name + "/out.")),
        head(with_prefix(fixture_tensors(file), name + "/head.")),
        grad_in(with_prefix(fixture_tensors(file), name + "/grad.in.")),
        grad_parameter(with_prefix(fixture_tensors(file), name + "/grad.parameter.")) {
    if (out.empty()) raise(ErrorKind::index, "{}: no case \"{}\"", file, name);
  }

  std::string name;
  Named in, parameter, out, head, grad_in, grad_parameter;
};

inline double largest(const Tensor& x) {
  double most = 0;
  for (double value : x.detach().to(f64).to_vector<double>()) most = std::max(most, std::abs(value));
  return most;
}

/// Scale for the errors of a tensor.
struct ErrorScale {
  double whole;  // for any element
  double least;  // minimum for a single element; otherwise ten times its own size

  ErrorScale(double size) : ErrorScale(size, size / 10) {}
  ErrorScale(double whole_, double least_) : whole(whole_), least(least_) {}
};

/// Returns the largest |actual - expected| in units of the scale. Also checks each element on its own.
inline double expect_close(const std::string& what, const Tensor& actual, const Tensor& expected,
                           const ErrorScale& scale, double tolerance) {
  EXPECT_TRUE(actual.defined()) << what;
  if (!actual.defined()) return INFINITY;
  EXPECT_EQ(to_string(actual.shape()), to_string(expected.shape())) << what;
  if (actual.shape() != expected.shape()) return INFINITY;
  const auto a = actual.detach().to(f64).to_vector<double>(), b = expected.detach().to(f64).to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = std::abs(a[i] - b[i]), own = 10 * std::abs(b[i]) + scale.least;
    worst = std::isnan(error) ? INFINITY : std::max(worst, error == 0 ? 0 : error / scale.whole);
    if (error <= tolerance * std::min(scale.whole, own)) continue;
    ADD_FAILURE() << what << ": element " << i << " is " << a[i] << ", expected " << b[i] << " (largest " << scale.whole
                  << ", tolerance " << tolerance << ")";
    break;
  }
  return worst;
}

/// Scale for the errors of a parameter's gradient. A constant added to all keys shifts all scores of a query equally,
/// which softmax ignores, so the gradient of a key bias is 0 in theory. In practice it is the rounding error of terms
/// that cancel and are as large as those of the weight's gradient, so its elements have no scale of their own.
inline ErrorScale gradient_scale(const Named& gradients, const std::string& name) {
  const std::string bias = "key.bias";
  if (!name.ends_with(bias)) return largest(gradients.at(name));
  const double size = largest(gradients.at(name.substr(0, name.size() - bias.size()) + "key.weight"));
  return {size, size};
}

/// Maps the inputs by name to the outputs by name.
using Forward = std::function<Named(const Named& in)>;

/// Runs once in one dtype and returns the largest relative error.
inline double compare_with_torch(const TorchCase& c, const Forward& forward, nn::Module* module, DType dtype) {
  const double tolerance = dtype == f64 ? 1e-10 : 1e-5;
  if (module) {
    module->to(dtype);
    module->load_state_dict(c.parameter);
    module->zero_grad();
  }
  Named in = c.in;
  for (auto& [name, tensor] : in) {
    if (is_floating(tensor.dtype())) tensor = tensor.to(dtype).clone();
    if (c.grad_in.contains(name)) tensor.requires_grad_();
  }
  Named outputs = forward(in);
  double worst = 0;
  const auto compare = [&](const std::string& what, const Tensor& actual, const Tensor& expected,
                           const ErrorScale& scale) {
    worst = std::max(worst, expect_close(c.name + ", " + what, actual, expected, scale, tolerance));
  };
  Tensors roots, seeds;
  for (const auto& [name, expected] : c.out) {
    EXPECT_TRUE(outputs.contains(name)) << c.name << ": no output " << name;
    EXPECT_EQ(outputs[name].dtype(), dtype) << c.name;
    compare("output " + name, outputs[name], expected, largest(expected));
    roots.push_back(outputs[name]);
    seeds.push_back(c.head.at(name).to(dtype));
  }
  backward(roots, seeds);
  for (const auto& [name, expected] : c.grad_in)
    compare("gradient of " + name, in.at(name).grad(), expected, largest(expected));
  if (!module) return worst;
  std::set<std::string> seen;
  for (const NamedTensor& parameter : module->named_parameters()) {
    seen.insert(parameter.name);
    EXPECT_TRUE(c.grad_parameter.contains(parameter.name)) << c.name << ": torch has no " << parameter.name;
    if (c.grad_parameter.contains(parameter.name))
      compare("gradient of " + parameter.name, parameter.tensor.grad(), c.grad_parameter.at(parameter.name),
              gradient_scale(c.grad_parameter, parameter.name));
  }
  EXPECT_EQ(seen.size(), c.grad_parameter.size()) << c.name;
  return worst;
}

/// Compares outputs and the gradients of inputs and parameters, in f64 within 1e-10 and in f32 within 1e-5 of the
/// largest element of each tensor, with fused and with composed operations. Records the largest error as a property.
inline void expect_agrees_with_torch(const TorchCase& c, const Forward& forward, nn::Module* module = nullptr) {
  for (const DType dtype : {f64, f32}) {
    const std::string key = c.name + " " + std::string(to_string(dtype));
    const auto record = [&](const std::string& backend, double error) {
      testing::Test::RecordProperty(backend + key, fmt::format("{:.2g}", error));
    };
    record("", compare_with_torch(c, forward, module, dtype));
    const Composed composed;
    record("composed ", compare_with_torch(c, forward, module, dtype));
  }
}

/// The same for a module of one tensor, with a case of a file or of "layers".
template <class M>
void expect_agrees_with_torch(const std::string& file, const std::string& name, M& module) {
  expect_agrees_with_torch(
      {file, name},
      [&](const Named& in) {
        return Named{{"y", module(in.at("input"))}};
      },
      &module);
}
template <class M>
void expect_agrees_with_torch(const std::string& name, M& module) {
  expect_agrees_with_torch("layers", name, module);
}

}  // namespace tape
