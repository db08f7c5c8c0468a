#include "nccl/region.hpp"

#include "nccl/driver.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace simgpu {

// Zeroes are a valid beginning: the first rank to come makes the file, and none has to wait for it.
struct Region::Header {
  std::atomic<int> ranks;
  std::atomic<int> joined;
  std::atomic<std::int64_t> host_clock;  // the latest of those who joined
  std::atomic<int> process[kMostRanks];  // 0: not there yet
  std::atomic<bool> has_left[kMostRanks];
};

namespace {

constexpr std::size_t kHeaderBytes = 4096;

std::size_t bytes_for(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return kHeaderBytes + sizeof(Beginning) * (n * kCollectiveSlots + 2 * n * n * kPairSlots);
}

Beginning* beginnings(void* header) {
  return reinterpret_cast<Beginning*>(static_cast<char*>(header) + kHeaderBytes);
}

// /dev/shm is memory; where it is missing, any folder for temporary files will do.
std::string folder() {
  if (access("/dev/shm", W_OK) == 0) return "/dev/shm";
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
}

}  // namespace

ncclUniqueId new_unique_id() {
  std::random_device random;
  const auto high = static_cast<unsigned long>(random());
  const std::string path = folder() + "/simgpu-nccl-" + std::to_string(getpid()) + "-" +
                           std::to_string(high << 32U | random());
  ncclUniqueId id{};
  path.copy(id.internal, sizeof id.internal - 1);  // a longer one fails in join
  return id;
}

Region::Region(std::string path, int file, Header* header, std::size_t bytes)
    : path_(std::move(path)), file_(file), header_(header), bytes_(bytes) {}

Region::~Region() {
  munmap(header_, bytes_);
  close(file_);
}

ncclResult_t Region::join(const ncclUniqueId& id, int ranks, int rank,
                          std::shared_ptr<Region>& region) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) {
    return fail(ncclInvalidArgument, "rank or number of ranks out of range (at most 64)");
  }
  const std::string path(id.internal, strnlen(id.internal, sizeof id.internal));
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return fail(ncclSystemError, "the file of the unique id cannot be made");
  const std::size_t bytes = bytes_for(ranks);
  void* memory = MAP_FAILED;
  // The same size from every rank.  Growing leaves zeroes, and what is there stays.
  struct stat now_there {};
  const bool is_large =
      fstat(file, &now_there) == 0 && now_there.st_size >= static_cast<off_t>(bytes);
  if (is_large || ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (memory == MAP_FAILED) close(file);
  if (memory == MAP_FAILED) return fail(ncclSystemError, "the file of the unique id is unusable");
  auto* header = static_cast<Header*>(memory);
  region.reset(new Region(path, file, header, bytes));

  int known = 0;
  if (!header->ranks.compare_exchange_strong(known, ranks) && known != ranks) {
    return fail(ncclInvalidArgument, "another rank gave another number of ranks");
  }
  int nobody = 0;
  if (!header->process[rank].compare_exchange_strong(nobody, getpid())) {
    return fail(ncclInvalidUsage, "two ranks have the same number");
  }
  const std::int64_t now = nccl_driver()->host_now();
  std::int64_t latest = header->host_clock.load();
  while (latest < now && !header->host_clock.compare_exchange_weak(latest, now)) {
  }
  // All are there: the file needs no name any more.
  if (header->joined.fetch_add(1) + 1 == ranks) unlink(path.c_str());
  return ncclSuccess;
}

ncclResult_t Region::wait_for_all() {
  using Clock = std::chrono::steady_clock;
  const double patience = process_settings().settings.hang_limit_s;
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(patience));
  const int ranks = header_->ranks.load();
  while (header_->joined.load() < ranks) {
    if (Clock::now() > limit) {
      std::fprintf(stderr, "simgpu: %d of %d ranks have joined a communicator within %g s\n",
                   header_->joined.load(), ranks, patience);
      unlink(path_.c_str());
      return fail(ncclSystemError, "a rank has not joined the communicator");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  const NcclDriver& driver = *nccl_driver();
  driver.advance_host(header_->host_clock.load() - driver.host_now());
  return ncclSuccess;
}

Beginning& Region::collective(int rank, std::uint64_t ordinal) {
  return beginnings(
      header_)[static_cast<std::uint64_t>(rank) * kCollectiveSlots + ordinal % kCollectiveSlots];
}

Beginning& Region::sending(int from, int to, std::uint64_t ordinal) {
  const auto n = static_cast<std::uint64_t>(header_->ranks.load(std::memory_order_relaxed));
  const auto pair = static_cast<std::uint64_t>(from) * n + static_cast<std::uint64_t>(to);
  return beginnings(header_)[n * kCollectiveSlots + pair * kPairSlots + ordinal % kPairSlots];
}

Beginning& Region::receiving(int from, int to, std::uint64_t ordinal) {
  const auto n = static_cast<std::uint64_t>(header_->ranks.load(std::memory_order_relaxed));
  return *(&sending(from, to, ordinal) + n * n * kPairSlots);
}

// Far behind the beginnings, in a file of which only what is written takes room.
off_t Region::place_of(const Beginning& beginning) const {
  constexpr off_t first = off_t{1} << 40, room = off_t{1} << 32;
  return first + (&beginning - beginnings(header_)) * room;
}

bool Region::lay_down(const Beginning& beginning, const std::vector<std::byte>& bytes) {
  const auto written = pwrite(file_, bytes.data(), bytes.size(), place_of(beginning));
  return written == static_cast<ssize_t>(bytes.size());
}

bool Region::read(const Beginning& beginning, std::vector<std::byte>& bytes) const {
  const auto got = pread(file_, bytes.data(), bytes.size(), place_of(beginning));
  return got == static_cast<ssize_t>(bytes.size());
}

ncclUniqueId Region::name_of_part(const std::string& part) const {
  ncclUniqueId id{};
  (path_ + part).copy(id.internal, sizeof id.internal - 1);
  return id;
}

void Region::leave(int rank) {
  header_->has_left[rank].store(true);
}

bool Region::has_lost_a_rank() const {
  const int ranks = header_->ranks.load();
  for (int rank = 0; rank < ranks; ++rank) {
    const int process = header_->process[rank].load();
    if (process != 0 && !header_->has_left[rank].load() && kill(process, 0) != 0 &&
        errno == ESRCH) {
      return true;
    }
  }
  return false;
}

}  // namespace simgpu
