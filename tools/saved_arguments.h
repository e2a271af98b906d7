#pragma once

#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

// The options of a training run, saved in its folder (train::kRunCommand):
//
//     {"command": "train lm", "options": {"--text": ["/home/me/book.txt"], "--steps": ["500"]}}
namespace tape::tools {

/// The given options of a command as JSON, except those of a single call (--resume, --json and similar). Paths are
/// absolute, so that they are valid in any working directory.
std::string saved_arguments(const CLI::App& command);

/// Whether the run in a folder was started by `command` ("train lm"). False if the folder has no readable command file.
bool run_was_started_by(const std::string& command, const std::string& folder);

/// Names of the options among the arguments: "--lr".
std::set<std::string> given_options(const CLI::App& command, const std::vector<std::string>& arguments);

/// With --resume, returns the arguments plus the options saved in --out, except those that are given again or that
/// exclude a given one. Otherwise returns the arguments unchanged. Throws Error (format) for a file without such JSON
/// and Error (config) for a run of another command.
std::vector<std::string> with_saved_arguments(const CLI::App& command, std::vector<std::string> arguments);

/// The message about a missing option. With --resume, explains why the run's folder does not provide it: "--out is
/// required with --resume", or the message and " (runs/mt/run.json, which stores the options of a run, does not
/// exist)".
std::string explain_required(const CLI::App& command, const std::vector<std::string>& arguments,
                             const std::string& message);

/// "--lr: given twice, as 0.1 and 0.2; give it once" for the first single-valued option that is repeated; "" if there
/// is none.
std::string repeated_option(const CLI::App& command, const std::vector<std::string>& arguments);

}  // namespace tape::tools
