#pragma once
// What the receiver sees of a message: one number that says which GPU of its server, or of its scale-up domain, sent
// it, and which of that GPU's messages it is.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace weft::sim {

class MessageNames {
 public:
  MessageNames() = default;
  // `domain_of`: of every GPU; those of a domain stand side by side.
  MessageNames(const std::vector<std::uint32_t>& domain_of, std::uint32_t domains) : first_rank_(domains, 0xFFFFFFFFu) {
    std::uint32_t widest = 1;
    for (std::uint32_t gpu = 0; gpu < domain_of.size(); ++gpu) {
      std::uint32_t& first = first_rank_[domain_of[gpu]];
      first = std::min(first, gpu);
      widest = std::max(widest, gpu - first + 1);
    }
    bits_ = 32 - static_cast<std::uint32_t>(std::bit_width(widest - 1));
  }

  std::uint32_t name(std::uint32_t domain, std::uint32_t rank, std::uint32_t message) const {
    if (bits_ == 32) return message;
    if (message >> bits_ != 0) throw std::logic_error("one GPU sent more messages than can be told apart");
    return (rank - first_rank_[domain]) << bits_ | message;
  }
  std::uint32_t rank_of(std::uint32_t domain, std::uint32_t name) const {
    return first_rank_[domain] + (bits_ == 32 ? 0 : name >> bits_);
  }
  std::uint32_t message_of(std::uint32_t name) const { return bits_ == 32 ? name : name & ((1u << bits_) - 1); }
  // The highest bit that a message's number may have.
  std::uint32_t highest_bit() const { return 1u << (bits_ - 1); }

 private:
  std::vector<std::uint32_t> first_rank_;  // by domain
  std::uint32_t bits_ = 32;                // of a message's number; above them: which GPU of its domain
};

}  // namespace weft::sim
