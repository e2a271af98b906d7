#include "tests/autograd/ops/special_value_calls.h"

#include <map>
#include <string>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "tests/autograd/ops/unary_functions.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensors values_and_places(const TopK& best) { return {best.values, best.indices}; }

/// A call with one tensor.
template <class F>
TorchCall of_one(F f) {
  return [f](const Tensors& in) -> Tensors { return {f(in[0])}; };
}
template <class F>
TorchCall of_two(F f) {
  return [f](const Tensors& in) -> Tensors { return {f(in[0], in[1])}; };
}
template <class F>
TorchCall ordered(F f) {
  return [f](const Tensors& in) { return values_and_places(f(in[0])); };
}

TorchCalls unary_calls() {
  TorchCalls calls{{"isinf", of_one(isinf)}, {"isnan", of_one(isnan)}, {"isfinite", of_one(isfinite)}};
  for (const auto& [name, f] : unary_functions()) calls[name] = of_one(f);
  calls["clamp"] = of_one([](const Tensor& x) { return clamp(x, -1, 2); });
  calls["softplus"] = of_one([](const Tensor& x) { return softplus(x); });
  calls["leaky_relu"] = of_one([](const Tensor& x) { return leaky_relu(x); });
  calls["elu"] = of_one([](const Tensor& x) { return elu(x); });
  calls["add_number"] = of_one([](const Tensor& x) { return x + 1.5; });
  calls["mul_number"] = of_one([](const Tensor& x) { return x * 0; });
  calls["number_over"] = of_one([](const Tensor& x) { return 2 / x; });
  for (const auto& [name, power] : std::map<std::string, double>{{"0", 0},
                                                                 {"half", 0.5},
                                                                 {"1", 1},
                                                                 {"2", 2},
                                                                 {"3", 3},
                                                                 {"minus_1", -1},
                                                                 {"minus_half", -0.5},
                                                                 {"1_5", 1.5},
                                                                 {"inf", inf},
                                                                 {"minus_inf", -inf}})
    calls["pow_" + name] = of_one([p = power](const Tensor& x) { return pow(x, p); });
  return calls;
}

TorchCalls binary_calls() {
  using OfTwo = Tensor (*)(const Tensor&, const Tensor&);
  TorchCalls calls;
  for (const auto& [name, f] : std::map<std::string, OfTwo>{{"add", add},
                                                            {"sub", sub},
                                                            {"mul", mul},
                                                            {"div", div},
                                                            {"pow", pow},
                                                            {"maximum", maximum},
                                                            {"minimum", minimum},
                                                            {"atan2", atan2},
                                                            {"remainder", remainder},
                                                            {"eq", eq},
                                                            {"lt", lt}})
    calls[name] = of_two(f);
  calls["lerp"] = of_two([](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.25); });
  calls["mse_loss"] = of_two([](const Tensor& a, const Tensor& b) { return mse_loss(a, b, Reduction::none); });
  calls["l1_loss"] = of_two([](const Tensor& a, const Tensor& b) { return l1_loss(a, b, Reduction::none); });
  calls["smooth_l1_loss"] =
      of_two([](const Tensor& a, const Tensor& b) { return smooth_l1_loss(a, b, {.reduction = Reduction::none}); });
  calls["huber_loss"] =
      of_two([](const Tensor& a, const Tensor& b) { return huber_loss(a, b, {.reduction = Reduction::none}); });
  calls["bce_with_logits_loss"] = of_two(
      [](const Tensor& a, const Tensor& b) { return bce_with_logits_loss(a, b, {.reduction = Reduction::none}); });
  calls["where"] =
      of_two([](const Tensor& a, const Tensor& b) { return where(eq(remainder(arange(a.numel()), 2), 0), a, b); });
  return calls;
}

