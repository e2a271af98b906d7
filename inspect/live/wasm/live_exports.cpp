#include <cstdint>
#include <string>

#include "inspect/live/live_engine.h"

// The functions that a page calls: it asks for room, writes a request there, calls, and reads the answer.
namespace {

std::string request, answer;

}  // namespace

#define TAPE_EXPORT(name) __attribute__((export_name(#name), used)) name

extern "C" {

/// Returns where to write a request of so many bytes.
char* TAPE_EXPORT(live_room)(size_t bytes) {
  request.resize(bytes);
  return request.data();
}

/// Answers the request in the room.
void TAPE_EXPORT(live_call)(const char* room, size_t bytes) {
  static auto& engine = *new tape::inspect::LiveEngine;
  answer = engine.answer({room, bytes});
}

/// The answer to the last call, valid until the next one.
/// @{
const char* TAPE_EXPORT(live_answer)() { return answer.data(); }
size_t TAPE_EXPORT(live_answer_size)() { return answer.size(); }
/// @}
}
