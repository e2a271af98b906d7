#include "nn/gradcheck/check.h"

#include <map>

#include "autograd/gradcheck/registered.h"
#include "base/static_list.h"

namespace tape::nn {
namespace {

constinit StaticList<ModuleCheck> library_checks, program_checks;

StaticList<ModuleCheck>& registry(Origin origin) { return origin == Origin::library ? library_checks : program_checks; }

/// Checks that the program registered, grouped by class.
const CheckSource custom_checks([] {
  std::map<std::string, RegisteredCheck> by_type;
  for (const ModuleCheck* check : registry(Origin::program).all()) {
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
    : type_(type), label_(label), run_(std::move(run)), origin_(origin) {
  registry(origin).add(*this);
}

ModuleCheck::~ModuleCheck() { registry(origin_).remove(*this); }

std::vector<const ModuleCheck*> registered_module_checks(Origin origin) { return registry(origin).all(); }

}  // namespace tape::nn
