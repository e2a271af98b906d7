#include "models/folders/layout.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "base/short_list.h"
#include "models/folders/layout_prefix.h"

namespace tape::models {
namespace {

/// "x.query.weight" -> "x.query".
std::string without_weight(const std::string& name) {
  return name.ends_with(".weight") ? name.substr(0, name.size() - std::string_view(".weight").size()) : name;
}

std::vector<std::string> paths(const std::vector<std::string>& weights) {
  std::vector<std::string> paths;
  paths.reserve(weights.size());
  for (const std::string& weight : weights) paths.push_back(without_weight(weight));
  return paths;
}

}  // namespace

Layout::Scope::Scope(Layout& layout, const std::string& ours, const std::string& theirs)
    : layout_(layout), ours_(layout.ours_), theirs_(layout.theirs_) {
  layout.ours_ += ours;
  layout.theirs_ += theirs;
}

Layout::Scope::~Scope() {
  layout_.ours_ = std::move(ours_);
  layout_.theirs_ = std::move(theirs_);
}

void Layout::add(const std::vector<std::string>& ours, const std::string& theirs, const Shape& shape, Kind kind,
                 int64_t heads) {
  Entry entry{{}, theirs_ + theirs, shape, kind, heads};
  for (const std::string& name : ours) entry.ours.push_back(ours_ + name);
  entries_.push_back(std::move(entry));
}

void Layout::add_packed(const std::vector<std::string>& ours, const std::string& theirs, const Shape& weight, bool bias,
                        Kind kind, int64_t heads) {
  const bool transposed = kind == Kind::transposed;
  const auto all = [&](const char* part) {
    std::vector<std::string> names;
    for (const std::string& name : ours) names.push_back(fmt::format("{}.{}", name, part));
    return names;
  };
  add(all("weight"), fmt::format("{}.weight", theirs), weight, kind, heads);
  if (bias)
    add(all("bias"), fmt::format("{}.bias", theirs), {weight[transposed ? 1 : 0]}, transposed ? Kind::same : kind,
        heads);
}

void Layout::tensor(const std::string& ours, const std::string& theirs, const Shape& shape) {
  add({ours}, theirs, shape);
}

void Layout::linear(const std::string& ours, const std::string& theirs, int64_t in, int64_t out, bool bias) {
  add_packed({ours}, theirs, {out, in}, bias);
}

void Layout::norm(const std::string& ours, const std::string& theirs, int64_t width, bool bias) {
  add_packed({ours}, theirs, {width}, bias);
}

void Layout::packed_columns(const std::vector<std::string>& ours, const std::string& theirs, int64_t in,
                            int64_t out_each) {
  add_packed(ours, theirs, {in, out_each * std::ssize(ours)}, true, Kind::transposed);
}

void Layout::packed_rows(const std::vector<std::string>& ours, const std::string& theirs, int64_t in, int64_t out_each,
                         bool bias) {
  add_packed(ours, theirs, {checked_multiply(out_each, std::ssize(ours), theirs_ + theirs), in}, bias);
}

void Layout::packed_by_head(const std::vector<std::string>& ours, const std::string& theirs, int64_t in,
                            int64_t out_each, int64_t heads, bool bias) {
  add_packed(ours, theirs, {checked_multiply(out_each, std::ssize(ours), theirs_ + theirs), in}, bias,
             Kind::packed_by_head, heads);
}

void Layout::optional_row(const std::string& ours, const std::string& theirs, int64_t width) {
  add({ours}, theirs, {1, width}, Kind::row);
}

void Layout::copy(const std::string& theirs, const std::string& of) { copies_.emplace_back(theirs, of); }

Layout Layout::in_memory() const {
  Layout layout = *this;
  const auto rename = [this](std::string& name) {
    for (const auto& [theirs, in_memory] : memory_names_)
      if (name.starts_with(theirs + ".")) name = in_memory + name.substr(theirs.size());
  };
  for (Entry& entry : layout.entries_) rename(entry.theirs);
  for (auto& [copy, of] : layout.copies_) {
    rename(copy);
    rename(of);
  }
  layout.memory_names_.clear();
  return layout;
}

bool Layout::ignores(const std::string& name) const {
  return std::any_of(ignored_.begin(), ignored_.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

const Layout::Entry& Layout::entry_of(const std::string& linear) const {
  const std::string weight = fmt::format("{}.weight", linear);
  for (const Entry& entry : entries_)
    if (std::ranges::find(entry.ours, weight) != entry.ours.end()) return entry;
  raise(ErrorKind::config, "layout: the folder has no weight of {}", linear);
}

std::vector<std::string> Layout::linears(const std::string& theirs) const {
  for (const Entry& entry : entries_)
    if (entry.shape.rank() == 2 && entry.theirs == fmt::format("{}.weight", theirs)) return paths(entry.ours);
  return {};
}

std::vector<std::vector<std::string>> Layout::packed_linears() const {
  std::vector<std::vector<std::string>> packed;
  for (const Entry& entry : entries_)
    if (entry.shape.rank() == 2 && entry.ours.size() > 1) packed.push_back(paths(entry.ours));
  return packed;
}

std::vector<std::string> Layout::file_tensor_names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const Entry& entry : entries_) names.push_back(entry.theirs);
  return names;
}

double Layout::parameter_count() const {
  double count = 0;
  for (const Entry& entry : entries_) count += static_cast<double>(entry.shape.numel());
  return count;
}

bool Layout::stores_transposed(const std::string& linear) const { return entry_of(linear).kind == Kind::transposed; }

std::string Layout::file_linear_name(const std::string& linear) const {
  return without_weight(entry_of(linear).theirs);
}

Layout Layout::adapters(const std::string& name, const std::map<std::string, Adapter>& linears) const {
  Layout layout;
  for (const Entry& entry : entries_) {
    if (entry.shape.rank() != 2) continue;
    const std::vector<std::string> own = paths(entry.ours);
    const auto adapter = linears.find(own.front());
    if (adapter == linears.end()) continue;
    const bool transposed = entry.kind == Kind::transposed;
    const Kind outputs = transposed ? Kind::same : entry.kind;  // adapters are never stored transposed
    const int64_t in = entry.shape[transposed ? 0 : 1], out = entry.shape[transposed ? 1 : 0];
    const auto add = [&](const char* part, const char* their, const Shape& shape, Kind kind) {
      std::vector<std::string> names;
      for (const std::string& path : own) names.push_back(fmt::format("{}.lora.{}.{}", path, name, part));
      layout.add(names, fmt::format("base_model.model.{}.{}", without_weight(entry.theirs), their), shape, kind,
                 entry.heads);
    };
    const int64_t rank = adapter->second.rank;
    add("A", "lora_A.weight", {rank, in}, own.size() > 1 ? Kind::shared : Kind::same);
    add("B", "lora_B.weight", {out, rank}, outputs);
    if (adapter->second.magnitude) add("magnitude", "lora_magnitude_vector", {out}, outputs);
  }
  return layout;
}

Layout Layout::only(const std::map<std::string, Tensor>& theirs) const {
  Layout layout;
  for (const Entry& entry : entries_)
    if (theirs.contains(entry.theirs)) layout.entries_.push_back(entry);
  for (const auto& pair : copies_)
    if (theirs.contains(pair.second)) layout.copies_.push_back(pair);
  return layout;
}

std::map<std::string, Tensor> Layout::with_prefix(const std::map<std::string, Tensor>& tensors,
                                                  const std::string& prefix) const {
  if (prefix.empty()) return tensors;
  std::set<std::string> known;
  for (const Entry& entry : entries_) known.insert(entry.theirs);
  for (const auto& pair : copies_) known.insert(pair.first);
  std::map<std::string, Tensor> renamed;
  for (const auto& [name, tensor] : tensors) {
    const std::string longer = prefix + name;
    const bool fits = known.contains(longer) || (ignores(longer) && !ignores(name));
    renamed.emplace(!known.contains(name) && fits && !tensors.contains(longer) ? longer : name, tensor);
  }
  return renamed;
}

Layout Layout::with_own_names() const {
  Layout own;
  for (const Entry& entry : entries_) {
    TAPE_ASSERT(entry.kind == Kind::same || entry.kind == Kind::row);
    own.tensor(entry.ours.front(), entry.ours.front(), entry.kind == Kind::row ? Shape{entry.shape[1]} : entry.shape);
  }
  return own;
}

Tensors Layout::parts_of(const Entry& entry, const Tensor& given) {
  const auto count = std::ssize(entry.ours);
  if (entry.kind == Kind::transposed) return chunk(transpose(given), count);
  if (entry.kind == Kind::row) return {given[0]};
  if (entry.kind == Kind::same) return chunk(given, count);
  if (entry.kind == Kind::shared) return Tensors(entry.ours.size(), given);
  const int64_t in = given.rank() == 2 ? given.size(1) : 1, out = given.size(0) / count, width = out / entry.heads;
  const Tensor heads = reshape(given, Shape{entry.heads, count, width, in});
  Tensors parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back(reshape(select(heads, 1, i), given.shape().with(0, out)));
  return parts;
}

Tensor Layout::whole_of(const Entry& entry, const Tensors& parts) {
  if (entry.kind == Kind::packed_by_head) {
    Tensors heads;
    for (const Tensor& part : parts) heads.push_back(reshape(part, Shape{entry.heads, part.numel() / entry.heads}));
    return reshape(stack(heads, 1), entry.shape);
  }
  const bool one = parts.size() == 1 || entry.kind == Kind::shared;
  const Tensor whole = one ? parts.front() : cat(parts, 0);
  return entry.kind == Kind::transposed ? transpose(whole) : entry.kind == Kind::row ? unsqueeze(whole, 0) : whole;
}

nn::StateDict Layout::from_file(const std::map<std::string, Tensor>& tensors, const std::string& where) const {
  const NoGrad no_grad;
  std::vector<std::string> problems;
  const auto note = [&problems](std::string line) { problems.push_back(std::move(line)); };
  nn::StateDict state;
  std::set<std::string> known, unexpected;
  std::vector<std::string> missing;
  for (const Entry& entry : entries_) {
    known.insert(entry.theirs);
    const auto found = tensors.find(entry.theirs);
    if (found == tensors.end()) {
      if (entry.kind == Kind::row)
        state.emplace(entry.ours.front(), zeros({entry.shape[1]}));
      else
        note(fmt::format("missing: \"{}\" {}", missing.emplace_back(entry.theirs), to_string(entry.shape)));
      continue;
    }
    const Tensor& given = found->second;
    if (!(given.shape() == entry.shape)) {
      note(fmt::format("shape: \"{}\" is {}, but config.json requires {}", entry.theirs, to_string(given.shape()),
                       to_string(entry.shape)));
      continue;
    }
    if (!is_floating(given.dtype())) {
      note(fmt::format("dtype: \"{}\" is {}, but the model requires f32 or f64", entry.theirs,
                       to_string(given.dtype())));
      continue;
    }
    const Tensors parts = parts_of(entry, given);
    for (size_t i = 0; i < entry.ours.size(); ++i) state.emplace(entry.ours[i], parts[i]);
  }
  for (const auto& [copy, of] : copies_) {
    known.insert(copy);
    const auto first = tensors.find(of), second = tensors.find(copy);
    if (first == tensors.end() || second == tensors.end()) continue;
    if (!(first->second.shape() == second->second.shape()) || first->second.dtype() != second->second.dtype() ||
        any(ne(first->second, second->second)).item() != 0)
      note(fmt::format("tied: \"{}\" differs from \"{}\"", copy, of));
  }
  for (const auto& [name, tensor] : tensors)
    if (!known.contains(name) && !ignores(name))
      note(fmt::format("unexpected: \"{}\" {}", *unexpected.insert(name).first, to_string(tensor.shape())));
  if (2 * missing.size() > entries_.size())
    if (const auto other = find_prefix_mismatch(missing, unexpected))
      raise(ErrorKind::format,
            "{}: tensor names begin with \"{}\", but config.json requires \"{}\": \"{}{}\" is \"{}{}\" there", where,
            other->theirs, other->needed, other->theirs, other->example, other->needed, other->example);
  if (!problems.empty())
    raise(ErrorKind::format, "{}: the tensors do not match config.json:\n  {}", where, short_list(problems, "\n  "));
  return state;
}

std::map<std::string, Tensor> Layout::to_file(const nn::StateDict& state) const {
  const NoGrad no_grad;
  std::map<std::string, Tensor> tensors;
  for (const Entry& entry : entries_) {
    Tensors parts;
    for (const std::string& name : entry.ours)
      if (const auto found = state.find(name); found != state.end() && found->second.defined())
        parts.push_back(found->second.detach());
    if (parts.size() != entry.ours.size()) continue;
    tensors.emplace(entry.theirs, whole_of(entry, parts));
  }
  return tensors;
}

}  // namespace tape::models
