#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "base/static_list.h"
#include "models/folders/family.h"

namespace tape::models {

/// Small models of a family, at least one of each transformer class, valid as long as this object.
class SmallModels {
 public:
  using Make = std::vector<AnyModel> (*)();
  explicit SmallModels(Make models);
  ~SmallModels();
  SmallModels(const SmallModels&) = delete;
  SmallModels& operator=(const SmallModels&) = delete;

  std::vector<AnyModel> make() const { return make_(); }

 private:
  friend class StaticList<SmallModels>;

  const Make make_;
  mutable const SmallModels* next_registered_ = nullptr;
};

/// Small models of the given family.
std::vector<AnyModel> small_models(const hugging_face::ModelFamily& family);

template <class M, class Config>
std::vector<AnyModel> made_of(std::initializer_list<Config> configs) {
  std::vector<AnyModel> models;
  for (const Config& config : configs) models.emplace_back(std::make_unique<M>(config));
  return models;
}

}  // namespace tape::models
