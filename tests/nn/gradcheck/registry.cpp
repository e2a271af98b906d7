// Checks every layer and model of the library by its own declaration. A class added to nn/ or models/ is tested here
// without further code, and fails if it declares no check.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "autograd/gradcheck/gtest.h"
#include "nn/gradcheck/check.h"
#include "tests/support/paths.h"

namespace tape::nn {
namespace {

/// Extracts the class name: "nn::Layer<Linear>" is the class Layer.
std::string class_name(std::string text) {
  text = text.substr(0, text.find('<'));
  const size_t colon = text.rfind(':');
  return colon == std::string::npos ? text : text.substr(colon + 1);
}

/// Returns the names of the classes in a header, each with the name of its base, from lines like
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

/// Returns the headers of nn/ and models/, relative to the root.
std::vector<std::filesystem::path> headers() {
  std::vector<std::filesystem::path> all;
  for (const char* folder : {"nn", "models"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder)))
      if (entry.path().extension() == ".h") all.push_back(entry.path().lexically_relative(source_path("")));
  return all;
}

/// Returns the classes that derive from Module, directly or indirectly.
std::set<std::string> module_classes() {
  std::multimap<std::string, std::string> base_of;
  for (const auto& header : headers()) read_classes(source_path(header.string()), base_of);
  std::set<std::string> modules{"Module"};
  for (size_t before = 0; before != modules.size();) {
    before = modules.size();
    for (const auto& [name, base] : base_of)
      if (modules.contains(base)) modules.insert(name);
  }
  for (const char* base : {"Module", "Layer", "ConvLayer", "PoolLayer"}) modules.erase(base);
  return modules;
}

TEST(ModuleRegistry, ContainsEveryClassOfTheHeaders) {
  const std::set<std::string> classes = module_classes();
  EXPECT_GE(classes.size(), 12u);  // the headers were parsed
  EXPECT_TRUE(classes.contains("MultiHeadAttention"));
  EXPECT_TRUE(classes.contains("Transformer"));
  std::set<std::string> checked;
  for (const ModuleCheck* check : registered_module_checks()) checked.insert(check->type());
  for (const std::string& name : classes) EXPECT_TRUE(checked.contains(name)) << name << " has no ModuleCheck";
  for (const std::string& name : checked) EXPECT_TRUE(classes.contains(name)) << name << " is in no header";
}

/// Adds the project's headers that a header includes, directly or indirectly.
void follow_includes(const std::filesystem::path& header, std::set<std::string>& reached) {
  if (!reached.insert(header.string()).second) return;
  std::ifstream file(source_path(header.string()));
  const std::string begin = "#include \"";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(begin))
      follow_includes(
          (header.parent_path() / line.substr(begin.size(), line.rfind('"') - begin.size())).lexically_normal(),
          reached);
}

TEST(ModuleRegistry, UmbrellaHeaderIncludesAllHeadersOfModules) {
  std::set<std::string> reached;
  follow_includes("tapeformer.h", reached);
  const std::set<std::string> classes = module_classes();
  int found = 0;
  for (const auto& header : headers()) {
    std::multimap<std::string, std::string> base_of;
    read_classes(source_path(header.string()), base_of);
    if (std::none_of(base_of.begin(), base_of.end(), [&](const auto& made) { return classes.contains(made.first); }))
      continue;
    ++found;
    EXPECT_TRUE(reached.contains(header.string())) << header << " is not reached by tapeformer.h";
  }
  EXPECT_GE(found, 12);
}

class EveryModule : public testing::TestWithParam<const ModuleCheck*> {};

TEST_P(EveryModule, HasRightGradients) {
  const GradcheckReport report = GetParam()->run(Checker(Derivative::first));
  EXPECT_FALSE(report.variables.empty());
  EXPECT_TRUE(gradients_match(report));
}

TEST_P(EveryModule, HasRightSecondDerivatives) {
  const GradcheckReport report = GetParam()->run(Checker(Derivative::second, {.max_elements = 6}));
  EXPECT_FALSE(report.variables.empty());
  EXPECT_TRUE(gradients_match(report));
}

/// Calls the module until a result differs from the first.
bool varies(const std::function<Tensor(const Tensors&)>& forward, const Tensors& inputs, int calls) {
  const NoGrad no_grad;
  const auto bits = [&] {
    const Tensor y = forward(inputs);
    const auto* bytes = static_cast<const char*>(y.raw());
    return std::string(bytes, bytes + y.numel() * size_of(y.dtype()));
  };
  const std::string first = bits();
  for (int call = 1; call < calls; ++call)
    if (bits() != first) return true;
  return false;
}

TEST_P(EveryModule, IsDeterministicInEvaluation) {
  int asked = 0;
  GetParam()->run(Checker([&](Module& module, const auto& forward, const Tensors& given, const GradcheckOptions&) {
    ++asked;
    Tensors inputs;
    for (const Tensor& x : given) inputs.push_back(is_floating(x.dtype()) ? x.to(f32) : x);
    // Random modules print "dropout 0.2" or "Dropout(0.2)".
    const std::string shown = to_string(module);
    const bool drops = shown.find("ropout 0.") != std::string::npos || shown.find("ropout(0.") != std::string::npos;
    EXPECT_EQ(varies(forward, inputs, 100), drops) << shown;
    module.eval();
    EXPECT_FALSE(varies(forward, inputs, 2)) << shown;
    return GradcheckReport{};
  }));
  EXPECT_EQ(asked, 1);
}

INSTANTIATE_TEST_SUITE_P(Modules, EveryModule, testing::ValuesIn(registered_module_checks()), [](const auto& made) {
  std::string name = std::string(made.param->type()) + "_" + made.param->label();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace tape::nn
