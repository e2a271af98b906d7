// Losses of vectors and sequences: loops over pairs, triplets, and every path through the frames.

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/loss/ctc_loss.h"
#include "autograd/ops/loss/embedding_loss.h"
#include "autograd/ops/shape/shape.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

using OneRow = std::vector<double>;

OneRow row_of(const Array& rows, int64_t i) {
  const int64_t width = shape_of(rows)[1];
  return OneRow(rows.data() + i * width, rows.data() + (i + 1) * width);
}
double dot(const OneRow& a, const OneRow& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}
double length_of(const OneRow& a, double eps) { return std::max(std::sqrt(dot(a, a)), eps); }
double cosine(const OneRow& a, const OneRow& b, double eps) {
  return dot(a, b) / (length_of(a, eps) * length_of(b, eps));
}

Case draw_normalize(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = draw.shape(1);
  const int64_t axis = draw.axis(shape), front = axis < 0 ? axis + shape.rank() : axis;
  const double eps = draw.one_of({1e-12, 3.0});
  const Tensor x = draw.values(shape, dtype);
  const Array values = exact(x);
  return {
      .inputs = {x},
      .call = [=](const Tensors& in) { return normalize(in[0], axis, {.eps = eps}); },
      .expected = build(shape, [&](const Index& i) { return at(values, i) / length_of(line(values, i, front), eps); }),
      .dtype = dtype,
      .length = 2 + shape[front],
      .constant = shape[front] == 1};
}

/// Rows of one width in one dtype.
struct Rows {
  explicit Rows(Draw& draw, int64_t tensors)
      : dtype(draw.floating()), count(draw.between(1, 5)), width(draw.between(2, 20)) {
    for (int64_t i = 0; i < tensors; ++i) {
      inputs.push_back(draw.values({count, width}, dtype));
      values.push_back(exact(inputs.back()));
    }
  }
  OneRow row(size_t tensor, int64_t i) const { return row_of(values[tensor], i); }
  /// One value per row; `magnitude` is the size of the terms summed for it.
  template <class Value>
  Case case_of(std::function<Tensor(const Tensors&)> call, double magnitude, const Value& value) const {
    return {.inputs = inputs,
            .call = std::move(call),
            .expected = build({count}, [&](const Index& i) { return value(i[0]); }),
            .dtype = dtype,
            .magnitude = build({count}, [&](const Index&) { return magnitude; }),
            .length = 2 * width};
  }
  DType dtype;
  int64_t count, width;
  Tensors inputs = {};
  std::vector<Array> values = {};
};

Case draw_cosine_similarity(Draw& draw) {
  const Rows rows(draw, 2);
  const double eps = draw.one_of({1e-8, 3.0});
  return rows.case_of([eps](const Tensors& in) { return cosine_similarity(in[0], in[1], 1, eps); }, 1,
                      [&](int64_t i) { return cosine(rows.row(0, i), rows.row(1, i), eps); });
}

Case draw_cosine_embedding_loss(Draw& draw) {
  const Rows rows(draw, 2);
  const Tensor target = draw.whole({rows.count}, i64, 0, 1) * 2 - 1;
  const double margin = draw.one_of({0.0, -0.97, 0.25});
  const Array signs = exact(target);
  return rows.case_of(
      [=](const Tensors& in) {
        return cosine_embedding_loss(in[0], in[1], target, {.margin = margin, .reduction = Reduction::none});
      },
      2,
      [&](int64_t i) {
        const double c = cosine(rows.row(0, i), rows.row(1, i), 1e-6);
        return signs.data()[i] > 0 ? 1 - c : std::max(0.0, c - margin);
      });
}

Case draw_triplet_margin_loss(Draw& draw) {
  const Rows rows(draw, 3);
  const double p = draw.one_of({1.0, 2.0, 3.0}), margin = draw.one_of({0.5, 20.0});
  const bool swap = draw.chance(0.5);
  const auto distance = [p](const OneRow& a, const OneRow& b) {
    double total = 0;
    for (size_t i = 0; i < a.size(); ++i) total += std::pow(std::abs(a[i] - b[i] + 1e-6), p);
    return std::pow(total, 1 / p);
  };
  return rows.case_of(
      [=](const Tensors& in) {
        return triplet_margin_loss(in[0], in[1], in[2],
                                   {.margin = margin, .p = p, .swap = swap, .reduction = Reduction::none});
      },
      margin + 8 * static_cast<double>(rows.width),
      [&](int64_t i) {
        const OneRow a = rows.row(0, i), near = rows.row(1, i), far = rows.row(2, i);
        const double other = swap ? std::min(distance(a, far), distance(near, far)) : distance(a, far);
        return std::max(0.0, margin + distance(a, near) - other);
      });
}

