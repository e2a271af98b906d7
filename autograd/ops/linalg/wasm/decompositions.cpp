#include "autograd/ops/linalg.h"
#include "base/error.h"

// WebAssembly has no LAPACK. Initializations of adapters refer to these.
namespace tape::linalg {

Qr qr(const Tensor&, QrMode) { raise(ErrorKind::config, "qr: needs LAPACK, which WebAssembly does not have"); }

Svd svd(const Tensor&, const SvdOptions&) {
  raise(ErrorKind::config, "svd: needs LAPACK, which WebAssembly does not have");
}

}  // namespace tape::linalg
