#include "inspect/saved_tensors.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"
#include "base/module_path.h"
#include "base/number_text.h"
#include "base/table.h"
#include "base/utf8.h"

namespace tape {
namespace {

/// A value on the tape: output k of a node.
using ValueId = std::pair<const Node*, uint32_t>;

/// The value at the start of a chain of views.
ValueId base_of_views(ValueId place) {
  while (place.first && !place.first->inputs.empty()) {
    if (place.first->is_leaf() || !place.first->op->traits().view) break;
    const Node::Edge& edge = place.first->inputs[place.second];
    place = {edge.node.get(), edge.output};
  }
  return place;
}

constexpr const char* kCheckpointHeading = "a checkpoint around";

/// One storage that the tape saves.
struct SavedStorage {
  std::vector<const Node*> holders;  // in recording order
  ValueId maker{nullptr, 0};         // null for values without gradients
  int64_t bytes = 0;
  bool parameter = false;
};

class SavedTensorsCollector {
 public:
  explicit SavedTensorsCollector(const Tensor& loss) : nodes_(nodes_behind({loss})) {
    for (const Node* node : nodes_)
      for (const Node::Saved& saved : node->saved)
        if (saved.value.defined()) note(node, saved);
    for (const auto& [storage, kept] : kept_)
      if (kept.maker.first) held_.insert(kept.maker);
  }

  SavedTensorsReport ledger() const {
    SavedTensorsReport ledger;
    std::map<std::pair<std::string, std::string>, SavedTensorsEntry> entries;
    for (const auto& [storage, kept] : kept_) {
      if (kept.parameter) {
        ledger.parameter_bytes += kept.bytes;
        continue;
      }
      const Node& first = *kept.holders.front();
      SavedTensorsEntry& entry = entries[{module_of(first), first.name()}];
      entry.bytes += kept.bytes;
      ++entry.values;
      ledger.bytes += kept.bytes;
      ++ledger.values;
    }
    for (auto& [key, entry] : entries) {
      std::tie(entry.module_path, entry.operation) = key;
      ledger.entries.push_back(entry);
    }
    std::stable_sort(ledger.entries.begin(), ledger.entries.end(),
                     [](const SavedTensorsEntry& a, const SavedTensorsEntry& b) { return a.bytes > b.bytes; });
    ledger.checkpoints = savings();
    return ledger;
  }

 private:
  void note(const Node* node, const Node::Saved& saved) {
    const TensorImpl& value = saved.value.impl();
    SavedStorage& kept = kept_[value.storage.get()];
    kept.bytes = value.storage->bytes();
    kept.holders.push_back(node);
    ValueId maker{value.node.get(), value.output};
    if (saved.output >= 0) maker = {node, static_cast<uint32_t>(saved.output)};
    maker = base_of_views(maker);
    if (!maker.first) return;
    // A slice may share the storage of a larger value: the earliest node made it.
    if (!kept.maker.first || maker.first->sequence < kept.maker.first->sequence) kept.maker = maker;
    kept.parameter = kept.maker.first->is_leaf();
  }

  /// Bytes of the saved values that would be freed, minus inputs that would have to be saved.
  int64_t saving(const std::string& module) const {
    const auto inside = [&](const Node* node) { return is_in_module(module_of(*node), module); };
    int64_t bytes = 0;
    for (const auto& [storage, kept] : kept_) {
      const bool given = kept.maker.first && !inside(kept.maker.first);
      if (!kept.parameter && !given && std::all_of(kept.holders.begin(), kept.holders.end(), inside))
        bytes += kept.bytes;
    }
    std::set<ValueId> inputs;
    for (const Node* node : nodes_) {
      if (!inside(node)) continue;
      for (const Node::Edge& edge : node->inputs) {
        const ValueId place = base_of_views({edge.node.get(), edge.output});
        if (!place.first || place.first->is_leaf() || inside(place.first) || !inputs.insert(place).second) continue;
        const Node::Output& input = place.first->outputs[place.second];
        if (!held_.contains(place)) bytes -= input.shape.numel() * size_of(input.dtype);
      }
    }
    return bytes;
  }

