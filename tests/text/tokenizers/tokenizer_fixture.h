#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/tokenizer.h"

// Helpers shared by the tokenizer tests.

namespace tape::text {

using Json = nlohmann::json;

/// tests/fixtures/tokenizers.json, written by make_tokenizers.py.
inline const Json& tokenizer_fixture() { return fixture_json("tokenizers.json"); }

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

/// A temporary folder for the test.
class TokenizerFolder : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& content) const { write_text(path(name), content); }

  const TemporaryFolder folder_;
};

}  // namespace tape::text
