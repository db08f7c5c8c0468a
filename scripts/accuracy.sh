#!/usr/bin/env bash
# How far the calibrated models are from measurements that they were not fitted to: the tables of
# docs/accuracy.md.  Takes an hour and a half, most of it for the 43 fits of products.
#
#   scripts/accuracy.sh PROF_MODEL DATA [PART...]
#
# PART: of traces, products, transfers, peers, elementwise, collectives, linear, convolutions, limits; all of
#   them if none is given.  traces needs nothing of DATA, but prof-analyze beside PROF_MODEL.  peers needs a
#   python3 with the package nvidia-matmul-heuristics (docs/models/nvmmh.md).
# PROF_MODEL  the program, e.g. build/dev/analyzer/cli/prof-model
# DATA        the folder that scripts/make_params.sh takes, and in it
#   nccl_tests_h100/h100_1node_4gpu.log
#     from xxrjun/nccl-tests-cluster at 455de4f8 (Apache-2.0)
#   deepbench_v100/conv_v100.csv, gemm_v100.csv
#     from baidu-research/DeepBench at da81ba78 (Apache-2.0), DeepBench_NV_V100.xlsx as CSV
#
# Whole groups are held out: widths, row counts, depths, the longest tenth, software stacks.
# "roofline" is torchao's, on the same rows:
#   max(2 m n k / peak / 0.78, bytes / bandwidth / 0.92, 2 us)
set -euo pipefail

