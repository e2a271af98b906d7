#include "autograd/transforms/jacobian.h"

#include <string_view>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/transforms/derivatives.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// [..., elements of one input] as a matrix.
Tensor as_matrix(const Tensor& j, int64_t rows, int64_t columns) { return reshape(j, Shape{rows, columns}); }

/// Tolerance for values near 1; one operation goes through f32.
double rounding(const Op& op, double exact) { return std::string_view(op.name()) == "cast" ? 1e-6 : exact; }

/// For every registered operation, J t equals jvp(), and rows from reverse mode equal columns from forward mode.
TEST(Jacobian, AgreesWithJvpForEveryOperation) {
  for (const Op* op : registered_ops())
    for (const OpSample& sample : op->samples()) {
      SCOPED_TRACE(std::string(op->name()) + ": " + sample.label);
      const int64_t outputs = sample.call(sample.inputs).numel();
      int64_t all = 0;
      Tensors tangents;
      for (const Tensor& input : sample.inputs) {
        all += input.numel();
        tangents.push_back(sample_normal(input.shape(), 31 + tangents.size()));
      }
      if (outputs == 0 || all == 0) continue;
      const int64_t copies = 2 * all / outputs + 1;
      const auto repeated = [&](const Tensors& in) {
        return reshape(sample.call(in), Shape{outputs, 1}) * ones({1, copies}, f64);
      };
      const Tensors by_rows = jacobian(sample.call, sample.inputs), by_columns = jacobian(repeated, sample.inputs);
      Tensor moved = zeros({outputs}, f64);
      for (size_t i = 0; i < tangents.size(); ++i) {
        const int64_t size = tangents[i].numel();
        const Tensor rows = as_matrix(by_rows[i], outputs, size);
        const Tensor of_copies = reshape(by_columns[i], Shape{outputs, copies, size});
        EXPECT_TRUE(tensors_near(reshape(select(of_copies, 1, copies - 1), rows.shape()), rows, 1e-12));
        moved = moved + matmul(rows, reshape(tangents[i], Shape{size}));
      }
      EXPECT_TRUE(tensors_near(moved, reshape(jvp(sample.call, sample.inputs, tangents).tangent, Shape{outputs}),
                               rounding(*op, 1e-11)));
    }
}

TEST(Jacobian, HasTheAxesOfTheOutputThenThoseOfTheInput) {
  const Tensor a = sample_normal({2, 3}), b = sample_normal({3, 4}, 2), ids = tensor({0, 1}, i64);
  const auto f = [](const Tensors& in) { return matmul(in[0], in[1]); };
  const Tensors j = jacobian(f, {a, b, ids, a});
  ASSERT_EQ(j[0].shape(), Shape({2, 4, 2, 3}));
  ASSERT_EQ(j[1].shape(), Shape({2, 4, 3, 4}));
  // d y[i, j] / d a[k, l] = [i = k] b[l, j]
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 2; ++k)
      EXPECT_TRUE(tensors_near(j[0][i][1][k], (i == k ? 1.0 : 0.0) * transpose(b)[1], 1e-15));
  EXPECT_FALSE(j[2].defined());
  EXPECT_TRUE(tensors_equal(j[3], zeros({2, 4, 2, 3}, f64)));
  EXPECT_FALSE(j[0].requires_grad());
}

TEST(Jacobian, IsZeroForAConstant) {
  const auto f = [](const Tensors&) { return ones({2}); };
  EXPECT_TRUE(tensors_equal(jacobian(f, {ones({3})})[0], zeros({2, 3})));
  EXPECT_TRUE(tensors_equal(hessian([](const Tensors&) { return scalar(1); }, {ones({2})})[0][0], zeros({2, 2})));
  EXPECT_TRUE(tensors_equal(hessian([](const Tensors& in) { return sum(in[0]); }, {ones({2})})[0][0], zeros({2, 2})));
}

TEST(Hessian, HasOneBlockPerPairOfInputs) {
  // f = x^T A x + sum(x) y^3
  const Tensor a = sample_normal({3, 3}), x = sample_normal({3}, 2), y = scalar(2, f64);
  const auto f = [&](const Tensors& in) { return sum(in[0] * matmul(a, in[0])) + sum(in[0]) * in[1] * in[1] * in[1]; };
  const std::vector<Tensors> h = hessian(f, {x, y});
  EXPECT_TRUE(tensors_near(h[0][0], a + transpose(a), 1e-14));
  EXPECT_TRUE(tensors_near(h[0][1], ones({3}, f64) * 12, 1e-14));
  EXPECT_TRUE(tensors_near(h[1][0], ones({3}, f64) * 12, 1e-14));
  EXPECT_NEAR(h[1][1].item(), 12 * sum(x).item(), 1e-13);
}

/// H v equals hvp() for every operation.
TEST(Hessian, AgreesWithHvpForEveryOperation) {
  for (const Op* op : registered_ops())
    for (const OpSample& sample : op->samples()) {
      SCOPED_TRACE(std::string(op->name()) + ": " + sample.label);
      const Tensor probe = sample.call(sample.inputs);
      if (probe.numel() == 0) continue;
      const Tensor w = sample_normal(probe.shape(), 53);
      const auto f = [&](const Tensors& in) { return sum(square(sample.call(in)) * w); };
      Tensors v;
      for (const Tensor& input : sample.inputs) v.push_back(sample_normal(input.shape(), 31 + v.size()));
      const std::vector<Tensors> h = hessian(f, sample.inputs);
      const Hvp wanted = hvp(f, sample.inputs, v);
      for (size_t i = 0; i < v.size(); ++i) {
        Tensor product = zeros({v[i].numel()}, f64);
        for (size_t j = 0; j < v.size(); ++j)
          if (v[j].numel() > 0)
            product =
                product + matmul(as_matrix(h[i][j], v[i].numel(), v[j].numel()), reshape(v[j], Shape{v[j].numel()}));
        EXPECT_TRUE(tensors_near(product, reshape(wanted.product[i], product.shape()), rounding(*op, 1e-9)))
            << "input " << i;
      }
    }
}

TEST(Jacobian, RefusesFunctionsWithoutJacobian) {
  const Tensor x = zeros({2}, f64);
  EXPECT_TAPE_ERROR(jacobian([](const Tensors& in) { return argmax(in[0], 0); }, {x}), ErrorKind::dtype,
                    "jacobian: the function returned i64");
  EXPECT_TAPE_ERROR(jacobian([](const Tensors&) { return Tensor(); }, {x}), ErrorKind::dtype,
                    "jacobian: the function returned an undefined tensor");
  EXPECT_TAPE_ERROR(hessian([](const Tensors& in) { return in[0] * 2; }, {x}), ErrorKind::graph,
                    "hessian: the function returned [2]; it must return a single value");
}

}  // namespace
}  // namespace tape
