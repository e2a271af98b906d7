#include "tools/command.h"

#include <string>
#include <vector>

#include "bindings.h"

namespace tape::python {

void bind_command(nb::module_& m) {
  m.def(
      "_run_command",
      [](const nb::list& arguments) {
        std::vector<std::string> texts;
        for (nb::handle argument : arguments) {
          const auto bytes = nb::cast<nb::bytes>(argument);  // a file's name need not be UTF-8
          texts.emplace_back(bytes.c_str(), bytes.size());
        }
        std::vector<char*> pointers;
        for (std::string& text : texts) pointers.push_back(text.data());
        pointers.push_back(nullptr);
        const nb::gil_scoped_release released;
        return tools::run_command(static_cast<int>(texts.size()), pointers.data());
      },
      nb::arg("arguments"),
      "Runs the tapeformer command with these arguments (bytes), the first being its name, and returns its exit code.");
}

}  // namespace tape::python
