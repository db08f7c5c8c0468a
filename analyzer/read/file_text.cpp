#include "read/file_text.hpp"

#include "read/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <new>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <zlib.h>

namespace inline_prof::read {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw InputError(fmt::format("{}: {}", file.string(), std::generic_category().message(error)));
}

[[noreturn]] void fail_too_long(const std::filesystem::path& file, std::size_t limit) {
  throw InputError(fmt::format("{}: too long, expected at most {} bytes", file.string(), limit));
}

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& file)
      : value_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (value_ < 0) fail(file, errno);
  }
  ~Descriptor() { ::close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

}  // namespace

std::string read_text(const std::filesystem::path& file, std::size_t limit) {
  const Descriptor descriptor(file);
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) fail(file, errno);
  if (S_ISDIR(status.st_mode))
    throw InputError(fmt::format("{}: is a directory, expected a file", file.string()));

  // A device gives bytes without end, or none.
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
    throw InputError(fmt::format("{}: is a device, expected a file", file.string()));

  // The length of a pipe is not known: it starts with one pipe buffer and doubles.  A regular file
  // gets one byte more than it has, so that its end is seen without growing the buffer.
  std::size_t room = 65536;
  if (S_ISREG(status.st_mode)) {
    const auto length = static_cast<std::size_t>(status.st_size);
    if (length > limit) fail_too_long(file, limit);
    room = length + 1;
  }

  std::string text;
  std::size_t filled = 0;
  while (true) {
    if (text.size() < room) {
      text.reserve(room + kPaddingBytes);
      text.resize(room);
    }
    const ssize_t got = ::read(descriptor.get(), text.data() + filled, room - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(file, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > limit) fail_too_long(file, limit);
    if (filled == room) room = std::min(room * 2, limit + 1);
  }
  text.resize(filled);
  text.reserve(filled + kPaddingBytes);
  return text;
}

namespace {

// Ends the stream on every path.
class Inflater {
 public:
  Inflater() {
    constexpr int gzip_only = 16 + MAX_WBITS;
    is_open_ = inflateInit2(&stream, gzip_only) == Z_OK;
  }
  ~Inflater() {
    if (is_open_) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }
  z_stream stream{};

 private:
  bool is_open_ = false;
};

}  // namespace

bool is_gzip(std::string_view text) {
  return text.starts_with("\x1f\x8b");
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip_window_bits = 15 + 16;
  constexpr int usual_memory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window_bits, usual_memory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string compressed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

std::string gunzip(std::string_view compressed, const std::string& label, std::size_t limit) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  if (!inflater.is_open()) throw InputError(fmt::format("{}: no memory to decompress it", label));
  std::string text;
  std::size_t filled = 0, taken = 0;
  while (taken < compressed.size()) {
    if (text.size() - filled < text.size() / 2 || text.empty()) {
      const std::size_t room =
          std::min(std::max<std::size_t>(2 * text.size(), 8 * compressed.size()), limit + 1);
      text.reserve(room + kPaddingBytes);
      text.resize(room);
    }
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    // zlib takes what it reads as not const, and does not change it.
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data() + taken));
    stream.avail_in = static_cast<uInt>(std::min(compressed.size() - taken, most));
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + filled);
    stream.avail_out = static_cast<uInt>(std::min(text.size() - filled, most));
    const uInt in = stream.avail_in, out = stream.avail_out;
    const int result = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    filled += out - stream.avail_out;
    if (filled > limit)
      throw InputError(fmt::format(
          "{}: longer than {} bytes once it is decompressed, the most that is read", label, limit));
    if (result == Z_STREAM_END) {
      // Files may be put together; what else stands behind the end is padding.
      if (!is_gzip(compressed.substr(taken)) || inflateReset(&stream) != Z_OK) break;
    } else if (result == Z_BUF_ERROR && stream.avail_in == 0) {
      break;  // cut off
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw InputError(fmt::format("{}: byte {}: damaged: {}", label, taken,
                                   stream.msg != nullptr ? stream.msg : "no gzip file"));
    }
  }
  text.resize(filled);
  text.reserve(filled + kPaddingBytes);
  return text;
}

std::string read_beginning(const std::filesystem::path& file, std::size_t bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";
  std::ifstream stream(file, std::ios::binary);
  std::string text(bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return is_gzip(text) ? gunzip(text, file.string(), kMaxFileBytes) : text;
}

}  // namespace inline_prof::read
