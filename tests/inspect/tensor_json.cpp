#include "inspect/tensor_json.h"

#include <cmath>
#include <limits>

#include "autograd/ops/cast.h"
#include "autograd/ops/op.h"
#include "tests/inspect/explorer_json.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

TEST(Base64, IsThatOfRfc4648) {
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

TEST(TensorJson, HoldsValuesAsTheyAre) {
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

TEST(TensorJson, CutsACorner) {
  const Tensor x = sample_normal({3, 2, 5, 6}).to(f32);
  const Corner corner = corner_of(x, 4);
  EXPECT_EQ(corner.shape, x.shape());
  EXPECT_EQ(corner.values.shape(), (Shape{1, 1, 4, 4}));
  EXPECT_FALSE(corner.values.shares_storage(x)) << "the whole is not kept";
  const Json json = tensor_json(corner, 4), smaller = tensor_json(corner, 2);
  EXPECT_EQ(json["shape"].dump(), "[3,2,5,6]");
  EXPECT_EQ(json["cut"].dump(), "[1,1,4,4]");
  EXPECT_EQ(smaller["cut"].dump(), "[1,1,2,2]");
  const std::vector<float> all = x.to_vector<float>(), part = tensor_of(json).to_vector<float>();
  for (size_t row = 0; row < 4; ++row)
    for (size_t column = 0; column < 4; ++column) EXPECT_EQ(part[4 * row + column], all[6 * row + column]);
  EXPECT_EQ(tensor_json(corner_of(ones({4, 4}), 4), 4).contains("cut"), false);
  EXPECT_EQ(tensor_json(corner_of(ones({9}), 4), 4)["cut"].dump(), "[4]");
  EXPECT_EQ(tensor_json(corner_of(ones({2, 1, 1}), 4), 4)["cut"].dump(), "[1,1,1]");
  EXPECT_TRUE(tensor_json(corner_of(Tensor(), 4), 4).is_null());
  EXPECT_EQ(tensor_json(corner_of(ones({0, 9}), 4), 4)["cut"].dump(), "[0,4]");
}

}  // namespace
}  // namespace tape::inspect
