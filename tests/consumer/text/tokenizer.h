#pragma once

// The consumer's own, of a name that Tapeformer has too.
namespace consumer {
inline constexpr int tokenizer = 7;
}
