#include "read/measurements/measurements.hpp"

#include "temporary_folder.hpp"
#include "testing.hpp"

namespace inline_prof::read {
namespace {

using test::complaint;

class ConvertMeasurements : public test::TemporaryFolder {};
using ConvertMeasurementsRefuses = ConvertMeasurements;

struct Source {
  const char* kind;
  const char* file;
  const char* text;
  const char* csv;
};

// First rows of real files where the values allow a check by hand.
TEST_F(ConvertMeasurements, GivesTheTableToFit) {
  const Source rows[] = {
      {"gemm", "gemm_h200_bf16.csv", "m,n,k,time_us\n1,32,128,2.701\n",
       "m,n,k,time_us\n1,32,128,2.701\n"},
      {"collective", "nccl.csv",
       "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,"
       "latency\nTRTLLM,2,NVIDIA H200,alltoall,NCCL,half,2,2048,0.005\n",
       "op,num_gpus,bytes,type,time_us\nall_to_all,2,4096,f16,5\n"},
      {"gemm", "matmul.csv",
       "cc,gpu,b,m,n,k,dtype,flops_per_sec,time_us\n"
       "sm_90,H100,4,256,512,1024,bf16xbf16->f32,1,5.856\n",
       "m,n,k,batch,a_type,b_type,c_type,time_us\n256,512,1024,4,bf16,bf16,f32,5.856\n"},
      {"collective", "c.csv",
       "opcode,element_type,tensor_bytes,devices_per_group,permute_pairs,time_us,algbw_gbps,"
       "busbw_gbps\nreduce-scatter,F32,1024,8,,31.9,0.03,0.02\n"
       "collective-permute,F32,1024,,4,9,0.1,0.1\n",
       "op,num_gpus,bytes,type,time_us\nreduce_scatter,8,1024,f32,31.9\n"},
      {"gemm", "gemm_v100.csv",
       "precision,suite,m,n,k,a_trans,b_trans,time_ms,tflops\n"
       "\"FP16 ip, Mixed math\",DeepSpeech,1760,16,1024,T,N,0.5,1\n",
       "m,n,k,a_type,b_type,c_type,trans_a,trans_b,time_us\n"
       "1760,16,1024,f16,f16,f16,1,0,500\n"},
      {"conv", "conv_v100.csv",
       "precision,suite,w,h,c,n,k,s_filter_w,r_filter_h,pad_w,pad_h,stride_w,stride_h,fwd_ms,"
       "bwd_inputs_ms,bwd_weights_ms\nfp32,DeepSpeech,700,161,1,4,32,20,5,0,0,2,2,0.078,,"
       "0.127\n",
       "n,c,h,w,k,r,s,stride,pad,direction,type,time_us\n"
       "4,1,161,700,32,5,20,2,0,forward,f32,78\n"
       "4,1,161,700,32,5,20,2,0,backward_filter,f32,127\n"},
      {"conv", "conv.csv",
       "Latency,Kernel Name,B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,"
       "Padding\n0.5,\"k<1, 2>\",38,893,326,3,5,2,1\n",
       "n,c,h,w,k,r,s,stride,pad,direction,type,kernel_name,progress,time_us\n"
       "38,893,5,5,326,3,3,2,1,forward,f32,\"k<1, 2>\",0,500\n"},
      {"memory", "add_A100.csv", "Latency,Kernel Name,B,H\n0.5,add,10,100\n",
       "read_bytes,write_bytes,kernel_name,time_us\n8000,4000,add,500\n"},
      {"gemm", "linear_A100.csv",
       "Latency,Kernel Name,Grid x,Grid y,Grid z,B,M,N,K\n0.5,sgemm,14,3,2,2,84,190,438\n",
       "m,n,k,a_type,b_type,c_type,kernel_name,blocks,time_us\n"
       "168,438,190,f32,f32,f32,sgemm,84,500\n"},
      {"memory", "ncu.csv",
       "==PROF== Connected to process 1\n"
       "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
       "\"0\",\"copy(float *, int)\",\"dram__bytes_read.sum\",\"Mbyte\",\"1.5\"\n"
       "\"0\",\"copy(float *, int)\",\"dram__bytes_write.sum\",\"byte\",\"1,024\"\n"
       "\"0\",\"copy(float *, int)\",\"gpu__time_duration.sum\",\"nsecond\",\"2,560\"\n",
       "read_bytes,write_bytes,kernel_name,time_us\n"
       "1500000,1024,\"copy(float *, int)\",2.56\n"},
      {"memory", "ncu.csv",
       "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\","
       "\"gpu__time_duration.sum\"\n\"\",\"\",\"byte\",\"Kbyte\",\"us\"\n"
       "\"0\",\"copy\",\"2,048\",\"1\",\"2.5\"\n",
       "read_bytes,write_bytes,kernel_name,time_us\n2048,1000,copy,2.5\n"},
      {"conv", "Test-set-II.txt", "1\n128 3 224 64 112 7 2 3\n",
       "n,c,h,w,k,r,s,stride,pad,direction,type\n128,3,224,224,64,7,7,2,3,forward,f32\n"},
      {"collective_curve", "all_reduce_8.txt",
       "COMMS-RES size (B) nElements Latency(us):p50 AlgBW(GB/s) BusBW(GB/s)\n"
       "COMMS-RES 4 1 86.7 0.5 0.25\nCOMMS-RES 8 2 86.7 0.5 0.25\n"
       "COMMS-RES 16 4 86.7 0.5 0.25\n",
       "curve,collective,num_gpus,size_bytes,latency_us,algbw_gbps_eps,busbw_gbps_eps\n"
       "all_reduce_8,all_reduce,8,16,86.7,0.5004,0.2504\n"}};
  for (const Source& row : rows) {
    SCOPED_TRACE(row.text);
    const std::string path = file(row.file, row.text);
    const Measurements table = convert_measurements(path, row.kind, {});
    EXPECT_EQ(csv_text(table), row.csv);
  }
}

constexpr const char* kNcclLog =
    "# nccl-tests version 2.17.8 nccl-headers=1 nccl-library=1\n"
    "# Collective test starting: alltoall_perf\n"
    "# nThread 1 nGpus 1\n"
    "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0x1b] NVIDIA H100\n"
    "#  Rank  1 Group  0 Pid 2 on n1 device  1 [0x43] NVIDIA H100\n"
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "0 0 bfloat16 none -1 9 0 0 0 9 0 0 N/A\n"
    "1024 256 bfloat16 none -1 10 0.10 0.05 0 11 0.09 0.04 N/A\n"
    "2048 512 bfloat16 none -1 12 0.17 0.08 3 13 0.16 0.08 N/A\n";

TEST_F(ConvertMeasurements, LeavesOutRowsThatMeasureNothing) {
  const std::string path = file("a2a.log", kNcclLog);
  const Measurements table = convert_measurements(path, "collective", {});
  EXPECT_EQ(csv_text(table), "op,num_gpus,bytes,type,time_us\nall_to_all,2,1024,bf16,10\n");
  ASSERT_EQ(table.notes.size(), 2U);
  EXPECT_TRUE(table.notes[0].ends_with("1 rows with wrong results left out"));
  EXPECT_TRUE(table.notes[1].find("1 rows of 0 bytes left out") != std::string::npos);
}

TEST_F(ConvertMeasurements, KeepsEmptyRowsOfACurveBecauseTurningPointsCountRows) {
  const std::string path = file("a2a.log", kNcclLog);
  EXPECT_EQ(convert_measurements(path, "collective_curve", {}).rows.size(), 2U);
}

TEST_F(ConvertMeasurements, TakesTheInPlaceHalfWhereAsked) {
  const std::string path = file("a2a.log", kNcclLog);
  const Measurements table = convert_measurements(
      path, "collective", {{"place", "in"}, {"num_gpus", "4"}, {"op", "all_to_allv"}});
  EXPECT_EQ(csv_text(table),
            "op,num_gpus,bytes,type,time_us\nall_to_allv,4,1024,bf16,11\n"
            "all_to_allv,4,2048,bf16,13\n");
}

TEST_F(ConvertMeasurements, PutsTablesWithDifferentColumnsTogether) {
  const Measurements all = joined({{{"m", "time_us"}, {{"1", "2"}}, {"a"}},
                                   {{"m", "a_type", "time_us"}, {{"3", "f16", "4"}}, {"b"}}});
  EXPECT_EQ(csv_text(all), "m,a_type,time_us\n1,,2\n3,f16,4\n");
  EXPECT_EQ(all.notes, (std::vector<std::string>{"a", "b"}));
}

struct BadFile {
  const char* kind;
  const char* file;
  const char* text;
  const char* complaint;  // without the file's name
};

TEST_F(ConvertMeasurementsRefuses, AndSaysWhere) {
  const BadFile rows[] = {
      {"gemm", "m.csv", "b,m,n,k,dtype,time_us\n1,1,1,1,bf16,5\n",
       ": line 2, column dtype: expected TYPExTYPE->TYPE, found \"bf16\""},
      {"gemm", "m.csv", "m,n,k,time_us\n1,1,1,0\n",
       ": line 2, column time_us: expected a number > 0, found 0"},
      {"collective", "n.csv",
       "op_name,nccl_dtype,num_gpus,message_size,latency\nall_reduce,f12,2,1,1\n",
       ": line 2, column nccl_dtype: unknown number type f12"},
      {"memory", "elementwise.csv", "Latency,Kernel Name,B,H\n0.5,k,1,1\n",
       ": the file's name does not say which operation this is: --set op=add or --set "
       "op=relu"},
      {"collective", "x.txt",
       "COMMS-RES size (B) nElements Latency(us):p50\nCOMMS-RES-all_reduce 4 1 5\n",
       ": does not say how many GPUs took part: --set num_gpus=8"},
      {"collective", "x.txt", "COMMS-RES size (B) nElements Latency(us):p50\nCOMMS-RES 4 1 5\n",
       ": does not say which collective this is: --set op=all_reduce"},
      {"memory", "ncu.csv",
       "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
       "\"0\",\"copy\",\"sm__cycles\",\"cycle\",\"1\"\n",
       ": no kernel with dram__bytes_read.sum, dram__bytes_write.sum and "
       "gpu__time_duration.sum"},
      {"memory", "ncu.csv",
       "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
       "\"0\",\"copy\",\"dram__bytes_read.sum\",\"sector\",\"1\"\n",
       ": line 2, column Metric Value: unknown unit \"sector\""},
      {"memory", "m.csv", "m,n,k,time_us\n1,1,1,1\n",
       ": line 1: no source of memory tables has these columns; known are: ncu --csv; "
       "NeuSight add, relu (Latency, Kernel Name, B, H)"}};
  for (const BadFile& row : rows) {
    SCOPED_TRACE(row.text);
    const std::string path = file(row.file, row.text);
    EXPECT_EQ(complaint([&] { return convert_measurements(path, row.kind, {}); }),
              path + row.complaint);
  }
}

TEST_F(ConvertMeasurements, RefusesAKindOrASettingThatDoesNotExist) {
  const std::string path = file("m.csv", "m,n,k,time_us\n1,1,1,1\n");
  EXPECT_THROW(static_cast<void>(convert_measurements(path, "sort", {})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(convert_measurements(path, "gemm", {{"color", "red"}})),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(convert_measurements(path, "gemm", {{"place", "up"}})),
               std::invalid_argument);
}

}  // namespace
}  // namespace inline_prof::read
