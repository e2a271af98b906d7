// Operations against the reference values of tests/fixtures/make_operations.py, in f64 and f32, with both backward
// passes: the kernels' and the recorded one.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "autograd/ops.h"
#include "tests/autograd/ops/torch_fixture.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using Call = TorchCall;
using Calls = TorchCalls;

Tensors both(const TopK& best) { return {best.values, best.indices}; }
Tensor positions_of(std::initializer_list<Values> values) { return tensor(values, i64); }

const Tensor row_ids = positions_of({2, 0, -1, 2}), column_ids = positions_of({1, -2, 3, 1});
const Tensor chosen_mask = tensor({{1, 0, 1, 0}, {0, 0, 0, 0}, {1, 1, 0, 1}}, boolean);
const Tensor scattered_ids = positions_of({{2, 0, 1}, {1, 3, 0}}),
             repeated_ids = positions_of({{2, 0, 2, 2}, {1, 1, 0, 3}});
const SliceOptions whole_axis;

Calls elementwise_calls() {
  return {{"softplus", [](auto& in) -> Tensors { return {softplus(in[0])}; }},
          {"softplus_beta", [](auto& in) -> Tensors { return {softplus(in[0], {.beta = 2, .threshold = 3})}; }},
          {"leaky_relu", [](auto& in) -> Tensors { return {leaky_relu(in[0], 0.2)}; }},
          {"elu", [](auto& in) -> Tensors { return {elu(in[0], 1.5)}; }},
          {"atan2", [](auto& in) -> Tensors { return {atan2(in[0], in[1])}; }},
          {"remainder", [](auto& in) -> Tensors { return {remainder(in[0], in[1])}; }},
          {"remainder_i64", [](auto& in) -> Tensors { return {remainder(in[0], in[1])}; }},
          {"lerp", [](auto& in) -> Tensors { return {lerp(in[0], in[1], in[2])}; }},
          {"lerp_number", [](auto& in) -> Tensors { return {lerp(in[0], in[1], 1.4)}; }},
          {"isfinite", [](auto& in) -> Tensors { return {isfinite(in[0])}; }},
          {"isinf", [](auto& in) -> Tensors { return {isinf(in[0])}; }},
          {"isnan", [](auto& in) -> Tensors { return {isnan(in[0])}; }},
          {"isclose", [](auto& in) -> Tensors { return {isclose(in[0], in[1])}; }},
          {"isclose_nan",
           [](auto& in) -> Tensors { return {isclose(in[0], in[1], {.rtol = 0, .atol = 1e-4, .equal_nan = true})}; }},
          {"logical_xor", [](auto& in) -> Tensors { return {logical_xor(in[0], in[1])}; }}};
}

Calls reduction_calls() {
  Calls calls = {{"prod", [](auto& in) -> Tensors { return {prod(in[0])}; }},
                 {"prod_axis", [](auto& in) -> Tensors { return {prod(in[0], 1, Dims::keep)}; }},
                 {"prod_zeros", [](auto& in) -> Tensors { return {prod(in[0], 1)}; }},
                 {"prod_i64", [](auto& in) -> Tensors { return {prod(in[0], 1)}; }},
                 {"var",
                  [](auto& in) -> Tensors {
                    return {var(in[0], {0, 2})};
                  }},
                 {"std", [](auto& in) -> Tensors { return {std(in[0], 1, {.correction = 0})}; }},
                 {"std_of_equal", [](auto& in) -> Tensors { return {std(in[0], 1)}; }},
                 {"norm_of_zeros", [](auto& in) -> Tensors { return {norm(in[0], 2, 1)}; }},
                 {"nansum", [](auto& in) -> Tensors { return {nansum(in[0], 1)}; }},
                 {"median", [](auto& in) { return both(median(in[0], 1)); }},
                 {"median_all", [](auto& in) -> Tensors { return {median(in[0])}; }},
                 {"median_nan", [](auto& in) -> Tensors { return {median(in[0], 1).values}; }},
                 {"quantile_nan", [](auto& in) -> Tensors { return {quantile(in[0], 0.5, 1)}; }},
                 {"max_i64", [](auto& in) -> Tensors { return {max(in[0], 1)}; }},
                 {"min_i64", [](auto& in) -> Tensors { return {min(in[0], 0)}; }},
                 {"argmax_i64", [](auto& in) -> Tensors { return {argmax(in[0], 1)}; }},
                 {"argmin_i64", [](auto& in) -> Tensors { return {argmin(in[0], 1)}; }}};
  for (const auto& [name, p] : std::map<std::string, double>{
           {"0", 0}, {"half", 0.5}, {"1", 1}, {"2", 2}, {"3", 3}, {"inf", inf}, {"minus", -1.5}, {"minus_inf", -inf}})
    calls["norm_" + name] = [p](auto& in) -> Tensors { return {norm(in[0], p, {0, 2})}; };
  for (const auto& [name, how] : std::map<std::string, Interpolation>{{"linear", Interpolation::linear},
                                                                      {"lower", Interpolation::lower},
                                                                      {"higher", Interpolation::higher},
                                                                      {"midpoint", Interpolation::midpoint},
                                                                      {"nearest", Interpolation::nearest}})
    calls["quantile_" + name] = [how](auto& in) -> Tensors {
      return {quantile(in[0], {0.1, 0.5, 0.77}, 1, {.interpolation = how})};
    };
  return calls;
}

