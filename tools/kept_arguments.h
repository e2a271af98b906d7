#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

// The options of a training run, kept in its folder (train::kRunCommand):
//
//     {"command": "train lm", "options": {"--text": ["/home/me/book.txt"], "--steps": ["500"]}}
namespace tape::tools {

/// The options that a command was given, as JSON: those that describe the run, not one call of it (--resume, --json and
/// the like). Paths are absolute, so that another working directory finds the same files.
std::string kept_arguments(const CLI::App& command);

/// Whether the run in a folder was started by `command` ("train lm"). False where the folder keeps no command, or in a
/// file that cannot be read.
bool was_started_by(const std::string& command, const std::string& folder);

/// With --resume, the arguments plus the options kept in --out, except those that are given again or exclude a given
/// one; without, the arguments as they are. Error (format) for a file that holds no such JSON, (config) for the run of
/// another command.
std::vector<std::string> with_kept_arguments(const CLI::App& command, std::vector<std::string> arguments);

/// " (runs/mt/run.json, where a run keeps its options, does not exist)" with --resume and a folder without that file,
/// to explain why an option is required; "" else.
std::string note_of_nothing_kept(const CLI::App& command, const std::vector<std::string>& arguments);

/// "--lr: given twice, as 0.1 and 0.2; give it once" for the first option that takes one value and is repeated; "" if
/// there is none.
std::string given_twice(const CLI::App& command, const std::vector<std::string>& arguments);

}  // namespace tape::tools
