// Every bound on untrusted input, in one place.
//
// Case text, JSON, corpus files and protocol lines are untrusted. Each is held against these limits before
// anything is allocated for it, so that a hostile line costs an error message and no memory. The limits are
// far above what a real stack needs (a 2,048-GPU refit of a 1T-parameter MoE fits with room to spare).
#pragma once

#include <cstdint>

namespace reshardcheck::limits {

inline constexpr std::int64_t max_text_bytes = std::int64_t{1} << 26;     // one case, as text or JSON
inline constexpr std::int64_t max_tensors = std::int64_t{1} << 20;        // tensors in a mix
inline constexpr std::int64_t max_dims = 8;                               // dims of a tensor
inline constexpr std::int64_t max_axes = 8;                               // axes of a mesh
inline constexpr std::int64_t max_ranks = 65'536;                         // ranks in a world
inline constexpr std::int64_t max_sizes = 65'536;                         // entries of cuts= and segments=
inline constexpr std::int64_t max_split_factor = std::int64_t{1} << 20;   // the f of _S(d,f)
inline constexpr std::int64_t max_intervals = std::int64_t{1} << 22;      // intervals of all pieces of a layout
inline constexpr std::int64_t max_table_entries = std::int64_t{1} << 22;  // ranks and pieces of a case's layouts
inline constexpr std::int64_t max_refits = 64;                            // refits of one case
inline constexpr std::int64_t max_gap_elements = 1'024;                   // gap between rows of a local tensor
inline constexpr std::int64_t max_faults = 16;                            // injected faults in one case
inline constexpr std::int64_t max_name_bytes = 256;                       // a tensor's name

}  // namespace reshardcheck::limits
