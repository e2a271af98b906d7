#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../tape/op.h"
#include "gradcheck.h"

namespace tape {

/// A test case for the gradients of something: a call of an operation, or a layer with its inputs.
struct RegisteredSample {
  std::string label;  ///< as in "a row"
  /// Runs gradcheck() or gradgradcheck() on it. Throws Error if it cannot be checked.
  std::function<GradcheckReport(Derivative, const GradcheckOptions&)> check;
};

/// An operation or layer that the program registered, with its samples.
struct RegisteredCheck {
  std::string name;                       ///< as in "swish", "Lstm"
  std::vector<RegisteredSample> samples;  ///< each is checked on its own
};

/// Returns every operation with samples (CustomOperation of autograd/custom.h) and every layer with a check
/// (nn::CustomCheck) that the program registered, excluding the library's own, ordered by name, for your own test
/// suite.
std::vector<RegisteredCheck> registered_checks();

/// Returns the samples of an operation. Checking one throws Error (graph) if its call does not record the operation:
/// such a sample would pass with any gradient.
RegisteredCheck check_of(const Op& op);

/// While alive, adds the result of `checks`, called on demand, to registered_checks(). For parts of the library with
/// gradients other than operations: layers.
class CheckSource : NonCopyable {
 public:
  /// Registers `checks`, which runs each time registered_checks() is called.
  explicit CheckSource(std::function<std::vector<RegisteredCheck>()> checks);
  ~CheckSource();

  /// Calls the function passed to the constructor.
  std::vector<RegisteredCheck> checks() const { return checks_(); }

 private:
  const std::function<std::vector<RegisteredCheck>()> checks_;
  friend class StaticList<CheckSource>;
  mutable const CheckSource* next_registered_ = nullptr;
};

/// Options of gradcheck_all_registered().
struct RegisteredOptions {
  /// Options of each check. `names` and `allow_zero` come from the samples and are ignored here.
  GradcheckOptions gradcheck = {};
  bool second_derivatives = true;  ///< also run gradgradcheck() on every sample
};

/// Results of the checks of everything registered.
struct RegisteredReport {
  /// Result of one check of one sample.
  struct Entry {
    /// Of the RegisteredCheck, as in "swish", and of its sample, as in "a row".
    /// @{
    std::string name, label;
    /// @}
    Derivative derivative = Derivative::first;  ///< gradcheck() or gradgradcheck()
    GradcheckReport report;                     ///< empty if it could not be checked
    std::string error;                          ///< why it could not be checked, or ""
    /// Whether it was checked and passed.
    bool ok() const { return error.empty() && report.ok(); }
  };
  std::vector<Entry> entries;  ///< one per sample and derivative, ordered by name

  /// Whether all checks passed; false if nothing is registered, because then nothing was checked.
  bool ok() const;
  /// The same as ok().
  explicit operator bool() const { return ok(); }
};
/// Prints a line per name, and the full report of each failure.
/// @{
std::string to_string(const RegisteredReport& report);
std::ostream& operator<<(std::ostream& stream, const RegisteredReport& report);
/// @}

/// Checks the gradients of every operation and layer that the program registered, each with its own samples:
///
///   int main() {
///     const RegisteredReport report = gradcheck_all_registered();
///     std::cout << report << "\n";
///     return report.ok() ? 0 : 1;
///   }
///
/// In a GoogleTest suite, register_gradient_tests() (autograd/gradcheck/gtest.h) adds a test for each.
RegisteredReport gradcheck_all_registered(const RegisteredOptions& options = {});

}  // namespace tape
