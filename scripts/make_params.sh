#!/usr/bin/env bash
# Makes the parameter files that prof-analyze ships with (analyzer/model/params/*.json) out of public
# measurements.  The same data give the same bytes.
#
#   scripts/make_params.sh PROF_MODEL [DATA]
#
# PROF_MODEL  the program, e.g. build/dev/analyzer/cli/prof-model
# DATA        without it the families alone, whose traces are in tests/data; a folder with
#   aiconfigurator_2026_08/{a100,h100,h200,b200}_sxm_{gemm,nccl,custom_allreduce,context_attention,
#     generation_attention,encoder_attention,moe,scale_matrix,computescale}.csv.gz
#     from ai-dynamo/aiconfigurator at 095f58a5 (Apache-2.0), columns as published
#   nccl_tests_h100/h100_1node_{4,8}gpu.log, nccl-tests' sendrecv_perf on H100
#   neusight/{add,relu}_{A100-PCIE-40GB,V100-PCIE-32GB}.csv, linear_A100-PCIE-40GB.csv,
#     conv_{A100_80GB_PCIe,V100-PCIE-32GB}.csv
#     from sitar-lab/NeuSight at 6945927d (MIT)
#   deepbench_v100/conv_v100.csv
#     from baidu-research/DeepBench at da81ba78 (Apache-2.0), DeepBench_NV_V100.xlsx as CSV
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 ]]; then
  sed -n '2,18p' "$0" | cut -c3- >&2
  exit 2
fi
prof_model=$(realpath "$1")
data=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
params=analyzer/model/params
mkdir -p "$params"

# The H100 has four traces; the others start from what those say.
fit_families() {  # MACHINE PRIOR TRACE...
  "$prof_model" fit --model families --machine "$1" --prior "$2" "${@:3}" \
    -o "$params/families_$1.json" --force
}
traces=tests/data/real_traces
fit_families h100-sxm5-80gb usual "$traces"/h100_*.json.gz
for trace in a100-sxm4-40gb:a100_40gb_recommender v100-sxm2-16gb:v100_16gb_recommender b200-sxm-180gb:b200_gptoss_vllm; do
  fit_families "${trace%%:*}" "$params/families_h100-sxm5-80gb.json" "$traces/${trace##*:}.json.gz"
done
[[ -n $data ]] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Latencies are in ms.  vLLM's products in block fp8 time the host below 55 to 153 us: they are left out.
# A set of one stack's is taken where the kernel's name says whose it is: it names no stack.
rows_of() {  # GPU DTYPE STACKS TYPE
  gzip -dc "$data/aiconfigurator_2026_08/$1_sxm_gemm.csv.gz" | awk -F, -v dtype="$2" -v stacks="$3" -v type="$4" '
    BEGIN { print "m,n,k,a_type,time_us,stack" }
    NR > 1 && $4 == dtype && index(stacks, $1) {
      printf "%s,%s,%s,%s,%.6g,%s\n", $5, $6, $7, type, 1000 * $8, stacks == $1 ? "" : $1 }'
}
fit_gemm() {  # GPU MACHINE SET DTYPE STACKS [OPTION...]
  rows_of "$1" "$4" "$5" "${3%%_*}" > "$work/products.csv"
  "$prof_model" fit --model gemm --machine "$2" --set a_type="${3%%_*}" --seed 1 "$work/products.csv" \
    -o "$params/gemm_$2_$3.json" --force "${@:6}"
}

all="SGLang TRTLLM VLLM"
fit_gemm a100 a100-sxm4-80gb bf16 bfloat16 "$all"
for gpu in h100:h100-sxm5-80gb h200:h200-sxm-141gb b200:b200-sxm-180gb; do
  fit_gemm "${gpu%%:*}" "${gpu##*:}" bf16 bfloat16 "$all"
  # The rows of all types below 16 bits hold the kernels that quantise A.
  with_quantise=(--boundary gemm+quantise)
  fit_gemm "${gpu%%:*}" "${gpu##*:}" f8e4m3_cublas fp8 TRTLLM "${with_quantise[@]}"
  fit_gemm "${gpu%%:*}" "${gpu##*:}" f8e4m3_block fp8_block "SGLang TRTLLM" "${with_quantise[@]}"
  tiles=()
  [[ $gpu == b200* ]] || tiles=(--set kernels=cutlass)
  fit_gemm "${gpu%%:*}" "${gpu##*:}" f8e4m3 fp8 "SGLang VLLM" "${with_quantise[@]}" "${tiles[@]}"
done
fit_gemm b200 b200-sxm-180gb f4e2m1 nvfp4 "$all" "${with_quantise[@]}"

# The A100 PCIe of 40 GB has the compute units and the memory of the SXM4 one.
"$prof_model" convert --to gemm "$data/neusight/linear_A100-PCIE-40GB.csv" -o "$work/linear.csv"
for kernel in unknown known; do
  "$prof_model" fit --model gemm --machine a100-sxm4-40gb --set a_type=f32 --set kernel=$kernel \
    --seed 1 "$work/linear.csv" \
    -o "$params/gemm_a100-sxm4-40gb_f32$([[ $kernel == known ]] && echo _kernel).json" --force
