#include "labels/xla_fusions.hpp"

#include "testing.hpp"

namespace inline_prof::labels {
namespace {
using Value = record::OpValue;

constexpr char kModule[] = "XlaModule:#hlo_module=jit_step,program_id=7#";
constexpr char kRanges[] =
    "train.XlaModule:#hlo_module=jit_step,program_id=7#.Thunk:#hlo_op=command_buffer#";

Value number(std::int64_t value) {
  return value;
}
Value word(const char* value) {
  return std::string(value);
}

// Registers an instruction as XLA does: its title, its text, its lines, the computation it calls.
void register_fusion(const std::string& name, const std::string& op_name, const char* lines) {
  EXPECT_FALSE(note_xla_text("Thunk:#hlo_op=" + name + "#"));
  EXPECT_TRUE(note_xla_text(name +
                            " = f32[8]{0} fusion(a, b), kind=kLoop, calls=fused, metadata={" +
                            "op_name=\"" + op_name + "\"}"));
  EXPECT_TRUE(note_xla_text("\n- train.py:3[step]\n"));
  EXPECT_TRUE(note_xla_text("\nfused {\n" + std::string(lines) + "}"));
}

TEST(XlaFusions, EachParameterAndEachResultCountsOnce) {
  EXPECT_FALSE(note_xla_text(kModule));
  register_fusion("loop_add_fusion.2", "jit(step)/transpose(jvp())/add",
                  "  param_0 = f32[8,128]{1,0} parameter(0)\n"
                  "  bitcast.1 = f32[1024]{0} bitcast(param_0)\n"
                  "  param_1 = bf16[1024]{0} parameter(1)\n"
                  "  add.1 = f32[1024]{0} add(bitcast.1, param_1), metadata={op_name=\"x\"}\n"
                  "  compare.1 = pred[1024]{0} compare(add.1, add.1), direction=EQ\n"
                  "  ROOT tuple.1 = (f32[1024]{0}, pred[1024]{0}) tuple(add.1, "
                  "/*index=1*/compare.1)\n");
  const auto work = xla_work(kRanges, "loop_add_fusion_2");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->layer, "train.jit(step).transpose(jvp())");
  EXPECT_EQ(work->op.kind, "memory");
  EXPECT_EQ(work->op.source, "xla::loop_add_fusion");
  EXPECT_THAT(
      work->op.attributes,
      ElementsAre(Pair("read_bytes", number(4096 + 2048)), Pair("write_bytes", number(4096 + 1024)),
                  Pair("flops", number(1024)), Pair("class", word("fused"))));
}

TEST(XlaFusions, GathersReadWhatTheyPickAndUpdatesInPlaceWriteWhatTheyPutIn) {
  EXPECT_FALSE(note_xla_text(kModule));
  register_fusion(
      "input_reduce_fusion", "jit(step)/jvp()/gather",
      "  table = f32[100000,64]{1,0} parameter(0)\n"
      "  cache = f32[4096,64]{1,0} parameter(1)\n"
      "  rows = s32[16,1]{1,0} parameter(2)\n"
      "  at = s32[] parameter(3)\n"
      "  gather.1 = f32[16,64]{1,0} gather(table, rows), slice_sizes={1,64}\n"
      "  ROOT update.1 = f32[4096,64]{1,0} dynamic-update-slice(cache, gather.1, at)\n");
  const auto work = xla_work(kRanges, "input_reduce_fusion");
  ASSERT_TRUE(work);
  EXPECT_THAT(
      work->op.attributes,
      ElementsAre(Pair("read_bytes", number(4096 + 64 + 4)), Pair("write_bytes", number(4096)),
                  Pair("flops", number(6400000)), Pair("class", word("fused reduction"))));
}

TEST(XlaFusions, AFusionAroundADotIsAMatrixProduct) {
  EXPECT_FALSE(note_xla_text(kModule));
  register_fusion(
      "gemm_fusion_dot.48", "jit(step)/jvp()/dot_general",
      "  parameter_0.1 = bf16[32,64,128]{2,1,0} parameter(0), metadata={name=\"parameter_0.1\"}\n"
      "  parameter_1.1 = bf16[32,96,128]{2,1,0} parameter(1)\n"
      "  dot.77 = f32[32,64,96]{2,1,0} dot(parameter_0.1, parameter_1.1), lhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}\n"
      "  ROOT convert.1 = bf16[32,64,96]{2,1,0} convert(dot.77)\n");
  const auto work = xla_work(kRanges, "gemm_fusion_dot_48");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->op.kind, "gemm");
  EXPECT_THAT(work->op.attributes,
              ElementsAre(Pair("m", number(64)), Pair("n", number(96)), Pair("k", number(128)),
                          Pair("batch", number(32)), Pair("a_type", word("bf16")),
                          Pair("b_type", word("bf16")), Pair("compute_type", word("f32")),
                          Pair("trans_a", Value(false)), Pair("trans_b", Value(true)),
                          Pair("c_type", word("bf16"))));
}

TEST(XlaFusions, ModulesThatAreCompiledAtATimeKeepTheirOwn) {
  EXPECT_FALSE(note_xla_text(kModule));
  std::thread([] {
    EXPECT_FALSE(note_xla_text("XlaModule:#hlo_module=jit_step,program_id=8#"));
    register_fusion("wrapped_add", "jit(step)/add",
                    "  a = f32[8]{0} parameter(0)\n  ROOT b = f32[8]{0} add(a, a)\n");
  }).join();
  register_fusion("wrapped_add", "jit(step)/add",
                  "  a = f32[16]{0} parameter(0)\n  ROOT b = f32[16]{0} add(a, a)\n");
  const auto mine = xla_work(kRanges, "wrapped_add");
  const auto other =
      xla_work("XlaModule:#hlo_module=jit_step,program_id=8#.Thunk:#hlo_op=x#", "wrapped_add");
  ASSERT_TRUE(mine && other);
  EXPECT_EQ(mine->op.attributes[0].second, number(64));
  EXPECT_EQ(other->op.attributes[0].second, number(32));
}

TEST(XlaFusions, OtherKernelsGetTheNamesOfTheProgramAlone) {
  EXPECT_FALSE(xla_work("Gpt.blocks.0", "gemm"));
  const auto copy = xla_work(
      "XlaModule:#prefix=jit(f),hlo_module=jit_f,program_id=1#."
      "Thunk:#name=scope/dot_general,hlo_op=custom-call.1#",
      "gemm");
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->layer, "jit(f).scope");
  EXPECT_EQ(copy->op.kind, "");
  const auto nameless = xla_work("XlaModule:#hlo_module=jit_f,program_id=1#", "memcpy");
  ASSERT_TRUE(nameless);
  EXPECT_EQ(nameless->layer, "jit_f");
}

TEST(XlaFusions, TextsThatAreCutShortAreRead) {
  EXPECT_FALSE(note_xla_text(kModule));
  const std::string whole =
      "  ROOT d = (f32[8]{0}, f32[8]{0}) dot(a, /*index=1*/b), lhs_contracting_dims={0}";
  for (std::size_t length = 0; length <= whole.size(); ++length)
    register_fusion("cut", "x", whole.substr(0, length).c_str());
  EXPECT_TRUE(xla_work(kRanges, "cut"));
}

}  // namespace
}  // namespace inline_prof::labels
