#include "tests/samples/models/small_models.h"

#include <utility>

namespace tape::models {
namespace {

constinit StaticList<SmallModels> all_small_models;

}  // namespace

SmallModels::SmallModels(Make models) : make_(models) { all_small_models.add(*this); }

SmallModels::~SmallModels() { all_small_models.remove(*this); }

std::vector<AnyModel> small_models(const hugging_face::ModelFamily& family) {
  std::vector<AnyModel> found;
  for (const SmallModels* small : all_small_models.all())
    for (AnyModel& model : small->make())
      if (family.has(module_of(model))) found.push_back(std::move(model));
  return found;
}

}  // namespace tape::models
