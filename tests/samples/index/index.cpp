#include "autograd/kernels/index/index.h"
#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

Tensor positions(std::initializer_list<Values> values) { return tensor(values, i64); }

std::vector<OpSample> gather_samples() {
  auto at = [](int64_t axis, Tensor index) { return [=](const Tensors& in) { return gather(in[0], axis, index); }; };
  return std::vector<OpSample>{
      {"columns, repeated", {sample_normal({2, 3})}, at(1, positions({{2, 0, 2, 2}, {1, 1, 0, 2}}))},
      {"rows", {sample_normal({3, 2})}, at(0, positions({{2, 0}}))},
      {"middle", {sample_normal({2, 3, 1})}, at(1, reshape(positions({1, 1, 2, 0}), {2, 2, 1}))},
      {"none", {sample_normal({2, 3})}, at(1, zeros({2, 0}, i64))}};
}

const OpSamples samples_of_gather("gather", gather_samples);

std::vector<OpSample> scatter_add_samples() {
  auto at = [](int64_t axis, Tensor index) {
    return [=](const Tensors& in) { return scatter_add(in[0], axis, index, in[1]); };
  };
  return std::vector<OpSample>{
      {"columns, repeated",
       {sample_normal({2, 3}, 1), sample_normal({2, 4}, 2)},
       at(-1, positions({{2, 0, 2, 2}, {1, 1, 0, 2}}))},
      {"rows", {sample_normal({3, 2}, 1), sample_normal({1, 2}, 2)}, at(0, positions({{2, 0}}))},
      {"aliased", {sample_normal({2, 2})}, [](const Tensors& in) {
         return scatter_add(in[0], 0, positions({{1, 0}, {1, 1}}), in[0] * in[0]);
       }}};
}

const OpSamples samples_of_scatter_add("scatter_add", scatter_add_samples);

std::vector<OpSample> index_select_samples() {
  auto at = [](int64_t axis, Tensor index) {
    return [=](const Tensors& in) { return index_select(in[0], axis, index); };
  };
  return std::vector<OpSample>{{"rows, repeated", {sample_normal({3, 2})}, at(0, positions({2, 0, 2, 2}))},
                               {"columns", {sample_normal({2, 3, 2})}, at(-1, positions({1}))},
                               {"middle", {sample_normal({2, 3, 2})}, at(1, positions({1, 1, 0}))},
                               {"none", {sample_normal({3, 2})}, at(0, zeros({0}, i64))}};
}

const OpSamples samples_of_index_select("index_select", index_select_samples);

std::vector<OpSample> index_add_samples() {
  auto at = [](int64_t axis, Tensor index) {
    return [=](const Tensors& in) { return index_add(in[0], axis, index, in[1]); };
  };
  return std::vector<OpSample>{
      {"rows, repeated", {sample_normal({3, 2}, 1), sample_normal({4, 2}, 2)}, at(0, positions({2, 0, 2, 2}))},
      {"middle", {sample_normal({2, 3, 2}, 1), sample_normal({2, 2, 2}, 2)}, at(1, positions({1, 1}))}};
}

const OpSamples samples_of_index_add("index_add", index_add_samples);

std::vector<OpSample> embedding_samples() {
  auto of = [](Tensor ids) { return [ids](const Tensors& in) { return embedding(in[0], ids); }; };
  return std::vector<OpSample>{{"vector, repeated", {sample_normal({4, 3})}, of(positions({3, 0, 3}))},
                               {"matrix", {sample_normal({4, 3})}, of(positions({{3, 0, 3}, {1, 1, 3}}))},
                               {"rank 0", {sample_normal({2, 2})}, of(scalar(1, i64))},
                               {"no ids", {sample_normal({2, 2})}, of(zeros({0, 2}, i64))}};
}

const OpSamples samples_of_embedding("embedding", embedding_samples);

}  // namespace
}  // namespace tape
