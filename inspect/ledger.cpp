#include "inspect/ledger.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "autograd/ops/op.h"
#include "autograd/tape/graph.h"

namespace tape {
namespace {

/// A value on the tape: output k of a node.
using Place = std::pair<const Node*, uint32_t>;

/// The value that a chain of views shows.
Place seen_through_views(Place place) {
  while (place.first && !place.first->inputs.empty()) {
    if (place.first->is_leaf() || !place.first->op->traits().view) break;
    const Node::Edge& edge = place.first->inputs[place.second];
    place = {edge.node.get(), edge.output};
  }
  return place;
}

/// One storage that the tape keeps.
struct Kept {
  std::vector<const Node*> holders;  // in the order recorded
  Place maker{nullptr, 0};           // null for values without gradients
  int64_t bytes = 0;
  bool parameter = false;
};

bool lies_in(const std::string& path, const std::string& module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

/// "encoder.layers.0.norm" lies in "encoder", "encoder.layers.0" and itself: a number belongs to its list's name.
std::vector<std::string> modules_around(const std::string& path) {
  std::vector<std::string> modules;
  for (size_t end = 0; end != std::string::npos && !path.empty();) {
    end = path.find('.', end + 1);
    const bool number_follows =
        end != std::string::npos && end + 1 < path.size() && path[end + 1] >= '0' && path[end + 1] <= '9';
    if (!number_follows) modules.push_back(path.substr(0, end));
  }
  return modules;
}

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
    // A slice may lie in the storage of what it was cut from: the earliest one made it.
    if (!kept.maker.first || maker.first->sequence < kept.maker.first->sequence) kept.maker = maker;
    kept.parameter = kept.maker.first->is_leaf();
  }

  /// What is freed of the values held, less the inputs that nobody held.
  int64_t saving(const std::string& module) const {
    const auto inside = [&](const Node* node) { return lies_in(module_of(*node), module); };
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
    for (const Node* node : nodes_)
      for (std::string& module : modules_around(module_of(*node))) modules.insert(std::move(module));
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
  size_t module = 19, operation = 9;  // of the headings
  for (size_t i = 0; i < shown; ++i) {
    module = std::max(module, ledger.entries[i].module_path.size());
    operation = std::max(operation, ledger.entries[i].operation.size());
  }
  for (size_t i = 0; i < advised; ++i) module = std::max(module, ledger.checkpoints[i].module_path.size());

  const auto total = static_cast<double>(ledger.bytes);
  std::string text =
      fmt::format("saved for the backward: {} in {} values; of parameters, apart: {}\n", bytes_text(total),
                  ledger.values, bytes_text(static_cast<double>(ledger.parameter_bytes)));
  text += fmt::format("{:<{}}  {:<{}}  values       bytes  share\n", "module", module, "operation", operation);
  const auto row = [&](const LedgerEntry& entry) {
    const auto bytes = static_cast<double>(entry.bytes);
    text += fmt::format("{:<{}}  {:<{}}  {:>6}  {:>10}  {:>4.0f}%\n", entry.module_path, module, entry.operation,
                        operation, entry.values, bytes_text(bytes), total > 0 ? 100 * bytes / total : 0);
  };
  LedgerEntry rest{.module_path = fmt::format("{} more", ledger.entries.size() - shown)};
  for (size_t i = 0; i < ledger.entries.size(); ++i) {
    if (i < shown) row(ledger.entries[i]);
    if (i >= shown) rest.values += ledger.entries[i].values, rest.bytes += ledger.entries[i].bytes;
  }
  if (shown < ledger.entries.size()) row(rest);
  if (advised == 0) return text;
  text += fmt::format("{:<{}}  would free\n", "a checkpoint around", module);
  for (size_t i = 0; i < advised; ++i) {
    const CheckpointSaving& saving = ledger.checkpoints[i];
    text += fmt::format("{:<{}}  {:>10}\n", saving.module_path, module, bytes_text(static_cast<double>(saving.bytes)));
  }
  return text;
}

std::ostream& operator<<(std::ostream& stream, const Ledger& ledger) { return stream << to_string(ledger); }

}  // namespace tape
