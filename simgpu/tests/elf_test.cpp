// The files look to the loader like the vendor's.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace simgpu {
namespace {

using testing::Contains;
using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string library(const std::string& name) {
  return std::string(SIMGPU_TEST_LIB_DIR "/") + name;
}

std::string dynamic_section(const std::string& name) {
  const ProgramRun run = run_program({READELF, "-d", "-W", library(name)});
  EXPECT_EQ(run.exit_status, 0) << run.errors;
  return run.output;
}

// Names of exported functions, with their version as nm writes it.
std::vector<std::string> exports(const std::string& name) {
  const ProgramRun run = run_program({NM, "-D", "--defined-only", library(name)});
  EXPECT_EQ(run.exit_status, 0) << run.errors;
  std::vector<std::string> names;
  for (const auto& line : run.lines()) {
    const auto blank = line.rfind(' ');
    if (line[blank - 1] != 'A') names.push_back(line.substr(blank + 1));  // A: the version node
  }
  return names;
}

// The version that a library's symbols carry: its soname, or nothing.
struct Library {
  const char* name;
  bool is_versioned;
};
const Library kLibraries[] = {
    {"libcuda.so.1", false},   {"libcudart.so.13", true},
    {"libcublas.so.13", true}, {"libcublasLt.so.13", true},
#ifdef SIMGPU_HAS_CUDNN
    {"libcudnn.so.9", true},
#endif
#ifdef SIMGPU_HAS_NCCL
    {"libnccl.so.2", false},
#endif
#ifdef SIMGPU_HAS_CUPTI
    {"libcupti.so.13", true},
#endif
};

class Elf : public testing::TestWithParam<Library> {};

TEST_P(Elf, HasTheVendorsSoname) {
  EXPECT_THAT(dynamic_section(GetParam().name),
              HasSubstr(std::string("Library soname: [") + GetParam().name + "]"));
}

TEST_P(Elf, NeedsOnlyWhatEveryCxxProgramHas) {
  std::set<std::string> allowed{"libstdc++.so.6",
                                "libgcc_s.so.1",
                                "libc.so.6",
                                "libm.so.6",
                                "libdl.so.2",
                                "libpthread.so.0",
                                "ld-linux-x86-64.so.2",
                                "ld-linux-aarch64.so.1"};
#ifdef SIMGPU_SANITIZED
  allowed.insert({"libasan.so.8", "libubsan.so.1", "libtsan.so.2"});
#endif
  const std::string text = dynamic_section(GetParam().name);
  const std::string marker = "Shared library: [";
  for (auto at = text.find(marker); at != std::string::npos; at = text.find(marker, at + 1)) {
    const auto begin = at + marker.size();
    EXPECT_TRUE(allowed.contains(text.substr(begin, text.find(']', begin) - begin)))
        << text.substr(begin, text.find(']', begin) - begin);
  }
}

TEST_P(Elf, ExportsCarryItsSonameAsVersionOrNothing) {
  const auto names = exports(GetParam().name);
  if (GetParam().is_versioned) {
    EXPECT_THAT(names, Each(EndsWith(std::string("@@") + GetParam().name)));
  } else {
    EXPECT_THAT(names, Each(Not(HasSubstr("@"))));
    EXPECT_THAT(names, Contains(testing::AnyOf("ncclAllReduce", "cuLaunchKernel_ptsz")));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Elf, testing::ValuesIn(kLibraries), [](const auto& row) {
  const std::string name = row.param.name;
  return name.substr(0, name.find('.'));
});

// A misspelt or invented function would never be called; all of them are the vendor's or ours.
TEST(Exports, OfTheDriverAreTheVendors) {
  const ProgramRun stub = run_program({NM, "-D", "--defined-only", CUDA_DRIVER_STUB});
  ASSERT_EQ(stub.exit_status, 0) << stub.errors;
  std::set<std::string> vendor;
  for (const auto& line : stub.lines())
    vendor.insert(line.substr(line.rfind(' ') + 1));
  for (const auto& name : exports("libcuda.so.1")) {
    EXPECT_TRUE(vendor.contains(name) || name.starts_with("simgpu_")) << name;
  }
}

}  // namespace
}  // namespace simgpu
