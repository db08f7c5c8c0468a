// NCCL: collectives, sends and receives, alone and in groups.
//
// A call outside a group launches before it returns. Inside a group nothing is launched until
// ncclGroupEnd, where one kernel may do the work of several calls. So while events are discovered,
// a group's calls are kept until its end.
#include "hook/observer.hpp"
#include "launch/launch_filter.hpp"
#include "libraries/call_operation.hpp"
#include "libraries/call_wrapper.hpp"
#include "libraries/vendor_nccl.hpp"
#include "sys/locked.hpp"
#include "sys/process.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inline_prof::libraries {
namespace {

// Tracks NCCL communicators: an identity that is the same on all ranks, and the number of
// collectives so far in the iteration.
struct CommunicatorFacts {
  std::optional<std::uint64_t> identity;  // empty if it was created before profiling began
  std::int64_t ranks = 0;
  std::int64_t sequence = -1;  // of this collective in the iteration, from 0
};

struct Communicator {
  std::optional<std::uint64_t> identity;
  std::int64_t ranks = 0;
  std::int64_t iteration = -1;
  std::int64_t collectives = 0;  // in that iteration
  std::uint64_t splits = 0;
};

// A communicator that NCCL creates at the group's end.
struct Pending {
  const void* thread;
  void** comm;
  Communicator communicator;
};

// Returns a pointer that identifies this thread.
const void* calling_thread() noexcept {
  return __builtin_thread_pointer();
}

struct CommunicatorBook {
  std::unordered_map<const void*, Communicator> known;
  std::vector<Pending> pending;

