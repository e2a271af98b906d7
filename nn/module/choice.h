#pragma once

#include <utility>
#include <variant>

#include "child.h"

namespace tape::nn {

/// A child of one of several classes with the same call signature, chosen at construction:
///     nn::Choice<LayerNorm, RMSNorm> norm{std::in_place_type<RMSNorm>, this, "norm", 8};
template <class... M>
class Choice {
 public:
  /// Constructs a Chosen from the arguments as child `name` of `owner`, as Child does.
  template <class Chosen, class... A>
  Choice(std::in_place_type_t<Chosen>, Module* owner, std::string name, A&&... arguments)
      : child_(std::in_place_type<Child<Chosen>>, owner, std::move(name), std::forward<A>(arguments)...) {}

  /// Calls the module's forward(); every class must accept the arguments.
  template <class... A>
  Tensor operator()(A&&... arguments) {
    return std::visit([&](auto& child) -> Tensor { return child(std::forward<A>(arguments)...); }, child_);
  }

  /// Returns the module through the base class.
  Module& operator*() {
    return std::visit([](auto& child) -> Module& { return *child; }, child_);
  }
  /// Reaches the members of the base class.
  Module* operator->() { return &**this; }

  /// Returns use(module), with the module as its actual class.
  template <class Use>
  decltype(auto) visit(Use&& use) const {
    return std::visit([&](const auto& child) -> decltype(auto) { return use(*child); }, child_);
  }

  /// Whether the module is a Chosen.
  template <class Chosen>
  bool is() const {
    return std::holds_alternative<Child<Chosen>>(child_);
  }
  /// Returns the module as a Chosen. Throws Error (config) if it is another class.
  template <class Chosen>
  Child<Chosen>& as() {
    if (!is<Chosen>())
      raise(ErrorKind::config, "{}: the module is of another class, {}", (*this)->name(), (*this)->type_name());
    return std::get<Child<Chosen>>(child_);
  }
  /// The same for a constant Choice.
  template <class Chosen>
  const Child<Chosen>& as() const {
    return const_cast<Choice&>(*this).template as<Chosen>();
  }

 private:
  std::variant<Child<M>...> child_;
};

/// A Choice that is almost always its first class and is used like a Child of it: `->`, `*`, call() and run() act on
/// that class, and throw Error (config) if the module is another one. module() returns the common base.
template <class Usual, class... Others>
class DefaultedChoice : public Choice<Usual, Others...> {
 public:
  using Choice<Usual, Others...>::Choice;

  /// The module as a Usual.
  /// @{
  Usual& operator*() { return *usual(); }
  const Usual& operator*() const { return *this->template as<Usual>(); }
  Usual* operator->() { return &**this; }
  const Usual* operator->() const { return &**this; }
  /// @}
  /// Calls Usual::forward(), which may return any type.
  template <class... A>
  auto operator()(A&&... arguments) {
    return usual()(std::forward<A>(arguments)...);
  }
  /// Calls another method of Usual with its hooks, as Child::call() does.
  template <class F, class... A>
  auto call(F&& method, A&&... arguments) {
    return usual().call(std::forward<F>(method), std::forward<A>(arguments)...);
  }
  /// Runs body(Usual&) under the module's path, as Child::run() does.
  template <class F>
  decltype(auto) run(F&& body) {
    return usual().run(std::forward<F>(body));
  }
  /// Returns the module of any class.
  Module& module() { return Choice<Usual, Others...>::operator*(); }

 private:
  Child<Usual>& usual() { return this->template as<Usual>(); }
};

}  // namespace tape::nn
