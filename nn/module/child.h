#pragma once

#include <concepts>
#include <list>
#include <tuple>
#include <type_traits>

#include "../../autograd/mask.h"
#include "module.h"

namespace tape::nn {
namespace detail {

/// Appends an argument if it is a tensor, or all of a list of tensors.
template <class A>
void append_if_tensor(Tensors& to, const A& argument) {
  if constexpr (std::convertible_to<const A&, const Tensor&>) to.push_back(argument);
  if constexpr (std::same_as<A, Tensors>) to.insert(to.end(), argument.begin(), argument.end());
}

/// Returns the tensors among the arguments of a call, possibly none.
template <class... A>
Tensors tensor_arguments(const A&... arguments) {
  Tensors tensors;
  (append_if_tensor(tensors, arguments), ...);
  return tensors;
}

/// Hands out the replacements of a call's tensor arguments one by one.
struct ReplacedArguments {
  Tensors tensors;
  size_t next = 0;
  std::list<Tensors> lists = {};  // replacements of arguments that are lists

  /// Returns the argument or its replacement. Called once per argument, in order.
  template <class A>
  A&& take(std::remove_reference_t<A>& argument) {
    if constexpr (std::same_as<std::remove_cvref_t<A>, Tensors>) {
      const auto begin = tensors.begin() + static_cast<ptrdiff_t>(next);
      next += argument.size();
      return static_cast<A&&>(lists.emplace_back(begin, begin + static_cast<ptrdiff_t>(argument.size())));
    }
    if constexpr (std::convertible_to<const std::remove_cvref_t<A>&, const Tensor&>) {
      Tensor& tensor = tensors[next++];
      // A Parameter is never replaced: it is a type of its own.
      if constexpr (std::same_as<std::remove_cvref_t<A>, Tensor>) return static_cast<A&&>(tensor);
    }
    return static_cast<A&&>(argument);
  }
};

/// Returns the tensor in a method's result that hooks may see and replace, or null.
inline Tensor* hookable_output(Tensor& result) { return &result; }
template <class Result>
Tensor* hookable_output(Result& result) {
  if constexpr (requires {
                  { result.output } -> std::convertible_to<const Tensor&>;
                })
    return &result.output;
  else
    return nullptr;
}

/// Runs `body(module)` with `name` pushed on the module path; the name is also prefixed to an Error that passes
/// through.
template <class M, class F>
decltype(auto) run_as(std::string_view name, M& module, F&& body) {
  const ModuleScope scope(name);
  try {
    return std::forward<F>(body)(module);
  } catch (Error& error) {
    error.set_module_path(ModuleScope::path());
    throw;
  }
}

/// Calls a method of a module, or a function of the module and the arguments, with its path, hooks and error context.
/// All module calls go through here.
template <class M, class F, class... A>
auto call_as(std::string_view name, M& module, F&& method, A&&... arguments) {
  return run_as(name, module, [&](M& self) {
    Module& base = self;
    if (!base.has_hooks()) return std::invoke(method, self, std::forward<A>(arguments)...);
    const Tensors inputs = base.run_pre_hooks(tensor_arguments(arguments...));
    ReplacedArguments behind{inputs};
    const auto watch = base.watch_inputs(inputs, behind.tensors);
    // Braces, because they guarantee the order of evaluation.
    std::tuple<A&&...> given{behind.template take<A>(arguments)...};
    auto result =
        std::apply([&](A&&... a) { return std::invoke(method, self, std::forward<A>(a)...); }, std::move(given));
    if (Tensor* const output = hookable_output(result); output && output->defined()) {
      *output = base.run_hooks(inputs, *output);
      if (watch) base.watch_output(watch, *output);
    }
    return result;
  });
}

template <class M, class... A>
concept Accepts = requires(M& module, A&&... arguments) { module.forward(std::forward<A>(arguments)...); };

/// Whether forward() would accept these arguments if the last one or two were masks.
template <class M, class... A>
constexpr bool accepts_masks() {
  using Given = std::tuple<A...>;
  const auto takes = []<size_t... i>(std::index_sequence<i...>, auto masks) {
    constexpr size_t first_mask = sizeof...(A) - masks;
    return Accepts<M, std::conditional_t<(i < first_mask), std::tuple_element_t<i, Given>, Mask>...>;
  };
  constexpr auto all = std::index_sequence_for<A...>();
  if constexpr (sizeof...(A) > 2)
    return takes(all, std::integral_constant<size_t, 1>()) || takes(all, std::integral_constant<size_t, 2>());
  else if constexpr (sizeof...(A) == 2)
    return takes(all, std::integral_constant<size_t, 1>());
  else
    return false;
}

/// Calls module.forward(arguments...), or fails to compile with one readable error.
template <class M, class... A>
auto forward_as(std::string_view name, M& module, A&&... arguments) {
  constexpr bool fits = Accepts<M, A...>;
  static_assert(fits,
                "the module's forward() does not take these arguments; for a Mask write Mask::keep(tensor), "
                "Mask::additive(tensor) or Mask::padding(ids, padding_id)");
  if constexpr (fits)
    return call_as(
        name, module, [](M& self, auto&&... a) { return self.forward(std::forward<decltype(a)>(a)...); },
        std::forward<A>(arguments)...);
  else
    return Tensor();
}

}  // namespace detail

/// Calls module.forward(arguments...) with the module's path, hooks and error context.
template <class M, class... A>
auto call(M& module, A&&... arguments) {
  return detail::forward_as(module.name(), module, std::forward<A>(arguments)...);
}
/// Calls another method, or a function of the module and the arguments, with the same path, hooks and error context.
template <class M, class F, class... A>
auto call_method(M& module, F&& method, A&&... arguments) {
  return detail::call_as(module.name(), module, std::forward<F>(method), std::forward<A>(arguments)...);
}
/// Runs `body(module)` under the module's path, without its hooks.
template <class M, class F>
decltype(auto) run(M& module, F&& body) {
  return detail::run_as(module.name(), module, std::forward<F>(body));
}

/// A Module that can be called directly: layer(x). Inside a Child every module can.
template <class Derived>
class Layer : public Module {
 public:
  /// Returns forward(arguments...), called with the module's path, hooks and error context.
  template <class... A>
    requires detail::Accepts<Derived, A...>
  auto operator()(A&&... arguments) {
    return call(static_cast<Derived&>(*this), std::forward<A>(arguments)...);
  }
  template <class... A>
    requires(!detail::Accepts<Derived, A...> && detail::accepts_masks<Derived, A...>())
  Tensor operator()(A&&...) = delete;  // pass a Mask: Mask::keep(t), Mask::additive(t) or Mask::padding(ids, id)
};

namespace detail {

struct NoOptions {
  NoOptions() = delete;
};
template <class M>
struct OptionsOf {
  using Type = NoOptions;
};
template <class M>
  requires requires { typename M::Options; }
struct OptionsOf<M> {
  using Type = M::Options;
};

}  // namespace detail

/// M::Options, the type of a layer's last constructor argument. It is named so that options can be written in braces,
/// which a template parameter cannot deduce.
template <class M>
using OptionsOf = detail::OptionsOf<M>::Type;

/// A submodule, constructed from the arguments that follow its name:
///
///     nn::Child<nn::Linear> query{this, "query", 16, 16, {.bias = false}};
///
/// Call it as a function: query(x). `->` reaches its other members, but not forward(), which would skip the module's
/// hooks and its name in the module path.
template <class M>
class Child : NonCopyable {
 public:
  using Options = OptionsOf<M>;  ///< of the module; can be passed in braces

