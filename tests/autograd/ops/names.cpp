// No code may compare an operation's name: other code relies on an operation's traits and on the attributes of a call.
// This test reads the library's sources.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "autograd/tape/op.h"
#include "tests/support/paths.h"

namespace tape {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::set<std::string> registered_names() {
  std::set<std::string> names;
  for (const Op* op : registered_ops()) names.insert(op->name());
  return names;
}

/// The lines of a source that compare an operation's name with a literal.
std::vector<std::string> name_comparisons(const std::string& source) {
  static const std::regex comparison(R"re([!=]=\s*"([^"]*)"|"([^"]*)"(?:sv?)?\s*[!=]=|)re"
                                     R"re(\b(?:has\w*|contains|find\w*|starts_with|strcmp|count)\([^;]*"([^"]*)")re");
  static const std::regex asks_name(R"re((?:\.|->)name\(\)|\boperation\b)re");
  static const std::regex knows_operations(
      R"re(#include "[^"]*(?:/op|graph|tape|observer|listeners?|replay|profile)\.h"|\bNode\b)re");
  const std::set<std::string> names = registered_names();
  const bool of_operations = std::regex_search(source, knows_operations);
  std::vector<std::string> found;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    const std::string code = line.substr(0, line.find("//"));
    std::smatch match;
    if (!std::regex_search(code, match, comparison)) continue;
    const bool asked = std::regex_search(code, asks_name) && !match[3].matched;
    const std::string literal = match[1].str() + match[2].str() + match[3].str();
    if (asked || (of_operations && names.contains(literal))) found.push_back(line);
  }
  return found;
}

TEST(OperationNames, AreFoundInComparisons) {
  const std::string knows = "#include \"autograd/tape/graph.h\"\n";
  EXPECT_THAT(name_comparisons("if (op.name() == \"swish\") return;"),
              ElementsAre("if (op.name() == \"swish\") return;"));
  EXPECT_THAT(name_comparisons("if (std::string_view(step.op->name()) != \"x\") {}").size(), 1u);
  EXPECT_THAT(name_comparisons("return \"x\" == node->name();").size(), 1u);
  EXPECT_THAT(name_comparisons(knows + "if (name != \"reshape\" && other) break;").size(), 1u);
  EXPECT_THAT(name_comparisons(knows + "if (search.has(\"checkpoint\")) text += 1;").size(), 1u);
  EXPECT_THAT(name_comparisons("if (operation == \"y\") return;").size(), 1u);
  EXPECT_THAT(name_comparisons("if (event == \"checkpoint\") return;"), IsEmpty());
  EXPECT_THAT(name_comparisons("// if (op.name() == \"swish\")\n"), IsEmpty());
  EXPECT_THAT(name_comparisons(knows + "check_same_dtype(\"matmul\", a, b);"), IsEmpty());
}

TEST(OperationNames, AreNotComparedInTheLibrary) {
  int files = 0;
  for (const char* folder : {"base", "autograd", "nn", "optim", "models", "text", "train", "inspect", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder))) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      ++files;
      EXPECT_THAT(name_comparisons(text_of(entry.path())), IsEmpty()) << entry.path();
    }
  }
  EXPECT_GT(files, 200);
}

/// An Op without samples is in no registry, so nothing would check it.
TEST(OperationNames, AreAllInTheRegistry) {
  static const std::regex definition(R"re(\b(?:Unary)?Op \w+\(\s*\{\.name = "([^"]*)")re");
  const std::set<std::string> names = registered_names();
  std::set<std::string> defined;
  for (const char* folder : {"autograd/ops", "autograd/transforms"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder))) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end; ++match)
        defined.insert((*match)[1].str());
    }
  }
  EXPECT_EQ(defined, names) << "an operation is not registered";
}

}  // namespace
}  // namespace tape
