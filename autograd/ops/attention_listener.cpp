#include "autograd/ops/attention_listener.h"

namespace tape {
namespace {
thread_local AttentionListener* innermost = nullptr;
}  // namespace

AttentionListener::AttentionListener() : previous_(innermost) { innermost = this; }
AttentionListener::~AttentionListener() { innermost = previous_; }
AttentionListener* AttentionListener::active() { return innermost; }

}  // namespace tape
