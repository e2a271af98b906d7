#include "tests/fuzz/operands.h"

namespace tape::fuzz {
namespace {

Reduction reduction_of(Numbers& from) {
  constexpr std::array kAll = {Reduction::mean, Reduction::sum, Reduction::none};
  return kAll[static_cast<size_t>(from.byte()) % kAll.size()];
}
Tensor either(Numbers& from, const Tensor& x) { return from.flag() ? x : Tensor(); }

/// The corpus contains indices into this list, so the order must not change.
constexpr std::array kLosses = std::to_array<Operation>({
    [](const Tensors& x, Numbers& from) {
      const Tensor ids = ids_of(from);
      return cross_entropy(x[0], ids,
                           {.ignore_index = from.next(),
                            .label_smoothing = value_of(from),
                            .weight = either(from, x[1]),
                            .reduction = reduction_of(from)});
    },
    [](const Tensors& x, Numbers& from) {
      const Tensor ids = ids_of(from);
      return nll_loss(x[0], ids,
                      {.ignore_index = from.next(), .weight = either(from, x[1]), .reduction = reduction_of(from)});
    },
    [](const Tensors& x, Numbers& from) {
      const Tensor ids = ids_of(from), bias = either(from, x[2]);
      const CrossEntropyOptions options{.ignore_index = from.next(), .reduction = reduction_of(from)};
      return linear_cross_entropy(x[0], x[1], bias, ids, options, from.next());
    },
    [](const Tensors& x, Numbers& from) {
      const Tensor targets = ids_of(from), lengths = ids_of(from), target_lengths = ids_of(from);
      return ctc_loss(x[0], targets, lengths, target_lengths,
                      {.blank = from.next(), .reduction = reduction_of(from), .zero_infinity = from.flag()});
    },
    [](const Tensors& x, Numbers& from) { return mse_loss(x[0], x[1], reduction_of(from)); },
    [](const Tensors& x, Numbers& from) { return l1_loss(x[0], x[1], reduction_of(from)); },
    [](const Tensors& x, Numbers& from) { return smooth_l1_loss(x[0], x[1], {.beta = value_of(from)}); },
    [](const Tensors& x, Numbers& from) { return huber_loss(x[0], x[1], {.delta = value_of(from)}); },
    [](const Tensors& x, Numbers& from) {
      return gaussian_nll_loss(x[0], x[1], x[2], {.full = from.flag(), .eps = value_of(from)});
    },
    [](const Tensors& x, Numbers& from) { return bce_loss(x[0], x[1], reduction_of(from)); },
    [](const Tensors& x, Numbers& from) {
      return bce_with_logits_loss(x[0], x[1], {.weight = either(from, x[2]), .reduction = reduction_of(from)});
    },
    [](const Tensors& x, Numbers& from) { return kl_div(x[0], x[1], {.log_target = from.flag()}); },
    [](const Tensors& x, Numbers& from) {
      const int64_t axis = from.next();
      return cosine_similarity(x[0], x[1], axis, value_of(from));
    },
    [](const Tensors& x, Numbers& from) {
      const int64_t axis = from.next();
      return normalize(x[0], axis, {.eps = value_of(from)});
    },
    [](const Tensors& x, Numbers& from) {
      return cosine_embedding_loss(x[0], x[1], x[2].detach(), {.margin = value_of(from)});
    },
    [](const Tensors& x, Numbers& from) {
      return triplet_margin_loss(x[0], x[1], x[2],
                                 {.margin = value_of(from), .p = value_of(from), .swap = from.flag()});
    },
    [](const Tensors& x, Numbers& from) {
      return info_nce(x[0], x[1], {.temperature = value_of(from), .symmetric = from.flag()});
    },
    [](const Tensors& x, Numbers& from) {
      const Tensor ids = ids_of(from);
      return embedding(x[0], ids, {.padding_index = from.next()});
    },
    [](const Tensors&, Numbers& from) {
      const Tensor ids = ids_of(from);
      return one_hot(ids, from.next(), f64);
    },
    [](const Tensors& x, Numbers&) { return linear(x[0], x[1], x[2]); },
});

}  // namespace

/// Losses and other operations on ids, with arbitrary shapes, classes and lengths.
void fuzz_losses(Bytes bytes) { run_operations(kLosses, bytes); }

}  // namespace tape::fuzz