Case draw_info_nce(Draw& draw) {
  const Rows rows(draw, 2);
  const double temperature = draw.one_of({0.1, 1.0});
  return rows.case_of(
      [=](const Tensors& in) {
        return info_nce(in[0], in[1], {.temperature = temperature, .reduction = Reduction::none});
      },
      8 / temperature,
      [&](int64_t i) {
        double total = 0;
        for (int64_t j = 0; j < rows.count; ++j)
          total += std::exp(cosine(rows.row(0, i), rows.row(1, j), 1e-12) / temperature);
        return std::log(total) - cosine(rows.row(0, i), rows.row(1, i), 1e-12) / temperature;
      });
}

/// The labels of a path: repeated classes merged, then blanks removed.
Index spelled(const Index& path, int64_t blank) {
  Index labels;
  for (size_t t = 0; t < path.size(); ++t)
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  return labels;
}

/// -log of the probability of all paths through `frames` frames that give the labels, by enumeration.
double loss_of_paths(const Array& log_probs, int64_t n, int64_t frames, const Index& labels, int64_t blank) {
  const int64_t classes = shape_of(log_probs)[2];
  double total = 0;
  const int64_t paths = static_cast<int64_t>(std::llround(std::pow(classes, frames)));
  for (int64_t number = 0; number < paths; ++number) {
    Index path;
    double log_p = 0;
    for (int64_t t = 0, rest = number; t < frames; ++t, rest /= classes) {
      path.push_back(rest % classes);
      log_p += at(log_probs, {t, n, path.back()});
    }
    if (spelled(path, blank) == labels) total += std::exp(log_p);
  }
  return -std::log(total);
}

Case draw_ctc_loss(Draw& draw) {
  const DType dtype = draw.floating();
  const int64_t frames = draw.between(1, 5), sequences = draw.between(1, 3), classes = draw.between(2, 4),
                longest = draw.between(1, 3), blank = draw.between(0, classes - 1);
  const Tensor x = draw.values({frames, sequences, classes}, dtype, -3, 0);
  const Tensor input_lengths = draw.whole({sequences}, i64, 0, frames),
               target_lengths = draw.whole({sequences}, i64, 0, longest);
  Tensor targets = draw.whole({sequences, longest}, i64, 0, classes - 2).clone();
  int64_t* labels = targets.mutable_data<int64_t>();
  for (int64_t i = 0; i < targets.numel(); ++i) labels[i] += labels[i] >= blank ? 1 : 0;
  const Array values = exact(x);
  const auto loss = [&](const Index& n) {
    const int64_t* first = targets.data<int64_t>() + n[0] * longest;
    return loss_of_paths(values, n[0], input_lengths.data<int64_t>()[n[0]],
                         Index(first, first + target_lengths.data<int64_t>()[n[0]]), blank);
  };
  const bool zero_infinity = draw.chance(0.7);
  const Array exact_losses = build({sequences}, loss);
  const auto finite = [&](const Index& n) {
    const double value = at(exact_losses, n);
    return std::isinf(value) && zero_infinity ? 0 : value;
  };
  return {.inputs = {x},
          .call =
              [=](const Tensors& in) {
                return ctc_loss(in[0], targets, input_lengths, target_lengths,
                                {.blank = blank, .reduction = Reduction::none, .zero_infinity = zero_infinity});
              },
          .expected = build({sequences}, finite),
          .dtype = dtype,
          .magnitude = build({sequences}, [](const Index&) { return 20.0; }),
          .length = frames,
          .constant = !zero_infinity};
}

}  // namespace

void add_vector_losses(std::vector<Property>& all) {
  all.insert(all.end(), {{"normalize", "normalize", draw_normalize},
                         {"cosine_similarity", "cosine_similarity", draw_cosine_similarity},
                         {"cosine_embedding_loss", "cosine_embedding_loss", draw_cosine_embedding_loss},
                         {"triplet_margin_loss", "triplet_margin_loss", draw_triplet_margin_loss},
                         {"info_nce", "cross_entropy", draw_info_nce},
                         {"ctc_loss", "ctc_loss", draw_ctc_loss}});
}

}  // namespace tape::properties
