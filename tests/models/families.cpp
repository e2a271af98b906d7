// Every family of models in the table can be saved and loaded without loss, without another line here. A class that is
// in no family fails.

#include "models/families.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "autograd/random.h"
#include "base/file.h"
#include "models/folders/family.h"
#include "tests/samples/models/small_models.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

std::string architecture_in(const std::string& folder) {
  return nlohmann::json::parse(read_text(folder + "/config.json")).at("architectures").at(0);
}

/// Weights that differ from their initial values, so that a missing tensor is noticed.
void scatter_weights(nn::Module& model) {
  Generator stream(5);
  const NoGrad no_grad;
  for (auto& [name, value] : model.state_dict()) Tensor(value).copy_(randn(value.shape(), f32, stream));
}

TEST(ModelFamilies, AreUnchangedBySavingAndLoading) {
  for (const hf::ModelFamily* family : hf::model_families())
    for (const AnyModel& sample : small_models(*family)) {
      const TemporaryFolder folder;
      nn::Module& model = module_of(sample);
      SCOPED_TRACE(model.type_name());
      scatter_weights(model);
      save(folder / "once", model);
      const AnyModel again = load_model(folder / "once");
      EXPECT_EQ(module_of(again).type_name(), model.type_name());
      const nn::StateDict before = model.state_dict(), after = module_of(again).state_dict();
      ASSERT_EQ(after.size(), before.size());
      for (const auto& [name, value] : before) EXPECT_TRUE(tensors_equal(after.at(name), value)) << name;
      save(folder / "twice", again);
      EXPECT_EQ(read_text(folder / "twice/config.json"), read_text(folder / "once/config.json"));
    }
}

TEST(ModelFamilies, HaveASampleOfEveryClassTheyRead) {
  for (const hf::ModelFamily* family : hf::model_families()) {
    std::set<std::string> classes, written;
    for (const hf::TransformersClass& one : family->classes()) classes.insert(one.architecture);
    if (classes.empty()) continue;  // each family of encoders is read with every head
    for (const AnyModel& sample : small_models(*family)) {
      const TemporaryFolder folder;
      save(folder.path(), sample);
      const std::string config = read_text(folder / "config.json");
      if (config.find("architectures") != std::string::npos) written.insert(architecture_in(folder.path()));
    }
    EXPECT_EQ(written, classes);
  }
}

TEST(ModelFamilies, IncludeEveryClassOfTheHeaders) {
  std::set<std::string> made;
  for (const hf::ModelFamily* family : hf::model_families())
    for (const AnyModel& sample : small_models(*family)) made.insert(module_of(sample).type_name());
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path("models"))) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string keyword, name, colon, access, base;
      words >> keyword >> name >> colon >> access >> base;
      if (keyword != "class" || colon != ":") continue;
      if (base != "CausalLM" && base != "EncoderDecoder" && base != "EncoderModel") continue;
      ++found;
      EXPECT_TRUE(made.contains(name)) << name << " is in no family of models/families.h";
    }
  }
  EXPECT_GE(found, 12);
}

TEST(ModelFamilies, ReadNoClassTwice) {
  std::set<std::string> all;
  for (const hf::ModelFamily* family : hf::model_families())
    for (const hf::TransformersClass& one : family->classes())
      EXPECT_TRUE(all.insert(one.architecture).second) << one.architecture;
}

}  // namespace
}  // namespace tape::models
