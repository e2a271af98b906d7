#include "models/decoding/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
    if (std::isnan(logits[i]) || logits[i] == -kNever)
      raise(ErrorKind::numeric, "generate: the score of token {} is {}", i, logits[i]);
    any = any || logits[i] != kNever;
  }
  if (!any) raise(ErrorKind::numeric, "generate: all {} scores are -inf", logits.size());
}

void penalize(std::vector<double>& scores, std::span<const int64_t> earlier, double penalty) {
  std::vector<int64_t> said(earlier.begin(), earlier.end());
  std::sort(said.begin(), said.end());
  said.erase(std::unique(said.begin(), said.end()), said.end());
  for (const int64_t id : said) {
    if (id < 0 || id >= std::ssize(scores)) continue;
    double& score = scores[static_cast<size_t>(id)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

void keep_top_k(std::vector<double>& scores, int64_t k) {
  if (k >= std::ssize(scores)) return;
  std::vector<double> best = scores;
  std::nth_element(best.begin(), best.begin() + (k - 1), best.end(), std::greater<>());
  const double last = best[static_cast<size_t>(k - 1)];
  for (double& score : scores)
    if (score < last) score = kNever;
}

std::vector<double> softmax_of(const std::vector<double>& scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> p(scores.size());
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) total += p[i] = scores[i] == kNever ? 0 : std::exp(scores[i] - highest);
  for (double& value : p) value /= total;
  return p;
}

/// Hides, from the least likely on, what together has a probability of at most 1 - top_p; never the likeliest. Of equal
/// ones the first counts as less likely.
void keep_top_p(std::vector<double>& scores, double top_p) {
  const std::vector<double> p = softmax_of(scores);
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] != kNever) order.push_back(i);
  const auto less_likely = [&](size_t a, size_t b) {
    return scores[a] < scores[b] || (scores[a] == scores[b] && a < b);
  };
  // The least likely are in front of `begin`, hidden, the likeliest from `end` on, kept: halves of what is between, as
  // a whole vocabulary need not be sorted.
  double sum = 0;
  auto begin = order.begin(), end = order.end();
  while (end - begin > 64) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, less_likely);
    double lower = sum;
    for (auto at = begin; at != middle; ++at) lower += p[*at];
    if (lower <= 1 - top_p) {
      for (; begin != middle; ++begin) scores[*begin] = kNever;
      sum = lower;
    } else {
      end = middle;
    }
  }
  std::sort(begin, end, less_likely);
  for (; begin < std::min(end, order.end() - 1); ++begin) {
    sum += p[*begin];
    if (!(sum <= 1 - top_p)) break;
    scores[*begin] = kNever;
  }
}

void keep_min_p(std::vector<double>& scores, double min_p) {
  const std::vector<double> p = softmax_of(scores);
  const double least = min_p * *std::max_element(p.begin(), p.end());
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] < least) scores[i] = kNever;
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
    raise(ErrorKind::config, "generate: repetition_penalty must be more than 0, got {}", o.repetition_penalty);
}

std::vector<double> token_probabilities(std::vector<double> scores, std::span<const int64_t> earlier,
                                        const SamplingOptions& o) {
  check(o);
  check_numbers(scores);
  if (o.repetition_penalty != 1) penalize(scores, earlier, o.repetition_penalty);
  if (o.temperature == 0) {
    std::vector<double> p(scores.size(), 0.0);
    p[static_cast<size_t>(likeliest(scores))] = 1;
    return p;
  }
  // Of the scores themselves: divided, two of them may be equal.
  if (o.top_k > 0) keep_top_k(scores, o.top_k);
  // Less the highest first: divided by a tiny temperature, the scores themselves may overflow.
  const double highest = *std::max_element(scores.begin(), scores.end());
  for (double& score : scores) score = score == kNever ? kNever : (score - highest) / o.temperature;
  if (o.top_p < 1) keep_top_p(scores, o.top_p);
  if (o.min_p > 0) keep_min_p(scores, o.min_p);
  return softmax_of(scores);
}

int64_t draw(std::span<const double> probabilities, Generator& draws) {
  return Categories(probabilities).at(draws.uniform());
}

int64_t next_token(std::vector<double> scores, std::span<const int64_t> earlier, const SamplingOptions& o,
                   Generator& draws) {
  if (o.temperature > 0) return draw(token_probabilities(std::move(scores), earlier, o), draws);
  check(o);
  check_numbers(scores);
  if (o.repetition_penalty != 1) penalize(scores, earlier, o.repetition_penalty);
  return likeliest(scores);
}

}  // namespace tape::models
