#include "autograd/kernels/elementwise/common/integer_ops.h"

#include "autograd/cuda/launch/broadcast.h"

namespace tape::kernels::cuda {
namespace {

// In the order of Binary, without atan2, and of Compare.
constinit const Kernel kIntegerBinary[] = {Kernel("binary_add_i64"),     Kernel("binary_sub_i64"),
                                           Kernel("binary_mul_i64"),     Kernel("binary_div_i64"),
                                           Kernel("binary_pow_i64"),     Kernel("binary_maximum_i64"),
                                           Kernel("binary_minimum_i64"), Kernel("binary_remainder_i64")};
constinit const Kernel kIntegerCompare[] = {Kernel("compare_eq_i64"), Kernel("compare_ne_i64"),
                                            Kernel("compare_lt_i64"), Kernel("compare_le_i64"),
                                            Kernel("compare_gt_i64"), Kernel("compare_ge_i64")};
constinit const Kernel kIntegerBest("integer_best"), kIntegerFold("integer_fold"), kAnyTrue("any_true");

void binary(Binary op, const Broadcast& plan, const int64_t* a, const int64_t* b, int64_t* out) {
  if (op != Binary::atan2) launch_pairs(kIntegerBinary[static_cast<int>(op)], plan, a, b, out);
}

void compare(Compare op, const Broadcast& plan, const int64_t* a, const int64_t* b, bool* out) {
  launch_pairs(kIntegerCompare[static_cast<int>(op)], plan, a, b, out);
}

void best(int64_t outer, int64_t size, int64_t inner, bool largest, const int64_t* x, int64_t* y, int64_t* index) {
  launch_elements(kIntegerBest, outer * inner, outer, size, inner, largest, x, y, index);
}

void sum(int64_t outer, int64_t size, int64_t inner, const int64_t* x, int64_t* y) {
  launch_elements(kIntegerFold, outer * inner, outer, size, inner, false, x, y);
}

void product(int64_t outer, int64_t size, int64_t inner, const int64_t* x, int64_t* y) {
  launch_elements(kIntegerFold, outer * inner, outer, size, inner, true, x, y);
}

void any(int64_t outer, int64_t size, int64_t inner, const bool* x, bool* y) {
  launch_elements(kAnyTrue, outer * inner, outer, size, inner, x, y);
}

}  // namespace

extern const IntegerKernels integer_ops = {
    .binary = binary, .compare = compare, .where = select, .best = best, .sum = sum, .product = product, .any = any};

}  // namespace tape::kernels::cuda
