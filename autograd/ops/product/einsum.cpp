#include "autograd/ops/product/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

/// Label of an axis: a letter, or for an axis under "...", kEllipsis + its position counted from the right.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;  // above every letter

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Operand {
  Tensor values;
  Labels labels;  // one per axis, unique once prepared
};

/// One term of the equation: its letters, and the position of "..." among them, or -1.
struct Term {
  std::string letters;
  int64_t ellipsis = -1;
};

struct Equation {
  std::string text;  // the original equation, for messages
  std::vector<Term> inputs;
  Term output;
};

Term parse_term(const std::string& equation, std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      term.letters += text[i];
    } else if (text.substr(i, 3) == "..." && term.ellipsis < 0) {
      term.ellipsis = std::ssize(term.letters);
      i += 2;
    } else {
      raise(ErrorKind::config, "einsum: \"{}\": '{}' is not a letter, a comma, one \"...\" or \"->\"", equation,
            text[i]);
    }
  }
  return term;
}

/// The result of an equation without "->".
Term implicit_output(const std::vector<Term>& inputs) {
  std::map<char, int> count;
  Term output;
  for (const Term& term : inputs) {
    for (const char letter : term.letters) ++count[letter];
    if (term.ellipsis >= 0) output.ellipsis = 0;
  }
  for (const auto& [letter, times] : count)
    if (times == 1) output.letters += letter;
  return output;
}

Equation parse(std::string_view given) {
  Equation equation{std::string(given), {}, {}};
  std::string compact;
  for (const char c : given)
    if (c != ' ') compact += c;
  const size_t arrow = compact.find("->");
  const std::string left = compact.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t comma = std::min(left.find(',', begin), left.size());
    equation.inputs.push_back(parse_term(equation.text, std::string_view(left).substr(begin, comma - begin)));
    begin = comma + 1;
  }
  if (arrow == std::string::npos) {
    equation.output = implicit_output(equation.inputs);
    return equation;
  }
  equation.output = parse_term(equation.text, std::string_view(compact).substr(arrow + 2));
  const std::string& letters = equation.output.letters;
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool known = std::any_of(equation.inputs.begin(), equation.inputs.end(), [&](const Term& term) {
      return term.letters.find(letters[i]) != std::string::npos;
    });
    if (!known)
      raise(ErrorKind::config, "einsum: \"{}\": letter '{}' of the result is in no operand", given, letters[i]);
    if (letters.find(letters[i], i + 1) != std::string::npos)
      raise(ErrorKind::config, "einsum: \"{}\": letter '{}' occurs twice in the result", given, letters[i]);
  }
  return equation;
}

/// The labels of a term's axes, with `hidden` axes under "...".
Labels labels_of(const Term& term, int64_t hidden) {
  Labels labels(term.letters.begin(), term.letters.end());
  for (int64_t i = 0; i < hidden; ++i)
    labels.insert(labels.begin() + term.ellipsis + i, kEllipsis + static_cast<Label>(hidden - 1 - i));
  return labels;
}

std::string label_text(Label label) {
  return label >= kEllipsis ? fmt::format("axis -{} of \"...\"", label - kEllipsis + 1)
                            : fmt::format("letter '{}'", static_cast<char>(label));
}

/// Labels the axes of every operand and checks that equal labels have equal sizes. Returns the number of axes that the
/// widest "..." covers.
int64_t name_axes(const Equation& equation, std::vector<Operand>& operands) {
  if (operands.size() != equation.inputs.size())
    raise(ErrorKind::config, "einsum: \"{}\" needs {} operands, got {}", equation.text, equation.inputs.size(),
          operands.size());
  struct Seen {
    int64_t size;
    size_t operand;
  };
  std::map<Label, Seen> sizes;
  int64_t widest = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Term& term = equation.inputs[i];
    const Shape& shape = operands[i].values.shape();
    const int64_t hidden = shape.rank() - std::ssize(term.letters);
    if (hidden < 0 || (hidden > 0 && term.ellipsis < 0))
      raise(ErrorKind::shape, "einsum: \"{}\": operand {} has {} letters for {}", equation.text, i, term.letters.size(),
            to_string(shape));
    widest = std::max(widest, hidden);
    operands[i].labels = labels_of(term, hidden);
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      const Label label = operands[i].labels[static_cast<size_t>(axis)];
      const auto [known, added] = sizes.try_emplace(label, Seen{shape[axis], i});
      if (added || known->second.size == shape[axis]) continue;
      if (label >= kEllipsis && known->second.size == 1) {
        known->second = {shape[axis], i};
      } else if (label < kEllipsis || shape[axis] != 1) {
        raise(ErrorKind::shape, "einsum: \"{}\": {} is {} in operand {} {} and {} in operand {} {}", equation.text,
              label_text(label), known->second.size, known->second.operand,
              to_string(operands[known->second.operand].values.shape()), shape[axis], i, to_string(shape));
      }
    }
  }
  // A broadcast axis of size 1 is dropped: the other operands determine its size.
  for (Operand& operand : operands) {
    std::vector<int64_t> repeated;
    for (size_t axis = operand.labels.size(); axis-- > 0;) {
      const Label label = operand.labels[axis];
      if (operand.values.shape()[static_cast<int64_t>(axis)] == sizes.at(label).size) continue;
      repeated.push_back(static_cast<int64_t>(axis));
      operand.labels.erase(operand.labels.begin() + static_cast<int64_t>(axis));
    }
    if (!repeated.empty()) operand.values = squeeze(operand.values, Axes(repeated));
  }
  return widest;
}

