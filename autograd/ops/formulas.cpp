#include "autograd/ops/formulas.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/cast.h"
#include "autograd/ops/shape.h"

namespace tape {
namespace {

/// In the texts, {0}, {1}, ... are the shapes of inputs, {y} that of the output, {x} that of the input whose gradient
/// is meant and {i} its number; <2: ...> stands where input 2 was given. One backward for each input; the last is also
/// that of all further ones.
struct Entry {
  std::string_view name, forward;
  std::vector<std::string_view> backward;
  bool broadcasts = false;  // gradients have the output's shape, and the tape sums them to the input's
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {"abs", "y{y} = |x|", {"dx = dy ⊙ sign(x)"}},
      {"add", "y{y} = a{0} + b{1}", {"da = dy", "db = dy"}, true},
      {"affine", "y{y} = scale · x + shift", {"dx = scale · dy"}},
      {"alias", "y{y} = x, another node for the same values", {"dx = dy"}},
      {"cast", "y{y} = x in another dtype", {"dx = dy in the dtype of x"}},
      {"cat", "y{y} = the inputs one behind the other", {"dx{i}{x} = the part of dy{y} that input {i} became"}},
      {"checkpoint",
       "y{y} = f(x…), of which the inputs alone are kept",
       {"dx{i}{x} = what the nodes of f give, run again and recorded"}},
      {"clamp", "y{y} = min(max(x, low), high)", {"dx = dy where low ≤ x ≤ high, else 0"}},
      {"clone", "y{y} = a copy of x", {"dx = dy"}},
      {"cos", "y{y} = cos x", {"dx = −dy ⊙ sin x"}},
      {"cross_entropy",
       "y{y}ₜ = logsumexp(x{0}ₜ) − x[t, target], with smoothing s: (1−s) of it + s · its mean over all classes",
       {"dx{x} = dy ⊙ (softmax(x) − (1−s) onehot(target) − s/V), times the weight of the target where there are "
        "weights"}},
      {"cumsum", "y{y}ⱼ = Σᵢ≤ⱼ xᵢ along an axis", {"dxⱼ = Σᵢ≥ⱼ dyᵢ, the sum from the other end"}},
      {"div", "y{y} = a{0} / b{1}", {"da = dy / b", "db = −dy ⊙ a / b²"}, true},
      {"dropout", "y{y} = x ⊙ m / (1−p), m = 0 with chance p, else 1", {"dx = dy ⊙ m / (1−p), the same m"}},
      {"embedding",
       "y{y} = the rows of weight{0} that the ids name",
       {"dweight{x} = for each row the sum of the rows of dy{y} whose id it is; 0 for the padding's"}},
      {"erf", "y{y} = erf x", {"dx = dy ⊙ 2/√π · exp(−x²)"}},
      {"exp", "y{y} = exp x", {"dx = dy ⊙ y"}},
      {"expand", "y{y} = x{0} repeated along axes of size 1", {"dx{x} = dy{y} summed over the repeated axes"}},
      {"flip", "y{y} = x with axes reversed", {"dx = dy with the same axes reversed"}},
      {"gather",
       "y{y} = x{0} at the places that the index names along an axis",
       {"dx{x} = 0, with each element of dy{y} added at the place it was taken from"}},
      {"gelu",
       "y{y} = x ⊙ Φ(x), Φ(x) = (1 + erf(x/√2)) / 2",
       {"dx = dy ⊙ (Φ(x) + x ⊙ φ(x)), φ(x) = exp(−x²/2) / √(2π)"}},
      {"gelu_tanh",
       "y{y} = x/2 ⊙ (1 + t), t = tanh(k (x + a x³)), k = √(2/π), a = 0.044715",
       {"dx = dy ⊙ ((1 + t)/2 + x/2 ⊙ (1 − t²) ⊙ k (1 + 3a x²))"}},
      {"index_add",
       "y{y} = x{0}, with the slices of source{1} added at the places that the index names",
       {"dx = dy", "dsource{x} = the slices of dy{y} at the index"}},
      {"index_select",
       "y{y} = the slices of x{0} that the index names along an axis",
       {"dx{x} = 0, with each slice of dy{y} added at the place it was taken from"}},
      {"layer_norm",
       "y{y} = n<1: ⊙ weight{1}><2: + bias{2}>, n = (x − mean) · r, r = 1/√(var + eps), over the last axis",
       {"dx{x} = r (g − mean(g) − n ⊙ mean(g ⊙ n)), g = dy<1: ⊙ weight>", "dweight{x} = Σ rows of dy ⊙ n",
        "dbias{x} = Σ rows of dy"}},
      {"linear",
       "y{y} = x{0} · weightᵀ{1}<2: + bias{2}>",
       {"dx{x} = dy{y} · weight{1}", "dweight{x} = dyᵀ · x, summed over all rows", "dbias{x} = Σ rows of dy"}},
      {"log", "y{y} = ln x", {"dx = dy / x"}},
      {"log_softmax",
       "y{y} = x − ln Σⱼ exp xⱼ along the last axis",
       {"dx = dy − softmax(x) ⊙ Σⱼ dyⱼ, along the last axis of{y}"}},
      {"logsumexp", "y{y} = ln Σ exp x{0}", {"dx{x} = dy{y} ⊙ exp(x − y), repeated along the summed axes"}},
      {"matmul", "y{y} = a{0} · b{1}", {"da{x} = dy · bᵀ", "db{x} = aᵀ · dy"}},  // product() knows more
      {"max",
       "y{y} = the largest of x{0}",
       {"dx{x} = dy{y} where x is the largest, shared equally among ties, else 0"}},
      {"maximum",
       "y{y} = max(a{0}, b{1})",
       {"da = dy where a > b, dy/2 where equal, else 0", "db = dy where b > a, dy/2 where equal, else 0"},
       true},
      {"min", "y{y} = the least of x{0}", {"dx{x} = dy{y} where x is the least, shared equally among ties, else 0"}},
      {"minimum",
       "y{y} = min(a{0}, b{1})",
       {"da = dy where a < b, dy/2 where equal, else 0", "db = dy where b < a, dy/2 where equal, else 0"},
       true},
      {"module_inputs",
       "y{y} = x, where a module with backward hooks begins",
       {"dx{i} = dy{i}, or what a hook gave in its place"}},
      {"mul", "y{y} = a{0} ⊙ b{1}", {"da = dy ⊙ b", "db = dy ⊙ a"}, true},
      {"neg", "y{y} = −x", {"dx = −dy"}},
      {"pad", "y{y} = x{0} with constant margins", {"dx{x} = dy{y} without the margins"}},
      {"permute", "y{y} = x{0} with its axes in another order", {"dx{x} = dy{y} with the axes back in theirs"}},
      {"pow", "y{y} = a{0} ^ b{1}", {"da = dy ⊙ b ⊙ a^(b−1)", "db = dy ⊙ y ⊙ ln a"}, true},
      {"pow_scalar", "y{y} = xⁿ", {"dx = dy ⊙ n xⁿ⁻¹"}},
      {"reciprocal", "y{y} = 1 / x", {"dx = −dy ⊙ y²"}},
      {"relu", "y{y} = max(x, 0)", {"dx = dy where x > 0, else 0"}},
      {"reshape", "y{y} = the values of x{0} in another shape", {"dx{x} = dy{y} in the shape of x"}},
      {"rms_norm",
       "y{y} = n<1: ⊙ weight{1}>, n = x · r, r = 1/√(mean(x²) + eps), over the last axis",
       {"dx{x} = r (g − n ⊙ mean(g ⊙ n)), g = dy<1: ⊙ weight>", "dweight{x} = Σ rows of dy ⊙ n"}},
      {"rsqrt", "y{y} = 1 / √x", {"dx = −dy ⊙ y³ / 2"}},
      {"scaled_dot_product_attention",
       "y{y} = P · V{2}, P = softmax(S + mask), S = scale · Q{0} · K{1}ᵀ, for each head",
       {"dQ{x} = scale · dS · K, dS = P ⊙ (dP − Σⱼ dPⱼ ⊙ Pⱼ), dP = dy · Vᵀ", "dK{x} = scale · dSᵀ · Q",
        "dV{x} = Pᵀ · dy", "dmask{x} = dS"}},
      {"scatter_add",
       "y{y} = x{0}, with the elements of source{1} added at the places that the index names",
       {"dx = dy", "dsource{x} = the elements of dy{y} at the index"}},
      {"sigmoid", "y{y} = 1 / (1 + exp(−x))", {"dx = dy ⊙ y ⊙ (1 − y)"}},
      {"sign", "y{y} = sign(x)", {"dx = 0"}},
      {"silu", "y{y} = x ⊙ s, s = sigmoid(x)", {"dx = dy ⊙ s ⊙ (1 + x ⊙ (1 − s))"}},
      {"sin", "y{y} = sin x", {"dx = dy ⊙ cos x"}},
      {"slice", "y{y} = a part of x{0}", {"dx{x} = 0, with dy{y} in the place of that part"}},
      {"softmax",
       "yⱼ = exp xⱼ / Σₖ exp xₖ along the last axis of{y}",
       {"dx = y ⊙ (dy − Σⱼ dyⱼ yⱼ), along the last axis of{y}"}},
      {"sort", "y{y} = x in order along an axis", {"dx = each element of dy at the place it came from"}},
      {"split", "y{y}, … = x{0} in pieces", {"dx{x} = the gradients of the pieces one behind the other"}},
      {"sqrt", "y{y} = √x", {"dx = dy / (2y)"}},
      {"square", "y{y} = x²", {"dx = 2 x ⊙ dy"}},
      {"sub", "y{y} = a{0} − b{1}", {"da = dy", "db = −dy"}, true},
      {"sum", "y{y} = x{0} summed over axes", {"dx{x} = dy{y} repeated along these axes"}},
      {"sum_to",
       "y{y} = x{0} summed to a shape that broadcasts to it",
       {"dx{x} = dy{y} repeated along the summed axes"}},
      {"tanh", "y{y} = tanh x", {"dx = dy ⊙ (1 − y²)"}},
      {"topk",
       "y{y} = the k largest (or least) of x{0} along an axis",
       {"dx{x} = 0, with each element of dy{y} at the place it came from"}},
      {"tril", "y{y} = x on and below a diagonal, 0 above", {"dx = dy on and below it, 0 above"}},
      {"triu", "y{y} = x on and above a diagonal, 0 below", {"dx = dy on and above it, 0 below"}},
      {"unslice", "y{y} = 0, with x{0} in the place of a part", {"dx{x} = that part of dy{y}"}},
      {"where",
       "y{y} = a{0} where the condition holds, else b{1}",
       {"da = dy where the condition holds, else 0", "db = 0 where the condition holds, else dy"},
       true},
  };
  return all;
}

const Entry* find(std::string_view name) {
  const auto found = std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return e.name == name; });
  return found == entries().end() ? nullptr : &*found;
}