Calls scan_calls() {
  return {{"cumprod", [](auto& in) -> Tensors { return {cumprod(in[0], 1)}; }},
          {"cumprod_zeros", [](auto& in) -> Tensors { return {cumprod(in[0], 1)}; }},
          {"logcumsumexp", [](auto& in) -> Tensors { return {logcumsumexp(in[0], 1)}; }},
          {"cummax", [](auto& in) { return both(cummax(in[0], 1)); }},
          {"cummin", [](auto& in) { return both(cummin(in[0], 0)); }},
          {"cummax_ties", [](auto& in) { return both(cummax(in[0], 0)); }}};
}

Calls position_calls() {
  const auto at = [](const IndexItems& items) {
    return [items](const Tensors& in) -> Tensors { return {index(in[0], items)}; };
  };
  const Tensor three = slice(row_ids, 0, {.end = 3}), three_columns = slice(column_ids, 0, {.end = 3});
  Calls calls = {{"index_rows", at({row_ids})},
                 {"index_pairs", at({row_ids, column_ids})},
                 {"index_grid", at({unsqueeze(row_ids, 1), column_ids})},
                 {"index_middle", at({whole_axis, column_ids})},
                 {"index_range", at({SliceOptions{.start = 1}, column_ids, SliceOptions{.step = 2}})},
                 {"index_none", at({row_ids, None, SliceOptions{.start = 1, .end = 3}})},
                 {"index_mask", at({chosen_mask})},
                 {"index_mask_of_an_axis", at({whole_axis, chosen_mask[0]})},
                 {"index_ellipsis", at({Ellipsis, row_ids})},
                 {"index_basic", at({1, Ellipsis, SliceOptions{.start = 1, .end = 4, .step = 2}, None})},
                 {"index_parted", at({row_ids, whole_axis, column_ids})},
                 {"index_parted_by_a_position", at({0, whole_axis, column_ids})},
                 {"index_put",
                  [=](auto& in) -> Tensors {
                    return {index_put(in[0], {three, three_columns}, in[1])};
                  }},
                 {"index_put_accumulate",
                  [](auto& in) -> Tensors {
                    return {index_put(in[0], {row_ids, column_ids}, in[1], {.accumulate = true})};
                  }},
                 {"index_put_mask", [](auto& in) -> Tensors { return {index_put(in[0], {chosen_mask}, in[1])}; }},
                 {"masked_select", [](auto& in) -> Tensors { return {masked_select(in[0], in[1])}; }},
                 {"masked_scatter", [](auto& in) -> Tensors { return {masked_scatter(in[0], in[1], in[2])}; }},
                 {"nonzero", [](auto& in) -> Tensors { return {nonzero(in[0])}; }},
                 {"nonzero_f64", [](auto& in) -> Tensors { return {nonzero(in[0])}; }},
                 {"gather", [](auto& in) -> Tensors { return {gather(in[0], 1, in[1])}; }},
                 {"take_along_dim", [](auto& in) -> Tensors { return {take_along_dim(in[0], in[1], 1)}; }},
                 {"scatter", [](auto& in) -> Tensors { return {scatter(in[0], 1, scattered_ids, in[1])}; }},
                 {"scatter_value", [](auto& in) -> Tensors { return {scatter(in[0], 1, scattered_ids, 2.5)}; }},
                 {"scatter_reduce_zeros",
                  [](auto& in) -> Tensors { return {scatter_reduce(in[0], 1, repeated_ids, in[1], Reduce::prod)}; }},
                 {"scatter_reduce_ties",
                  [](auto& in) -> Tensors { return {scatter_reduce(in[0], 1, repeated_ids, in[1], Reduce::amax)}; }},
                 {"index_copy", [](auto& in) -> Tensors {
                    return {index_copy(in[0], 1, positions_of({3, 0}), in[1])};
                  }}};
  for (const auto& [name, reduce] : std::map<std::string, Reduce>{{"sum", Reduce::sum},
                                                                  {"mean", Reduce::mean},
                                                                  {"prod", Reduce::prod},
                                                                  {"amax", Reduce::amax},
                                                                  {"amin", Reduce::amin}})
    for (const bool self : {true, false})
      calls["scatter_reduce_" + name + (self ? "" : "_others")] = [reduce, self](auto& in) -> Tensors {
        return {scatter_reduce(in[0], 1, repeated_ids, in[1], reduce, {.include_self = self})};
      };
  return calls;
}

