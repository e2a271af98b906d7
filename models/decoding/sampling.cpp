#include "models/decoding/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "autograd/distributions.h"
#include "base/error.h"

namespace tape::models {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

void check_range(const char* name, double value, double least, double most) {
  if (!(value >= least && value <= most))
    raise(ErrorKind::config, "generate: {} must be from {} to {}, got {}", name, least, most, value);
}

void check_numbers(const std::vector<double>& logits) {
  bool any = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] < -kNever)) raise(ErrorKind::numeric, "generate: the score of token {} is {}", i, logits[i]);
    any |= logits[i] > kNever;
  }
  if (!any) raise(ErrorKind::numeric, "generate: all {} scores are -inf", logits.size());
}

void penalize(std::vector<double>& scores, std::span<const int64_t> earlier, double penalty) {
  std::vector<int64_t> generated(earlier.begin(), earlier.end());
  std::sort(generated.begin(), generated.end());
  generated.erase(std::unique(generated.begin(), generated.end()), generated.end());
  for (const int64_t id : generated) {
    if (id < 0 || id >= std::ssize(scores)) continue;
    double& score = scores[static_cast<size_t>(id)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

/// Candidates for the next token. Weights are unnormalized softmax probabilities, 0 for excluded tokens.
struct Choices {
  std::vector<int64_t> ids;  ///< empty: all ids in order
  std::vector<double> weights;

  double total() const { return std::accumulate(weights.begin(), weights.end(), 0.0); }
  int64_t id(size_t at) const { return ids.empty() ? static_cast<int64_t>(at) : ids[at]; }
};

/// The k largest scores, including ties with the last of them.
Choices top_k_of(const std::vector<double>& scores, int64_t k) {
  std::vector<double> best(static_cast<size_t>(k));
  std::partial_sort_copy(scores.begin(), scores.end(), best.begin(), best.end(), std::greater<>());
  Choices found;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] < best.back()) continue;
    found.ids.push_back(static_cast<int64_t>(i));
    found.weights.push_back(scores[i]);
  }
  return found;
}

/// Excludes the least likely tokens whose total probability is at most 1 - top_p, but never the likeliest one. Among
/// equals the first counts as less likely.
void keep_top_p(Choices& choices, double top_p) {
  struct Entry {
    double p;
    size_t at;
    bool operator<(const Entry& o) const { return p < o.p || (p == o.p && at < o.at); }
  };
  const double total = choices.total();
  // All tokens below this threshold together have at most 1 - top_p; that is most of a vocabulary.
  const double little = (1 - top_p) / static_cast<double>(choices.weights.size());
  double sum = 0;
  std::vector<Entry> order;
  for (size_t i = 0; i < choices.weights.size(); ++i) {
    const double p = choices.weights[i] / total;
    if (p < little)
      sum += p, choices.weights[i] = 0;
    else
      order.push_back({p, i});
  }
  // Tokens before `begin` are excluded and those from `end` on are kept. Halving the range between them avoids sorting
  // everything.
  auto begin = order.begin(), end = order.end();
  while (end - begin > 64) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    const double lower = std::accumulate(begin, middle, sum, [](double s, const Entry& e) { return s + e.p; });
    if (lower <= 1 - top_p) {
      begin = middle;
      sum = lower;
    } else {
      end = middle;
    }
  }
  std::sort(begin, end);
  for (; begin < std::min(end, order.end() - 1); ++begin) {
    sum += begin->p;
    if (!(sum <= 1 - top_p)) break;
  }
  for (auto hidden = order.begin(); hidden < begin; ++hidden) choices.weights[hidden->at] = 0;
}

void keep_min_p(Choices& choices, double min_p) {
  const double total = choices.total(), least = min_p * (1 / total);  // the likeliest token's weight is 1
  for (double& weight : choices.weights)
    if (weight / total < least) weight = 0;
}

/// Candidates with their probabilities as weights; at least one score must be finite.
Choices distribution_of(std::vector<double> scores, const SamplingOptions& o) {
  // Compare the raw scores: division by the temperature may make two of them equal.
  Choices choices = o.top_k > 0 && o.top_k < std::ssize(scores) ? top_k_of(scores, o.top_k)
                                                                : Choices{.ids = {}, .weights = std::move(scores)};
  // Subtract the maximum first: dividing raw scores by a tiny temperature may overflow.
  const double highest = *std::max_element(choices.weights.begin(), choices.weights.end());
  for (double& weight : choices.weights) weight = std::exp((weight - highest) / o.temperature);
  if (o.top_p < 1) keep_top_p(choices, o.top_p);
  if (o.min_p > 0) keep_min_p(choices, o.min_p);
  const double total = choices.total();
  for (double& weight : choices.weights) weight /= total;
  return choices;
}

/// Common first step of choosing a token.
void check_and_penalize(std::vector<double>& scores, std::span<const int64_t> earlier, const SamplingOptions& o) {
  check(o);
  check_numbers(scores);
  if (o.repetition_penalty != 1) penalize(scores, earlier, o.repetition_penalty);
}

int64_t likeliest(const std::vector<double>& scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

}  // namespace

void check(const SamplingOptions& o) {
  if (!(o.temperature >= 0 && std::isfinite(o.temperature)))
    raise(ErrorKind::config, "generate: temperature must be at least 0, got {}", o.temperature);
  if (o.top_k < 0) raise(ErrorKind::config, "generate: top_k must be at least 0 (0: all), got {}", o.top_k);
  check_range("top_p", o.top_p, 0, 1);
  check_range("min_p", o.min_p, 0, 1);
  if (!(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty)))
    raise(ErrorKind::config, "generate: repetition_penalty must be greater than 0, got {}", o.repetition_penalty);
}

std::vector<double> token_probabilities(std::vector<double> scores, std::span<const int64_t> earlier,
                                        const SamplingOptions& o) {
  check_and_penalize(scores, earlier, o);
  std::vector<double> p(scores.size(), 0.0);
  if (o.temperature == 0) {
    p[static_cast<size_t>(likeliest(scores))] = 1;
    return p;
  }
  const Choices choices = distribution_of(std::move(scores), o);
  for (size_t i = 0; i < choices.weights.size(); ++i) p[static_cast<size_t>(choices.id(i))] = choices.weights[i];
  return p;
}

int64_t draw(std::span<const double> probabilities, Generator& draws) {
  return CategoricalSampler(probabilities).at(draws.uniform());
}

int64_t next_token(std::vector<double> scores, std::span<const int64_t> earlier, const SamplingOptions& o,
                   Generator& draws) {
  check_and_penalize(scores, earlier, o);
  if (o.temperature == 0) return likeliest(scores);
  const Choices choices = distribution_of(std::move(scores), o);
  return choices.id(static_cast<size_t>(draw(choices.weights, draws)));
}

}  // namespace tape::models
