#pragma once

#include <string>

#include "tools/arguments.h"

namespace tape::tools {

/// Options of every command that computes.
struct Common {
  int threads = 0;  ///< 0: as many as the machine has
  bool json = false;
  std::string dtype = "f32";
  bool bf16() const { return dtype == "bf16"; }  ///< for MixedPrecision
};
void add_threads(Command& command, Common& common);
void add_json(Command& command, Common& common);
void add_dtype(Command& command, Common& common);
void prepare(const Common& common);

}  // namespace tape::tools
