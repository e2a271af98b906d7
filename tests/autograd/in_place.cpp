#include <gtest/gtest.h>

#include <functional>
#include <map>

#include <fmt/format.h>

#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

// In-place writes: the members of Tensor that end with an underscore, and +=, -=, *=, /=.

namespace tape {
namespace {

/// A non-leaf: the result of an operation that saves neither its input nor its output.
Tensor recorded(const Tensor& leaf) { return leaf + 0.0; }

TEST(InPlace, BroadcastsOnlyTheOtherOperand) {
  Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const Tensor handle = x;
  x += tensor({10, 20, 30});
  EXPECT_TRUE(tensors_equal(handle, tensor({{11, 22, 33}, {14, 25, 36}})));
  x -= tensor({{10}, {14}});
  x *= tensor(std::initializer_list<Values>{2});
  x /= scalar(4);
  EXPECT_TRUE(tensors_equal(handle, tensor({{0.5, 6, 11.5}, {0, 5.5, 11}})));
  EXPECT_TAPE_ERROR(x += zeros({2, 2, 3}), ErrorKind::shape,
                    "add_: [2, 2, 3] does not broadcast to the target's [2, 3]");
  EXPECT_TAPE_ERROR(x[0] *= zeros({2, 3}), ErrorKind::shape, "mul_: [2, 3] does not broadcast to the target's [3]");
}

TEST(InPlace, AcceptsScalars) {
  Tensor x = tensor({1, 2}, f64), n = tensor({7, -2}, i32), small = tensor({1, 2}, bf16);
  ((x += 1.5) -= 0.5) *= 3;
  x /= 2;
  EXPECT_TRUE(tensors_equal(x, tensor({3, 4.5}, f64)));
  ((n += 1) *= 3) -= 4;
  EXPECT_TRUE(tensors_equal(n, tensor({20, -7}, i32)));
  small += 0.3;
  EXPECT_TRUE(tensors_equal(small, (tensor({1, 2}, bf16) + 0.3)));
}

TEST(InPlace, RefusesTemporaryCopies) {
  Tensor x = tensor({{1, 2}, {3, 4}});
  const Tensor rows = tensor({1}, i64);
  x[0] += 1;
  slice(x, 0, {.start = 1}) *= 2;
  x.detach() -= 1;
  EXPECT_TRUE(tensors_equal(x, tensor({{1, 2}, {5, 7}})));
  EXPECT_TAPE_ERROR(index(x, {rows}) += 1, ErrorKind::graph,
                    "+=: the result would be lost: this temporary [1, 2] is a copy; use index_put() or put_slice(), or "
                    "assign it first");
  EXPECT_TAPE_ERROR(
      select(x, 1, 0) /= scalar(2), ErrorKind::graph,
      "/=: the result would be lost: this temporary [2] is a copy; use index_put() or put_slice(), or assign it first");
}

TEST(InPlace, WritesToViewsAndIncrementsTheVersion) {
  Tensor x = tensor({{1, 2}, {3, 4}});
  const uint64_t version = x.version();
  x[1] += 10;
  x[0] += x[1];
  EXPECT_TRUE(tensors_equal(x, tensor({{14, 16}, {13, 14}})));
  EXPECT_EQ(x.version(), version + 2);
}

TEST(InPlace, ReadsOverlappingOperandsBeforeWriting) {
  for (const DType dtype : {f32, i64, i32, bf16}) {
    Tensor x = tensor({{1, 2}, {3, 4}}, dtype);
    x += x[0];
    EXPECT_TRUE(tensors_equal(x, tensor({{2, 4}, {4, 6}}, dtype))) << to_string(dtype);
    x *= x;
    EXPECT_TRUE(tensors_equal(x, tensor({{4, 16}, {16, 36}}, dtype))) << to_string(dtype);
    Tensor line = tensor({1, 2, 3, 4}, dtype), tail = slice(line, 0, {.start = 1});
    tail += slice(line, 0, {.end = 3});
    EXPECT_TRUE(tensors_equal(line, tensor({1, 3, 5, 7}, dtype))) << to_string(dtype);
    tail.add_(slice(line, 0, {.end = 3}), 2);
    EXPECT_TRUE(tensors_equal(line, tensor({1, 5, 11, 17}, dtype))) << to_string(dtype);
  }
}

TEST(InPlace, KeepsItsDtypeAsPyTorchDoes) {
  using Write = std::function<void(Tensor&, const Tensor&)>;
  using WriteNumber = std::function<void(Tensor&, const Number&)>;
  const std::map<std::string, std::pair<Write, WriteNumber>> writes = {
      {"add", {[](auto& x, auto& y) { x += y; }, [](auto& x, auto& s) { x += s; }}},
      {"sub", {[](auto& x, auto& y) { x -= y; }, [](auto& x, auto& s) { x -= s; }}},
      {"mul", {[](auto& x, auto& y) { x *= y; }, [](auto& x, auto& s) { x *= s; }}},
      {"div", {[](auto& x, auto& y) { x /= y; }, [](auto& x, auto& s) { x /= s; }}}};
  const auto& fixture = fixture_tensors("dtypes");
  int64_t seen = 0;
  const auto expect_like_pytorch = [&](const std::string& name, DType dtype,
                                       const std::function<void(Tensor&)>& write) {
    Tensor x = fixture.at(fmt::format("left/{}", to_string(dtype))).clone();
    const auto found = fixture.find(name);
    if (found == fixture.end()) {
      EXPECT_THROW(write(x), Error) << name;
      EXPECT_TRUE(tensors_equal(x, fixture.at(fmt::format("left/{}", to_string(dtype))))) << name;
      return;
    }
    ++seen;
    ASSERT_NO_THROW(write(x)) << name;
    const double tolerance = dtype == f64 ? 1e-14 : dtype == f32 ? 1e-6 : dtype == f16 ? 0x1p-10 : 0x1p-7;
    EXPECT_TRUE(tensors_near(x, found->second, is_floating(dtype) ? tolerance : 0)) << name;
  };
  for (const auto& [op, write] : writes)
    for (const DType a : every_dtype) {
      for (const DType b : every_dtype)
        expect_like_pytorch(fmt::format("in_place/{}/{}/{}", op, to_string(a), to_string(b)), a,
                            [&](Tensor& x) { write.first(x, fixture.at(fmt::format("right/{}", to_string(b)))); });
      for (const auto& [n, number] : std::map<std::string, Number>{{"2", 2}, {"2.5", 2.5}})
        expect_like_pytorch(fmt::format("in_place/{}/{}/number/{}", op, to_string(a), n), a,
                            [&](Tensor& x) { write.second(x, number); });
    }
  EXPECT_GT(seen, 170);
}

TEST(InPlace, RefusesResultsThatDoNotFitItsDtype) {
  Tensor n = tensor({1}, i64), flags = tensor({1}, boolean), small = tensor({1}, u8);
  EXPECT_TAPE_ERROR(n += 0.5, ErrorKind::dtype, "add_: the result is f32, which cannot be written to i64");
  EXPECT_TAPE_ERROR(n /= 2, ErrorKind::dtype, "div_: the result is f32, which cannot be written to i64");
  EXPECT_TAPE_ERROR(n *= tensor({1}, f64), ErrorKind::dtype, "mul_: the result is f64, which cannot be written to i64");
  EXPECT_TAPE_ERROR(flags += n, ErrorKind::dtype, "add_: the result is i64, which cannot be written to bool");
  EXPECT_TAPE_ERROR(small += 300, ErrorKind::numeric, "scalar: 300 does not fit u8");
  EXPECT_TAPE_ERROR(small.fill_(-256), ErrorKind::numeric, "fill_: -256 does not fit u8");
  EXPECT_TAPE_ERROR(n.fill_(NAN), ErrorKind::numeric, "fill_: nan does not fit i64");
}

TEST(InPlace, IsRecorded) {
  const std::map<std::string,
                 std::pair<std::function<void(Tensor&, const Tensor&)>, std::function<Tensor(Tensor, Tensor)>>>
      writes = {{"add", {[](auto& x, auto& y) { x += y; }, [](auto x, auto y) { return x + y; }}},
                {"scaled", {[](auto& x, auto& y) { x.add_(y, 2.5); }, [](auto x, auto y) { return x + 2.5 * y; }}},
                {"sub", {[](auto& x, auto& y) { x -= y; }, [](auto x, auto y) { return x - y; }}},
                {"mul", {[](auto& x, auto& y) { x *= y; }, [](auto x, auto y) { return x * y; }}},
                {"div", {[](auto& x, auto& y) { x /= y; }, [](auto x, auto y) { return x / y; }}},
                {"numbers",
                 {[](auto& x, auto&) { (((x += 2) *= 3) -= 0.5) /= 4; },
                  [](auto x, auto) { return ((x + 2) * 3 - 0.5) / 4; }}}};
  for (const auto& [name, write] : writes)
    for (const DType other : {f32, f64}) {
      const auto leaves = [&] {
        return Tensors{sample_uniform({2, 3}, 1, 2, 1).requires_grad_(),
                       sample_uniform({3}, 1, 2, 2).to(other).requires_grad_()};
      };
      const Tensors a = leaves(), b = leaves();
      Tensor x = recorded(a[0]);
      const Tensor handle = x;
      write.first(x, a[1]);
      sum(square(handle) * recorded(a[0])).backward();
      sum(square(write.second(b[0], b[1])) * b[0]).backward();
      EXPECT_TRUE(tensors_near(a[0].grad(), b[0].grad(), 1e-12)) << name;
      if (name != "numbers") {
        EXPECT_TRUE(tensors_near(a[1].grad(), b[1].grad(), 1e-5)) << name;
      }
    }
}

TEST(InPlace, GivesHistoryToATensorWithoutOne) {
  const Tensor w = tensor({2, 3}).requires_grad_();
  Tensor x = ones({2});
  x += w;
  EXPECT_TRUE(x.requires_grad());
  EXPECT_FALSE(x.is_leaf());
  x *= x;
  sum(x).backward();
  EXPECT_TRUE(tensors_equal(w.grad(), tensor({6, 8})));
}

TEST(InPlace, KeepsTheHistoryOfTheOldValue) {
  const Tensor w = tensor({2, 3}).requires_grad_();
  Tensor x = recorded(w);
  const Tensor twice = x * 2;
  x += 1;
  x.retain_grad();
  x *= 3;
  sum(twice + x).backward();
  EXPECT_TRUE(tensors_equal(w.grad(), tensor({5, 5})));
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({1, 1})));
}

