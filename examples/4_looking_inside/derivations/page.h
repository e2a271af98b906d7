// Shared by the programs that compute the values in docs/derivations/: matrices for formulas written as sums over
// indices, and a page that compares every such result with the library's.
#pragma once

#include <fmt/core.h>
#include <tapeformer/autograd/create.h>
#include <tapeformer/autograd/gradcheck/gradcheck.h>
#include <tapeformer/autograd/ops.h>
#include <tapeformer/autograd/tape/tape.h>

#include <cmath>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using namespace tape;

/// An f64 leaf tensor that requires a gradient.
inline Tensor leaf(std::initializer_list<Values> values) { return tensor(values, f64).requires_grad_(true); }

/// A matrix indexed by row and column. A vector is one row.
struct Matrix {
  int64_t rows, cols;
  std::vector<double> values;

  Matrix(int64_t row_count, int64_t col_count)
      : rows(row_count), cols(col_count), values(static_cast<size_t>(row_count * col_count)) {}
  explicit Matrix(const Tensor& x)
      : rows(x.rank() > 1 ? x.numel() / x.size(-1) : 1), cols(x.size(-1)), values(x.to_vector<double>()) {}

  double& operator()(int64_t row, int64_t col) { return values[static_cast<size_t>(row * cols + col)]; }
  double operator()(int64_t row, int64_t col) const { return values[static_cast<size_t>(row * cols + col)]; }
};

/// Formats x with four decimals. Throws Error (numeric) if x is so close to a rounding boundary that machines may
/// differ.
inline std::string number(double x) {
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  if (std::isnan(x)) return "nan";
  const double scaled = std::abs(x) * 1e4, part = scaled - std::floor(scaled);
  if (std::abs(part - 0.5) < 1e-6)
    raise(ErrorKind::numeric, "{} is halfway between two values of four decimals; choose another example", x);
  return fmt::format("{:.4f}", scaled < 0.5 ? 0.0 : x);
}

/// Prints the blocks of values of one page in order. status() is 1 if a result by hand differs from the library's.
class Page {
 public:
  /// Begins the block that the page shows under `<!-- numbers: name -->`.
  void block(std::string_view name) {
    std::cout << fmt::format("{}[{}]\n", begun_ ? "\n" : "", name);
    begun_ = true;
  }
  void line(std::string_view text) { std::cout << text << "\n"; }
  void show(std::string_view label, const Matrix& x) {
    for (int64_t i = 0; i < x.rows; ++i) {
      std::string row = fmt::format("{:<16}", i == 0 ? label : "");
      for (int64_t j = 0; j < x.cols; ++j) row += fmt::format("{:>10}", number(x(i, j)));
      line(row);
    }
  }
  void show(std::string_view label, const Tensor& x) { show(label, Matrix(x)); }
  void show(std::string_view label, double x) { line(fmt::format("{:<16}{:>10}", label, number(x))); }

  /// Compares values that were computed in two ways. They may differ by 1e-12.
  void same(std::string_view label, const Matrix& by_hand, const Matrix& other) {
    bool equal = by_hand.values.size() == other.values.size();
    for (size_t i = 0; equal && i < other.values.size(); ++i)
      equal = std::abs(by_hand.values[i] - other.values[i]) <= 1e-12;  // false for NaN
    if (equal) return;
    if (++wrong_ > 5) return;  // the first few are enough
    std::cerr << label << " differs:\n";
    for (const Matrix* x : {&by_hand, &other}) {
      for (const double value : x->values) std::cerr << fmt::format(" {:.17g}", value);
      std::cerr << "\n";
    }
  }
  void same(std::string_view label, const Matrix& by_hand, const Tensor& library) {
    same(label, by_hand, Matrix(library));
  }
  /// Prints a result by hand and compares it with the library's.
  void result(std::string_view label, const Matrix& by_hand, const Tensor& library) {
    show(label, by_hand);
    same(label, by_hand, library);
  }
  /// Prints the first line of a report, such as "gradcheck: all 3 gradients are right".
  void checked(const GradcheckReport& report) {
    const std::string text = to_string(report);
    line(text.substr(0, text.find('\n')));
    if (report.ok()) return;
    ++wrong_;
    std::cerr << text << "\n";
  }

  int status() const { return wrong_ == 0 ? 0 : 1; }

 private:
  bool begun_ = false;
  int64_t wrong_ = 0;
};
