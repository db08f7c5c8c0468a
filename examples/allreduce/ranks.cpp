#include "ranks.hpp"

#include "gpu.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace allreduce {
namespace {

constexpr std::chrono::seconds kLongestWait{60};

// -1 where the launcher has not set it.
int number_from(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? -1 : std::atoi(text);
}

// Files are written whole: a reader sees all of the id or no file.
void write_id(const std::string& file, const ncclUniqueId& id) {
  const std::string temporary = file + ".tmp";
  std::ofstream(temporary, std::ios::binary).write(id.internal, sizeof id.internal);
  if (std::rename(temporary.c_str(), file.c_str()) != 0) {
    throw std::runtime_error(file + ": cannot be written");
  }
}

ncclUniqueId read_id(const std::string& file) {
  const auto limit = std::chrono::steady_clock::now() + kLongestWait;
  ncclUniqueId id{};
  while (!std::ifstream(file, std::ios::binary).read(id.internal, sizeof id.internal)) {
    if (std::chrono::steady_clock::now() > limit) {
      throw std::runtime_error(file + ": rank 0 has not written it within 60 s");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return id;
}

}  // namespace

Ranks::Ranks(const Options& options) : id_file_(options.id_file) {
  place_.rank = number_from("RANK");
  if (place_.rank < 0) {
    place_ = {.rank = 0, .world_size = options.ranks, .local_rank = 0};
    fork_ranks(options.ranks);
    return;
  }
  place_.world_size = number_from("WORLD_SIZE");
  place_.local_rank = number_from("LOCAL_RANK");
  if (place_.local_rank < 0) place_.local_rank = place_.rank;
  if (place_.world_size <= place_.rank) {
    throw std::runtime_error("RANK is set: expected WORLD_SIZE, too, and larger than it");
  }
  if (place_.world_size > 1 && id_file_.empty()) {
    throw std::runtime_error("RANK is set: expected --id-file");
  }
}

void Ranks::fork_ranks(int count) {
  std::vector<std::array<int, 2>> pipes(static_cast<std::size_t>(count));
  for (auto& pipe : pipes) {
    if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe between ranks");
  }
  for (int rank = 0; rank < count; ++rank) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("a rank cannot be forked");
    if (child > 0) {
      children_.push_back(child);
      continue;
    }
    children_.clear();
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // no ranks without their parent
    place_.rank = place_.local_rank = rank;
    // As a launcher would: the profiler names its file by them.
    setenv("RANK", std::to_string(rank).c_str(), 1);
    setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
    setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    id_source_ = pipes[static_cast<std::size_t>(rank)][0];
    for (int other = 1; rank == 0 && other < count; ++other)
      id_sinks_.push_back(pipes[static_cast<std::size_t>(other)][1]);
    return;
  }
  for (const auto& pipe : pipes) {
    close(pipe[0]);
    close(pipe[1]);
  }
}

int Ranks::wait() const {
  int worst = 0;
  std::vector<pid_t> running = children_;
  while (!running.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0) return 1;
    std::erase(running, ended);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code == 0 || worst != 0) continue;
    worst = code;
    const auto rank = std::find(children_.begin(), children_.end(), ended) - children_.begin();
    std::fprintf(stderr, "allreduce: rank %td ended with status %d\n", rank, code);
    // The others would wait for it in their next collective.
    for (const pid_t other : running)
      kill(other, SIGTERM);
  }
  return worst;
}

ncclUniqueId Ranks::exchange_id() const {
  ncclUniqueId id{};
  const bool is_first = place_.rank == 0;
  if (is_first) EXAMPLE_CHECK(ncclGetUniqueId(&id));
  if (!id_file_.empty()) {
    if (!is_first) return read_id(id_file_);
    write_id(id_file_, id);
    return id;
  }
  if (!is_first && id_source_ >= 0 && read(id_source_, &id, sizeof id) != sizeof id) {
    throw std::runtime_error("rank 0 has ended before it made NCCL's id");
  }
  for (const int sink : id_sinks_) {
    if (write(sink, &id, sizeof id) != sizeof id) throw std::runtime_error("a rank has ended");
  }
  return id;
}

}  // namespace allreduce
