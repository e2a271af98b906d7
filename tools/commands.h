#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace tape::tools {

/// What runs once the arguments are read; gives the exit code.
using Chosen = std::function<int()>;

// Each adds a command to the program, in a file of its name.
void add_demo(CLI::App& app, Chosen& chosen);
void add_train(CLI::App& app, Chosen& chosen);
void add_translate(CLI::App& app, Chosen& chosen);
void add_generate(CLI::App& app, Chosen& chosen);
void add_classify(CLI::App& app, Chosen& chosen);
void add_tokenize(CLI::App& app, Chosen& chosen);
void add_score(CLI::App& app, Chosen& chosen);
void add_run(CLI::App& app, Chosen& chosen);
void add_report(CLI::App& app, Chosen& chosen);
void add_inspect(CLI::App& app, Chosen& chosen);
void add_bench(CLI::App& app, Chosen& chosen);
void add_info(CLI::App& app, Chosen& chosen);

/// Options of every command that computes.
struct Common {
  int threads = 0;  ///< 0: as many as the machine has
  bool json = false;
  std::string dtype = "f32";
  bool bf16() const { return dtype == "bf16"; }  ///< for MixedPrecision
};
void add_threads(CLI::App& command, Common& common);
void add_json(CLI::App& command, Common& common);
void add_dtype(CLI::App& command, Common& common);
void prepare(const Common& common);

}  // namespace tape::tools
