#pragma once

// The consumer's own header, named like one of Tapeformer's.
namespace consumer {
inline constexpr int trainer = 8;
}
