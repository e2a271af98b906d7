#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// A file with any name (without `/` and NUL): it is written and read again, or rejected with an Error.
void fuzz_file_names(Bytes bytes) {
  const std::string name(text_of(bytes));
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    return;
  const std::string path = empty_folder() + "/" + name;
  const std::string_view content = "content";
  if (accepted([&] { write_file(path, {&content, 1}); })) expect(read_text(path) == content, "the content differs");
  if (accepted([&] { save_safetensors(path, {{"a", zeros({2})}}); }))
    expect(load_safetensors(path).tensors.size() == 1, "the file differs");
  // The text is not a safetensors file, and the message contains the name.
  accepted([&] { load_safetensors(path + "/none"); });
}

}  // namespace tape::fuzz