TEST(InPlace, RefusesIfTheTapeNeedsTheOldValue) {
  const Tensor w = tensor({2, 3}).requires_grad_();
  Tensor leaf = w;
  EXPECT_TAPE_ERROR(leaf += 1, ErrorKind::graph,
                    "add_: in-place write to a tensor [2] that requires gradients; use a NoGrad scope or detach()");
  Tensor saved = exp(w);
  EXPECT_TAPE_ERROR(saved *= 2, ErrorKind::graph,
                    "mul_: a view of this tensor [2], or a value saved for backward, shares its memory; write out "
                    "of place or to a clone");
  Tensor viewed = recorded(w);
  const Tensor view = reshape(viewed, {2, 1});
  EXPECT_TAPE_ERROR(viewed -= w, ErrorKind::graph,
                    "sub_: a view of this tensor [2], or a value saved for backward, shares its memory; write out "
                    "of place or to a clone");
  Tensor x = recorded(w);
  const Tensor y = square(x);
  EXPECT_TAPE_ERROR(x += y, ErrorKind::graph,
                    "add_: the backward of 'square' needs the old values of this tensor [2]; write out of place");
  x += 1;
  EXPECT_TAPE_ERROR(sum(y).backward(), ErrorKind::graph,
                    "backward of 'square': a saved value [2] was modified in place (version 2, saved at "
                    "version 1)");
}