Calls arrangement_calls() {
  return {{"diagonal", [](auto& in) -> Tensors { return {diagonal(in[0], 1, 0, 2)}; }},
          {"diagonal_below", [](auto& in) -> Tensors { return {diagonal(in[0], -2, 1, 0)}; }},
          {"diag_embed", [](auto& in) -> Tensors { return {diag_embed(in[0], 1, 0, -1)}; }},
          {"unbind", [](auto& in) -> Tensors { return unbind(in[0], 1); }},
          {"repeat_interleave", [](auto& in) -> Tensors { return {repeat_interleave(in[0], 2, 1)}; }},
          {"repeat_interleave_counts",
           [](auto& in) -> Tensors {
             return {repeat_interleave(in[0], positions_of({2, 0, 1}), 1)};
           }},
          {"repeat_interleave_flat", [](auto& in) -> Tensors { return {repeat_interleave(in[0], 2)}; }},
          {"roll",
           [](auto& in) -> Tensors {
             return {roll(in[0], {1, -2}, {0, 2})};
           }},
          {"unfold", [](auto& in) -> Tensors { return {unfold(in[0], 1, 3, 1)}; }},
          {"unfold_gaps", [](auto& in) -> Tensors { return {unfold(in[0], -1, 2, 3)}; }},
          {"put_slice", [](auto& in) -> Tensors { return {put_slice(in[0], 1, 1, in[1])}; }},
          {"meshgrid", [](auto& in) -> Tensors { return meshgrid(in); }},
          {"meshgrid_xy", [](auto& in) -> Tensors { return meshgrid(in, GridIndexing::xy); }},
          {"bincount", [](auto& in) -> Tensors { return {bincount(in[0], {.minlength = 9})}; }},
          {"bincount_weights", [](auto& in) -> Tensors { return {bincount(in[0], {.weights = in[1]})}; }},
          {"unique", [](auto& in) -> Tensors {
             const Unique found = unique(in[0]);
             return {found.values, found.inverse, found.counts};
           }}};
}

/// Non-tensor arguments of the operations.
Calls option_calls() {
  const auto rounded = [](int64_t decimals, double factor) {
    return [=](auto& in) -> Tensors { return {round(factor == 1 ? in[0] : in[0] * factor, decimals)}; };
  };
  const auto all = [](const Unique& found) -> Tensors { return {found.values, found.inverse, found.counts}; };
  const auto along = [all](int64_t axis) { return [=](auto& in) -> Tensors { return all(unique(in[0], axis)); }; };
  return {{"round_whole", rounded(0, 7)},
          {"round_one", rounded(1, 7)},
          {"round_two", rounded(2, 7)},
          {"round_tens", rounded(-1, 7)},
          {"round_halves", rounded(0, 1)},
          {"round_halves_of_tens", rounded(-1, 1)},
          {"unique_f64", [all](auto& in) -> Tensors { return all(unique(in[0])); }},
          {"unique_bool", [all](auto& in) -> Tensors { return all(unique(in[0])); }},
          {"unique_rows", along(0)},
          {"unique_columns", along(-1)},
          {"unique_slices", along(1)}};
}

const Calls& all_calls() {
  static const Calls all = [] {
    Calls merged;
    for (Calls part :
         {elementwise_calls(), reduction_calls(), scan_calls(), position_calls(), arrangement_calls(), option_calls()})
      merged.merge(part);
    return merged;
  }();
  return all;
}

class AgainstPyTorch : public testing::TestWithParam<std::string> {};

TEST_P(AgainstPyTorch, MatchesValuesAndGradients) {
  const std::string& name = GetParam();
  // The second derivative of a product that contains a 0 is refused, see scatter.cpp.
  expect_as_pytorch("operations", name, all_calls().at(name), name != "scatter_reduce_zeros");
}

INSTANTIATE_TEST_SUITE_P(Cases, AgainstPyTorch, testing::ValuesIn(case_names(all_calls())),
                         [](const auto& name) { return name.param; });

TEST(AgainstPyTorchCases, CoverTheWholeFixture) { expect_all_called("operations", all_calls()); }

}  // namespace
}  // namespace tape