  /// Constructs the module and registers it as `name` of `owner`. Throws Error (config) if the name is taken, and as
  /// the module's constructor.
  /// @{
  template <class... A>
    requires std::constructible_from<M, A...>
  Child(Module* owner, std::string name, A&&... arguments) : name_(std::move(name)) {
    make(owner, std::forward<A>(arguments)...);
  }
  Child(Module* owner, std::string name, const Options& options) : name_(std::move(name)) { make(owner, options); }
  template <class A>
  Child(Module* owner, std::string name, A&& a, const Options& options) : name_(std::move(name)) {
    make(owner, std::forward<A>(a), options);
  }
  template <class A, class B>
  Child(Module* owner, std::string name, A&& a, B&& b, const Options& options) : name_(std::move(name)) {
    make(owner, std::forward<A>(a), std::forward<B>(b), options);
  }
  template <class A, class B, class C>
  Child(Module* owner, std::string name, A&& a, B&& b, C&& c, const Options& options) : name_(std::move(name)) {
    make(owner, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), options);
  }
  /// @}

  /// Shares the module of another child: one set of parameters, listed under the first name.
  Child(Module* owner, std::string name, Child& shared) : name_(std::move(name)), module_(shared.module_) {
    owner->add_entry({.name = name_, .child = module_.get()});
  }

