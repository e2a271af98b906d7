#pragma once

#include <filesystem>

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"

namespace tape::models {

/// A copy of one of the fixture folders, which tests then break.
class HuggingFaceFolder : public testing::Test {
 protected:
  void take(const std::string& name) const {
    std::filesystem::copy(fixture_path(fmt::format("hugging_face/{}", name)), folder_.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_text(path(file));
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    write_text(path(file), text);
  }
  /// Expects that a fixture with a changed `file` is refused with this message.
  void expect_refused(const std::string& name, const std::string& from, const std::string& to, ErrorKind kind,
                      const std::string& sentence, const std::string& file = "config.json") const {
    take(name);
    replace(file, from, to);
    EXPECT_TAPE_ERROR(load_model(folder_.path()), kind, fmt::format("{}: {}", path(file), sentence));
  }
  void change_tensors(const std::function<void(std::map<std::string, Tensor>&)>& change) const {
    SafetensorsFile file = load_safetensors(path("model.safetensors"));
    change(file.tensors);
    save_safetensors(path("model.safetensors"), file.tensors);
  }
  void expect_unfit(const std::string& sentence) const {
    EXPECT_TAPE_ERROR(load_model(folder_.path()), ErrorKind::format,
                      fmt::format("{}: the tensors do not match config.json:{}", path("model.safetensors"), sentence));
  }

  const TemporaryFolder folder_;
};

}  // namespace tape::models