TorchCalls row_calls() {
  TorchCalls calls{{"sum", of_one([](const Tensor& x) { return sum(x, 1); })},
                   {"mean", of_one([](const Tensor& x) { return mean(x, 1); })},
                   {"max", of_one([](const Tensor& x) { return max(x, 1); })},
                   {"min", of_one([](const Tensor& x) { return min(x, 1); })},
                   {"var", of_one([](const Tensor& x) { return var(x, 1); })},
                   {"std", of_one([](const Tensor& x) { return tape::std(x, 1); })},
                   {"logsumexp", of_one([](const Tensor& x) { return logsumexp(x, 1); })},
                   {"prod", of_one([](const Tensor& x) { return prod(x, 1); })},
                   {"nansum", of_one([](const Tensor& x) { return nansum(x, 1); })},
                   {"median", ordered([](const Tensor& x) { return median(x, 1); })},
                   {"quantile", of_one([](const Tensor& x) { return quantile(x, 0.4, 1); })},
                   {"argmax", of_one([](const Tensor& x) { return argmax(x, 1); })},
                   {"argmin", of_one([](const Tensor& x) { return argmin(x, 1); })},
                   {"softmax", of_one([](const Tensor& x) { return softmax(x, 1); })},
                   {"log_softmax", of_one([](const Tensor& x) { return log_softmax(x, 1); })},
                   {"cumsum", of_one([](const Tensor& x) { return cumsum(x, 1); })},
                   {"cumprod", of_one([](const Tensor& x) { return cumprod(x, 1); })},
                   {"logcumsumexp", of_one([](const Tensor& x) { return logcumsumexp(x, 1); })},
                   {"cummax", ordered([](const Tensor& x) { return cummax(x, 1); })},
                   {"cummin", ordered([](const Tensor& x) { return cummin(x, 1); })},
                   {"topk_1", ordered([](const Tensor& x) { return topk(x, 1); })},
                   {"topk_2", ordered([](const Tensor& x) { return topk(x, 2); })},
                   {"topk_smallest", ordered([](const Tensor& x) { return topk(x, 2, 1, {.largest = false}); })},
                   {"sort", ordered([](const Tensor& x) { return sort(x, 1); })},
                   {"sort_descending", ordered([](const Tensor& x) { return sort(x, 1, {.descending = true}); })},
                   {"normalize", of_one([](const Tensor& x) { return normalize(x, 1); })},
                   {"layer_norm", of_one([](const Tensor& x) { return layer_norm(x); })},
                   {"rms_norm", of_one([](const Tensor& x) { return rms_norm(x); })}};
  for (const auto& [name, p] : std::map<std::string, double>{
           {"2", 2}, {"1", 1}, {"0", 0}, {"half", 0.5}, {"3", 3}, {"minus_1", -1}, {"inf", inf}, {"minus_inf", -inf}})
    calls["norm_" + name] = of_one([p](const Tensor& x) { return norm(x, p, 1); });
  for (const char* name : {"sum", "prod", "nansum", "logsumexp", "norm_2", "norm_1", "norm_0", "softmax", "log_softmax",
                           "cumsum", "cumprod", "logcumsumexp", "sort"})
    for (const char* of : {"_over_nothing", "_of_no_rows"}) calls[std::string(name) + of] = calls.at(name);
  return calls;
}

TorchCalls awkward_losses() {
  const Tensor target = remainder(arange(20), 4);
  const auto alike = [](const Tensor& like) {
    return where(eq(remainder(arange(20), 2), 0), ones({20}), -ones({20})).to(like.dtype());
  };
  return {
      {"bce_loss", [](const Tensors& in) -> Tensors { return {bce_loss(in[0], in[1].detach(), Reduction::none)}; }},
      {"kl_div",
       of_two([](const Tensor& a, const Tensor& b) { return kl_div(a, b, {.reduction = KlReduction::none}); })},
      {"kl_div_log", of_two([](const Tensor& a, const Tensor& b) {
         return kl_div(a, b, {.log_target = true, .reduction = KlReduction::none});
       })},
      {"cross_entropy",
       of_one([target](const Tensor& x) { return cross_entropy(x, target, {.reduction = Reduction::none}); })},
      {"cross_entropy_smoothed", of_one([target](const Tensor& x) {
         return cross_entropy(x, target, {.label_smoothing = 0.1, .reduction = Reduction::none});
       })},
      {"cross_entropy_ignored",
       of_one([](const Tensor& x) { return cross_entropy(x, full({20}, -100, i64), {.reduction = Reduction::sum}); })},
      {"nll_loss", of_one([target](const Tensor& x) { return nll_loss(x, target, {.reduction = Reduction::none}); })},
      {"gaussian_nll_loss",
       [](const Tensors& in) -> Tensors {
         return {gaussian_nll_loss(in[0], in[1], in[2], {.reduction = Reduction::none})};
       }},
      {"cosine_similarity", of_two([](const Tensor& a, const Tensor& b) { return cosine_similarity(a, b); })},
      {"cosine_embedding_loss", of_two([alike](const Tensor& a, const Tensor& b) {
         return cosine_embedding_loss(a, b, alike(a), {.reduction = Reduction::none});
       })},
      {"triplet_margin_loss", of_two([](const Tensor& a, const Tensor& b) {
         return triplet_margin_loss(a, b, zeros_like(a), {.reduction = Reduction::none});
       })}};
}

}  // namespace

TorchCalls special_value_calls() {
  TorchCalls calls = unary_calls();
  for (TorchCalls more : {binary_calls(), row_calls(), awkward_losses()}) calls.merge(more);
  return calls;
}

}  // namespace tape
