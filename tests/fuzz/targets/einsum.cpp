#include "autograd/ops/product/einsum.h"

#include <algorithm>
#include <map>

#include "autograd/create.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {
namespace {

/// A tensor of small integers whose rank and sizes come from the input.
Tensor operand_of(Bytes& bytes) {
  std::vector<int64_t> sizes;
  while (!bytes.empty() && std::to_integer<int>(bytes[0]) != ';' && sizes.size() < 5) {
    sizes.push_back(std::to_integer<int64_t>(bytes[0]) % 4);
    bytes = bytes.subspan(1);
  }
  if (!bytes.empty()) bytes = bytes.subspan(1);
  const Shape shape(sizes);
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 5) - 2;
  return from_vector(values, shape);
}

/// The sum as its definition says, for an equation of letters and one arrow.
std::vector<double> summed(const std::string& equation, const Tensors& operands, const Shape& shape) {
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow), right = equation.substr(arrow + 2);
  std::map<char, int64_t> sizes, at;
  std::vector<std::string> terms(1);
  for (const char c : left)
    if (c == ',')
      terms.emplace_back();
    else
      terms.back().push_back(c);
  for (size_t i = 0; i < terms.size(); ++i)
    for (size_t k = 0; k < terms[i].size(); ++k)
      sizes[terms[i][k]] = std::max(sizes[terms[i][k]], operands[i].shape()[static_cast<int64_t>(k)]);
  std::vector<double> sums(static_cast<size_t>(shape.numel()));
  int64_t rounds = 1;
  for (const auto& [letter, size] : sizes) rounds *= size;
  const auto place = [&](const std::string& letters, const Shape& of) {
    int64_t flat = 0;
    for (size_t k = 0; k < letters.size(); ++k) {
      const int64_t size = of[static_cast<int64_t>(k)];
      flat = flat * size + (size == 1 ? 0 : at[letters[k]]);
    }
    return static_cast<size_t>(flat);
  };
  for (int64_t round = 0; round < rounds; ++round) {
    int64_t rest = round;
    for (const auto& [letter, size] : sizes) at[letter] = rest % size, rest /= size;
    double product = 1;
    for (size_t i = 0; i < terms.size(); ++i)
      product *= operands[i].data<double>()[place(terms[i], operands[i].shape())];
    sums[place(right, shape)] += product;
  }
  return sums;
}

}  // namespace

/// An equation, a line feed, and the sizes of each operand. The result equals the sum by definition if the equation has
/// only letters.
void fuzz_einsum(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string equation(text.substr(0, end));
  Bytes rest = bytes.subspan(std::min(end + 1, bytes.size()));
  Tensors operands;
  for (auto count = 1 + std::count(equation.begin(), equation.end(), ','); count > 0 && operands.size() < 5; --count)
    operands.push_back(operand_of(rest));
  const auto result = accepted([&] { return einsum(equation, operands); });
  if (!result || equation.find("->") == std::string::npos || equation.find_first_of(". \t") != std::string::npos)
    return;
  const std::vector<double> sums = summed(equation, operands, result->shape());
  expect(std::equal(sums.begin(), sums.end(), result->data<double>()), "einsum(\"{}\") differs from its definition",
         equation);
}

}  // namespace tape::fuzz