/// Permutes the operand's axes to the given order; does nothing if they already are.
void reorder(Operand& operand, const Labels& order) {
  if (operand.labels == order) return;
  std::vector<int64_t> axes;
  for (const Label label : order)
    axes.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) - operand.labels.begin());
  operand = {permute(operand.values, axes), order};
}

/// Replaces axes with the same label by their diagonal: every (n + 1)th element of the flattened pair [n, n].
void take_diagonals(Operand& operand) {
  for (size_t first = 0; first < operand.labels.size(); ++first) {
    const Label label = operand.labels[first];
    const auto second =
        std::find(operand.labels.begin() + static_cast<int64_t>(first) + 1, operand.labels.end(), label);
    if (second == operand.labels.end()) continue;
    std::vector<int64_t> axes(operand.labels.size());
    std::iota(axes.begin(), axes.end(), 0);
    const int64_t other = second - operand.labels.begin();
    axes.erase(axes.begin() + other);
    axes.erase(axes.begin() + static_cast<int64_t>(first));
    axes.insert(axes.end(), {static_cast<int64_t>(first), other});
    const Tensor last = permute(operand.values, axes);
    const int64_t n = last.size(-1);
    operand.values = slice(flatten(last, -2, -1), -1, {.step = n + 1});
    operand.labels.erase(second);
    operand.labels.erase(operand.labels.begin() + static_cast<int64_t>(first));
    operand.labels.push_back(label);
    first = static_cast<size_t>(-1);  // the axes have moved: start over
  }
}

/// Sums over the axes that are not needed.
void sum_unless(Operand& operand, const std::function<bool(Label)>& needed) {
  std::vector<int64_t> axes;
  Labels kept;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (needed(operand.labels[i]))
      kept.push_back(operand.labels[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (!axes.empty()) operand = {sum(operand.values, Axes(axes)), kept};
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Product of the sizes of the labeled axes.
int64_t volume(const Operand& operand, const Labels& labels) {
  int64_t product = 1;
  for (size_t i = 0; i < operand.labels.size(); ++i)
    if (contains(labels, operand.labels[i])) product *= operand.values.shape()[static_cast<int64_t>(i)];
  return product;
}

/// Contracts two operands with one matmul: shared axes that are needed later are the batch, other shared axes are
/// summed.
Operand contract(Operand a, Operand b, const std::function<bool(Label)>& needed) {
  sum_unless(a, [&](Label label) { return needed(label) || contains(b.labels, label); });
  sum_unless(b, [&](Label label) { return needed(label) || contains(a.labels, label); });
  Labels batch, summed, rows, cols;
  for (const Label label : a.labels) {
    if (!contains(b.labels, label))
      rows.push_back(label);
    else
      (needed(label) ? batch : summed).push_back(label);
  }
  for (const Label label : b.labels)
    if (!contains(a.labels, label)) cols.push_back(label);
  std::vector<int64_t> sizes;
  const Labels result = joined({batch, rows, cols});
  for (const Label label : result) sizes.push_back(volume(contains(a.labels, label) ? a : b, {label}));
  // Transposed operands are multiplied as they are; any other order is permuted first.
  const bool transpose_a = !rows.empty() && !summed.empty() && a.labels == joined({batch, summed, rows});
  const bool transpose_b = !(b.labels == joined({batch, summed, cols}));
  if (!transpose_a) reorder(a, joined({batch, rows, summed}));
  if (transpose_b) reorder(b, joined({batch, cols, summed}));
  const int64_t count = volume(a, batch), m = volume(a, rows), k = volume(a, summed), n = volume(b, cols);
  const Tensor left = reshape(a.values, transpose_a ? Shape{count, k, m} : Shape{count, m, k});
  const Tensor right = reshape(b.values, transpose_b ? Shape{count, n, k} : Shape{count, k, n});
  const Tensor product = matmul(left, right, {.transpose_a = transpose_a, .transpose_b = transpose_b});
  return {reshape(product, sizes), result};
}

}  // namespace

Tensor einsum(std::string_view text, const Tensors& tensors) {
  const Equation equation = parse(text);
  std::vector<Operand> operands;
  for (const Tensor& values : tensors) operands.push_back({values, {}});
  const int64_t hidden = name_axes(equation, operands);
  const Labels output = labels_of(equation.output, equation.output.ellipsis < 0 ? 0 : hidden);
  for (Operand& operand : operands) take_diagonals(operand);

  Operand result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    result = contract(result, operands[i], [&](Label label) {
      return contains(output, label) ||
             std::any_of(operands.begin() + static_cast<int64_t>(i) + 1, operands.end(),
                         [&](const Operand& later) { return contains(later.labels, label); });
    });
  }
  sum_unless(result, [&](Label label) { return contains(output, label); });
  reorder(result, output);
  return result.values.is(tensors[0]) ? alias(result.values) : result.values;
}

}  // namespace tape
