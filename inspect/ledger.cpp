#include "inspect/ledger.h"

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
using Place = std::pair<const Node*, uint32_t>;

/// The value at the start of a chain of views.
Place seen_through_views(Place place) {
  while (place.first && !place.first->inputs.empty()) {
    if (place.first->is_leaf() || !place.first->op->traits().view) break;
    const Node::Edge& edge = place.first->inputs[place.second];
    place = {edge.node.get(), edge.output};
  }
  return place;
}

constexpr const char* kAdvice = "a checkpoint around";

/// One storage that the tape saves.
struct Kept {
  std::vector<const Node*> holders;  // in recording order
  Place maker{nullptr, 0};           // null for values without gradients
  int64_t bytes = 0;
  bool parameter = false;
};

class Bookkeeper {
 public:
  explicit Bookkeeper(const Tensor& loss) : nodes_(nodes_behind({loss})) {
    for (const Node* node : nodes_)
      for (const Node::Saved& saved : node->saved)
        if (saved.value.defined()) note(node, saved);
    for (const auto& [storage, kept] : kept_)
      if (kept.maker.first) held_.insert(kept.maker);
  }

  Ledger ledger() const {
    Ledger ledger;
    std::map<std::pair<std::string, std::string>, LedgerEntry> entries;
    for (const auto& [storage, kept] : kept_) {
      if (kept.parameter) {
        ledger.parameter_bytes += kept.bytes;
        continue;
      }
      const Node& first = *kept.holders.front();
      LedgerEntry& entry = entries[{module_of(first), first.name()}];
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
                     [](const LedgerEntry& a, const LedgerEntry& b) { return a.bytes > b.bytes; });
    ledger.checkpoints = savings();
    return ledger;
  }

 private:
  void note(const Node* node, const Node::Saved& saved) {
    const TensorImpl& value = saved.value.impl();
    Kept& kept = kept_[value.storage.get()];
    kept.bytes = value.storage->bytes();
    kept.holders.push_back(node);
    Place maker{value.node.get(), value.output};
    if (saved.output >= 0) maker = {node, static_cast<uint32_t>(saved.output)};
    maker = seen_through_views(maker);
    if (!maker.first) return;
    // A slice may share the storage of a larger value: the earliest node made it.
    if (!kept.maker.first || maker.first->sequence < kept.maker.first->sequence) kept.maker = maker;
    kept.parameter = kept.maker.first->is_leaf();
  }

  /// Bytes of the saved values that would be freed, minus inputs that would have to be saved.
  int64_t saving(const std::string& module) const {
    const auto inside = [&](const Node* node) { return is_inside(module_of(*node), module); };
    int64_t bytes = 0;
    for (const auto& [storage, kept] : kept_) {
      const bool given = kept.maker.first && !inside(kept.maker.first);
      if (!kept.parameter && !given && std::all_of(kept.holders.begin(), kept.holders.end(), inside))
        bytes += kept.bytes;
    }
    std::set<Place> inputs;
    for (const Node* node : nodes_) {
      if (!inside(node)) continue;
      for (const Node::Edge& edge : node->inputs) {
        const Place place = seen_through_views({edge.node.get(), edge.output});
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
  std::map<const Storage*, Kept> kept_;
  std::set<Place> held_;
};

template <class Key>
std::vector<LedgerEntry> added_up(const std::vector<LedgerEntry>& entries, const Key& key) {
  std::map<std::string, LedgerEntry> sums;
  for (const LedgerEntry& entry : entries) {
    const LedgerEntry named = key(entry);
    LedgerEntry& sum = sums[named.module_path + named.operation];
    sum.module_path = named.module_path, sum.operation = named.operation;
    sum.values += entry.values, sum.bytes += entry.bytes;
  }
  std::vector<LedgerEntry> sorted;
  sorted.reserve(sums.size());
  for (auto& [name, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LedgerEntry& a, const LedgerEntry& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace

std::vector<LedgerEntry> Ledger::by_operation() const {
  return added_up(entries, [](const LedgerEntry& entry) { return LedgerEntry{.operation = entry.operation}; });
}

std::vector<LedgerEntry> Ledger::by_module() const {
  return added_up(entries, [](const LedgerEntry& entry) { return LedgerEntry{.module_path = entry.module_path}; });
}

Ledger saved_tensors(const Tensor& loss) {
  check_recorded("saved_tensors", loss);
  return Bookkeeper(loss).ledger();
}

std::string to_string(const Ledger& ledger, size_t rows) {
  const size_t shown = std::min(rows, ledger.entries.size()), advised = std::min(rows, ledger.checkpoints.size());
  // Both tables have a module column of the same width.
  int64_t module = display_width(kAdvice);
  for (size_t i = 0; i < shown; ++i) module = std::max(module, display_width(ledger.entries[i].module_path));
  for (size_t i = 0; i < advised; ++i) module = std::max(module, display_width(ledger.checkpoints[i].module_path));

  using enum TextTable::Align;
  const auto total = static_cast<double>(ledger.bytes);
  TextTable saved({{left, module}, {left}, {right}, {right, 10}, {right}});
  saved.add({"module", "operation", "values", "bytes", "share"});
  const auto add = [&](const LedgerEntry& entry) {
    const auto bytes = static_cast<double>(entry.bytes);
    saved.add({entry.module_path, entry.operation, std::to_string(entry.values), format_bytes(bytes),
               fmt::format("{:.0f}%", total > 0 ? 100 * bytes / total : 0)});
  };
  LedgerEntry rest{.module_path = fmt::format("{} more", ledger.entries.size() - shown)};
  for (size_t i = 0; i < ledger.entries.size(); ++i) {
    if (i < shown) add(ledger.entries[i]);
    if (i >= shown) rest.values += ledger.entries[i].values, rest.bytes += ledger.entries[i].bytes;
  }
  if (shown < ledger.entries.size()) add(rest);

  TextTable advice({{left, module}, {right}});
  if (advised > 0) advice.add({kAdvice, "would free"});
  for (size_t i = 0; i < advised; ++i)
    advice.add({ledger.checkpoints[i].module_path, format_bytes(static_cast<double>(ledger.checkpoints[i].bytes))});
  return fmt::format("saved for the backward: {} in {} values; parameters, not included: {}\n{}{}", format_bytes(total),
                     ledger.values, format_bytes(static_cast<double>(ledger.parameter_bytes)), saved.text(),
                     advice.text());
}

std::ostream& operator<<(std::ostream& stream, const Ledger& ledger) { return stream << to_string(ledger); }

}  // namespace tape