parts=(traces products transfers peers elementwise collectives linear convolutions limits)
is_known() { [[ " ${parts[*]} " == *" $1 "* ]]; }
is_right=$(($# >= 2))
for part in "${@:3}"; do
  is_known "$part" || is_right=0
done
if [[ $is_right -eq 0 ]]; then
  sed -n '2,20p' "$0" | cut -c3- >&2
  exit 2
fi
[[ $# -eq 2 ]] || parts=("${@:3}")
prof_model=$(realpath "$1")
data=$(realpath "$2")
params=$(realpath "$(dirname "$0")/../analyzer/model/params")
machines=$params/../machines
traces=$(realpath "$(dirname "$0")/../tests/data/real_traces")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# group  n  MAPE  coverage  half-width, of the row "all"
summary() {
  "$prof_model" evaluate "$@" --format csv |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i }
      $1 == "all" { printf "n %5d  MAPE %5.2f %%  interval holds %5.1f %%  half-width %5.1f %%", $2,
                    $at["mape_percent"], $at["coverage_percent"], $at["half_width_percent"] }'
}

# Prints how many rows lie above the upper end of their interval, with a slowdown of 20 % and without
# it: of the rows that were within their intervals, and of the others.
slowed() {
  "$prof_model" predict "$@" -o slowed.csv --force
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    { time = $at["time_us"]; most = $at["predicted_upper_us"]; ++n
      above += time > most; slow += 1.2 * time > most }
    END { printf "20 %% slower: %4.1f %% above it, as they are %4.1f %%", 100 * slow / n, 100 * above / n }' slowed.csv
}

# Latencies are in ms, and of an operation's stacks each is a column "stack".
products_of() {  # GPU DTYPE TYPE
  gzip -dc "$data/aiconfigurator_2026_08/$1_sxm_gemm.csv.gz" | awk -F, -v dtype="$2" -v type="$3" '
    BEGIN { print "m,n,k,a_type,time_us,stack" }
    NR > 1 && $4 == dtype && !(dtype == "fp8_block" && $1 == "VLLM") {
      printf "%s,%s,%s,%s,%.6g,%s\n", $5, $6, $7, type, 1000 * $8, $1 }'
}
each_product() {  # calls $1 with NAME MACHINE TYPE BOUNDARY PEAK GB/S BYTES; the rows are table.csv
  local gpu type
  for gpu in a100:a100-sxm4-80gb:2039:312:: h100:h100-sxm5-80gb:3350:989.4:1978.9: \
    h200:h200-sxm-141gb:4800:989.4:1978.9: b200:b200-sxm-180gb:8000:2250:4500:9000; do
    IFS=: read -r name machine bandwidth bf16 f8 f4 <<< "$gpu"
    for type in "bfloat16:bf16:gemm:$bf16:2" "fp8:f8e4m3:gemm+quantise:$f8:1" \
      "fp8_block:f8e4m3:gemm+quantise:$f8:1" "nvfp4:f4e2m1:gemm+quantise:$f4:0.5"; do
      IFS=: read -r dtype type boundary peak bytes <<< "$type"
      [[ -n $peak ]] || continue
      products_of "$name" "$dtype" "$type" > table.csv
      "$1" "${name^^} $dtype" "$machine" "$type" "$boundary" "$peak" "$bandwidth" "$bytes"
    done
  done
}
header="op,num_gpus,bytes,type,time_us"
nccl_of() {  # GPU
  gzip -dc "$data/aiconfigurator_2026_08/$1_sxm_nccl.csv.gz" | awk -F, -v header="$header" 'BEGIN { print header }
    NR > 1 { size = $5 == "half" ? 2 : 1
             printf "%s,%s,%.0f,%s,%.6g\n", $3, $6, $7 * size, $5 == "half" ? "f16" : "i8", $8 * 1000 }'
}
roofline() {  # TABLE PEAK_TFLOPS GB_PER_S OPERAND_BYTES
  awk -F, -v peak="$2" -v bw="$3" -v size="$4" 'NR > 1 {
    t = 2 * $1 * $2 * $3 / (peak * 1e6) / 0.78
    d = (size * ($1 * $3 + $3 * $2) + 2 * $1 * $2) / (bw * 1e3) / 0.92
    if (d > t) t = d
    if (t < 2) t = 2
    e = t / $5 - 1; sum += e < 0 ? -e : e; ++n }
    END { printf "roofline %5.1f %%", 100 * sum / n }' "$1"
}

if is_known traces; then
  # Rows that have an operation, collectives apart.  The roofline is the
  # program's own, the data sheet the same without what is reached of it, and without a least time.
  echo "kernels of real steps, by time"
  for trace in "$traces"/*.json.gz; do
    python3 - "$(dirname "$prof_model")/prof-analyze" "$machines" "$trace" << 'END'
import json, os, subprocess, sys
program, machines, trace = sys.argv[1:]
def rows(*options):
    report = json.loads(subprocess.run([program, trace, "--format", "json", *options], stdout=subprocess.PIPE, check=True).stdout)
    # A collective of one rank holds its wait for the others.
    return report["machine"], [row for row in report["rows"] if row["corrected_us"] and row["op"] != "collective"]
def known(rows):
    return [row for row in rows if row["predicted_us"]]
def summary(rows):
    measured = sum(row["corrected_us"] for row in rows)
    return "sum %.2f  error %3.0f %%" % (sum(row["predicted_us"] for row in rows) / measured, 100 / measured * sum(
        abs(row["predicted_us"] - row["corrected_us"]) for row in rows))
machine, ours = rows()
sheet = json.load(open(os.path.join(machines, machine + ".json")))
sheet.update(achievable_fraction={"gemm": 1, "memory": 1}, launch_floor_us=0.001)
json.dump(sheet, open("sheet.json", "w"))
time = lambda rows: sum(row["corrected_us"] for row in rows) or 1
fitted = [row for row in known(ours) if row["predicted_ci90_us"]]
inside = [row for row in fitted if row["predicted_ci90_us"][0] <= row["corrected_us"] <= row["predicted_ci90_us"][1]]
print("%-22s %9.3f ms  predicted %3.0f %%, with an interval %3.0f %%  %s  inside %3.0f %%  roofline %s  data sheet %s" % (
    os.path.basename(trace)[:-len(".json.gz")], time(ours) / 1e3, 100 * time(known(ours)) / time(ours),
    100 * time(fitted) / time(ours), summary(fitted), 100 * time(inside) / time(fitted),
    summary(known(rows("--models", "roofline")[1])),
    summary(known(rows("--models", "roofline", "--machine", "./sheet.json")[1]))))
END
  done
fi

if is_known products; then
  echo "matrix products, groups and stacks held out in turn"
  held_out() {
    local asked=(--model gemm --machine "$2") stack
    printf '%s, %s\n' "$1" "$(roofline table.csv "$5" "$6" "$7")"
    "$prof_model" fit "${asked[@]}" --set a_type="$3" --boundary "$4" table.csv -o params.json --force 2>&1 | grep 'held out\|^  of'
    for stack in $(awk -F, 'NR > 1 { print $6 }' table.csv | sort -u); do
      # Nothing says which stack a row of test.csv is of, and no part of the fit has seen one.
      awk -F, -v stack="$stack" 'NR == 1 || $6 != stack' table.csv > train.csv
      awk -F, -v OFS=, -v stack="$stack" 'NR == 1 || $6 == stack { print $1, $2, $3, $4, $5 }' table.csv > test.csv
      "$prof_model" fit "${asked[@]}" --set a_type="$3" --boundary "$4" train.csv -o params.json --force > /dev/null 2>&1
      printf '  without %-13s %s  %s\n' "$stack" "$(summary "${asked[@]}" --params params.json test.csv)" \
        "$(slowed "${asked[@]}" --params params.json test.csv)"
    done
  }
  each_product held_out
fi

if is_known transfers; then
  transfer() {  # NAME SOURCE'S_SET MACHINE TABLE
    printf '%-32s %s\n' "$1" "$(summary --model gemm --machine "$3" --params "$2" "$4")"
  }
  # The shipped sets: each was fitted to its own GPU's rows alone.
  echo "another GPU, no row of its own"
  for target in h200:h200-sxm-141gb h100:h100-sxm5-80gb a100:a100-sxm4-80gb b200:b200-sxm-180gb; do
    products_of "${target%%:*}" bfloat16 bf16 | cut -d, -f1-5 > table.csv  # without stacks
    for source in h200:h200-sxm-141gb h100:h100-sxm5-80gb a100:a100-sxm4-80gb; do
      [[ $target == "$source" ]] && continue
      transfer "${target%%:*} bf16 from ${source%%:*}" "gemm_${source##*:}_bf16" "${target##*:}" table.csv
    done
  done
  # Columns from the end: the precision's name has a comma.  Tensor cores, which multiply f16 as bf16.
  tr -d '\r' < "$data/deepbench_v100/gemm_v100.csv" | awk -F, 'BEGIN { print "m,n,k,a_type,time_us" }
    /FP16/ { print $(NF - 6) "," $(NF - 5) "," $(NF - 4) ",bf16," $(NF - 1) * 1000 }' > v100.csv
  for source in h100:h100-sxm5-80gb a100:a100-sxm4-80gb; do
    transfer "v100 f16 from ${source%%:*}" "gemm_${source##*:}_bf16" v100-sxm2-16gb v100.csv
  done
  # The source of kernels is known; sets that lack it, or the types, leave rows out.
  scripts=$(dirname "$params")/../../scripts
  for pair in a100:a100-sxm4-80gb:h100-sxm5-80gb h100:h100-sxm5-80gb:h200-sxm-141gb \
    h200:h200-sxm-141gb:h100-sxm5-80gb b200:b200-sxm-180gb:h200-sxm-141gb; do
    IFS=: read -r gpu machine source <<< "$pair"
    nccl_of "$gpu" > table.csv
    printf '%-32s %s\n' "$gpu NCCL from $source" "$(summary --model collective --edition calibrated \
      --machine "$machine" --params "collective_$source" table.csv)"
    for table in attention_prompts:context_attention attention_decoding:generation_attention \
      attention_encoders:encoder_attention experts:moe quantise:scale_matrix:scale; do
      IFS=: read -r model name step <<< "$table"
      name=$data/aiconfigurator_2026_08/${gpu}_sxm_$name.csv.gz
      [[ -f $name ]] || continue
      rm -f "$model".*.csv
      gzip -dc "$name" | awk -v model="$model" -v step="$step" -v folder=. -f "$scripts/source_tables.awk"
      for rows in "$model".*.csv; do
        types=${rows#"$model."}
        set=${model}_${source}_${types%.csv}
        [[ -f $params/$set.json ]] || continue
        printf '%-32s %s\n' "$gpu $rows from $source" \
          "$(summary --model "$model" --machine "$machine" --params "$set" "$rows" 2> /dev/null)"
      done
    done
  done
fi

if is_known peers && ! python3 -c 'import nvMatmulHeuristics' 2> /dev/null; then
  echo "peers: left out, since python3 has no package nvidia-matmul-heuristics"
elif is_known peers; then
  # Every row of the tables: the peers were fitted to none of them.
  echo "peers, by measured time"
  peers_of() {
    local range target
    for range in 0:1e9 0:20 20:100 100:1e9; do
      awk -F, -v least="${range%:*}" -v most="${range#*:}" 'NR == 1 || ($5 >= least && $5 < most)' table.csv > rows.csv
      printf '%-22s %3s to %-5s us  n %5d' "$1" "${range%:*}" "${range#*:}" "$(($(wc -l < rows.csv) - 1))"
      for target in generic cutlass3; do
        printf '  nvmmh %s ' "$target"
        "$prof_model" evaluate --model nvmmh --machine "$2" --set target="$target" \
          rows.csv --format csv |
          awk -F, '$1 == "all" { printf "%5.1f %% (median %5.1f, bias %+6.1f)", $5, $6, $9 }'
      done
      printf '  %s\n' "$(roofline rows.csv "$5" "$6" "$7")"
    done
  }
  each_product peers_of
fi

if is_known elementwise; then
  echo "element-wise kernels, 40 rows fitted"
  for gpu in A100-PCIE-40GB:a100-sxm4-40gb V100-PCIE-32GB:v100-pcie-32gb; do
    for op in add relu; do
      awk -F, -v inputs="$([[ $op == add ]] && echo 2 || echo 1)" '
        BEGIN { print "read_bytes,write_bytes,time_us" > "train.csv"; print "read_bytes,write_bytes,time_us" > "test.csv" }
        NR > 1 { bytes = $NF * $(NF - 1) * 4
                 print bytes * inputs "," bytes "," $1 * 1000 > (NR % 5 == 0 ? "train.csv" : "test.csv") }' \
        OFMT=%.10g CONVFMT=%.10g "$data/neusight/${op}_${gpu%%:*}.csv"
      "$prof_model" fit --model memory --machine "${gpu##*:}" train.csv -o memory.json --force 2> /dev/null
      printf '%-32s %s\n' "${gpu%%:*} $op" \
        "$(summary --model memory --machine "${gpu##*:}" --params memory.json test.csv)"
    done
  done

fi

if is_known collectives; then
  collective() {  # NAME MACHINE
    "$prof_model" fit --model collective --machine "$2" train.csv -o collective.json --force > /dev/null 2>&1
    local asked=(--model collective --edition calibrated --params collective.json)
    printf '%-32s %s\n' "$1" "$(summary "${asked[@]}" test.csv)"
    awk -F, 'NR == 1 || $3 < 65536' test.csv > small.csv
    if [[ $(wc -l < small.csv) -gt 1 ]]; then
      printf '%-32s %s\n' "$1, < 64 KiB" "$(summary "${asked[@]}" small.csv)"
    fi
  }
  echo "collectives"
  # The H100s' own table has 2 and 8 GPUs; 32 to 512 MiB, which it was measured up to.
  nccl_of h100 > train.csv
  "$prof_model" convert --to collective "$data/nccl_tests_h100/h100_1node_4gpu.log" -o all.csv --force 2> /dev/null
  # Doubles, which no such table has: judged as 16-bit numbers.
  awk -F, -v OFS=, 'NR == 1 { print; next } $1 != "sendrecv" && $3 < 6e8 { $4 = "f16"; print }' all.csv > test.csv
  collective "H100, 4 GPUs from 2 and 8" h100-sxm5-80gb
  for gpu in a100:a100-sxm4-80gb h100:h100-sxm5-80gb h200:h200-sxm-141gb b200:b200-sxm-180gb; do
    for fourth in 0 1 2 3; do
      nccl_of "${gpu%%:*}" | awk -F, -v fourth=$fourth 'NR == 1 { print > "train.csv"; print > "test.csv"; next }
        { print > (int(log($3) / log(2) + 0.5) % 4 == fourth ? "test.csv" : "train.csv") }'
      collective "${gpu%%:*}, every fourth size, $fourth" "${gpu##*:}"
    done
  done
  for limit in 0 1048576; do
    awk -F, -v header="$header" -v limit=$limit 'BEGIN { print header > "train.csv"; print header > "test.csv" }
      NR > 1 && $8 != "" && ($8 != 4 || $6 >= limit) { printf "%s,%s,%s,f32,%s\n", $3, $8, $6, $11 > ($8 == 4 ? "test.csv" : "train.csv") }' \
      "$data/xla_h100/collectives_h100_8gpu_host.csv"
    collective "H100, 4 GPUs from 2 and 8$([[ $limit -gt 0 ]] && echo ", >= 1 MiB")" h100-sxm5-80gb
  done

  # The same 4 GPUs read off the table itself: the mean, on a logarithmic scale, of what 2 and 8 GPUs
  # take for the same message, and of what 4 take for the next smaller and the next larger one.
  for limit in 0 1048576; do
    awk -F, -v limit=$limit 'function off(guess, time) { return guess < time ? 1 - guess / time : guess / time - 1 }
      NR > 1 && $8 != "" { time[$3, $8, $6] = $11; if ($8 == 4) { op[++n] = $3; size[n] = $6 } }
      END {
        for (i = 1; i <= n; ++i) {
          if (size[i] < limit) continue
          t = time[op[i], 4, size[i]]; ++rows
          ranks += off(sqrt(time[op[i], 2, size[i]] * time[op[i], 8, size[i]]), t)
          smaller = time[op[i], 4, size[i] / 2]; larger = time[op[i], 4, size[i] * 2]
          if (smaller == "" || larger == "") continue
          sizes += off(sqrt(smaller * larger), t); ++inner }
        printf "%-32s between 2 and 8 GPUs: n %5d  MAPE %5.2f %%; between the next sizes: n %5d  MAPE %5.2f %%\n",
               "H100, 4 GPUs, interpolated" (limit > 0 ? ", >= 1 MiB" : ""), rows, 100 * ranks / rows, inner, 100 * sizes / inner }' \
      "$data/xla_h100/collectives_h100_8gpu_host.csv"
  done

  # Messages that are longer take longer: what is left if a curve may be any that does not fall, one
  # for each operation, and has seen the very rows.  The least sum of |predicted/measured - 1|, by
  # dynamic programming over the measured times.
  awk -F, '
    NR > 1 && $8 == 4 { if (!($3 in count)) ops[++op_count] = $3
                        size[$3, ++count[$3]] = $6; time[$3, count[$3]] = $11 }
    END {
      for (o = 1; o <= op_count; ++o) {
        op = ops[o]; n = count[op]
        for (i = 2; i <= n; ++i)  # by size
          for (j = i; j > 1 && size[op, j] < size[op, j - 1]; --j) {
            t = size[op, j]; size[op, j] = size[op, j - 1]; size[op, j - 1] = t
            t = time[op, j]; time[op, j] = time[op, j - 1]; time[op, j - 1] = t }
        for (i = 1; i <= n; ++i) level[i] = time[op, i]
        for (i = 2; i <= n; ++i)
          for (j = i; j > 1 && level[j] < level[j - 1]; --j) {
            t = level[j]; level[j] = level[j - 1]; level[j - 1] = t }
        for (l = 1; l <= n; ++l) cost[l] = 0
        for (i = 1; i <= n; ++i) {
          least = 1e300
          for (l = 1; l <= n; ++l) {
            if (cost[l] < least) least = cost[l]
            e = level[l] / time[op, i] - 1
            cost[l] = least + (e < 0 ? -e : e) } }
        least = 1e300
        for (l = 1; l <= n; ++l) if (cost[l] < least) least = cost[l]
        sum += least; rows += n }
      printf "%-32s n %5d  MAPE %5.2f %%\n", "H100, 4 GPUs, any rising curve", rows, 100 * sum / rows }' \
    "$data/xla_h100/collectives_h100_8gpu_host.csv"

fi

if is_known linear; then
  echo "matrix products in single precision, A100 PCIe, groups held out in turn"
  "$prof_model" convert --to gemm "$data/neusight/linear_A100-PCIE-40GB.csv" -o linear.csv --force 2> /dev/null
  for kernel in unknown known; do
    printf '%-32s ' "kernel $kernel"
    "$prof_model" fit --model gemm --machine a100-sxm4-40gb --set a_type=f32 --set kernel=$kernel \
      --seed 1 linear.csv -o linear.json --force 2>&1 | grep 'held out'
  done

fi

if is_known convolutions; then
  echo "convolutions, kernel known, layers held out in turn"
  for gpu in A100_80GB_PCIe:a100-pcie-80gb V100-PCIE-32GB:v100-pcie-32gb; do
    "$prof_model" convert --to conv "$data/neusight/conv_${gpu%%:*}.csv" -o conv.csv --force 2> /dev/null
    printf '%-32s ' "${gpu%%:*}"
    fit=(fit --model conv --machine "${gpu##*:}" --set kernel=known --seed 1 --force)
    "$prof_model" "${fit[@]}" conv.csv -o conv.json 2>&1 | grep 'held out'
    # A fifth of the layers held out of everything.  Columns from the end: a kernel's name has commas.
    awk -F, 'NR == 1 { print > "train.csv"; print > "test.csv"; print > "small.csv"; next }
      ($2 * 7919 + $5 * 104729 + $3 * 31) % 5 != 0 { print > "train.csv"; next }
      { print > "test.csv"; if ($NF < 300) print > "small.csv" }' conv.csv
    "$prof_model" "${fit[@]}" train.csv -o conv.json > /dev/null 2>&1
    asked=(--model conv --machine "${gpu##*:}" --params conv.json)
    printf '%-32s %s\n' "  a fifth held out of all" "$(summary "${asked[@]}" test.csv)"
    printf '%-32s %s\n' "  of it below 0.3 ms" "$(summary "${asked[@]}" small.csv)"
    # When they were timed is not said: the column has another name.
    sed -i '1s/progress/unused/' test.csv small.csv
    printf '%-32s %s\n' "  place in session not known" "$(summary "${asked[@]}" test.csv)"
    printf '%-32s %s\n' "  of it below 0.3 ms" "$(summary "${asked[@]}" small.csv)"
  done

  echo "convolutions, DeepBench on V100, the fastest algorithm assumed, layers held out in turn"
  "$prof_model" convert --to conv "$data/deepbench_v100/conv_v100.csv" -o conv.csv --force 2> /dev/null
  for type in f16 f32; do
    for direction in forward backward_data backward_filter; do
      printf '%-32s ' "$type $direction"
      "$prof_model" fit --model conv --machine v100-sxm2-16gb --set type=$type --set direction=$direction \
        conv.csv -o conv.json --force 2>&1 | grep 'held out'
    done
  done
fi

if is_known limits; then
  # How far rows scatter that hardly differ: as far as a model is off, it has nothing left to learn.
  echo "limits"
  python3 - "$data/aiconfigurator_2026_08" << 'END'
import collections, csv, gzip, itertools, math, statistics, sys
def rows(gpu, table, **only):
    with gzip.open("%s/%s_sxm_%s.csv.gz" % (sys.argv[1], gpu, table), "rt") as file:
        return [row for row in csv.DictReader(file) if float(row["latency"]) > 0
                and all(row[name] == value for name, value in only.items())]
def show(name, guesses):
    print("%-76s n %5d  MAPE %5.1f %%" % (name, len(guesses), 100 * statistics.fmean(
        abs(guess / time - 1) for guess, time in guesses)))
def two_sources(gpu, table, sizes, first, second, told_by="kernel_source", **only):
    """The same row by two sources of kernels, times how much one is slower in the median."""
    times = collections.defaultdict(dict)
    for row in rows(gpu, table, **only):
        times[tuple(row[size] for size in sizes)][row[told_by]] = float(row["latency"])
    both = [(each[first], each[second]) for each in times.values() if first in each and second in each]
    ratio = statistics.median(time / guess for guess, time in both)
    show(" ".join([gpu, table, *only.values(), second, "by", first]), [(ratio * guess, time) for guess, time in both])
def between(gpu, table, sizes, **only):
    """A row read off its neighbours, which differ in one size and are at most four times apart."""
    lines = collections.defaultdict(dict)
    for row in rows(gpu, table, **only):
        for along in sizes:
            rest = tuple(row[size] for size in sizes if size != along)
            lines[row["kernel_source"], along, rest][float(row[along])] = float(row["latency"])
    guesses = collections.defaultdict(list)
    for (source, _, _), line in lines.items():
        at = sorted(line)
        for low, middle, high in zip(at, at[1:], at[2:]):
            if high <= 4 * low:
                share = math.log(middle / low) / math.log(high / low)
                guesses[source].append((line[low] ** (1 - share) * line[high] ** share, line[middle]))
    for source, each in sorted(guesses.items()):
        if "eager" not in source:  # times the host
            show("%s %s: %s, between its neighbours" % (gpu, table, source), each)
layer = ["num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size", "distribution"]
for gpu, vllm in (("a100", "vllm_fused_moe"), ("h100", "vllm_unquantizedfusedmoe_triton_tritonexperts")):
    two_sources(gpu, "moe", layer, vllm, "sglang_fused_moe_triton", moe_dtype="bfloat16")
call = ["batch_size", "step", "num_heads", "num_key_value_heads", "head_dim", "window_size"]
for cache in "bfloat16", "fp8":
    for other in "fa3", "vllm_flash_attn_fa3":
        two_sources("h100", "generation_attention", call, other, "torch_flow", kv_cache_dtype=cache)
for gpu in "a100", "h100", "h200", "b200":
    for first, second in itertools.combinations(["SGLang", "TRTLLM", "VLLM"], 2):
        two_sources(gpu, "gemm", ["m", "n", "k"], first, second, told_by="framework", gemm_dtype="bfloat16")
    between(gpu, "gemm", ["m", "n", "k"], gemm_dtype="bfloat16")
    between(gpu, "custom_allreduce", ["num_gpus", "message_size"])
for gpu in "h100", "h200", "b200":
    vllm = "dynamic_per_token_scaled_fp8_quant_minus_static_scaled_fp8_quant"
    between(gpu, "computescale", ["m", "k"], kernel_source=vllm)
    whole = {(row["m"], row["k"]): float(row["latency"]) for row in rows(gpu, "scale_matrix", kernel_source="static_scaled_fp8_quant")}
    differences = [float(row["latency"]) / whole[row["m"], row["k"]] for row in rows(gpu, "computescale", kernel_source=vllm)
                   if float(row["latency"]) > 0.0005 and (row["m"], row["k"]) in whole]
    print("%s computescale: %d of %d differences are less than a tenth of what is left out of them" % (
        gpu, sum(each < 0.1 for each in differences), len(differences)))
END
fi
