#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../tape/op.h"
#include "gradcheck.h"

namespace tape {

/// A sample of something whose gradients a test suite checks: a call of an operation, a layer with its inputs.
struct RegisteredSample {
  std::string label;
  /// gradcheck() or gradgradcheck() of it. Error where it cannot be checked.
  std::function<GradcheckReport(Derivative, const GradcheckOptions&)> check;
};

/// An operation or a layer that the program registered, with what it is checked with.
struct RegisteredCheck {
  std::string name;  ///< "swish", "Lstm"
  std::vector<RegisteredSample> samples;
};

/// Every operation with samples (CustomOperation of autograd/custom.h) and every layer with a check (nn::CustomCheck)
/// of the program itself, not of the library, ordered by name: what a test suite of its own walks.
std::vector<RegisteredCheck> registered_checks();

/// The samples of an operation. Their check is an Error (graph) where a sample's call does not record the operation: a
/// sample of something else would be right whatever the gradient is.
RegisteredCheck check_of(const Op& op);

/// Adds to registered_checks() what `checks` gives whenever it is asked, as long as it lives. For parts of the library
/// that know of things with gradients beside operations: layers.
class CheckSource : NonCopyable {
 public:
  explicit CheckSource(std::function<std::vector<RegisteredCheck>()> checks);
  ~CheckSource();

  std::vector<RegisteredCheck> checks() const { return checks_(); }

 private:
  const std::function<std::vector<RegisteredCheck>()> checks_;
  friend class StaticList<CheckSource>;
  mutable const CheckSource* next_registered_ = nullptr;
};

struct RegisteredOptions {
  /// Of each check. `names` and `allow_zero` are the samples' own affair and are not read here.
  GradcheckOptions gradcheck = {};
  bool second_derivatives = true;
};

/// What the checks of everything registered found.
struct RegisteredReport {
  struct Entry {
    std::string name, label;  ///< "swish", "a row"
    Derivative derivative = Derivative::first;
    GradcheckReport report;
    std::string error;  ///< why it could not be checked, or ""
    bool ok() const { return error.empty() && report.ok(); }
  };
  std::vector<Entry> entries;

  /// Whether all of them are right. Nothing registered is not right: a check that looks at nothing proves nothing.
  bool ok() const;
  explicit operator bool() const { return ok(); }
};
/// A line for each name, and the whole report of what is wrong.
std::string to_string(const RegisteredReport& report);
std::ostream& operator<<(std::ostream& stream, const RegisteredReport& report);

/// Checks the gradients of every operation and layer that the program registered, each with its own samples:
///
///   int main() {
///     const RegisteredReport report = gradcheck_all_registered();
///     std::cout << report << "\n";
///     return report.ok() ? 0 : 1;
///   }
///
/// In a GoogleTest suite register_gradient_tests() (autograd/gradcheck/gtest.h) makes a test of each.
RegisteredReport gradcheck_all_registered(const RegisteredOptions& options = {});

}  // namespace tape
