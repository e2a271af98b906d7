// Losses against PyTorch: the cases of tests/fixtures/make_losses.py, in f64 and f32, with both backward passes.

#include <gtest/gtest.h>

#include <functional>

#include "autograd/ops.h"
#include "tests/autograd/ops/torch_fixture.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using LossCall = std::function<Tensor(const Tensors&, Reduction)>;

/// NAME_none, NAME_mean and NAME_sum.
void add_reduced(TorchCalls& calls, const std::string& name, const LossCall& call) {
  for (const auto& [word, reduction] :
       {std::pair{"none", Reduction::none}, {"mean", Reduction::mean}, {"sum", Reduction::sum}})
    calls[name + "_" + word] = [=, r = reduction](const Tensors& in) -> Tensors { return {call(in, r)}; };
}

void add_regression(TorchCalls& calls) {
  for (const auto& [name, beta] : std::map<std::string, double>{{"1", 1}, {"small", 0.3}, {"0", 0}})
    add_reduced(calls, "smooth_l1_" + name, [beta](const Tensors& in, Reduction r) {
      return smooth_l1_loss(in[0], in[1], {.beta = beta, .reduction = r});
    });
  for (const auto& [name, delta] : std::map<std::string, double>{{"1", 1}, {"large", 2.5}})
    add_reduced(calls, "huber_" + name, [delta](const Tensors& in, Reduction r) {
      return huber_loss(in[0], in[1], {.delta = delta, .reduction = r});
    });
  add_reduced(calls, "gaussian_nll_plain",
              [](const Tensors& in, Reduction r) { return gaussian_nll_loss(in[0], in[1], in[2], {.reduction = r}); });
  add_reduced(calls, "gaussian_nll_full", [](const Tensors& in, Reduction r) {
    return gaussian_nll_loss(in[0], in[1], in[2], {.full = true, .eps = 1e-2, .reduction = r});
  });
  for (const char* name : {"gaussian_nll_column", "gaussian_nll_row"})
    calls[name] = [](auto& in) -> Tensors { return {gaussian_nll_loss(in[0], in[1], in[2])}; };
}

void add_divergences(TorchCalls& calls) {
  for (const bool log_target : {false, true})
    for (const auto& [word, reduction] : {std::pair{"none", KlReduction::none},
                                          {"mean", KlReduction::mean},
                                          {"sum", KlReduction::sum},
                                          {"batchmean", KlReduction::batchmean}})
      calls[std::string(log_target ? "kl_div_log_target_" : "kl_div_") + word] = [=,
                                                                                  r = reduction](auto& in) -> Tensors {
        return {kl_div(in[0], in[1], {.log_target = log_target, .reduction = r})};
      };
}

void add_probabilities(TorchCalls& calls) {
  const auto weighted = [](bool each, bool positive) {
    return [=](const Tensors& in, Reduction r) {
      const auto factor = [&](bool given, const char* name) {
        return given ? fixture_tensors("more_losses").at(name).to(in[0].dtype()) : Tensor();
      };
      return bce_with_logits_loss(in[0], in[1],
                                  {.weight = factor(each, "bce_with_logits/weight"),
                                   .pos_weight = factor(positive, "bce_with_logits/pos_weight"),
                                   .reduction = r});
    };
  };
  add_reduced(calls, "bce_with_logits", weighted(false, false));
  add_reduced(calls, "bce_with_logits_pos_weight", weighted(false, true));
  add_reduced(calls, "bce_with_logits_weights", weighted(true, true));
  calls["bce_with_logits_far"] = [](auto& in) -> Tensors {
    return {bce_with_logits_loss(in[0], in[1], {.reduction = Reduction::none})};
  };
  add_divergences(calls);
}

void add_vectors(TorchCalls& calls) {
  const Tensor signs = tensor({1, -1, -1, 1}, i64);
  calls["normalize"] = [](auto& in) -> Tensors { return {normalize(in[0])}; };
  calls["cosine_similarity"] = [](auto& in) -> Tensors { return {cosine_similarity(in[0], in[1])}; };
  calls["cosine_similarity_pairs"] = [](auto& in) -> Tensors {
    return {cosine_similarity(unsqueeze(in[0], 1), unsqueeze(in[1], 0), -1)};
  };
  calls["cosine_similarity_first"] = [](auto& in) -> Tensors { return {cosine_similarity(in[0], in[1], 0)}; };
  for (const auto& [name, margin] : std::map<std::string, double>{{"", 0}, {"_margin", 0.3}})
    add_reduced(calls, "cosine_embedding" + name, [signs, margin](const Tensors& in, Reduction r) {
      return cosine_embedding_loss(in[0], in[1], signs, {.margin = margin, .reduction = r});
    });
  calls["cosine_embedding_one"] = [](auto& in) -> Tensors {
    return {cosine_embedding_loss(in[0], in[1], scalar(-1, in[0].dtype()), {.margin = -1})};
  };
}