  std::vector<CheckpointSaving> savings() const {
    std::set<std::string> modules;
    for (const Node* node : nodes_) {
      const std::string path = module_of(*node);
      for (const std::string_view module : enclosing_modules(path)) modules.emplace(module);
    }
    std::vector<CheckpointSaving> all;
    for (const std::string& module : modules)
      if (const int64_t bytes = saving(module); bytes > 0) all.push_back({module, bytes});
    std::stable_sort(all.begin(), all.end(),
                     [](const CheckpointSaving& a, const CheckpointSaving& b) { return a.bytes > b.bytes; });
    return all;
  }

  const std::vector<const Node*> nodes_;
  std::map<const Storage*, SavedStorage> kept_;
  std::set<ValueId> held_;
};

template <class Key>
std::vector<SavedTensorsEntry> added_up(const std::vector<SavedTensorsEntry>& entries, const Key& key) {
  std::map<std::string, SavedTensorsEntry> sums;
  for (const SavedTensorsEntry& entry : entries) {
    const SavedTensorsEntry named = key(entry);
    SavedTensorsEntry& sum = sums[named.module_path + named.operation];
    sum.module_path = named.module_path, sum.operation = named.operation;
    sum.values += entry.values, sum.bytes += entry.bytes;
  }
  std::vector<SavedTensorsEntry> sorted;
  sorted.reserve(sums.size());
  for (auto& [name, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const SavedTensorsEntry& a, const SavedTensorsEntry& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace

std::vector<SavedTensorsEntry> SavedTensorsReport::by_operation() const {
  return added_up(entries,
                  [](const SavedTensorsEntry& entry) { return SavedTensorsEntry{.operation = entry.operation}; });
}

std::vector<SavedTensorsEntry> SavedTensorsReport::by_module() const {
  return added_up(entries,
                  [](const SavedTensorsEntry& entry) { return SavedTensorsEntry{.module_path = entry.module_path}; });
}

SavedTensorsReport saved_tensors(const Tensor& loss) {
  check_recorded("saved_tensors", loss);
  return SavedTensorsCollector(loss).ledger();
}

std::string to_string(const SavedTensorsReport& ledger, size_t rows) {
  const size_t shown = std::min(rows, ledger.entries.size()), advised = std::min(rows, ledger.checkpoints.size());
  // Both tables have a module column of the same width.
  int64_t module = display_width(kCheckpointHeading);
  for (size_t i = 0; i < shown; ++i) module = std::max(module, display_width(ledger.entries[i].module_path));
  for (size_t i = 0; i < advised; ++i) module = std::max(module, display_width(ledger.checkpoints[i].module_path));

  using enum TextTable::Align;
  const auto total = static_cast<double>(ledger.bytes);
  TextTable saved({{left, module}, {left}, {right}, {right, 10}, {right}});
  saved.add({"module", "operation", "values", "bytes", "share"});
  const auto add = [&](const SavedTensorsEntry& entry) {
    const auto bytes = static_cast<double>(entry.bytes);
    saved.add({entry.module_path, entry.operation, std::to_string(entry.values), format_bytes(bytes),
               fmt::format("{:.0f}%", total > 0 ? 100 * bytes / total : 0)});
  };
  SavedTensorsEntry rest{.module_path = fmt::format("{} more", ledger.entries.size() - shown)};
  for (size_t i = 0; i < ledger.entries.size(); ++i) {
    if (i < shown) add(ledger.entries[i]);
    if (i >= shown) rest.values += ledger.entries[i].values, rest.bytes += ledger.entries[i].bytes;
  }
  if (shown < ledger.entries.size()) add(rest);

  TextTable advice({{left, module}, {right}});
  if (advised > 0) advice.add({kCheckpointHeading, "would free"});
  for (size_t i = 0; i < advised; ++i)
    advice.add({ledger.checkpoints[i].module_path, format_bytes(static_cast<double>(ledger.checkpoints[i].bytes))});
  return fmt::format("saved for the backward: {} in {} values; parameters, not included: {}\n{}{}", format_bytes(total),
                     ledger.values, format_bytes(static_cast<double>(ledger.parameter_bytes)), saved.text(),
                     advice.text());
}

std::ostream& operator<<(std::ostream& stream, const SavedTensorsReport& ledger) { return stream << to_string(ledger); }

}  // namespace tape
