#pragma once

#include <string>

#include "tools/arguments.h"

namespace tape::tools {

// Each adds a command to the program, in a file of its name.
void add_demo(Command app);
void add_train(Command app);
void add_translate(Command app);
void add_generate(Command app);
void add_classify(Command app);
void add_tokenize(Command app);
void add_score(Command app);
void add_run(Command app);
void add_report(Command app);
void add_inspect(Command app);
void add_bench(Command app);
void add_info(Command app);

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
