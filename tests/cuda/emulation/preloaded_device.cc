// Loaded before the tapeformer command by LD_PRELOAD, so that its `cuda` is an emulated device.
#include "autograd/cuda/emulation/emulation.h"

namespace {

// Not destroyed, since tensors may live as long as the program.
[[maybe_unused]] const auto* const device = new tape::cuda_device::emulation::EmulatedDevice;

}  // namespace
