#include "autograd/ops/attention/attention_call.h"

#include <optional>

#include "autograd/tape/observer.h"

namespace tape {

bool attention_weights_wanted() {
  bool wanted = false;
  observe([&](Observer& observer) { wanted = wanted || observer.wants_attention_weights(); });
  return wanted;
}

void tell_attended(const std::function<AttentionCall()>& describe) {
  std::optional<AttentionCall> call;
  observe([&](Observer& observer) {
    if (!call) call = describe();
    observer.on_attention(*call);
  });
}

}  // namespace tape