std::string shape_text(const Tensor& tensor) {
  return tensor.defined() ? fmt::format(" {}", to_string(tensor.shape())) : "";
}

/// Fills the places of a text; `input` is the one whose gradient is meant.
class Filler {
 public:
  Filler(const Tensors& inputs, const Tensors& outputs, size_t input) : in_(inputs), out_(outputs), input_(input) {}

  std::string fill(std::string_view text) const {
    std::string filled;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '{') {
        filled += value(text[i + 1]);
        i += 2;
      } else if (text[i] == '<' && i + 2 < text.size() && text[i + 2] == ':') {
        const size_t end = text.find('>', i);
        if (given(number(text[i + 1]))) filled += fill(text.substr(i + 3, end - i - 3));
        i = end;
      } else {
        filled += text[i];
      }
    }
    return filled;
  }

 private:
  static size_t number(char digit) { return static_cast<size_t>(digit - '0'); }
  bool given(size_t i) const { return i < in_.size() && in_[i].defined(); }
  std::string value(char name) const {
    if (name == 'i') return std::to_string(input_);
    if (name == 'y') return out_.empty() ? "" : shape_text(out_[0]);
    const size_t i = name == 'x' ? input_ : number(name);
    return given(i) ? shape_text(in_[i]) : "";
  }

  const Tensors& in_;
  const Tensors& out_;
  const size_t input_;
};

