#include "autograd/ops/attention/attention_call.h"

#include <optional>

#include "autograd/tape/observer.h"

namespace tape {

bool attention_weights_requested() {
  bool wanted = false;
  observe([&](Observer& observer) { wanted = wanted || observer.wants_attention_weights(); });
  return wanted;
}

void notify_attention(const std::function<AttentionCall()>& describe) {
  std::optional<AttentionCall> call;
  observe([&](Observer& observer) {
    if (!call) call = describe();
    observer.on_attention(*call);
  });
}

}  // namespace tape