  /// Calls the module's forward() with its path, hooks and error context.
  template <class... A>
  auto operator()(A&&... arguments) {
    return detail::forward_as(name_, **this, std::forward<A>(arguments)...);
  }
  /// Calls another method instead of forward(), with the module's hooks:
  /// attention.call(&MultiHeadAttention::with_weights, x, x, x, mask)
  template <class F, class... A>
  auto call(F&& method, A&&... arguments) {
    return detail::call_as(name_, **this, std::forward<F>(method), std::forward<A>(arguments)...);
  }
  /// Runs any code under the module's path, without its hooks: attention.run([&](auto& a) { return a.project(x); })
  template <class F>
  decltype(auto) run(F&& body) {
    return detail::run_as(name_, **this, std::forward<F>(body));
  }

  /// The module itself.
  /// @{
  M& operator*() { return *module_; }
  const M& operator*() const { return *module_; }
  auto* operator->() { return module_.get(); }
  const auto* operator->() const { return static_cast<const Callable*>(module_.get()); }
  /// @}

 private:
  struct Callable : M {
    template <class... A>
    explicit Callable(A&&... arguments) : M(std::forward<A>(arguments)...) {}
    template <class... A>
    Tensor forward(A&&...) const = delete;  // call the child itself, child(x), so that its hooks run
  };

  template <class... A>
  void make(Module* owner, A&&... arguments) {
    module_ = std::make_shared<Callable>(std::forward<A>(arguments)...);
    Module& module = *module_;
    module.name_ = name_;
    module.class_ = &typeid(M);
    owner->add_entry({.name = name_, .child = &module});
    module.name_parameters();
  }

  std::string name_;
  std::shared_ptr<Callable> module_;
};

/// List of modules of one class, with children "layers.0", "layers.1", ...
template <class M>
class Children {
 public:
  using Options = OptionsOf<M>;  ///< of the modules; can be passed in braces

  /// An empty list, to be filled by emplace_back().
  Children(Module* owner, std::string name) : owner_(owner), name_(std::move(name)) {}
  /// Constructs `count` modules from the same arguments. Throws Error (config) for a negative count.
  /// @{
  template <class... A>
    requires std::constructible_from<M, const A&...>
  Children(Module* owner, std::string name, int64_t count, const A&... arguments) : Children(owner, std::move(name)) {
    add(count, arguments...);
  }
  Children(Module* owner, std::string name, int64_t count, const Options& options) : Children(owner, std::move(name)) {
    add(count, options);
  }
  template <class A>
  Children(Module* owner, std::string name, int64_t count, const A& a, const Options& options)
      : Children(owner, std::move(name)) {
    add(count, a, options);
  }
  template <class A, class B>
  Children(Module* owner, std::string name, int64_t count, const A& a, const B& b, const Options& options)
      : Children(owner, std::move(name)) {
    add(count, a, b, options);
  }
  /// @}

  /// Appends a module constructed from the arguments, and returns it.
  template <class... A>
  Child<M>& emplace_back(A&&... arguments) {
    std::string name = name_ + "." + std::to_string(children_.size());
    children_.push_back(std::make_unique<Child<M>>(owner_, std::move(name), std::forward<A>(arguments)...));
    return *children_.back();
  }
  /// Number of modules.
  int64_t size() const { return static_cast<int64_t>(children_.size()); }
  /// Throws Error (index) outside [0, size()).
  /// @{
  Child<M>& operator[](int64_t i) { return *children_[place(i)]; }
  const Child<M>& operator[](int64_t i) const { return *children_[place(i)]; }
  /// @}
  /// For loops: for (auto& layer : layers) x = layer(x);
  /// @{
  auto begin() { return Each<Child<M>, typename List::iterator>{children_.begin()}; }
  auto begin() const { return Each<const Child<M>, typename List::const_iterator>{children_.begin()}; }
  auto end() { return Each<Child<M>, typename List::iterator>{children_.end()}; }
  auto end() const { return Each<const Child<M>, typename List::const_iterator>{children_.end()}; }
  /// @}

 private:
  using List = std::vector<std::unique_ptr<Child<M>>>;
  template <class C, class Place>
  struct Each {
    Place place;
    C& operator*() const { return **place; }
    Each& operator++() {
      ++place;
      return *this;
    }
    bool operator==(const Each&) const = default;
  };

  template <class... A>
  void add(int64_t count, const A&... arguments) {
    if (count < 0) raise(ErrorKind::config, "{}: the number of modules must not be negative, got {}", name_, count);
    for (int64_t i = 0; i < count; ++i) emplace_back(arguments...);
  }
  size_t place(int64_t i) const {
    if (i < 0 || i >= size()) raise(ErrorKind::index, "{}: module {} is outside [0, {})", name_, i, size());
    return static_cast<size_t>(i);
  }

  Module* owner_;
  std::string name_;
  List children_;
};

}  // namespace tape::nn
