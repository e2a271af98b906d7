#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support.h"
#include "text/load_tokenizer.h"
#include "text/tokenizer.h"

// What the tests of tokenizers share.

namespace tape::text {

using Json = nlohmann::json;

inline std::string fixture_path(const std::string& name) {
  return fmt::format("{}/tests/fixtures/{}", TAPEFORMER_SOURCE_DIR, name);
}

/// tests/fixtures/tokenizers.json, which make_tokenizers.py writes.
inline const Json& fixture() {
  static const Json json = Json::parse(read_text(fixture_path("tokenizers.json")));
  return json;
}

inline std::unique_ptr<Tokenizer> load_fixture(const std::string& name) {
  return load_tokenizer(fixture_path(fmt::format("tokenizers/{}", name)));
}

inline std::vector<int64_t> ids_of(const Json& json) { return json.get<std::vector<int64_t>>(); }

inline std::vector<Range> ranges_of(const Json& json) {
  std::vector<Range> out;
  for (const Json& pair : json) out.push_back({pair[0].get<uint32_t>(), pair[1].get<uint32_t>()});
  return out;
}

inline std::ostream& operator<<(std::ostream& stream, const Range& range) {
  return stream << "[" << range.begin << ", " << range.end << ")";
}

/// An empty folder that goes with the test.
class TokenizerFolder : public testing::Test {
 protected:
  TokenizerFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fmt::format("{}/tokenizer_{}_{}", testing::TempDir(), test->test_suite_name(), test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TokenizerFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return fmt::format("{}/{}", folder_, name); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }

  std::string folder_;
};

}  // namespace tape::text
