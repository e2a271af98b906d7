// Elementwise operations, reductions and indexing from 10^2 to 10^7 elements, as lines `name,elements,forward,both` in
// nanoseconds: bench_operation_sizes [part of a name]. operation_sizes.py runs it beside PyTorch.
#include <tapeformer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using namespace tape;

namespace {

/// x [n / 100, 100] and a second operand like it; both lie inside (0.05, 0.95), where every function is defined.
/// `centred` has both signs, which activations tell apart.
struct Operands {
  explicit Operands(int64_t n) : rows(n / 100) {
    const NoGrad no_grad;
    x = rand({rows, 100}) * 0.9 + 0.05;
    other = rand({rows, 100}) * 0.9 + 0.05;
    mask = gt(rand({rows, 100}), 0.5);
    row_ids = randint(0, rows, {rows});
    column_ids = randint(0, 100, {rows, 100});
    centred = rand({rows, 100}) * 2 - 1;
    x.requires_grad_();
    centred.requires_grad_();
    other.requires_grad_();
  }
  int64_t rows;
  Tensor x = {}, other = {}, centred = {}, mask = {}, row_ids = {}, column_ids = {};
};

struct Operation {
  const char* name;
  std::function<Tensor(const Operands&)> call;
};

template <class F>
Operation of_one(const char* name, F f) {
  return {name, [f](const Operands& o) { return f(o.x); }};
}

std::vector<Operation> elementwise() {
  using Function = Tensor (*)(const Tensor&);
  std::vector<Operation> all;
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Function>>{
           {"log1p", log1p}, {"expm1", expm1}, {"log2", log2}, {"log10", log10},   {"exp2", exp2},   {"sinh", sinh},
           {"cosh", cosh},   {"atanh", atanh}, {"tan", tan},   {"asin", asin},     {"acos", acos},   {"atan", atan},
           {"exp", exp},     {"log", log},     {"sqrt", sqrt}, {"square", square}, {"round", round}, {"floor", floor},
           {"ceil", ceil},   {"trunc", trunc}, {"frac", frac}})
    all.push_back(of_one(name, f));
  const auto activation = [&](const char* name, auto f) {
    all.push_back({name, [f](const Operands& o) { return f(o.centred); }});
  };
  activation("softplus", [](const Tensor& x) { return softplus(x); });
  activation("leaky_relu", [](const Tensor& x) { return leaky_relu(x); });
  activation("elu", [](const Tensor& x) { return elu(x); });
  activation("mish", mish);
  activation("relu", relu);
  activation("tanh", [](const Tensor& x) { return tanh(x); });
  activation("sigmoid", sigmoid);
  activation("gelu", [](const Tensor& x) { return gelu(x); });
  all.push_back({"add", [](const Operands& o) { return o.x + o.other; }});
  all.push_back({"mul", [](const Operands& o) { return o.x * o.other; }});
  all.push_back({"div", [](const Operands& o) { return o.x / o.other; }});
  all.push_back({"atan2", [](const Operands& o) { return atan2(o.x, o.other); }});
  all.push_back({"remainder", [](const Operands& o) { return remainder(o.x, o.other); }});
  all.push_back({"lerp", [](const Operands& o) { return lerp(o.x, o.other, 0.3); }});
  return all;
}

std::vector<Operation> reductions() {
  return {of_one("sum", [](const Tensor& x) { return sum(x); }),
          of_one("sum_rows", [](const Tensor& x) { return sum(x, 1); }),
          of_one("sum_columns", [](const Tensor& x) { return sum(x, 0); }),
          of_one("mean", [](const Tensor& x) { return mean(x, 1); }),
          of_one("max", [](const Tensor& x) { return max(x, 1); }),
          of_one("softmax", [](const Tensor& x) { return softmax(x, 1); }),
          of_one("prod", [](const Tensor& x) { return prod(x, 1); }),
          of_one("var", [](const Tensor& x) { return var(x, 1); }),
          of_one("std", [](const Tensor& x) { return tape::std(x, 1); }),
          of_one("norm", [](const Tensor& x) { return norm(x, 2, 1); }),
          of_one("norm_all", [](const Tensor& x) { return norm(x); }),
          of_one("nansum", [](const Tensor& x) { return nansum(x, 0); }),
          of_one("median", [](const Tensor& x) { return median(x, 1).values; }),
          of_one("quantile", [](const Tensor& x) { return quantile(x, 0.3, 1); }),
          of_one("cumprod", [](const Tensor& x) { return cumprod(x, 1); }),
          of_one("logcumsumexp", [](const Tensor& x) { return logcumsumexp(x, 1); }),
          of_one("cummax", [](const Tensor& x) { return cummax(x, 1).values; })};
}

std::vector<Operation> indexing() {
  return {
      {"index", [](const Operands& o) { return index(o.x, {o.row_ids}); }},
      {"index_put", [](const Operands& o) { return index_put(o.x, {o.row_ids}, o.other); }},
      {"masked_select", [](const Operands& o) { return masked_select(o.x, o.mask); }},
      {"masked_scatter", [](const Operands& o) { return masked_scatter(o.x, o.mask, o.other); }},
      {"gather", [](const Operands& o) { return gather(o.x, 1, o.column_ids); }},
      {"scatter", [](const Operands& o) { return scatter(o.x, 1, o.column_ids, o.other); }},
      {"scatter_amax", [](const Operands& o) { return scatter_reduce(o.x, 1, o.column_ids, o.other, Reduce::amax); }},
      {"scatter_sum", [](const Operands& o) { return scatter_reduce(o.x, 1, o.column_ids, o.other, Reduce::sum); }},
      {"roll", [](const Operands& o) { return roll(o.x, 7, 1); }},
      {"unfold", [](const Operands& o) { return unfold(o.x, 1, 4, 4); }},
      {"repeat_interleave", [](const Operands& o) { return repeat_interleave(o.x, 2, 1); }}};
}

/// The shortest of several times, each of as many calls as fill a millisecond.
double nanoseconds(const std::function<void()>& call) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto time = [&](int calls) {
    const auto start = now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double, std::nano>(now() - start).count() / calls;
  };
  const double once = std::max(1.0, std::min(time(1), time(1)));
  const int calls = static_cast<int>(std::clamp(1e6 / once, 1.0, 1e4));
  double best = once;
  for (int round = 0; round < 12; ++round) best = std::min(best, time(calls));
  return best;
}

void measure(const Operation& operation, int64_t elements) {
  const Operands operands(elements);
  const Tensor seed = ones_like(operation.call(operands).detach());
  const double forward = nanoseconds([&] {
    const NoGrad no_grad;
    operation.call(operands);
  });
  const double both = nanoseconds([&] {
    operation.call(operands).backward({.gradient = seed});
    Tensor x = operands.x, other = operands.other, centred = operands.centred;
    x.zero_grad();
    other.zero_grad();
    centred.zero_grad();
  });
  std::printf("%s,%lld,%.0f,%.0f\n", operation.name, static_cast<long long>(elements), forward, both);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  for (const std::vector<Operation>& family : {elementwise(), reductions(), indexing()})
    for (const Operation& operation : family)
      for (int64_t elements = 100; elements <= 10'000'000; elements *= 10)
        if (std::string(operation.name).find(part) != std::string::npos) measure(operation, elements);
}
