#include "model/known_by_name.hpp"

#include "testing.hpp"

namespace inline_prof::model {
namespace {

read::LaunchShape shape(std::int64_t blocks, std::int64_t threads) {
  read::LaunchShape launch;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  return launch;
}

read::Machine machine() {
  read::Machine some;
  some.id = "some";
  some.memory_gb_per_s = 1000;
  some.memory_fraction = 0.5;
  some.launch_floor_us = 2;
  return some;
}

std::string text(std::string_view name, const read::LaunchShape& launch) {
  const auto known = known_by_name(name, launch);
  const read::Machine some = machine();
  return known ? known_by_name_text(*known, &some) : "";
}

TEST(KnownByName, ElementsFollowFromTheGridWithinABlock) {
  const auto known = known_by_name(
      "at::native::elementwise_kernel<128,4,at::native::gpu_kernel_impl<float>>", shape(100, 128));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->most_elements, 51200);
  EXPECT_EQ(known->least_elements, 99 * 512 + 1);
  EXPECT_TRUE(known->is_close());
  EXPECT_FALSE(known_by_name("at::native::elementwise_kernel<128,4,f>", shape(9, 128))->is_close());
}

TEST(KnownByName, AVectorHasSixteenBytesAndTheArrayAllOperands) {
  EXPECT_EQ(
      text("at::native::vectorized_elementwise_kernel<4,at::native::CUDAFunctor_add<float>,"
           "std::array<char*,3ul>>",
           shape(250, 128)),
      "element-wise CUDAFunctor_add of 4-byte numbers, at most 256000 elements, bound at most "
      "6.14 us");
  EXPECT_EQ(
      text("at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(x),"
           "std::array<char*,2ul>,c10::BFloat16>",
           shape(1000, 128)),
      "element-wise direct_copy_kernel_cuda of 2-byte numbers, 512000 elements, bound 4.10 us");
}

TEST(KnownByName, MovesBetweenItsLeastAndItsMost) {
  const auto old = known_by_name(
      "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "at::detail::Array<char*, 3> >",
      shape(100, 128));
  const auto [least, most] = *movements_by_name(*old);
  EXPECT_EQ(least.get<std::int64_t>("write_bytes"), (99 * 512 + 1) * 4);
  EXPECT_EQ(most.get<std::int64_t>("read_bytes"), 51200 * 4 * 2) << "two are read";
  EXPECT_FALSE(movements_by_name(*known_by_name("nvjet_tst_64x64", shape(100, 128))));
}

TEST(KnownByName, ListsSayHowManyTheyReadAndWrite) {
  for (const auto& [functor, operands] : std::initializer_list<std::pair<const char*, int>>{
           {"TensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4, a>", 7},
           {"TensorListMetadata<4>, AdamFunctor<float>, float", 7},
           {"TensorListMetadata<3>, at::native::FusedSgdMathFunctor<float, 3>", 5},
           {"TensorListMetadata<1>, at::native::(anonymous "
            "namespace)::BinaryOpScalarFunctor<float, "
            "1, 1, 0>, std::multiplies<float>, float",
            2},
           {"TensorListMetadata<3>, BinaryOpListAlphaFunctor<float, 3, 2, 2>", 3},
           {"TensorListMetadata<1>, LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0>",
            1},
           {"TensorListMetadata<1>, x::Functor<float>", 0}}) {
    const auto known = known_by_name(
        std::string("void multi_tensor_apply_kernel<") + functor + ">(x)", shape(10, 512));
    EXPECT_EQ(known->operands, operands) << functor;
    EXPECT_EQ(known->most_elements, operands == 0 ? 0 : 655360) << functor;
  }
}

TEST(KnownByName, OtherLibrariesSayTheirOperation) {
  for (const auto& [name, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"at::native::reduce_kernel<512,1,at::native::ReduceOp<float,x>>",
            "reduction of 4-byte numbers"},
           {"sm90_xmma_gemm_bf16bf16_bf16f32_bf16_tn_n_tilesize64x64x64", "matrix product"},
           {"void pytorch_flash::flash_fwd_kernel<x>", "attention"},
           {"cudnn_generated_sdpa_sm90_flash_fprop", "attention"},
           {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "collective"},
           {"cub::DeviceRadixSortOnesweepKernel<long>", "radix sort of 8-byte numbers"},
           {"cupy_add__float_float_float", "element-wise of 4-byte numbers, at most 1280 elements"},
           {"triton_red_fused_sum_4", "fused reduction"}}) {
    EXPECT_EQ(text(name, shape(10, 128)), expected) << name;
  }
}

TEST(KnownByName, OtherNamesAndGridsAreNotGuessed) {
  EXPECT_FALSE(known_by_name("my_kernel", shape(10, 128)));
  EXPECT_FALSE(known_by_name("", {}));
  EXPECT_EQ(text("at::native::elementwise_kernel<>", shape(10, 128)), "element-wise");
  EXPECT_EQ(known_by_name("elementwise_kernel<128,4,f>", {})->most_elements, 0);
  EXPECT_GT(known_by_name("elementwise_kernel<99999999999999999999,9>",
                          shape(std::int64_t{1} << 60, std::int64_t{1} << 60))
                ->most_elements,
            0);
}

}  // namespace
}  // namespace inline_prof::model
