// Every layer and model of the library, checked as it declares itself: a class added to nn/ or models/ is tested here
// without another line, and one that declares no check fails.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "autograd/gradcheck/gtest.h"
#include "nn/check.h"
#include "tests/support/paths.h"

namespace tape::nn {
namespace {

/// "nn::Layer<Linear>" is the class Layer.
std::string class_name(std::string text) {
  text = text.substr(0, text.find('<'));
  const size_t colon = text.rfind(':');
  return colon == std::string::npos ? text : text.substr(colon + 1);
}

/// Names of the classes in a header, each with the name of its base: from lines like
/// `class Linear : public Layer<Linear> {`.
void read_classes(const std::filesystem::path& header, std::multimap<std::string, std::string>& base_of) {
  std::ifstream file(header);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string keyword, name, word;
    words >> keyword >> name >> word;
    if (keyword != "class" && keyword != "struct") continue;
    if (word == "final") words >> word;
    if (word != ":" || !(words >> word)) continue;
    if (word == "public") words >> word;
    base_of.emplace(name, class_name(word));
  }
}

/// The headers of nn/ and models/, from the root.
std::vector<std::filesystem::path> headers() {
  std::vector<std::filesystem::path> all;
  for (const char* folder : {"nn", "models"})
    for (const auto& entry : std::filesystem::directory_iterator(source_path(folder)))
      if (entry.path().extension() == ".h") all.push_back(std::filesystem::path(folder) / entry.path().filename());
  return all;
}

/// Classes that derive from Module, directly or not.
std::set<std::string> module_classes() {
  std::multimap<std::string, std::string> base_of;
  for (const auto& header : headers()) read_classes(source_path(header.string()), base_of);
  std::set<std::string> modules{"Module"};
  for (size_t before = 0; before != modules.size();) {
    before = modules.size();
    for (const auto& [name, base] : base_of)
      if (modules.contains(base)) modules.insert(name);
  }
  modules.erase("Module");
  modules.erase("Layer");  // the base of layers
  return modules;
}

TEST(ModuleRegistry, HoldsEveryClassOfTheHeaders) {
  const std::set<std::string> classes = module_classes();
  EXPECT_GE(classes.size(), 12u);  // the reading of the headers works
  EXPECT_TRUE(classes.contains("MultiHeadAttention"));
  EXPECT_TRUE(classes.contains("Transformer"));
  std::set<std::string> checked;
  for (const ModuleCheck* check : registered_module_checks()) checked.insert(check->type());
  for (const std::string& name : classes) EXPECT_TRUE(checked.contains(name)) << name << " has no ModuleCheck";
  for (const std::string& name : checked) EXPECT_TRUE(classes.contains(name)) << name << " is in no header";
}

TEST(ModuleRegistry, HeadersOfModulesAreInTheUmbrellaHeader) {
  std::ostringstream umbrella;
  umbrella << std::ifstream(source_path("tapeformer.h")).rdbuf();
  const std::set<std::string> classes = module_classes();
  int found = 0;
  for (const auto& header : headers()) {
    std::multimap<std::string, std::string> base_of;
    read_classes(source_path(header.string()), base_of);
    if (std::none_of(base_of.begin(), base_of.end(), [&](const auto& made) { return classes.contains(made.first); }))
      continue;
    ++found;
    EXPECT_NE(umbrella.str().find("#include \"" + header.string() + "\""), std::string::npos)
        << header << " is not in tapeformer.h";
  }
  EXPECT_GE(found, 12);
}

class ModuleGradients : public testing::TestWithParam<const ModuleCheck*> {};

TEST_P(ModuleGradients, AreRight) {
  const GradcheckReport report = GetParam()->run(Checker(detail::Order::first));
  EXPECT_FALSE(report.variables.empty());
  EXPECT_TRUE(gradients_match(report));
}

TEST_P(ModuleGradients, OfGradientsAreRight) {
  const GradcheckReport report = GetParam()->run(Checker(detail::Order::second, {.max_elements = 6}));
  EXPECT_FALSE(report.variables.empty());
  EXPECT_TRUE(gradients_match(report));
}

INSTANTIATE_TEST_SUITE_P(Modules, ModuleGradients, testing::ValuesIn(registered_module_checks()), [](const auto& made) {
  std::string name = std::string(made.param->type()) + "_" + made.param->label();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace tape::nn
