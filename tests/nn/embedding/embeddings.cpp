#include "nn/embedding/embeddings.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Embeddings, AreTheNormOfASum) {
  manual_seed(3);
  Embeddings layer(7, 4, {.max_length = 5, .segments = 2});
  layer.eval();
  const Tensor ids = tensor({{1, 6, 2}}, i64), segments = tensor({{0, 1, 1}}, i64);
  // Sums table rows and normalizes them by hand; the norm's weight and bias are 1 and 0.
  std::vector<float> values;
  for (int64_t t = 0; t < 3; ++t) {
    std::vector<double> row;
    for (int64_t c = 0; c < 4; ++c)
      row.push_back(layer.token->weight[ids[0][t].item<int64_t>()][c].item() + (*layer.position)->weight[t][c].item() +
                    (*layer.segment)->weight[segments[0][t].item<int64_t>()][c].item());
    const double mean = (row[0] + row[1] + row[2] + row[3]) / 4;
    double variance = 0;
    for (const double x : row) variance += (x - mean) * (x - mean) / 4;
    for (const double x : row) values.push_back(static_cast<float>((x - mean) / std::sqrt(variance)));
  }
  EXPECT_TRUE(tensors_near(layer(ids, segments), from_vector(values, {1, 3, 4}), 1e-5));
  EXPECT_TRUE(tensors_equal(layer(ids), layer(ids, zeros({1, 3}, i64)))) << "segment 0 where none is given";
  EXPECT_FALSE(tensors_equal(layer(ids), layer(ids, segments)));
  EXPECT_FALSE(tensors_equal(layer(ids), layer(ids, Tensor(), 2))) << "first is the position of the first id";
}

TEST(Embeddings, AcceptAPositionForEachId) {
  manual_seed(3);
  Embeddings layer(7, 4, {.max_length = 5, .norm_eps = {}, .dropout = 0});
  const Tensor ids = tensor({{1, 6, 2}}, i64);
  EXPECT_TRUE(tensors_equal(layer.at(ids, tensor({{2, 3, 4}}, i64)), layer(ids, Tensor(), 2)));
  EXPECT_TRUE(tensors_equal(layer.at(ids, tensor({{0, 0, 1}}, i64))[0][1],
                            layer.token->weight[6] + (*layer.position)->weight[0]));
  EXPECT_TAPE_ERROR(layer.at(ids, tensor({{0, 5, 1}}, i64)), ErrorKind::index,
                    "position: embedding: id 5 at position [0, 1] is outside [0, 5)");
  EXPECT_TAPE_ERROR(layer.at(ids, tensor({0, 1, 2}, i64)), ErrorKind::shape,
                    "Embeddings: ids and positions must have the same shape [B, T], got [1, 3] and [3]");
}

TEST(Embeddings, HaveNoLengthLimitWithoutAPositionTable) {
  Embeddings layer(7, 4, {.max_length = 0, .norm_eps = {}, .dropout = 0});
  const Tensor ids = tensor({{1, 6, 2}}, i64);
  EXPECT_FALSE(layer.position);
  EXPECT_EQ(layer.settings(), "7 ids");
  EXPECT_TRUE(tensors_equal(layer(ids, Tensor(), 1000), layer.token(ids)));
}

TEST(Embeddings, ApplyDropoutOnlyInTraining) {
  manual_seed(3);
  Embeddings layer(7, 8, {.max_length = 5, .norm_eps = {}, .dropout = 0.5});
  const Tensor ids = tensor({{1, 6, 2}}, i64);
  EXPECT_FALSE(layer.norm);
  EXPECT_FALSE(tensors_equal(layer(ids), layer(ids)));
  layer.eval();
  EXPECT_TRUE(tensors_equal(layer(ids), layer(ids)));
}

TEST(Embeddings, RefuseIdsPositionsAndSegmentsOutsideTheirTables) {
  Embeddings layer(7, 4, {.max_length = 3, .segments = 2});
  Embeddings plain(7, 4, {.max_length = 3});
  const Tensor ids = tensor({{1, 2}}, i64);
  EXPECT_TAPE_ERROR(layer(tensor({1, 2}, i64)), ErrorKind::shape, "Embeddings: ids must be [B, T], got [2]");
  EXPECT_TAPE_ERROR(layer(tensor({{1, 2, 3, 4}}, i64)), ErrorKind::shape,
                    "Embeddings: positions 0 to 3 do not fit into max_length 3");
  EXPECT_TAPE_ERROR(layer(ids, Tensor(), 2), ErrorKind::shape,
                    "Embeddings: positions 2 to 3 do not fit into max_length 3");
  EXPECT_TAPE_ERROR(layer(ids, zeros({1, 3}, i64)), ErrorKind::shape,
                    "Embeddings: segments [1, 3] do not fit ids [1, 2]");
  EXPECT_TAPE_ERROR(plain(ids, ids), ErrorKind::config, "Embeddings: got segments [1, 2], but has no segment table");
  EXPECT_TAPE_ERROR(layer(ids, tensor({{0, 2}}, i64)), ErrorKind::index,
                    "segment: embedding: id 2 at position [0, 1] is outside [0, 2)");
  EXPECT_TAPE_ERROR(Embeddings(7, 4, {.segments = -1}), ErrorKind::config,
                    "Embeddings: segments must not be negative, got -1");
}

TEST(Embeddings, PrintTheirSettings) {
  EXPECT_EQ(Embeddings(7, 4, {.max_length = 3, .segments = 2}).settings(), "7 ids, 3 positions, 2 segments");
  EXPECT_EQ(Embeddings(7, 4, {.max_length = 3}).settings(), "7 ids, 3 positions");
}

}  // namespace
}  // namespace tape::nn
