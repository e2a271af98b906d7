#pragma once

#include <array>
#include <string>

#include "observer.h"

namespace tape {

/// The caller that recorded a node.
struct TraceRecord {
  std::string module_path;               ///< "decoder.layers.2.cross_attention", or ""
  std::array<void*, 64> addresses = {};  ///< return addresses, innermost first
  int depth = 0;                         ///< number of addresses
  std::string caller;                    ///< `file:line` in the language that called C++, see set_trace_caller()
  /// `caller` if it is known, else `file:line` of the innermost caller outside the library if the program has debug
  /// information, else its function name, or "".
  std::string source() const;
};

/// While in scope, each recorded node stores its module path and the code that called it.
class Trace : public Observer {
 public:
  Trace();
  ~Trace() override;
  static bool active();  ///< whether this thread is in such a scope

 private:
  void on_node(Node& node, TensorList outputs) override;
};

/// Sets the function that returns TraceRecord::caller, `file:line` or "", for bindings of another language, whose calls
/// the stack of C++ does not show. It is called by every thread that has a Trace scope; null for none.
void set_trace_caller(std::string (*caller)());

}  // namespace tape
