// Checks the gradients of every operation and module in WebAssembly, as tests/autograd/ops/registry.cpp and
// tests/nn/gradcheck/registry.cpp do natively. run_checks.mjs calls this and compares the lists.

#include <cstdio>
#include <exception>
#include <string>

#include "autograd/gradcheck/registered.h"
#include "nn/gradcheck/check.h"

namespace tape {
namespace {

/// Prints "ok" or "FAILED", what was checked, and why it failed. Returns the number of failures.
template <class Check>
int report(const char* kind, const std::string& name, const std::string& label, const Check& check) {
  std::string failure;
  try {
    const GradcheckReport result = check();
    if (!result.ok()) failure = to_string(result);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  std::printf("%s\t%s\t%s\t%s\n", failure.empty() ? "ok" : "FAILED", kind, name.c_str(), label.c_str());
  if (!failure.empty()) std::printf("%s\n", failure.c_str());
  return !failure.empty();
}

}  // namespace
}  // namespace tape

/// Runs all checks; returns the number that failed.
extern "C" __attribute__((visibility("default"))) int run_checks() {
  using namespace tape;
  int failed = 0;
  for (const Op* op : registered_ops())
    for (const RegisteredSample& sample : check_of(*op).samples)
      failed += report("operation", op->name(), sample.label, [&] { return sample.check(Derivative::first, {}); });
  for (const nn::ModuleCheck* module : nn::registered_module_checks())
    failed +=
        report("module", module->type(), module->label(), [&] { return module->run(nn::Checker(Derivative::first)); });
  std::fflush(stdout);
  return failed;
}
