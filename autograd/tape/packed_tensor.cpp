#include "autograd/tape/packed_tensor.h"

#include "autograd/create.h"
#include "autograd/tape/tape.h"

namespace tape {

PackedTensor::PackedTensor(const Tensor& value)
    : shape_(value.shape()), options_(value.options()), node_(value.impl().node), output_(value.impl().output) {}

Tensor PackedTensor::unpack(const char* operation) const {
  Tensor unpacked;
  {
    const NoGrad no_grad;
    unpacked = value(operation).detach();
  }
  unpacked.impl().node = node_;
  unpacked.impl().output = output_;
  return unpacked;
}

Tensor PackedTensor::empty_like_packed() const { return empty(shape_, options_); }

}  // namespace tape