TEST(InPlace, CopyCarriesTheGradientOfItsSource) {
  const Tensor w = tensor({2, 3}).requires_grad_();
  Tensor x = zeros({2});
  x.copy_(w);
  EXPECT_TRUE(x.requires_grad());
  EXPECT_FALSE(x.is_leaf());
  sum(x * x).backward();
  EXPECT_TRUE(tensors_equal(w.grad(), tensor({4, 6})));
  Tensor whole = zeros({2}, i64);
  whole.copy_(w);
  EXPECT_FALSE(whole.requires_grad());
  Tensor leaf = w;
  EXPECT_TAPE_ERROR(leaf.copy_(zeros({2})), ErrorKind::graph,
                    "copy_: in-place write to a tensor [2] that requires gradients; use a NoGrad scope or detach()");
}

TEST(InPlace, DividesByANumberAsByATensor) {
  Tensor x = tensor({49, 0.7, -0.0}, f64), halves = tensor({3}, f64), tiny = tensor({0, 1e-310}, f64);
  x /= 49;
  EXPECT_TRUE(tensors_equal(x, tensor({1, 0.7 / 49, -0.0}, f64)));
  halves /= 8;
  EXPECT_EQ(halves.to_vector<double>()[0], 0.375);
  tiny /= 1e-310;
  EXPECT_TRUE(tensors_equal(tiny, tensor({0, 1}, f64)));
}

TEST(InPlace, WritesDirectlyWithoutRecording) {
  Tensor w = tensor({2, 3}).requires_grad_();
  {
    const NoGrad no_grad;
    w -= tensor({1, 1});
    w *= 2;
  }
  EXPECT_TRUE(w.is_leaf());
  EXPECT_TRUE(tensors_equal(w.detach(), tensor({2, 4})));
}

TEST(InPlace, LeavesNothingAlive) {
  const int64_t live = memory_stats().live_bytes;
  {
    const Tensor w = ones({1000}).requires_grad_();
    Tensor x = recorded(w);
    for (int i = 0; i < 5; ++i) (x += w) *= x;
    const Tensor y = square(x);
    EXPECT_THROW(x += y, Error);
  }
  EXPECT_EQ(memory_stats().live_bytes, live);
}

}  // namespace
}  // namespace tape
