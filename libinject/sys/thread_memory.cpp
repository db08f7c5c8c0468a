#include "sys/thread_memory.hpp"

#include <cstdlib>
#include <pthread.h>

namespace inline_prof::sys {
namespace {

struct alignas(std::max_align_t) Block {
  Block* next;
  void** place;
  void (*destroy)(void*) noexcept;
};

constinit pthread_once_t key_once = PTHREAD_ONCE_INIT;
constinit pthread_key_t key = 0;
constinit bool has_key = false;

// The thread's other destructors may have made new blocks meanwhile; then this is called again.
void free_blocks(void* first) {
  for (auto* block = static_cast<Block*>(first); block != nullptr;) {
    Block* const next = block->next;
    *block->place = nullptr;
    block->destroy(block + 1);
    std::free(block);
    block = next;
  }
}

void make_key() {
  has_key = pthread_key_create(&key, free_blocks) == 0;
}

}  // namespace

void* allocate_for_thread(std::size_t size, void** place,
                          void (*destroy)(void*) noexcept) noexcept {
  pthread_once(&key_once, make_key);
  if (!has_key) return nullptr;
  void* const memory = std::malloc(sizeof(Block) + size);
  if (memory == nullptr) return nullptr;
  auto* const block = new (memory) Block{
      .next = static_cast<Block*>(pthread_getspecific(key)), .place = place, .destroy = destroy};
  if (pthread_setspecific(key, block) != 0) {
    std::free(memory);
    return nullptr;
  }
  return block + 1;
}

}  // namespace inline_prof::sys
