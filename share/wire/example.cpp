// Two processes that exchange messages over all paths between two machines.
//   c++ -std=c++20 example.cpp $(pkg-config --cflags --libs weft-wire) -o example
//   ./example                       on one machine: prints where it listens, and echoes
//   ./example HOST:PORT             on another: sends 1000 messages, counts the answers
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <vector>

#include <weft/wire.hpp>

using weft::wire::Done;
using weft::wire::Endpoint;

constexpr std::size_t kSize = 64 * 1024;
constexpr std::uint64_t kPing = 1;
constexpr std::uint64_t kPong = 2;

// Sends back whatever comes, until nothing has come for ten seconds.
int echo() {
  Endpoint here;
  std::printf("listening at %s\n", here.address().c_str());
  std::fflush(stdout);
  std::vector<char> room(kSize);
  std::map<std::uint64_t, std::vector<char>> flying;  // an answer's bytes have to stay until it is sent
  std::uint64_t number = 0;
  here.receive(weft::wire::kAnyPeer, kPing, 0, room.data(), room.size(), 0);
  Done done;
  while (here.wait(done, std::chrono::seconds(10))) {
    if (!done.received) {
      flying.erase(done.context);
    } else if (done.status == weft::wire::Status::fine) {
      auto& answer = flying[++number];
      answer.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(done.bytes));
      here.send(done.peer, kPong, answer.data(), answer.size(), number);
      here.receive(weft::wire::kAnyPeer, kPing, 0, room.data(), room.size(), 0);
    }
  }
  return 0;
}

int ask(const char* address) {
  Endpoint here;
  const auto there = here.peer(address);
  std::vector<char> out(kSize, 'x'), in(kSize);
  std::uint64_t bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    here.receive(there, kPong, 0, in.data(), in.size(), 0);
    here.send(there, kPing, out.data(), out.size(), 0);
    Done done;
    for (int finished = 0; finished < 2; ++finished) {
      if (!here.wait(done, std::chrono::seconds(20)) || done.status != weft::wire::Status::fine) {
        std::fprintf(stderr, "%s: %s\n", address, here.why_lost(there).c_str());
        return 1;
      }
      if (done.received) bytes += done.bytes;
    }
  }
  std::printf("%llu bytes came back\n", static_cast<unsigned long long>(bytes));
  return bytes == 1000 * kSize ? 0 : 1;
}

int main(int count, char** words) try {
  return count < 2 ? echo() : ask(words[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
