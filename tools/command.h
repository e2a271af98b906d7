#pragma once

namespace tape::tools {

/// The tapeformer command: parses the arguments, which start with its name, calls the library, prints errors and
/// returns the exit code. Changes signal handlers, the handler of std::terminate and standard streams of the process.
int run_command(int argc, char** argv);

}  // namespace tape::tools
