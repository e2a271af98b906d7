// Everything that a program includes of the library: the bridge to xtensor before xtensor's own headers, then all else.
#include <tapeformer/autograd/xtensor.h>

#include <tapeformer.h>

tape::Tensor doubled(const tape::Tensor& x) { return x * 2; }
