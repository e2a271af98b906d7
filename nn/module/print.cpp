#include "nn/module/print.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/table.h"

namespace tape::nn {
namespace {

/// One line of the tree: its text, and the columns to the right of it.
struct Line {
  std::string text, count, shape;
  bool operator==(const Line&) const = default;
};

std::string joined(const std::vector<Line>& lines) {
  TextTable table({{TextTable::Align::left}, {TextTable::Align::right}, {TextTable::Align::left}});
  for (const Line& line : lines) {
    if (line.count.empty() && line.shape.empty())
      table.add({line.text});
    else
      table.add({line.text, line.count, line.shape});
  }
  return table.text();
}

}  // namespace

/// Draws the tree of a module.
class ModulePrinter {
 public:
  explicit ModulePrinter(const OutputShapes* shapes) : shapes_(shapes) {}

  std::vector<Line> lines(const Module& module) const {
    std::vector<Line> result(1);
    const auto& entries = module.entries_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].child) continue;
      const std::vector<Line> described = lines(*entries[i].child);
      const size_t last = last_alike(entries, i, described);
      append(result, entries, i, last, described);
      i = last;
    }
    const bool leaf = result.size() == 1;
    const int64_t count = module.parameter_count();
    result.front() = {fmt::format("{}({}{}", module.type_name(), module.settings(), leaf ? ")" : ""),
                      count > 0 ? grouped(count) : "", shapes_ ? shapes_->of(module) : ""};
    if (!leaf) result.push_back({")", "", ""});
    return result;
  }

 private:
  /// Folds equal layers of a list into one line: "(layers.0-5): 6 x EncoderLayer(...)".
  size_t last_alike(const std::vector<Module::Entry>& entries, size_t i, const std::vector<Line>& described) const {
    const std::string& name = entries[i].name;
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return i;
    const auto looks_else = [&](const Module::Entry& entry) {
      return !entry.child || entry.name.compare(0, dot + 1, name, 0, dot + 1) != 0 || lines(*entry.child) != described;
    };
    const auto behind = entries.begin() + static_cast<int64_t>(i) + 1;
    return i + static_cast<size_t>(std::find_if(behind, entries.end(), looks_else) - behind);
  }

  static void append(std::vector<Line>& to, const std::vector<Module::Entry>& entries, size_t first, size_t last,
                     const std::vector<Line>& described) {
    const std::string& name = entries[first].name;
    const size_t times = last - first + 1;
    const std::string range =
        times == 1 ? name : fmt::format("{}-{}", name, entries[last].name.substr(name.rfind('.') + 1));
    const std::string factor = times == 1 ? "" : fmt::format("{} x ", times);
    for (size_t i = 0; i < described.size(); ++i) {
      Line line = described[i];
      line.text = i == 0 ? fmt::format("  ({}): {}{}", range, factor, line.text) : fmt::format("  {}", line.text);
      if (i == 0 && !line.count.empty()) line.count = fmt::format("{}{}", factor, line.count);
      to.push_back(std::move(line));
    }
  }

  const OutputShapes* shapes_;
};

OutputShapes::OutputShapes(Module& module) {
  for (const auto& [name, part] : module.named_modules())
    hooks_.forward(*part, [this](Module& m, const Tensors&, const Tensor& out) {
      shapes_[&m] = to_string(out.shape());
      return Tensor();
    });
}

std::string OutputShapes::of(const Module& module) const {
  const auto found = shapes_.find(&module);
  return found == shapes_.end() ? "" : found->second;
}

std::string describe(const Module& module, const OutputShapes* shapes) {
  std::string text = joined(ModulePrinter(shapes).lines(module));
  const int64_t all = module.parameter_count(), frozen = all - module.trainable_parameter_count();
  text += fmt::format("{} parameters", grouped(all));
  if (frozen > 0) text += fmt::format(", {} of them frozen", grouped(frozen));
  return text;
}

std::string to_string(const Module& module) { return describe(module, nullptr); }

std::ostream& operator<<(std::ostream& stream, const Module& module) { return stream << to_string(module); }

}  // namespace tape::nn
