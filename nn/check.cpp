#include "nn/check.h"

namespace tape::nn {
namespace {
std::vector<const ModuleCheck*>& registry() {
  static std::vector<const ModuleCheck*> checks;
  return checks;
}
}  // namespace

ModuleCheck::ModuleCheck(const char* type, const char* label, Run run)
    : type_(type), label_(label), run_(std::move(run)) {
  registry().push_back(this);
}

std::vector<const ModuleCheck*> registered_module_checks() { return registry(); }

}  // namespace tape::nn
