#pragma once

#include "module.h"

namespace tape::nn {

struct LinearOptions {
  bool bias = true;
};

/// y = x weight^T + bias: x [..., in] -> [..., out]; weight [out, in], bias [out]. The weight starts Xavier uniform
/// (Glorot and Bengio 2010), the bias at zero. Error (shape) for another inner size than the weight's, (dtype) for
/// another dtype.
class Linear : public Layer<Linear> {
 public:
  /// Error (config) for sizes below 1.
  Linear(int64_t in, int64_t out, const LinearOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;

  Parameter weight, bias;
};

}  // namespace tape::nn
