#include "autograd/print.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <ostream>

#include <fmt/format.h>

#include "autograd/tape/tape.h"
#include "autograd/tensor.h"

namespace tape {
namespace {

struct SharedOptions {
  std::mutex mutex;
  PrintOptions options;
};
SharedOptions& shared_options() {
  static SharedOptions shared;
  return shared;
}

/// Formats the values of a tensor as nested brackets.
class ValuePrinter {
 public:
  ValuePrinter(const Tensor& tensor, const PrintOptions& options)
      : tensor_(tensor.detach().to(cpu)), options_(options), summarized_(tensor.numel() > options.threshold) {
    if (is_floating(tensor.dtype())) visit(0, 0, [this](int64_t i) { measure(i); });
    scientific_ = largest_ > 0 && (largest_ >= 1e8 || smallest_ < 1e-4 || largest_ / smallest_ > 1000);
    visit(0, 0, [this](int64_t i) { width_ = std::max(width_, element(i).size()); });
  }

  bool summarized() const { return summarized_; }
  std::string print() { return tensor_.rank() == 0 ? element(0) : list(0, 0); }

 private:
  static constexpr size_t kIndent = 7;  // length of "tensor("

  double value(int64_t i) const {
    return dispatch_all(tensor_.dtype(), [&]<class T>(T) { return static_cast<double>(tensor_.data<T>()[i]); });
  }

  /// Updates the range of magnitudes. If it is wide, or values are very large or small, all are printed with an
  /// exponent.
  void measure(int64_t i) {
    const double size = std::abs(value(i));
    if (!std::isfinite(size) || size == 0) return;
    largest_ = std::max(largest_, size);
    smallest_ = std::min(smallest_, size);
  }

  std::string element(int64_t i) const {
    if (tensor_.dtype() == boolean) return tensor_.data<bool>()[i] ? "true" : "false";
    if (tensor_.dtype() == i64) return fmt::format("{}", tensor_.data<int64_t>()[i]);
    if (is_integral(tensor_.dtype())) return fmt::format("{}", value(i));
    const double x = value(i);
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
    return scientific_ ? fmt::format("{:.{}e}", x, options_.precision) : fmt::format("{:.{}f}", x, options_.precision);
  }

  /// Indices of an axis to print; -1 marks the omitted ones.
  std::vector<int64_t> shown(int64_t axis) const {
    const int64_t size = tensor_.shape()[axis], edge = options_.edge_items;
    const bool cut = summarized_ && size > 2 * edge;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < size; ++i) {
      if (cut && i == edge) {
        positions.push_back(-1);
        i = size - edge - 1;
      } else {
        positions.push_back(i);
      }
    }
    return positions;
  }

  int64_t stride(int64_t axis) const { return tensor_.shape().slice(axis + 1, tensor_.rank()).numel(); }

  template <class F>
  void visit(int64_t axis, int64_t offset, F&& f) const {
    if (axis == tensor_.rank()) return f(offset);
    for (int64_t i : shown(axis))
      if (i >= 0) visit(axis + 1, offset + i * stride(axis), f);
  }

  std::string list(int64_t axis, int64_t offset) const {
    if (axis + 1 == tensor_.rank()) return row(axis, offset);
    // One empty line between matrices, two between blocks of matrices, and so on.
    std::string separator = ",";
    separator.append(static_cast<size_t>(tensor_.rank() - axis - 1), '\n');
    separator.append(kIndent + static_cast<size_t>(axis) + 1, ' ');
    std::string text = "[";
    for (bool first = true; int64_t i : shown(axis)) {
      if (!first) text += separator;
      first = false;
      text += i < 0 ? "..." : list(axis + 1, offset + i * stride(axis));
    }
    return text + "]";
  }

  std::string row(int64_t axis, int64_t offset) const {
    const size_t indent = kIndent + static_cast<size_t>(axis) + 1;
    std::string text = "[";
    size_t column = indent;
    for (bool first = true; int64_t i : shown(axis)) {
      const std::string next = i < 0 ? "..." : fmt::format("{:>{}}", element(offset + i), width_);
      if (!first) {
        text += ",";
        // A comma or bracket follows the element.
        const bool fits = column + 2 + next.size() + 1 <= static_cast<size_t>(options_.line_width);
        if (fits) {
          text += ' ';
        } else {
          text.append(1, '\n').append(indent, ' ');
        }
        column = fits ? column + 2 : indent;
      }
      first = false;
      text += next;
      column += next.size();
    }
    return text + "]";
  }

  const Tensor tensor_;
  const PrintOptions& options_;
  const bool summarized_;
  bool scientific_ = false;
  double largest_ = 0, smallest_ = INFINITY;
  size_t width_ = 0;
};

}  // namespace

void set_printoptions(const PrintOptions& options) {
  if (options.precision < 0 || options.precision > 17 || options.threshold < 0 || options.edge_items < 1 ||
      options.line_width < 1)
    raise(ErrorKind::config,
          "set_printoptions: precision {} must be 0 to 17, threshold {} not negative, edge_items {} and line_width {} "
          "at least 1",
          options.precision, options.threshold, options.edge_items, options.line_width);
  const std::lock_guard lock(shared_options().mutex);
  shared_options().options = options;
}

PrintOptions printoptions() {
  const std::lock_guard lock(shared_options().mutex);
  return shared_options().options;
}

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined tensor";
  const PrintOptions options = printoptions();
  std::string text = "tensor(";
  if (tensor.numel() == 0) {
    text += fmt::format("[], shape {}", to_string(tensor.shape()));
  } else {
    ValuePrinter values(tensor, options);
    text += values.print();
    if (values.summarized()) text += fmt::format(", shape {}", to_string(tensor.shape()));
  }
  if (tensor.dtype() != f32) text += fmt::format(", {}", to_string(tensor.dtype()));
  if (!tensor.device().is_cpu()) text += ", " + to_string(tensor.device());
  if (tensor.requires_grad())
    text += tensor.is_leaf() ? ", requires_grad" : fmt::format(", grad: {}", tensor.impl().node->name());
  return text + ")";
}

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) { return stream << to_string(tensor); }

}  // namespace tape