  // Inside a group NCCL may set `comm` at the group's end, where settle_communicators() is called
  // on the same thread.
  void add(void** comm, const Communicator& communicator) {
    if (comm == nullptr) return;
    if (*comm == nullptr) {
      pending.push_back({calling_thread(), comm, communicator});
    } else {
      known[*comm] = communicator;
    }
  }
};
using Communicators = sys::Locked<CommunicatorBook>;

// FNV-1a (Fowler, Noll, Vo; RFC 9923): the same bytes give the same number on every rank.
std::uint64_t hash_of(const void* bytes, std::size_t size,
                      std::uint64_t seed = 0xCBF29CE484222325ULL) noexcept {
  const auto* each = static_cast<const unsigned char*>(bytes);
  std::uint64_t hash = seed;
  for (std::size_t i = 0; i < size; ++i)
    hash = (hash ^ each[i]) * 0x100000001B3ULL;
  return hash;
}

void settle_communicators() {
  const Communicators communicators;
  std::erase_if(communicators->pending, [&](const Pending& each) {
    if (each.thread != calling_thread()) return false;
    if (*each.comm != nullptr) communicators->known[*each.comm] = each.communicator;
    return true;
  });
}

std::int64_t count_ranks(const void* comm, void* real) {
  auto* const count = function_beside<nccl::CommCount>(real, "ncclCommCount");
  int ranks = 0;
  return count != nullptr && count(comm, &ranks) == nccl::kSuccess ? ranks : 0;
}

// Collectives are counted; sends and receives are not, since ranks make different ones.
CommunicatorFacts facts_of(const void* comm, void* real, bool is_collective) {
  const hook::Observer* session = hook::observer();
  const std::int64_t iteration = session == nullptr ? 0 : session->iteration();
  const Communicators communicators;
  Communicator& communicator = communicators->known[comm];
  if (communicator.ranks == 0) communicator.ranks = count_ranks(comm, real);
  CommunicatorFacts facts{.identity = communicator.identity, .ranks = communicator.ranks};
  if (!is_collective) return facts;
  if (std::exchange(communicator.iteration, iteration) != iteration) communicator.collectives = 0;
  facts.sequence = communicator.collectives++;
  return facts;
}

struct Operation {
  const char* name = nullptr;  // null: a data type newer than this library
  const LibraryCall* call = nullptr;
  std::size_t count = 0;
  std::size_t bytes = 0;  // as nccl-tests counts them
  const char* type = nullptr;
  const void* stream = nullptr;
  CommunicatorFacts communicator = {};
  const void* comm = nullptr;  // NCCL's handle, which each rank has its own of
  int peer = -1;               // of a send or receive
};

// --- this thread's group

struct OpenGroup {
  int depth;
  std::vector<Operation>* operations;  // while events are discovered; freed at the group's end
};

[[gnu::tls_model("initial-exec")]] constinit thread_local OpenGroup group{};

// --- one call

// The size of a message as nccl-tests defines it (PERFORMANCE.md): `count` elements of one rank, or
// of all ranks for collectives that gather or scatter.
enum class Message { kOneRank, kAllRanks };

struct SaidByCollective {
  const char* name;
  Message message;
  bool is_collective = true;
  bool adds_up = false;
};

constexpr SaidByCollective kSend{"send", Message::kOneRank, false};
constexpr SaidByCollective kRecv{"recv", Message::kOneRank, false};

Operation operation_of(const LibraryCall& call, void* real, const SaidByCollective& said,
                       std::size_t count, int type, const void* comm, const void* stream) {
  Operation operation{.call = &call, .count = count, .stream = stream, .comm = comm};
  operation.communicator = facts_of(comm, real, said.is_collective);
  if (type < 0 || static_cast<std::size_t>(type) >= nccl::kDataTypes.size()) return operation;
  const nccl::DataType& element = nccl::kDataTypes[static_cast<std::size_t>(type)];
  operation.name = said.name;
  operation.type = element.type;
  const std::int64_t ranks = std::max<std::int64_t>(operation.communicator.ranks, 1);
  operation.bytes = count * element.bytes *
                    (said.message == Message::kAllRanks ? static_cast<std::size_t>(ranks) : 1);
  return operation;
}

// --- the operation in prof.json

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

bool are_equal(const Operation& a, const Operation& b) {
  return std::string_view(a.name) == b.name && a.type == b.type &&
         a.communicator.identity == b.communicator.identity &&
         a.communicator.ranks == b.communicator.ranks;
}

record::Op op_of(const Operation& first, const char* name, const char* type, std::size_t count,
                 std::size_t bytes, std::size_t grouped) {
  record::Op op{.kind = std::string(op_kind_name(OpKind::kCollective)),
                .attributes = {},
                .source = source_of(*first.call)};
  const auto add = [&](const char* key, auto value) {
    op.attributes.emplace_back(key, std::move(value));
  };
  add("op", std::string(name));
  if (count > 0) add("count", static_cast<std::int64_t>(count));
  add("bytes", static_cast<std::int64_t>(bytes));
  if (type != nullptr) add("type", std::string(type));
  if (first.communicator.ranks > 0) add("ranks", first.communicator.ranks);
  if (first.communicator.identity) add("comm", hexadecimal(*first.communicator.identity));
  if (first.communicator.sequence >= 0) add("sequence", first.communicator.sequence);
  if (grouped > 1) add("grouped", static_cast<std::int64_t>(grouped));
  return op;
}

record::Op describe_one(const void* call, const void*) {
  const auto& operation = *static_cast<const Operation*>(call);
  if (operation.name == nullptr)
    return left_out(*operation.call, "its data type is newer than this library");
  return op_of(operation, operation.name, operation.type, operation.count, operation.bytes, 1);
}

// Returns what a group's calls on `stream` are, of all streams if that is null: "all_to_all" where
// a rank sends to each rank, else "send_recv", as between stages of a pipeline; null if they are
// not sends and receives.
const char* name_of_exchange(const std::vector<Operation>& operations,
                             const void* stream) noexcept {
  const Operation* first = nullptr;
  std::int64_t peers = 0;
  std::size_t sends = 0;
  std::size_t receives = 0;
  for (const Operation& each : operations) {
    if (stream != nullptr && each.stream != stream) continue;
    if (first == nullptr) first = &each;
    const bool is_send = each.name == kSend.name;
    if (!is_send && each.name != kRecv.name) return nullptr;
    ++(is_send ? sends : receives);
    // A thread may have several ranks in its group.
    if (!is_send || each.comm != first->comm) continue;
    const auto is_same = [&](const Operation& other) {
      return other.name == kSend.name && other.peer == each.peer && other.comm == each.comm;
    };
    const Operation* const begin = operations.data();
    if (std::none_of(begin, &each, is_same)) ++peers;
  }
  if (sends == 0 || receives == 0) return nullptr;
  return peers == first->communicator.ranks ? "all_to_all" : "send_recv";
}

// The launches on `stream` do the work of all of the group's calls on it.
record::Op describe_group(const void* call, const void* stream) {
  const auto& all = **static_cast<const std::vector<Operation>* const*>(call);
  std::vector<const Operation*> mine;
  for (const Operation& each : all) {
    // The default streams of a thread's devices have one handle.
    const bool is_of_another_rank =
        !mine.empty() && each.comm != mine.front()->comm && each.communicator.identity &&
        each.communicator.identity == mine.front()->communicator.identity;
    if (each.stream == stream && !is_of_another_rank) mine.push_back(&each);
  }
  if (mine.empty()) return {};
  if (mine.size() == 1) return describe_one(mine.front(), stream);
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::size_t received = 0;
  bool equal = true;
  for (const Operation* each : mine) {
    if (each->name == nullptr) return describe_one(each, stream);
    count += each->count;
    (each->name == kRecv.name ? received : bytes) += each->bytes;
    equal = equal && are_equal(*each, *mine.front());
  }
  const Operation& first = *mine.front();
  // A link carries both directions at once, so that the larger one counts.
  if (const char* const name = name_of_exchange(all, stream))
    return op_of(first, name, first.type, 0, std::max(bytes, received), mine.size());
  bytes += received;
  if (equal) return op_of(first, first.name, first.type, count, bytes, mine.size());
  return op_of(first, "group", nullptr, 0, bytes, mine.size());
}

// Returns the event's name, the same on all streams: the plan refers to the event by it.
[[gnu::noinline]] const char* name_of_group(const std::vector<Operation>& operations) noexcept {
  const char* name = operations.empty() ? nullptr : operations.front().name;
  if (const char* const exchange = name_of_exchange(operations, nullptr)) return exchange;
  for (const Operation& each : operations) {
    if (each.name == nullptr || name == nullptr || std::string_view(each.name) != name)
      return "group";
  }
  return name == nullptr ? "group" : name;
}

record::Op describe_nothing(const void*, const void*) {
  return {};
}

// NCCL's null stream is the legacy default stream; the per-thread one has a handle of its own.
const void* explicit_stream(const void* stream) noexcept {
  return stream == nullptr ? CU_STREAM_LEGACY : stream;
}

// --- wrapper bodies

template <bool kHasFrame>
struct NcclCall {
  static constexpr int kNotThere = nccl::kInternalError;
  static constexpr bool kOpensFrame = kHasFrame;
};

template <typename Says>
struct Collective : NcclCall<true> {
  template <typename... A>
  static int call(LibraryCall& call, int (*real)(A...) noexcept, A... arguments) {
    Operation operation;
    DescribeOp describe = describe_nothing;
    if (launch::filter.has(launch::LaunchFilter::kCounting)) {
      fenced_apart(call.symbol, [&] {
        operation = Says::operation(call, reinterpret_cast<void*>(real), arguments...);
        hook::Observer* const session = hook::observer();
        if (Says::kSaid.adds_up && session != nullptr &&
            launch::filter.has(launch::LaunchFilter::kSearching))
          session->ranks_reduce(operation.bytes);
        if (group.depth == 0) return;
        if (group.operations == nullptr) group.operations = new std::vector<Operation>;
        group.operations->push_back(operation);
      });
      if (operation.call != nullptr) describe = describe_one;
    }
    const OpScope scope(Says::kSaid.name, describe, operation);
    return real(arguments...);
  }
};

// Frees a group's calls, also those of a group that an exception has left.
[[gnu::noinline]] void drop_operations() noexcept {
  delete std::exchange(group.operations, nullptr);
}

struct GroupStart : NcclCall<false> {
  static int call(LibraryCall&, int (*real)() noexcept) {
    const int result = real();
    if (result != nccl::kSuccess) return result;
    if (++group.depth == 1 && group.operations != nullptr) drop_operations();
    return result;
  }
};

struct GroupEnd : NcclCall<true> {
  static int call(LibraryCall&, int (*real)() noexcept) {
    // An inner group's end launches nothing.
    if (group.depth > 1) {
      --group.depth;
      return real();
    }
    group.depth = 0;
    const int result = end(real);
    if (group.operations != nullptr) drop_operations();
    fenced_apart("ncclGroupEnd", settle_communicators);
    return result;
  }