/// Which operands a matrix product took transposed.
struct Transposed {
  bool a = false, b = false;
};

/// The first matrix of a batch, in f64.
struct Matrix {
  explicit Matrix(const Tensor& x) : rows(x.size(-2)), columns(x.size(-1)) {
    Tensor first = reshape(x.detach(), Shape{x.numel() / std::max<int64_t>(rows * columns, 1), rows, columns});
    if (first.size(0) > 1) first = slice(first, 0, {.end = 1});
    values = cast(first, f64).to_vector<double>();
  }
  double at(int64_t row, int64_t column, bool transposed = false) const {
    return values[static_cast<size_t>(transposed ? column * columns + row : row * columns + column)];
  }
  int64_t rows, columns;
  std::vector<double> values;
};

/// By how much the first row of the product misses that of y.
double miss(const Matrix& a, const Matrix& b, const Matrix& y, Transposed t) {
  double worst = 0;
  for (int64_t column = 0; column < y.columns; ++column) {
    double dot = 0;
    for (int64_t k = 0; k < (t.a ? a.rows : a.columns); ++k) dot += a.at(0, k, t.a) * b.at(k, column, t.b);
    worst = std::max(worst, std::abs(dot - y.at(0, column)));
  }
  return worst;
}

Transposed transposed(const Tensor& a, const Tensor& b, const Tensor& y) {
  const int64_t m = y.size(-2), n = y.size(-1);
  std::vector<Transposed> fitting;
  for (const Transposed t : {Transposed{}, Transposed{false, true}, Transposed{true, false}, Transposed{true, true}})
    if (a.size(t.a ? -1 : -2) == m && b.size(t.b ? -2 : -1) == n && a.size(t.a ? -2 : -1) == b.size(t.b ? -1 : -2))
      fitting.push_back(t);
  if (fitting.size() < 2 || a.numel() == 0 || b.numel() == 0) return fitting.empty() ? Transposed{} : fitting.front();
  const Matrix first(a), second(b), product(y);
  return *std::min_element(fitting.begin(), fitting.end(), [&](const Transposed s, const Transposed t) {
    return miss(first, second, product, s) < miss(first, second, product, t);
  });
}

