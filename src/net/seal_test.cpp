#include "net/seal.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace weft::net {
namespace {

Key key_of(std::uint8_t byte) {
  Key key;
  key.fill(byte);
  return key;
}

std::vector<std::uint8_t> sealed(Seal& seal, std::vector<std::uint8_t> bytes, std::size_t cut) {
  const iovec parts[] = {{bytes.data(), cut}, {bytes.data() + cut, bytes.size() - cut}};
  const Seal::Trailer trailer = seal.close(parts);
  bytes.insert(bytes.end(), trailer.begin(), trailer.end());
  return bytes;
}

TEST(Seal, ThePeerTakesWhatIsSealedOnce) {
  Seal a(key_of(1), 10, 20);
  Seal b(key_of(1), 20, 10);
  for (std::size_t size : {0u, 1u, 56u, 9000u}) {
    const auto packet = sealed(a, std::vector<std::uint8_t>(size, 7), size / 3);
    EXPECT_TRUE(b.open(packet)) << size;
    EXPECT_FALSE(b.open(packet)) << "a second time, " << size;
  }
}

TEST(Seal, AnyWrongBitIsFound) {
  Seal a(key_of(1), 10, 20);
  Seal b(key_of(1), 20, 10);
  auto packet = sealed(a, std::vector<std::uint8_t>(60, 7), 20);
  for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
    packet[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_FALSE(b.open(packet)) << bit;
    packet[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
  EXPECT_TRUE(b.open(packet));
}

// Of another job, another connection, or sent back to whoever sealed it.
TEST(Seal, IsOfAJobAConnectionAndADirection) {
  Seal a(key_of(1), 10, 20);
  const auto packet = sealed(a, {1, 2, 3}, 1);
  EXPECT_FALSE(Seal(key_of(2), 20, 10).open(packet));
  EXPECT_FALSE(Seal(key_of(1), 21, 10).open(packet));
  EXPECT_FALSE(Seal(key_of(1), 20, 11).open(packet));
  EXPECT_FALSE(Seal(key_of(1), 10, 20).open(packet));
  EXPECT_TRUE(Seal(key_of(1), 20, 10).open(packet));
}

TEST(ReplayWindow, TakesEachNumberOnceInAnyOrderWithinTheWindow) {
  ReplayWindow window;
  std::set<std::uint64_t> taken;
  Random random(1, 2, 3);
  std::uint64_t newest = 0;
  for (int i = 0; i < 200'000; ++i) {
    // Mostly near the newest, sometimes far ahead or behind.
    const std::uint64_t back = random.below(1000) == 0 ? random.below(30'000) : random.below(300);
    const std::uint64_t base = newest + (random.below(1000) == 0 ? random.below(20'000) : random.below(150));
    const std::uint64_t number = base - std::min(base, back);
    const bool old = number + ReplayWindow::kWindow < newest;
    const bool wanted = !old && !taken.contains(number);
    ASSERT_EQ(window.fresh(number), wanted) << number << " of " << newest;
    if (!wanted) continue;
    window.take(number);
    taken.insert(number);
    newest = std::max(newest, number + 1);
  }
}

TEST(Key, IsReadFromAFileOrRefusedInWords) {
  const std::string file = testing::TempDir() + "weft_seal_test.key";
  const auto write = [&](const std::string& text) { std::ofstream(file) << text; };
  write("0123456789abcdef\n");
  const auto key = read_key(file);
  ASSERT_TRUE(key.has_value());
  write("0123456789abcdef");
  EXPECT_EQ(*read_key(file), *key);
  write("0123456789abcdeg");
  EXPECT_NE(*read_key(file), *key);
  write("short\n");
  EXPECT_NE(read_key(file).error().find("5 bytes"), std::string::npos);
  write(std::string(5000, 'x'));
  EXPECT_NE(read_key(file).error().find("too many"), std::string::npos);
  std::remove(file.c_str());
  EXPECT_NE(read_key(file).error().find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace weft::net