done

# message_size counts elements, latency is in ms.  Kernels that a stack starts from the host time the
# host: only those of graphs are taken.
collectives() {  # GPU MACHINE
  gzip -dc "$data/aiconfigurator_2026_08/$1_sxm_nccl.csv.gz" | awk -F, '
    BEGIN { print "op,num_gpus,bytes,type,time_us" }
    NR > 1 { size = $5 == "half" ? 2 : 1; type = $5 == "half" ? "f16" : "i8"
             printf "%s,%s,%.0f,%s,%.6g\n", $3, $6, $7 * size, type, $8 * 1000 }' > "$work/nccl.csv"
  gzip -dc "$data/aiconfigurator_2026_08/$1_sxm_custom_allreduce.csv.gz" | awk -F, '
    BEGIN { print "op,num_gpus,bytes,type,time_us,stack" }
    NR > 1 && $3 !~ /eager/ { stack = $1 == "vLLM" ? "VLLM" : $1
             printf "all_reduce,%s,%.0f,bf16,%.6g,%s\n", $5, 2 * $6, $7 * 1000, stack }' > "$work/custom.csv"
  # A link joins two, however many take part in the test.
  local links=()
  if [[ $1 == h100 ]]; then
    echo op,num_gpus,bytes,type,time_us > "$work/links.csv"
    for count in 4 8; do
      "$prof_model" convert --to collective "$data/nccl_tests_h100/h100_1node_${count}gpu.log" -o - |
        awk -F, -v OFS=, '$1 == "sendrecv" { $2 = 2; print }' >> "$work/links.csv"
    done
    links=("$work/links.csv")
  fi
  "$prof_model" fit --model collective --machine "$2" "$work/nccl.csv" "$work/custom.csv" "${links[@]}" \
    -o "$params/collective_$2.json" --force
}
collectives a100 a100-sxm4-80gb
collectives h100 h100-sxm5-80gb
collectives h200 h200-sxm-141gb
collectives b200 b200-sxm-180gb

for gpu in A100-PCIE-40GB:a100-sxm4-40gb V100-PCIE-32GB:v100-pcie-32gb; do
  "$prof_model" convert --to memory "$data"/neusight/{add,relu}_"${gpu%%:*}.csv" -o "$work/memory.csv" --force
  "$prof_model" fit --model memory --machine "${gpu##*:}" "$work/memory.csv" \
    -o "$params/memory_${gpu##*:}.json" --force
done
for gpu in A100_80GB_PCIe:a100-pcie-80gb V100-PCIE-32GB:v100-pcie-32gb; do
  "$prof_model" convert --to conv "$data/neusight/conv_${gpu%%:*}.csv" -o "$work/conv.csv" --force
  "$prof_model" fit --model conv --machine "${gpu##*:}" --set kernel=known --seed 1 \
    "$work/conv.csv" -o "$params/conv_${gpu##*:}_f32_forward.json" --force
done
# On tensor cores, for all 16-bit types and tf32.  Without the layer whose filter of 1 x 1 is padded by
# 3: outputs of nothing but padding, for which the library does something else.
"$prof_model" convert --to conv "$data/deepbench_v100/conv_v100.csv" -o "$work/all.csv" --force
awk -F, 'NR == 1 || $9 < $6' "$work/all.csv" > "$work/conv.csv"  # pad, r
for direction in forward backward_data backward_filter; do
  "$prof_model" fit --model conv --machine v100-sxm2-16gb --set type=f16 --set direction=$direction --seed 1 \
    "$work/conv.csv" -o "$params/conv_v100-sxm2-16gb_f16_$direction.json" --force
done

# Attention, experts and quantisation, each by the source of its kernels.
fit_sources() {  # MACHINE GPU MODEL TABLE [STEP]
  local table="$data/aiconfigurator_2026_08/$2_sxm_$4.csv.gz" rows types
  [[ -f $table ]] || return 0  # not measured on this GPU
  rm -f "$work/$3".*.csv
  gzip -dc "$table" | awk -v model="$3" -v step="${5:-}" -v folder="$work" -f scripts/source_tables.awk
  for rows in "$work/$3".*.csv; do
    types=${rows#"$work/$3."}
    "$prof_model" fit --model "$3" --machine "$1" --seed 1 "$rows" \
      -o "$params/$3_$1_${types%.csv}.json" --force
  done
}
for gpu in a100:a100-sxm4-80gb h100:h100-sxm5-80gb h200:h200-sxm-141gb b200:b200-sxm-180gb; do
  fit_sources "${gpu##*:}" "${gpu%%:*}" attention_prompts context_attention
  fit_sources "${gpu##*:}" "${gpu%%:*}" attention_decoding generation_attention
  fit_sources "${gpu##*:}" "${gpu%%:*}" attention_encoders encoder_attention
  fit_sources "${gpu##*:}" "${gpu%%:*}" experts moe
  fit_sources "${gpu##*:}" "${gpu%%:*}" quantise scale_matrix scale
  fit_sources "${gpu##*:}" "${gpu%%:*}" quantise computescale compute_scale
done
