#include "inspect/explorer/tensor_json.h"

#include <cmath>
#include <limits>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

TEST(Base64, MatchesRfc4648) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"},
                                                                  {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(base64(bytes), text);
}

TEST(TensorJson, StoresValuesExactly) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Json json = tensor_json(tensor({{1.5F, -inf, inf}, {0.F, -0.F, 1e-40F}}));
  EXPECT_EQ(json["shape"].dump(), "[2,3]");
  EXPECT_FALSE(json.contains("cut"));
  EXPECT_EQ(json["data"], "AADAPwAAgP8AAIB/AAAAAAAAAIDCFgEA");
  const Tensor nan = tensor_of(tensor_json(full({1}, NAN)));
  EXPECT_TRUE(std::isnan(nan.item()));
  EXPECT_TRUE(tensor_json(Tensor()).is_null());
  EXPECT_TRUE(tensors_equal(tensor_of(tensor_json(tensor({1, -7}, i64))), tensor({1.F, -7.F})));
  EXPECT_EQ(tensor_json(scalar(2)).dump(), R"({"shape":[],"data":"AAAAQA=="})");
}

TEST(TensorJson, TruncatesLargeTensors) {
  const Tensor x = sample_normal({3, 2, 5, 6}).to(f32);
  const Excerpt excerpt = excerpt_of(x, 6 * 16);
  EXPECT_EQ(excerpt.shape, x.shape());
  EXPECT_EQ(excerpt.values.shape(), (Shape{3, 2, 4, 4}));
  EXPECT_FALSE(excerpt.values.shares_storage(x)) << "the whole tensor can be freed";
  const Json json = tensor_json(excerpt, 6 * 16), smaller = tensor_json(excerpt, 2 * 16);
  EXPECT_EQ(json["shape"].dump(), "[3,2,5,6]");
  EXPECT_EQ(json["cut"].dump(), "[3,2,4,4]");
  EXPECT_EQ(smaller["cut"].dump(), "[1,2,4,4]") << "leading axes shrink once planes would be too small";
  EXPECT_NEAR(smaller["norm"].get<double>(), std::sqrt(sum(square(x)).item()), 1e-4) << "of the whole tensor";
  EXPECT_NEAR(tensor_json(excerpt_of(x, x.numel()), 40)["norm"].get<double>(), smaller["norm"].get<double>(), 1e-4)
      << "of an excerpt that was whole at first";
  EXPECT_TRUE(tensors_equal(tensor_of(json), slice(slice(x, 2, {.end = 4}), 3, {.end = 4})));
  EXPECT_FALSE(tensor_json(excerpt_of(ones({4, 4}), 16), 16).contains("cut"));
  EXPECT_EQ(tensor_json(excerpt_of(ones({9}), 4), 4)["cut"].dump(), "[4]");
  EXPECT_TRUE(tensor_json(excerpt_of(Tensor(), 4), 4).is_null());
  EXPECT_EQ(tensor_json(excerpt_of(ones({0, 9}), 4), 4)["shape"].dump(), "[0,9]");
  EXPECT_FALSE(tensor_json(excerpt_of(x, x.numel(), Keep::all), 1).contains("cut"));
}

TEST(TensorJson, KeepsRowsBeforeColumnsIfRowsAreTokens) {
  EXPECT_EQ(truncated_shape({1, 30, 40}, 100), (Shape{1, 10, 10}));
  EXPECT_EQ(truncated_shape({1, 30, 40}, 100, true), (Shape{1, 30, 3}));
  EXPECT_EQ(truncated_shape({1, 30, 40}, 20, true), (Shape{1, 4, 4})) << "unless one column does not fit";
  EXPECT_EQ(truncated_shape({2, 3, 40}, 100), (Shape{2, 3, 16}));
  EXPECT_EQ(truncated_shape({40, 3}, 60), (Shape{20, 3}));
}

TEST(TensorJson, KeepsTheChosenColumns) {
  const Tensor x = sample_normal({2, 3, 5}).to(f32);
  const Json json = tensor_json(columns_of(x, {4, 1}), 1);
  EXPECT_EQ(json["cut"].dump(), "[2,3,2]");
  EXPECT_EQ(json["columns"].dump(), "[4,1]");
  EXPECT_TRUE(tensors_equal(tensor_of(json)[0][2][1], x[0][2][1]));
}

}  // namespace
}  // namespace tape::inspect
