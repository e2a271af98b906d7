#include "nn/check.h"

#include <map>

#include "autograd/gradcheck/registered.h"

namespace tape::nn {
namespace {

std::vector<const ModuleCheck*>& registry(Origin origin) {
  static auto &library = *new std::vector<const ModuleCheck*>, &program = *new std::vector<const ModuleCheck*>;
  return origin == Origin::library ? library : program;
}

/// What the program registered, the checks of one class together.
const CheckSource custom_checks([] {
  std::map<std::string, RegisteredCheck> by_type;
  for (const ModuleCheck* check : registry(Origin::program)) {
    RegisteredCheck& of_type = by_type[check->type()];
    of_type.name = check->type();
    of_type.samples.push_back({check->label(), [check](Derivative derivative, const GradcheckOptions& options) {
                                 return check->run(Checker(derivative, options));
                               }});
  }
  std::vector<RegisteredCheck> all;
  all.reserve(by_type.size());
  for (auto& [type, check] : by_type) all.push_back(std::move(check));
  return all;
});

}  // namespace

ModuleCheck::ModuleCheck(const char* type, const char* label, Run run, Origin origin)
    : type_(type), label_(label), run_(std::move(run)) {
  registry(origin).push_back(this);
}

std::vector<const ModuleCheck*> registered_module_checks(Origin origin) { return registry(origin); }

}  // namespace tape::nn
