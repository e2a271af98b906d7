#include "autograd/tape/formula.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/tape/op.h"
#include "base/error.h"

namespace tape {

GradientTexts::GradientTexts(std::initializer_list<std::string_view> texts) : size_(texts.size()) {
  if (size_ > kMost)
    raise(ErrorKind::config, "backward of a formula: {} texts, at most {}; the last one applies to all further inputs",
          size_, kMost);
  std::copy(texts.begin(), texts.end(), texts_.begin());
}

namespace {

std::string shape_text(const Tensor& tensor) {
  return tensor.defined() ? fmt::format(" {}", to_string(tensor.shape())) : "";
}

/// Expands the placeholders of a text; `input` is the input whose gradient it describes.
class FormulaExpander {
 public:
  FormulaExpander(const Node& node, const Tensors& inputs, size_t input) : node_(node), in_(inputs), input_(input) {}

  std::string fill(std::string_view text) {
    text_ = text, at_ = 0;
    return part(false, true);
  }

 private:
  /// Expands up to the end, or up to the '|' or '>' that ends a branch of a condition. A hidden branch is only parsed,
  /// because it may refer to inputs that do not exist.
  std::string part(bool inside, bool shown) {
    std::string filled;
    while (at_ < text_.size() && !(inside && (text_[at_] == '|' || text_[at_] == '>'))) {
      const size_t end = text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", at_ + 1);
      const std::string_view name = text_.substr(at_ + 1, end == text_.npos ? end : end - at_ - 1);
      if (text_[at_] == '{') {
        at_ += name.size() + 2;
        if (shown) filled += value(name);
      } else if (text_[at_] == '<' && !name.empty() && end != text_.npos && text_[end] == ':') {
        at_ = end + 1;
        filled += chosen(holds(name), shown);
      } else {
        filled += text_[at_++];
      }
    }
    return filled;
  }
  std::string chosen(bool first, bool shown) {
    const std::string then = part(true, shown && first);
    std::string otherwise;
    if (text_.at(at_) == '|') ++at_, otherwise = part(true, shown && !first);
    TAPE_ASSERT(text_.at(at_) == '>');
    ++at_;
    return first ? then : otherwise;
  }

  static bool is_number(std::string_view name) { return name.size() == 1 && name[0] >= '0' && name[0] <= '9'; }
  bool given(size_t i) const { return i < in_.size() && in_[i].defined(); }
  bool holds(std::string_view name) const {
    if (is_number(name)) return given(static_cast<size_t>(name[0] - '0'));
    const AttributeValue* attribute = node_.attributes.find(name);
    return attribute && *attribute != AttributeValue(false) && *attribute != AttributeValue(0.0);
  }
  std::string value(std::string_view name) const {
    if (name == "i") return std::to_string(input_);
    if (name == "y") return fmt::format(" {}", to_string(node_.outputs[0].shape));
    if (name == "x" || is_number(name)) {
      const size_t i = name == "x" ? input_ : static_cast<size_t>(name[0] - '0');
      return given(i) ? shape_text(in_[i]) : "";
    }
    const AttributeValue* attribute = node_.attributes.find(name);
    TAPE_ASSERT(attribute != nullptr);  // a formula may only use attributes that every call has
    return to_string(*attribute);
  }

  const Node& node_;
  const Tensors& in_;
  const size_t input_;
  std::string_view text_;
  size_t at_ = 0;
};

/// ", summed over the repeated axes to [3]" if the input was broadcast; "" otherwise.
std::string summed(Summed what, const Shape& input, const Shape& output) {
  if (what == Summed::repeated_axes && input != output)
    return fmt::format(", summed over the repeated axes to {}", to_string(input));
  const auto batch = [](const Shape& shape) { return shape.slice(0, std::max<int64_t>(shape.rank() - 2, 0)); };
  if (what == Summed::batch && batch(input) != batch(output))
    return fmt::format(", summed over the batch to {}", to_string(input));
  return "";
}

Formula unknown(const Node& node, const Tensors& inputs) {
  Formula formula{.forward = fmt::format("y {} = {}(", to_string(node.outputs[0].shape), node.name()), .backward = {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    formula.forward += fmt::format("{}x{}{}", i ? ", " : "", i, shape_text(inputs[i]));
    formula.backward.push_back(
        fmt::format("dx{}{} = result of the operation's gradient function", i, shape_text(inputs[i])));
  }
  formula.forward += ")";
  return formula;
}

}  // namespace

Formula formula_of(const Node& node, const Tensors& inputs) {
  TAPE_ASSERT(node.op != nullptr);
  const OpFormula& texts = node.op->formula();
  if (texts.forward.empty() || texts.backward.empty() || inputs.empty()) return unknown(node, inputs);
  Formula formula{.forward = FormulaExpander(node, inputs, 0).fill(texts.forward), .backward = {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    formula.backward.emplace_back();
    if (!inputs[i].defined()) continue;
    const std::string_view text = texts.backward[std::min(i, texts.backward.size() - 1)];
    formula.backward.back() =
        FormulaExpander(node, inputs, i).fill(text) + summed(texts.summed, inputs[i].shape(), node.outputs[0].shape);
  }
  return formula;
}

Formula formula_of(const Tensor& y, const Tensors& inputs) {
  if (!y.defined() || !y.requires_grad() || y.is_leaf())
    raise(ErrorKind::graph, "formula_of: the tensor is not the result of a recorded operation");
  return formula_of(*y.impl().node, inputs);
}

}  // namespace tape
