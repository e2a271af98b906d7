#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "autograd/tensor.h"
#include "autograd/xtensor.h"

// Operations on random inputs against an independent oracle: xtensor's functions, or plain loops where it has none, on
// the same values in f64.
namespace tape::properties {

using Array = xt::xarray<double>;
using Index = std::vector<int64_t>;

/// Source of a random case. Everything is determined by the seed.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  int64_t between(int64_t low, int64_t high);  ///< inclusive
  bool chance(double p);
  double uniform(double low, double high);
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<int64_t>(choices.size()) - 1)];
  }

  /// Often 0 or 1, mostly 2 to 5, occasionally more than a vector of any CPU holds.
  int64_t size();
  /// At most one size is large.
  Shape shape(int64_t min_rank = 0, int64_t max_rank = 4);
  /// A shape that broadcasts to `whole`: leading axes may be missing, others may be 1.
  Shape part_of(const Shape& whole);
  /// An axis of a shape, counted from either end.
  int64_t axis(const Shape& shape);
  /// Any nonempty set of axes in any order, each counted from either end.
  std::vector<int64_t> axes(const Shape& shape);
  DType floating() { return chance(0.7) ? f32 : f64; }

  /// Uniform values, in a tensor of their own or in a view: a slice, a row, a reshaped or permuted tensor.
  Tensor values(const Shape& shape, DType dtype, double low = -2, double high = 2);
  /// Values at least 0.02 away from each other, from 0 and from those of another `lane`: for functions with kinks.
  Tensor distinct(const Shape& shape, DType dtype, int lane = 0);
  /// Integers low .. high; true or false for bool.
  Tensor whole(const Shape& shape, DType dtype, int64_t low, int64_t high);

 private:
  Tensor placed(const Tensor& contiguous);

  std::mt19937_64 engine_;
};

/// One call and its expected result: |result - expected| <= 4 length ulp(magnitude) for every element.
struct Case {
  Tensors inputs;
  std::function<Tensor(const Tensors&)> call;
  Array expected;
  DType dtype = f32;                    ///< of the result
  std::optional<Array> magnitude = {};  ///< of the summed and rounded values; default: |expected|
  int64_t length = 1;                   ///< number of values each element is the sum of; 0: exact
  bool constant = false;                ///< independent of the inputs: numeric differences are only rounding
};

struct Property {
  const char* name;
  const char* op;  ///< registered name; null for compositions and operations without gradient
  Case (*draw)(Draw& draw);
  double step = 0;  ///< step of the numeric differences; 0: default
};
inline void PrintTo(const Property& property, std::ostream* out) { *out << property.name; }

/// Every property. Each family adds its own.
std::vector<Property> all_properties();
void add_elementwise(std::vector<Property>& all);
void add_functions(std::vector<Property>& all);
void add_comparisons(std::vector<Property>& all);
void add_reductions(std::vector<Property>& all);
void add_scans(std::vector<Property>& all);
void add_rows(std::vector<Property>& all);
void add_losses(std::vector<Property>& all);
void add_vector_losses(std::vector<Property>& all);
void add_arrangements(std::vector<Property>& all);
void add_joins(std::vector<Property>& all);
void add_indexed_reads(std::vector<Property>& all);
void add_indexed_writes(std::vector<Property>& all);
void add_products(std::vector<Property>& all);
void add_attention(std::vector<Property>& all);
void add_factorizations(std::vector<Property>& all);
void add_matrix_functions(std::vector<Property>& all);
void add_windows(std::vector<Property>& all);
void add_channels(std::vector<Property>& all);

/// The values in f64.
Array exact(const Tensor& x);
Array zeros_of(const Shape& shape);
Shape shape_of(const Array& array);

/// Offset of an index in a contiguous array.
int64_t flat(const Shape& shape, const Index& index);
inline double at(const Array& array, const Index& index) { return array.data()[flat(shape_of(array), index)]; }
/// The index in an operand that broadcasts to the shape of `index`.
Index broadcast_index(const Shape& operand, const Index& index);

/// value(index) for every element.
template <class Value>
Array build(const Shape& shape, const Value& value) {
  Array result = zeros_of(shape);
  for (int64_t i = 0; i < shape.numel(); ++i) result.data()[i] = value(shape.unravel(i));
  return result;
}

/// The values along an axis through an index.
std::vector<double> line(const Array& array, Index index, int64_t axis);

}  // namespace tape::properties
