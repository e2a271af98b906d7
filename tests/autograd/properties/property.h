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

// Operations on random inputs against an oracle that shares nothing with them: xtensor's functions, or plain loops
// where it has none, over the same values in f64.
namespace tape::properties {

using Array = xt::xarray<double>;
using Index = std::vector<int64_t>;

/// What a case is drawn from. Everything follows from the seed.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  int64_t between(int64_t low, int64_t high);  ///< both included
  bool chance(double p);
  double uniform(double low, double high);
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<int64_t>(choices.size()) - 1)];
  }

  /// 0 and 1 often, mostly 2 to 5, now and then more than a vector of any CPU holds.
  int64_t size();
  /// At most one size is a large one.
  Shape shape(int64_t min_rank = 0, int64_t max_rank = 4);
  /// One that broadcasts to `whole`: leading axes may be missing, others 1.
  Shape part_of(const Shape& whole);
  /// An axis of a shape, counted from either end.
  int64_t axis(const Shape& shape);
  /// Any set of axes but the empty one, in any order, counted from either end.
  std::vector<int64_t> axes(const Shape& shape);
  DType floating() { return chance(0.7) ? f32 : f64; }

  /// Uniform values, on their own or as a part of something larger: a slice, a row, a reshaped or permuted tensor.
  Tensor values(const Shape& shape, DType dtype, double low = -2, double high = 2);
  /// Values at least 0.02 apart from each other, from 0 and from those of another `lane`: for what has kinks.
  Tensor distinct(const Shape& shape, DType dtype, int lane = 0);
  /// Whole numbers low .. high; true or false for bool.
  Tensor whole(const Shape& shape, DType dtype, int64_t low, int64_t high);

 private:
  Tensor placed(const Tensor& contiguous);

  std::mt19937_64 engine_;
};

/// One call, and what it must give: |result - expected| <= 4 length ulp(magnitude) for every element.
struct Case {
  Tensors inputs;
  std::function<Tensor(const Tensors&)> call;
  Array expected;
  DType dtype = f32;                    ///< of the result
  std::optional<Array> magnitude = {};  ///< of what is added up and rounded; |expected| where it is not given
  int64_t length = 1;                   ///< how many values an element is the sum of; 0 where nothing is rounded
  bool constant = false;                ///< whatever the inputs are: differences would be rounding alone
};

struct Property {
  const char* name;
  const char* op;  ///< of the registry; null for what is made of other operations, or has no gradient
  Case (*draw)(Draw& draw);
  double step = 0;  ///< of the check's differences; 0 is its own choice
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
void add_positions(std::vector<Property>& all);
void add_placements(std::vector<Property>& all);
void add_products(std::vector<Property>& all);
void add_attention(std::vector<Property>& all);
void add_factorizations(std::vector<Property>& all);
void add_matrix_numbers(std::vector<Property>& all);
void add_windows(std::vector<Property>& all);
void add_channels(std::vector<Property>& all);

/// The values in f64.
Array exact(const Tensor& x);
Array zeros_of(const Shape& shape);
Shape shape_of(const Array& array);

/// Where an index lies in a contiguous array.
int64_t flat(const Shape& shape, const Index& index);
inline double at(const Array& array, const Index& index) { return array.data()[flat(shape_of(array), index)]; }
/// The index in an operand that broadcasts to what `index` is of.
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
