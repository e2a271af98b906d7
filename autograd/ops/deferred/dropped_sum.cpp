#include "autograd/ops/deferred/dropped_sum.h"

#include <memory>
#include <utility>

#include "autograd/dtype.h"

namespace tape {
namespace {

class DeferredDropout : public DeferredCall {
 public:
  DeferredDropout(const KernelCall& at, const Tensor& of, const kernels::Dropout& given, Tensor& y)
      : DeferredCall(at, {&of}, {&y}), x(of.detach()), dropout(given) {}

  const Tensor x;
  const kernels::Dropout dropout;

  void launch(std::span<const DeferredCall* const>, std::span<void* const> blocks) const override {
    run_kernels("dropout", device(), [&](const KernelCall& at) {
      dispatch_with_bf16("dropout", dtype(), [&]<class T>(T) {
        kernels::random<T>(at).dropout(x.numel(), dropout.seed, dropout.counter, dropout.p, at.in<T>(x),
                                       static_cast<T*>(blocks.front()));
      });
    });
  }
};

struct NotedSum : StorageAttachment {
  explicit NotedSum(const kernels::Dropout& d) : dropout(d) {}
  const kernels::Dropout dropout;
};
struct DroppedGradient : StorageAttachment {
  DroppedGradient(const kernels::Dropout& d, uint64_t v, Tensor given)
      : dropout(d), version(v), values(std::move(given)) {}
  const kernels::Dropout dropout;
  const uint64_t version;  // of the gradient
  const Tensor values;
};

}  // namespace

DeferredSum::DeferredSum(const KernelCall& at, const Tensor& a, const Tensor& b, const kernels::Dropout& dropout,
                         Tensor& sum)
    : DeferredCall(at, {&a, &b}, {&sum}), n_(sum.numel()), a_(at.in(a)), b_(at.in(b)), dropout_(dropout) {}

void DeferredSum::launch(std::span<const DeferredCall* const>, std::span<void* const> blocks) const {
  run_kernels("add", device(), [&](const KernelCall& at) {
    dispatch_with_bf16("add", dtype(),
                       [&]<class T>(T) { kernels::random<T>(at).add_dropped(n_, to<T>(blocks.front())); });
  });
}

bool defer_dropout(const KernelCall& at, const Tensor& x, const kernels::Dropout& dropout, Tensor& y) {
  if (y.numel() == 0 || !may_defer(at)) return false;
  DeferredCalls::instance().add(std::make_unique<DeferredDropout>(at, x, dropout, y));
  return true;
}

std::optional<DroppedTensor> deferred_dropout(const Tensor& y) {
  std::optional<DroppedTensor> found;
  DeferredCalls::instance().read<DeferredDropout>(y, [&](const DeferredDropout& call) {
    found = {call.x, call.dropout};
  });
  return found;
}

bool defer_dropped_sum(const Tensor& a, const Tensor& b, Tensor& sum) {
  if (a.shape() != b.shape()) return false;
  const auto defer = [&](const Tensor& dropped, const Tensor& other) {
    const std::optional<DroppedTensor> found = deferred_dropout(dropped);
    if (!found) return false;
    const KernelCall at("add", sum.device());
    DeferredCalls::instance().add(std::make_unique<DeferredSum>(at, other, found->x, found->dropout, sum));
    return true;
  };
  return defer(b, a) || defer(a, b);
}

void note_dropped_sum(const Tensor& x, const kernels::Dropout& dropout) {
  x.impl().storage->set_attachment(std::make_unique<NotedSum>(dropout));
}

const kernels::Dropout* dropout_in_sum(const Tensor& x) {
  const auto* const noted = dynamic_cast<const NotedSum*>(x.impl().storage->attachment());
  return noted ? &noted->dropout : nullptr;
}

void keep_dropped(const Tensor& gradient, const kernels::Dropout& dropout, const Tensor& dropped) {
  Storage& storage = *gradient.impl().storage;
  storage.set_attachment(std::make_unique<DroppedGradient>(dropout, storage.version(), dropped));
}

Tensor take_dropped(const Tensor& gradient, const kernels::Dropout& dropout) {
  Storage& storage = *gradient.impl().storage;
  const auto* const kept = dynamic_cast<const DroppedGradient*>(storage.attachment());
  if (!kept || !(kept->dropout == dropout)) return {};
  const Tensor values =
      kept->version == storage.version() && kept->values.shape() == gradient.shape() ? kept->values : Tensor();
  storage.set_attachment(nullptr);
  return values;
}

}  // namespace tape
