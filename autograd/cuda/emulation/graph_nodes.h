#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tape::cuda_device::emulation {

struct Graph;

/// What a node of a graph does.
struct NodeWork {
  enum class Kind : uint8_t { kernel, copy, fill, product, child };
  Kind kind;
  uint64_t identity = 0;  ///< of the function of a kernel, or of the layouts and the algorithm of a product
  size_t bytes = 0;       ///< of a copy or fill
  std::shared_ptr<const std::function<void()>> run = nullptr;
  std::shared_ptr<const Graph> child = nullptr;
};

struct Node {
  const Graph* graph;
  size_t index;
  std::vector<size_t> after;  ///< nodes of its graph
  NodeWork work;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

template <class Run>
std::shared_ptr<const std::function<void()>> shared_work(Run run) {
  return std::make_shared<const std::function<void()>>(std::move(run));
}

}  // namespace tape::cuda_device::emulation
