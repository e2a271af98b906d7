#include <string>
#include <vector>

#include <tapeformer/autograd/cuda/context.h>
#include <tapeformer/autograd/cuda/emulation/emulation.h>
#include <tapeformer/autograd/cuda/memory.h>
#include <tapeformer/autograd/cuda/stream.h>
#include <tapeformer/base/error.h>

// Runs the consumer's kernel on the emulated device: right, and then past the end of its memory.
bool own_kernel_works() {
  namespace cuda = tape::cuda_device;
  const cuda::emulation::EmulatedDevice device;
  const cuda::Kernel scale("scale_f64");
  std::vector<double> x(100, 2.0);
  int64_t capacity = 0;
  double* const memory = static_cast<double*>(cuda::allocate(800, capacity));
  cuda::copy_to_device(memory, x.data(), 800);
  scale({2}, {32}, int64_t{100}, 3.0, static_cast<const double*>(memory), memory);
  cuda::copy_to_host(x.data(), memory, 800);
  bool found = false;
  try {
    scale({2}, {32}, int64_t{101}, 3.0, static_cast<const double*>(memory), memory);
    cuda::synchronize();
  } catch (const tape::Error& error) {
    found = std::string(error.what()).find("out of bounds: reads byte 800 of an allocation of 800 bytes") !=
            std::string::npos;
  }
  cuda::free(memory, capacity);
  return x == std::vector<double>(100, 6.0) && found;
}