void add_contrasts(TorchCalls& calls) {
  for (const auto& [name, options] : std::map<std::string, TripletMarginOptions>{{"", {}},
                                                                                 {"_sizes", {.margin = 4, .p = 1}},
                                                                                 {"_swap", {.margin = 2, .swap = true}},
                                                                                 {"_cubes", {.p = 3, .eps = 1e-2}}})
    add_reduced(calls, "triplet_margin" + name, [o = options](const Tensors& in, Reduction r) {
      TripletMarginOptions with = o;
      with.reduction = r;
      return triplet_margin_loss(in[0], in[1], in[2], with);
    });
  calls["triplet_margin_vectors"] = [](auto& in) -> Tensors { return {triplet_margin_loss(in[0], in[1], in[2])}; };
  calls["info_nce"] = [](auto& in) -> Tensors { return {info_nce(in[0], in[1])}; };
  calls["info_nce_symmetric"] = [](auto& in) -> Tensors {
    return {info_nce(in[0], in[1], {.temperature = 0.5, .symmetric = true})};
  };
  calls["info_nce_more_keys"] = [](auto& in) -> Tensors { return {info_nce(in[0], in[1], {.temperature = 1})}; };
}

Tensor whole(std::initializer_list<Values> values) { return tensor(values, i64); }

void add_ctc(TorchCalls& calls) {
  const Tensor targets = whole({{1, 2, 2, 3}, {4, 1, 0, 0}, {3, 0, 0, 0}, {2, 2, 2, 2}}),
               flat = whole({1, 2, 2, 3, 4, 1, 2, 2, 2, 2}), lengths = whole({4, 2, 0, 4});
  const auto of = [=](const Tensor& t, const Tensor& frames, const CtcOptions& options) {
    return
        [=](const Tensors& in) -> Tensors { return {ctc_loss(log_softmax(in[0], -1), t, frames, lengths, options)}; };
  };
  const Tensor frames = whole({12, 7, 1, 9});
  const CtcOptions zero{.zero_infinity = true}, each{.reduction = Reduction::none, .zero_infinity = true};
  add_reduced(calls, "ctc", [=](const Tensors& in, Reduction r) {
    return ctc_loss(log_softmax(in[0], -1), targets, frames, lengths, {.reduction = r});
  });
  calls["ctc_concatenated"] = of(flat, frames, zero);
  calls["ctc_blank"] = of(remainder(targets + 4, 5), frames, {.blank = 4, .zero_infinity = true});
  calls["ctc_impossible"] = of(targets, whole({12, 1, 1, 7}), each);
  calls["ctc_no_frames"] = of(targets, whole({5, 0, 0, 8}), each);
  calls["ctc_one"] = [](auto& in) -> Tensors {
    return {ctc_loss(log_softmax(in[0], -1), whole({1, 1, 4}), scalar(9, i64), scalar(3, i64))};
  };
  calls["ctc_long"] = [](auto& in) -> Tensors {
    return {ctc_loss(log_softmax(in[0], -1), fixture_tensors("more_losses").at("ctc/long"), whole({200, 180}),
                     whole({40, 31}), {.reduction = Reduction::none})};
  };
}

const TorchCalls& loss_calls() {
  static const TorchCalls all = [] {
    TorchCalls calls;
    for (const auto add : {add_regression, add_probabilities, add_vectors, add_contrasts, add_ctc}) add(calls);
    calls["normalize_last"] = [](auto& in) -> Tensors { return {normalize(in[0], -1, {.eps = 2})}; };
    return calls;
  }();
  return all;
}

class LossesAgainstPyTorch : public testing::TestWithParam<std::string> {};

TEST_P(LossesAgainstPyTorch, MatchValuesAndGradients) {
  // The composed ctc_loss sums whole sequences, for which f32 is imprecise.
  expect_as_pytorch("more_losses", GetParam(), loss_calls().at(GetParam()), GetParam() != "ctc_long");
}

INSTANTIATE_TEST_SUITE_P(Cases, LossesAgainstPyTorch, testing::ValuesIn(case_names(loss_calls())),
                         [](const auto& name) { return name.param; });

TEST(LossesAgainstPyTorchCases, CoverTheWholeFixture) {
  expect_all_called("more_losses", loss_calls(), {"bce_with_logits/weight", "bce_with_logits/pos_weight", "ctc/long"});
}

}  // namespace
}  // namespace tape
