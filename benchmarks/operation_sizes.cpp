// Elementwise operations, reductions, indexing, losses and convolutions from 10^2 to 10^7 elements. Prints lines
// `name,elements,forward,both` in nanoseconds: bench_operation_sizes [part of a name]. operation_sizes.py compares them
// with PyTorch.
#include <tapeformer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace tape;

namespace {

/// x [n / 100, 100] and a second operand of that shape, both in (0.05, 0.95), where every function is defined.
/// `centered` has both signs, as activations need.
struct Operands {
  explicit Operands(int64_t n) : rows(n / 100) {
    const NoGrad no_grad;
    x = rand({rows, 100}) * 0.9 + 0.05;
    other = rand({rows, 100}) * 0.9 + 0.05;
    mask = gt(rand({rows, 100}), 0.5);
    row_ids = randint(0, rows, {rows});
    column_ids = randint(0, 100, {rows, 100});
    centered = rand({rows, 100}) * 2 - 1;
    x.requires_grad_();
    centered.requires_grad_();
    other.requires_grad_();
  }
  int64_t rows;
  Tensor x = {}, other = {}, centered = {}, mask = {}, row_ids = {}, column_ids = {};
};

/// Images [N, C, H, W] with about n elements and a matching weight, as operands of convolutions.
Operands images(int64_t elements, const std::function<Shape(const Shape&)>& weight) {
  const std::map<int64_t, Shape> shapes = {{100, {1, 1, 10, 10}},        {1'000, {1, 10, 10, 10}},
                                           {10'000, {1, 16, 25, 25}},    {100'000, {4, 16, 40, 40}},
                                           {1'000'000, {4, 64, 62, 62}}, {10'000'000, {16, 64, 100, 100}}};
  const NoGrad no_grad;
  Operands o(100);
  o.x = randn(shapes.at(elements));
  o.other = weight ? randn(weight(o.x.shape())) * 0.1 : o.x.detach();
  o.x.requires_grad_();
  o.other.requires_grad_();
  return o;
}

struct Operation {
  const char* name;
  std::function<Tensor(const Operands&)> call;
  bool of_images = false;
  std::function<Shape(const Shape&)> weight = {};
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
    all.push_back({name, [f](const Operands& o) { return f(o.centered); }});
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

std::vector<Operation> convolutions() {
  const auto square = [](int64_t kernel, bool depthwise = false) {
    return [=](const Shape& x) { return Shape{x[1], depthwise ? 1 : x[1], kernel, kernel}; };
  };
  const auto rows = [](const Tensor& x) { return reshape(x, {x.size(0), x.size(1), x.size(2) * x.size(3)}); };
  const auto conv = [](const char* name, const ConvOptions& options, const std::function<Shape(const Shape&)>& weight) {
    return Operation{name, [=](const Operands& o) { return conv2d(o.x, o.other, {}, options); }, true, weight};
  };
  const auto of_images = [](const char* name, const std::function<Tensor(const Tensor&)>& f) {
    return Operation{name, [f](const Operands& o) { return f(o.x); }, true};
  };
  return {conv("conv2d", {.padding = 1}, square(3)),
          conv("conv2d_single", {}, square(1)),
          conv("conv2d_strided", {.stride = 2, .padding = 1}, square(3)),
          conv("conv2d_patches", {.stride = 5}, square(5)),
          {"conv2d_depthwise",
           [](const Operands& o) { return conv2d(o.x, o.other, {}, {.padding = 1, .groups = o.x.size(1)}); }, true,
           square(3, true)},
          {"conv1d", [rows](const Operands& o) { return conv1d(rows(o.x), o.other, {}, {.padding = 1}); }, true,
           [](const Shape& x) {
             return Shape{x[1], x[1], 3};
           }},
          of_images("max_pool2d", [](const Tensor& x) { return max_pool2d(x, 2); }),
          of_images("max_pool2d_wide", [](const Tensor& x) { return max_pool2d(x, 3, {.stride = 2, .padding = 1}); }),
          of_images("avg_pool2d", [](const Tensor& x) { return avg_pool2d(x, 2); }),
          of_images("group_norm", [](const Tensor& x) { return group_norm(x, 1); }),
          of_images("batch_norm", [](const Tensor& x) { return batch_norm(x, {}, {}, {}, {}, {.training = true}); })};
}

/// x as scores of 20 classes for up to 500 frames, with one target label per four frames.
Tensor ctc(const Operands& o) {
  const int64_t elements = o.x.numel(), sequences = std::max<int64_t>(1, elements / 10'000);
  const int64_t frames = elements / sequences / 20, labels = frames / 4;
  const Tensor targets = 1 + remainder(7 * arange(sequences * labels), scalar(19, i64));
  return ctc_loss(reshape(o.x, {frames, sequences, 20}), reshape(targets, {sequences, labels}),
                  full({sequences}, static_cast<double>(frames), i64),
                  full({sequences}, static_cast<double>(labels), i64), {.reduction = Reduction::none});
}

std::vector<Operation> losses() {
  constexpr Reduction each = Reduction::none;
  return {
      {"mse_loss", [](const Operands& o) { return mse_loss(o.x, o.other, each); }},
      {"smooth_l1_loss",
       [](const Operands& o) { return smooth_l1_loss(o.x, o.other, {.beta = 0.3, .reduction = each}); }},
      {"huber_loss", [](const Operands& o) { return huber_loss(o.x, o.other, {.delta = 0.3, .reduction = each}); }},
      {"bce_with_logits", [](const Operands& o) { return bce_with_logits_loss(o.x, o.other, {.reduction = each}); }},
      {"kl_div", [](const Operands& o) { return kl_div(o.x, o.other, {.reduction = KlReduction::none}); }},
      {"normalize", [](const Operands& o) { return normalize(o.x); }},
      {"cosine_similarity", [](const Operands& o) { return cosine_similarity(o.x, o.other); }},
      {"ctc_loss", ctc}};
}

/// The shortest of several measurements, each of as many calls as fill a millisecond.
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
  const Operands operands = operation.of_images ? images(elements, operation.weight) : Operands(elements);
  const Tensor seed = ones_like(operation.call(operands).detach());
  const double forward = nanoseconds([&] {
    const NoGrad no_grad;
    operation.call(operands);
  });
  const double both = nanoseconds([&] {
    operation.call(operands).backward({.gradient = seed});
    for (Tensor operand : {operands.x, operands.other, operands.centered})
      if (operand.defined()) operand.zero_grad();
  });
  std::printf("%s,%lld,%.0f,%.0f\n", operation.name, static_cast<long long>(elements), forward, both);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  for (const std::vector<Operation>& family : {elementwise(), reductions(), indexing(), losses(), convolutions()})
    for (const Operation& operation : family)
      for (int64_t elements = 100; elements <= 10'000'000; elements *= 10)
        if (std::string(operation.name).find(part) != std::string::npos) measure(operation, elements);
}
