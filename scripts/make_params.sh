#!/usr/bin/env bash
# Makes the parameter files that prof-analyze ships with (analyzer/model/params/*.json) out of public
# measurements.  The same data give the same bytes.
#
#   scripts/make_params.sh PROF_MODEL DATA
#
# PROF_MODEL  the program, e.g. build/dev/analyzer/cli/prof-model
# DATA        a folder with
#   aiconfigurator/gemm_{h200,h100,a100,b200}_bf16.csv, gemm_h200_fp8.csv, nccl_h200.csv
#     from ai-dynamo/aiconfigurator at 095f58a5 (Apache-2.0), columns m,n,k,time_us and as published
#   xla_h100/collectives_h100_8gpu_host.csv
#     from openxla/xla, collective_interpolator_data.h at 6984b933 (Apache-2.0)
#   neusight/{add,relu}_{A100-PCIE-40GB,V100-PCIE-32GB}.csv, linear_A100-PCIE-40GB.csv,
#     conv_{A100_80GB_PCIe,V100-PCIE-32GB}.csv
#     from sitar-lab/NeuSight at 6945927d (MIT)
set -euo pipefail

if [[ $# -ne 2 ]]; then
  sed -n '2,18p' "$0" | cut -c3- >&2
  exit 2
fi
prof_model=$(realpath "$1")
data=$(realpath "$2")
cd "$(dirname "$0")/.."
params=analyzer/model/params
mkdir -p "$params"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fit_gemm() {  # MACHINE TYPE BOUNDARY LIBRARY TABLE [OPTION...]
  "$prof_model" fit --model gemm --machine "$1" --set a_type="$2" --set library="$4" --boundary "$3" \
    --seed 1 "$data/aiconfigurator/$5" -o "$params/gemm_$1_$2.json" --force "${@:6}"
}

fit_gemm h200-sxm-141gb bf16 gemm "cuBLAS of TensorRT-LLM 1.3.0rc20" gemm_h200_bf16.csv
fit_gemm h200-sxm-141gb f8e4m3 gemm+quantise "cuBLAS of TensorRT-LLM 1.3.0rc20" gemm_h200_fp8.csv
fit_gemm h100-sxm5-80gb bf16 gemm "cuBLAS of TensorRT-LLM 1.3.0rc20" gemm_h100_bf16.csv
fit_gemm a100-sxm4-80gb bf16 gemm "cuBLAS of TensorRT-LLM 1.0.0" gemm_a100_bf16.csv
# 40 rows say little about a third of the parameters; a Hopper's fit is nearer than the first guess.
fit_gemm b200-sxm-180gb bf16 gemm "cuBLAS of TensorRT-LLM 1.3.0rc20" gemm_b200_bf16.csv \
  --prior "$params/gemm_h200-sxm-141gb_bf16.json"

# The A100 PCIe of 40 GB has the compute units and the memory of the SXM4 one.
"$prof_model" convert --to gemm "$data/neusight/linear_A100-PCIE-40GB.csv" -o "$work/linear.csv"
for kernel in unknown known; do
  "$prof_model" fit --model gemm --machine a100-sxm4-40gb --set a_type=f32 --set kernel=$kernel \
    --seed 1 "$work/linear.csv" \
    -o "$params/gemm_a100-sxm4-40gb_f32$([[ $kernel == known ]] && echo _kernel).json" --force
done

# message_size counts elements, latency is in ms.
awk -F, 'BEGIN { print "op,num_gpus,bytes,type,time_us" }
  NR > 1 { size = $6 == "half" ? 2 : 1; type = $6 == "half" ? "f16" : "i8"
           printf "%s,%s,%.0f,%s,%.6g\n", $4, $7, $8 * size, type, $9 * 1000 }' \
  "$data/aiconfigurator/nccl_h200.csv" > "$work/nccl_h200.csv"
awk -F, 'BEGIN { print "op,num_gpus,bytes,type,time_us" }
  NR > 1 && $8 != "" { printf "%s,%s,%s,f32,%s\n", $3, $8, $6, $11 }' \
  "$data/xla_h100/collectives_h100_8gpu_host.csv" > "$work/xla_h100.csv"
"$prof_model" fit --model collective --machine h200-sxm-141gb "$work/nccl_h200.csv" \
  -o "$params/collective_h200-sxm-141gb.json" --force
"$prof_model" fit --model collective --machine h100-sxm5-80gb "$work/xla_h100.csv" \
  -o "$params/collective_h100-sxm5-80gb.json" --force

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
