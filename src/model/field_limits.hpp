#pragma once
// The largest values that keys of the cluster file take, where several have the same.

#include <cstdint>

namespace weft::model {

inline constexpr std::int64_t kMaxQueue = INT64_C(1) << 33;
inline constexpr std::int64_t kMaxTime = 3'600'000'000'000'000;  // an hour
inline constexpr std::int64_t kMaxServers = 2'000'000;
inline constexpr std::int64_t kMaxSwitches = 1'000'000;
inline constexpr std::int64_t kMaxParallel = 4096;
inline constexpr std::int64_t kMaxCollective = INT64_C(1) << 44;            // 16 TiB
inline constexpr std::int64_t kMaxSkew = 1'000'000'000'000;                 // a second
inline constexpr std::int64_t kMaxStorage = 1'000'000'000'000'000'000;      // 1,000 PB
inline constexpr std::int64_t kMaxStorageRate = 1'000'000'000'000'000'000;  // 1,000 Pb/s

}  // namespace weft::model