/// " summed over the batch to [4, 3]" where an operand has fewer, or smaller, axes in front than the product.
std::string over_batch(const Tensor& operand, const Tensor& y) {
  const auto batch = [](const Tensor& x) { return x.shape().slice(0, x.rank() - 2); };
  return batch(operand) == batch(y) ? "" : fmt::format(", summed over the batch to {}", to_string(operand.shape()));
}

/// y = A · B with A = a or aᵀ, B = b or bᵀ: dA = dy · Bᵀ, dB = Aᵀ · dy.
Formula product(const Tensor& a, const Tensor& b, const Tensor& y) {
  const Transposed t = transposed(a, b, y);
  const std::string da = t.a ? (t.b ? "bᵀ · dyᵀ" : "b · dyᵀ") : (t.b ? "dy · b" : "dy · bᵀ");
  const std::string db = t.b ? (t.a ? "dyᵀ · aᵀ" : "dyᵀ · a") : (t.a ? "a · dy" : "aᵀ · dy");
  return {.forward = fmt::format("y{} = a{}{} · b{}{}", shape_text(y), shape_text(a), t.a ? "ᵀ" : "", shape_text(b),
                                 t.b ? "ᵀ" : ""),
          .backward = {fmt::format("da{} = {}{}", shape_text(a), da, over_batch(a, y)),
                       fmt::format("db{} = {}{}", shape_text(b), db, over_batch(b, y))}};
}

Formula unknown(std::string_view operation, const Tensors& inputs, const Tensors& outputs) {
  Formula formula{.forward = fmt::format("y{} = {}(", outputs.empty() ? "" : shape_text(outputs[0]), operation),
                  .backward = {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    formula.forward += fmt::format("{}x{}{}", i ? ", " : "", i, shape_text(inputs[i]));
    formula.backward.push_back(
        fmt::format("dx{}{} = what the operation's own gradient function gives", i, shape_text(inputs[i])));
  }
  formula.forward += ")";
  return formula;
}

}  // namespace

bool has_formula(std::string_view operation) { return find(operation) != nullptr; }

Formula formula_of(std::string_view operation, const Tensors& inputs, const Tensors& outputs) {
  const Entry* entry = find(operation);
  if (!entry || outputs.empty() || inputs.empty()) return unknown(operation, inputs, outputs);
  if (operation == "matmul") return product(inputs[0], inputs[1], outputs[0]);
  Formula formula{.forward = Filler(inputs, outputs, 0).fill(entry->forward), .backward = {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string_view text = entry->backward[std::min(i, entry->backward.size() - 1)];
    formula.backward.push_back(inputs[i].defined() ? Filler(inputs, outputs, i).fill(text) : "");
    if (entry->broadcasts && inputs[i].defined() && !(inputs[i].shape() == outputs[0].shape()))
      formula.backward.back() += fmt::format(", summed over the repeated axes to{}", shape_text(inputs[i]));
  }
  return formula;
}

}  // namespace tape
