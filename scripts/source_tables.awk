# Makes the tables of attention, experts and quantisation that prof-model fit reads out of those of
# AIConfigurator, one for each set of number types:
#   gzip -dc TABLE.csv.gz | awk -v model=attention_prompts -v folder=FOLDER -f source_tables.awk
# Columns go by their names, since those of different stacks differ.
function get(name) { return name in place ? $(place[name]) : "" }
function type(name) { return name == "fp8" ? "f8e4m3" : name == "bfloat16" ? "bf16" : name }
function power(name) { return name ~ /^power_law_/ ? substr(name, 11) : 0 }
function row(types, sizes,  file) {
  if (!(get("latency") > 0)) return
  file = types
  gsub(",", "_", file)
  file = folder "/" model "." file ".csv"
  if (!(file in files)) print head[model] ",time_us" > file
  files[file] = 1
  printf "%s,%s,%s,%.6g\n", get("kernel_source"), types, sizes, 1000 * get("latency") > file
}

BEGIN {
  FS = OFS = ","
  head["attention_prompts"] = "source,type,kv_type,batch,heads,kv_heads,q_len,head_dim,window"
  head["attention_decoding"] = "source,type,kv_type,batch,heads,kv_heads,q_len,kv_len,head_dim,window"
  head["attention_encoders"] = "source,type,batch,heads,q_len,head_dim"
  head["experts"] = "source,type,tokens,hidden,inter,topk,experts,ranks,matrices,power"
  head["quantise"] = "source,step,rows,cols"
}
NR == 1 {
  for (i = 1; i <= NF; ++i) place[$i] = i
  next
}
model ~ /^attention/ {
  types = type(get("attn_dtype"))
  sizes = get("batch_size") "," get("num_heads")
  if (model != "attention_encoders") {
    types = types "," type(get("kv_cache_dtype"))
    sizes = sizes "," get("num_key_value_heads")
  }
  # A decoding row's step is the length of the cache before it.
  lengths = model == "attention_decoding" ? "1," get("step") + 1 : get("isl")
  window = model == "attention_encoders" ? "" : "," int(get("window_size"))
  row(types, sizes "," lengths "," get("head_dim") window)
}
model == "experts" {
  inter = int(get("inter_size") / get("moe_tp_size"))
  row(type(get("moe_dtype")), get("num_tokens") "," get("hidden_size") "," inter "," get("topk") "," \
      get("num_experts") "," get("moe_ep_size") "," (get("kernel_source") ~ /nongated/ ? 2 : 3) "," \
      power(get("distribution")))
}
# Scales that take half a microsecond are differences within the timer's error.
model == "quantise" && (step == "scale" || get("latency") > 0.0005) {
  row(step, get("m") "," get("k"))
}