 private:
  [[gnu::always_inline]] static int end(int (*real)() noexcept) {
    const std::vector<Operation>* const all = group.operations;
    const OpScope scope(all == nullptr ? "group" : name_of_group(*all),
                        all == nullptr ? describe_nothing : describe_group, all);
    return real();
  }
};

// A call that makes or destroys communicators; noted after it has returned.
template <typename Notes>
struct Noticed : NcclCall<false> {
  template <typename... A>
  static int call(LibraryCall& call, int (*real)(A...) noexcept, A... arguments) {
    const int result = real(arguments...);
    if (result == nccl::kSuccess) fenced_apart(call.symbol, [&] { Notes::made(arguments...); });
    return result;
  }
};

// --- the functions

// Reads the arguments. Each function has one or two buffers, the count, the type, the operation or
// root or peer, and at the end the communicator and the stream.
template <const SaidByCollective& kWhat>
struct SaidBy {
  static constexpr SaidByCollective kSaid = kWhat;

  template <typename... A>
  static Operation operation(const LibraryCall& call, void* real, A... arguments) {
    const std::tuple all(arguments...);
    using All = std::remove_const_t<decltype(all)>;
    constexpr std::size_t count = std::is_same_v<std::tuple_element_t<1, All>, std::size_t> ? 1 : 2;
    constexpr std::size_t stream = sizeof...(A) - 1;
    Operation operation =
        operation_of(call, real, kSaid, std::get<count>(all), std::get<count + 1>(all),
                     std::get<stream - 1>(all), explicit_stream(std::get<stream>(all)));
    if constexpr (!kSaid.is_collective) operation.peer = std::get<3>(all);
    return operation;
  }
};

constexpr SaidByCollective kAllReduce{"all_reduce", Message::kOneRank, true, true};
constexpr SaidByCollective kReduceScatter{"reduce_scatter", Message::kAllRanks, true, true};
constexpr SaidByCollective kAllGather{"all_gather", Message::kAllRanks};
constexpr SaidByCollective kAlltoAll{"all_to_all", Message::kAllRanks};
constexpr SaidByCollective kBroadcast{"broadcast", Message::kOneRank};
constexpr SaidByCollective kGather{"gather", Message::kAllRanks};
constexpr SaidByCollective kScatter{"scatter", Message::kAllRanks};
constexpr SaidByCollective kReduce{"reduce", Message::kOneRank, true, true};

struct InitRank {
  template <typename... Rest>
  static void made(void** comm, int ranks, const nccl::UniqueId& id, int, Rest...) {
    Communicators()->add(comm, {.identity = hash_of(&id, sizeof id), .ranks = ranks});
  }
};

struct InitRankScalable {
  static void made(void** comm, int ranks, int, int ids, const nccl::UniqueId* first_id, void*) {
    if (ids < 1 || first_id == nullptr) return;
    const std::size_t size = static_cast<std::size_t>(ids) * sizeof(nccl::UniqueId);
    Communicators()->add(comm, {.identity = hash_of(first_id, size), .ranks = ranks});
  }
};

// Makes an identity of the process's number and a counter: all ranks are in this process.
struct InitAll {
  static void made(void** comms, int devices, const int*) {
    static constinit std::atomic<std::uint64_t> calls{0};
    const std::array<std::uint64_t, 2> key{static_cast<std::uint64_t>(getpid()),
                                           calls.fetch_add(1)};
    const std::string host = sys::host_name();
    const std::uint64_t identity =
        hash_of(key.data(), sizeof key, hash_of(host.data(), host.size()));
    for (int i = 0; comms != nullptr && i < devices; ++i)
      Communicators()->add(&comms[i], {.identity = identity, .ranks = devices});
  }
};

struct Split {
  static void made(void* parent, int color, int, void** split, void*) {
    const Communicators communicators;
    const auto known = communicators->known.find(parent);
    if (known == communicators->known.end() || !known->second.identity) return;
    // All ranks of the parent take part in each split, so that they agree on its number.
    const std::uint64_t number = known->second.splits++;
    if (color < 0) return;  // NCCL_SPLIT_NOCOLOR: no communicator, whose place may soon be gone
    const std::uint64_t identity = hash_of(&number, sizeof number, *known->second.identity);
    communicators->add(split, {.identity = hash_of(&color, sizeof color, identity)});
  }
};

struct Ended {
  static void made(void* comm) { Communicators()->known.erase(comm); }
};

}  // namespace

INLINE_PROF_NCCL_CALLS(INLINE_PROF_DEFINE_CALL)

}  // namespace inline_prof::libraries
