#include "launch/kernel_name.hpp"

#include "testing.hpp"

namespace inline_prof::launch {
namespace {

struct Name {
  const char* mangled;
  const char* readable;
};

TEST(ReadableKernelName, HasNoReturnTypeNoParametersAndNoBlanks) {
  const Name rows[] = {
      {"_Z6kernelPfi", "kernel"},
      {"ampere_fp16_s16816gemm_fp16_128x64_nn", "ampere_fp16_s16816gemm_fp16_128x64_nn"},
      {"my kernel", "my_kernel"},
      {"_Zqq", "_Zqq"},
      {"", "kernel_without_a_name"},
      {"_Z3addIfEvPT_i", "add<float>"},
      {"_Z3addIfjEvPT_T0_", "add<float,unsigned_int>"},
      {"_Z3addILi4ELb1EEvv", "add<4,true>"},
      {"_ZN12_GLOBAL__N_16kernelIiEEvv", "(anonymous_namespace)::kernel<int>"},
      {"_ZN39_GLOBAL__N__0c0d4f7d_4_k_cu_12345678_946kernelEi", "(anonymous_namespace)::kernel"},
      {"_ZNK7functorclEi", "functor::operator()"},
      {"_ZN7functorIiEclEPi", "functor<int>::operator()"},
      {"_Z6kernelIZN2ns3fooEfEUliE_EvT_", "kernel<ns::foo(float)::{lambda(int)#1}>"},
      {"_Z6kernelIXadL_Z3fooiEEEvv", "kernel<&(foo(int))>"},
      {"_Z6kernelI4pairIS0_IiiES1_EEvT_", "kernel<pair<pair<int,int>,pair<int,int>>>"},
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5array"
       "IPcLm3EEEEviT0_T1_",
       "at::native::vectorized_elementwise_kernel<4,at::native::CUDAFunctor_add<float>,"
       "std::array<char*,3ul>>"},
      {"_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS1_11threadblock12MmaPipelinedINS1_"
       "9GemmShapeILi128ELi128ELi32EEELi2EEENS_4arch4Sm80EEEEEvNT_6ParamsE",
       "cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::"
       "MmaPipelined<cutlass::gemm::GemmShape<128,128,32>,2>,cutlass::arch::Sm80>>"}};
  for (const Name& row : rows) {
    SCOPED_TRACE(row.mangled);
    const std::string name = readable_kernel_name(row.mangled);
    EXPECT_EQ(name, row.readable);
    EXPECT_EQ(name.find(' '), std::string::npos) << "it could not stand in a prof.schedule";
  }
}

TEST(ReadableKernelNameOfACutlassKernel, IsWholeHoweverLong) {
  std::string mangled = "_Z6kernelI";
  for (int depth = 0; depth < 60; ++depth)
    mangled += "4wrapI";
  mangled += "i" + std::string(60, 'E') + "Evv";
  const std::string name = readable_kernel_name(mangled);
  EXPECT_TRUE(name.starts_with("kernel<wrap<wrap<"));
  EXPECT_TRUE(name.ends_with("<int" + std::string(61, '>'))) << name;
}

}  // namespace
}  // namespace inline_prof::launch
