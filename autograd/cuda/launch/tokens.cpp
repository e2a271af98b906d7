#include "autograd/kernels/random/tokens.h"

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kChooseTokens = TAPE_FLOAT_KERNELS(choose_tokens);

template <class T>
void choose(const TokenChoice& how, const TokenRows<T>& rows, int64_t number, Finding* finding) {
  constexpr int64_t kLarge = 4096;
  const uint32_t threads = how.vocab > kLarge ? 512 : 128;
  const DeviceScratch<double> scores(how.rows * how.vocab);
  const DeviceScratch<uint32_t> marks(how.marks_ids() ? how.rows * 2 * quotient_up(how.vocab, 32) : 1);
  kChooseTokens.of<T>()({static_cast<uint32_t>(how.rows)}, {threads}, how, rows, scores.get(), marks.get(), number,
                        finding);
}

}  // namespace

TAPE_DEFINE_TABLES(TokenKernels, tokens, .choose = choose<T>)

}  // namespace tape::kernels::cuda
