#include <algorithm>

#include "nn/module/module.h"

namespace tape::nn {
namespace {

/// Whether an entry is more than the place of an unregistered part.
constexpr auto is_present = [](const auto& entry) { return entry.parameter || entry.buffer || entry.child; };

}  // namespace

void Module::add_entry(Entry entry) {
  if (entry.name.empty() || entry.name.front() == '.' || entry.name.back() == '.')
    raise(ErrorKind::config, "module: \"{}\" is not a valid name", entry.name);
  const auto found = std::ranges::find(entries_, entry.name, &Entry::name);
  if (found == entries_.end())
    entries_.push_back(std::move(entry));
  else if (is_present(*found))
    raise(ErrorKind::config, "module: the name \"{}\" is already taken", entry.name);
  else
    *found = std::move(entry);
}

Parameter& Module::register_parameter(const std::string& name, Tensor value) {
  const auto parameter = std::make_shared<Parameter>(this, name, std::move(value));
  std::ranges::find(entries_, name, &Entry::name)->owned = parameter;
  return *parameter;
}

Buffer& Module::register_buffer(const std::string& name, Tensor value, Persistent saved) {
  const auto buffer = std::make_shared<Buffer>(this, name, std::move(value), saved);
  std::ranges::find(entries_, name, &Entry::name)->owned = buffer;
  return *buffer;
}

void Module::check_child(const std::string& name, Module& child) const {
  for (const auto& [path, inside] : child.named_modules())
    if (inside == this)
      raise(ErrorKind::config, "register_module: \"{}\" contains the module that it should be a part of", name);
}

void Module::register_module(const std::string& name, std::shared_ptr<Module> child) {
  if (!child) raise(ErrorKind::config, "register_module: \"{}\" is null", name);
  check_child(name, *child);
  Module& module = *child;
  add_entry({.name = name, .child = &module, .owned = std::move(child)});
  if (module.name_.empty()) module.name_ = name;
  module.name_parameters();
}

bool Module::is_member(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found != entries_.end() && is_present(*found) && !found->owned;
}

void Module::unregister(std::string_view name) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  if (found == entries_.end() || !is_present(*found))
    raise(ErrorKind::config, "unregister: {} has no part \"{}\"", type_name(), name);
  if (is_member(name))
    raise(ErrorKind::config, "unregister: \"{}\" is a member of the C++ class {} and cannot be replaced or removed",
          name, type_name());
  // Its place is kept for another part of this name: the order of the modules of a list is the order in which they run.
  const std::shared_ptr<void> released = std::move(found->owned);
  *found = {.name = std::string(name)};
}

std::vector<std::pair<std::string, Module*>> Module::named_children() const {
  std::vector<std::pair<std::string, Module*>> children;
  for (const Entry& entry : entries_)
    if (entry.child) children.emplace_back(entry.name, entry.child);
  return children;
}

Tensor* Module::parameter(std::string_view name) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : found->parameter;
}

Tensor* Module::buffer(std::string_view name) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : found->buffer;
}

}  // namespace tape::nn
