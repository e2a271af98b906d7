#include "inspect/experiments/patching.h"

#include <algorithm>

#include "base/module_path.h"
#include "inspect/experiments/patch.h"

namespace tape::inspect {
namespace {

/// "decoder.layers.1" becomes "decoder.layers.*", a direct submodule "decoder.layers.*.norm1", other paths "".
std::string kind_of(const std::string& path) {
  const std::vector<std::string_view> names = split_module_path(path);
  for (size_t back = 1; back <= std::min<size_t>(names.size(), 2); ++back) {
    const std::string_view name = names[names.size() - back];
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) continue;
    const auto number = static_cast<size_t>(name.data() - path.data()) + dot + 1;
    return std::string(path).replace(number, name.size() - dot - 1, "*");
  }
  return "";
}

/// Whether it is a layer or a block in it with submodules; a norm by itself tells little.
bool is_shown(const Activations::Module& of) {
  const std::string kind = kind_of(of.path);
  return of.of_tokens && !kind.empty() && (kind.ends_with('*') || of.module->named_modules().size() > 1);
}

class Patcher {
 public:
  Patcher(const Study& clean, const Study& corrupted, const PatchingOptions& options)
      : corrupted_(corrupted), options_(options), from_(clean) {
    if (clean.module != corrupted.module)
      raise(ErrorKind::config, "patch: the clean and the corrupted study have different models");
    for (size_t i = 0; i < clean.texts.size(); ++i)
      if (clean.texts[i].tokens.size() != corrupted.texts.at(i).tokens.size())
        raise(ErrorKind::config, "patch: the {} has {} tokens, but {} when corrupted: the counts must match",
              clean.texts[i].name, clean.texts[i].tokens.size(), corrupted.texts[i].tokens.size());
  }

  Patching all() {
    Patching found{.clean = from_.values(), .corrupted = values_of(corrupted_.run()), .texts = corrupted_.texts};
    if (values_of(corrupted_.run()) != found.corrupted)
      raise(ErrorKind::config, "patch: the model is not deterministic (call eval())");
    for (const bool heads : {false, true})
      for (const Activations::Module& of : from_.modules())
        if (is_shown(of) && (!heads || of.head_count > 0)) place_in(found.grids, of, heads);
    for (const PatchGrid& grid : found.grids) runs_ += std::ssize(grid.modules) * columns(grid);
    for (PatchGrid& grid : found.grids) fill(grid);
    return found;
  }

 private:
  static void place_in(std::vector<PatchGrid>& grids, const Activations::Module& of, bool heads) {
    const std::string name = kind_of(of.path);
    const int64_t count = heads ? of.head_count : 0;
    auto grid = std::ranges::find_if(
        grids, [&](const PatchGrid& one) { return one.name == name && one.heads == count && one.text == of.text; });
    if (grid == grids.end()) {
      grids.push_back({.name = name, .text = of.text, .heads = count});
      grid = grids.end() - 1;
    }
    grid->modules.push_back(of.path);
  }

  int64_t columns(const PatchGrid& grid) const {
    return grid.heads > 0 ? grid.heads : std::ssize(corrupted_.texts[grid.text].tokens) + 1;
  }

  void fill(PatchGrid& grid) {
    for (const std::string& module : grid.modules) {
      grid.values.emplace_back();
      for (int64_t column = 0; column < columns(grid); ++column) {
        ActivationPatch patch{.module = module};
        if (grid.heads > 0)
          patch.head = column;
        else if (column + 1 < columns(grid))
          patch.position = column;
        if (options_.progress) options_.progress(done_++, runs_);
        const PatchedActivations patched(from_, patch);
        grid.values.back().push_back(values_of(corrupted_.run()));
      }
    }
  }

  const Study& corrupted_;
  const PatchingOptions& options_;
  const Activations from_;
  int64_t done_ = 0, runs_ = 0;
};

}  // namespace

Patching run_activation_patching(const Study& clean, const Study& corrupted, const PatchingOptions& options) {
  const RunInF64 f64_parameters(clean.module);
  const NoGrad no_grad;
  return Patcher(clean, corrupted, options).all();
}

}  // namespace tape::inspect
