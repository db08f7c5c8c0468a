// Operations reach the published models as rows of their tables do.
#include "golden.hpp"
#include "join/join.hpp"
#include "join/rollups.hpp"
#include "model/each_model.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::model {
namespace {

// An operation that a model covers, and what the model has to be told beside it.
struct Sample {
  read::Op op;
  std::string_view params = {};  // below tests/data/golden
  std::vector<std::pair<std::string_view, Part>> others = {};
};

const char* const kProduct = "gemm m=512 n=1024 k=256 a_type=f32 b_type=f32 c_type=f32";
const char* const kHalfProduct = "gemm m=512 n=1024 k=256 a_type=bf16";
const char* const kConvolution = "conv n=128 c=64 h=56 w=56 k=128 r=3 s=3 pad=1 algo=1 type=f32";
const char* const kPooling = "memory class=max_pooling n=128 c=64 h=112 r=3 stride=2 pad=1";

std::string embedding_of(const std::string& pass) {
  return "embedding batch=2048 tables=8 rows=100000 bag=10 dim=64 rows_per_block=32 shmem=1 pass=" +
         pass;
}

// By the model's name.
const std::multimap<std::string_view, Sample>& samples() {
  static const std::multimap<std::string_view, Sample> all{
      {"embedding_forward", {op_of(embedding_of("forward")), "", {{"peak_l2_bw_gbps", 2847.0}}}},
      {"embedding_backward_sgd", {op_of(embedding_of("backward_sgd"))}},
      {"embedding_backward_rowwise_adagrad", {op_of(embedding_of("backward_rowwise_adagrad"))}},
      {"embedding_v2", {op_of(embedding_of("forward"))}},
      {"embedding_v2", {op_of(embedding_of("backward_sgd"))}},
      {"fc", {op_of(kProduct), "dlrm/fc_microbench_table_xla_h100_f32.csv"}},
      {"seer", {op_of(kConvolution), "seer/seer_coeffs.csv"}},
      {"seer", {op_of(kPooling), "seer/seer_coeffs.csv"}},
      {"seer_pick", {op_of(kConvolution), "seer/seer_coeffs.csv"}},
      {"roofline_gemm", {op_of(kHalfProduct)}},
      {"roofline_linear", {op_of(kHalfProduct), "", {{"float8_recipe", std::string("rowwise")}}}},
      {"roofline_cast", {op_of("cast rows=4096 cols=512 recipe=mxfp8_cublas role=input")}},
      {"collective", {op_of("collective op=all_reduce ranks=8 bytes=1048576")}},
  };
  return all;
}

// The GPU that most of the published models know.
read::Machine machine_for(std::string_view model) {
  const std::string id = model == "embedding_v2" || model == "collective" ? "v100-sxm2-16gb"
                         : model.starts_with("seer")                      ? "titan-xp"
                                                                          : "h100-sxm5-80gb";
  return builtin_machine(id);
}

Model make(const ModelEntry& entry, const Sample& sample) {
  ModelOptions options;
  options.input_name = "t.csv";
  if (!sample.params.empty()) options.params = test::golden_path(std::string(sample.params));
  return entry.make(options);
}

OperationInputs inputs_of(const ModelEntry& entry, const Sample& sample) {
  OperationInputs inputs = entry.inputs_of({sample.op, machine_for(entry.name), {}});
  inputs.values.insert(inputs.values.end(), sample.others.begin(), sample.others.end());
  return inputs;
}

// The inputs as a file that prof-model reads.
read::Table as_table(const OperationInputs& inputs) {
  std::string names, values;
  for (const auto& [name, value] : inputs.values) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", name);
    const auto* number = std::get_if<double>(&value);
    values +=
        fmt::format("{}{}", values.empty() ? "" : ",",
                    number == nullptr ? std::get<std::string>(value) : fmt::format("{}", *number));
  }
  return read::Table(names + "\n" + values + "\n", "t.csv");
}

TEST(Registry, EveryModelNamesTheOperationsThatItCovers) {
  for (const ModelEntry& entry : all_models()) {
    EXPECT_FALSE(entry.operations.empty()) << entry.name;
    const bool is_published =
        std::ranges::find(entry.editions, Edition::kPublished) != entry.editions.end();
    EXPECT_EQ(entry.inputs_of != nullptr, is_published) << entry.name;
    if (!is_published || entry.name == "nvmmh") continue;  // a package that is not here
    for (const OpKind kind : entry.operations) {
      const auto [first, last] = samples().equal_range(entry.name);
      EXPECT_TRUE(std::any_of(
          first, last, [&](const auto& each) { return each.second.op.kind == op_kind_name(kind); }))
          << entry.name << ": " << op_kind_name(kind);
    }
  }
  EXPECT_FALSE(operation_models().empty());
  for (const OperationModel& model : operation_models())
    EXPECT_FALSE(model.operations.empty()) << model.name;
}

TEST(Registry, EveryOperationIsPredictedAsARowOfTheSameInputs) {
  for (const auto& [name, sample] : samples()) {
    const ModelEntry& entry = find_model(name);
    EXPECT_TRUE(std::ranges::count(entry.operations, *op_kind_from_name(sample.op.kind))) << name;
    const auto model = make(entry, sample);
    const OperationInputs inputs = inputs_of(entry, sample);
    const RowPrediction predicted = predict_inputs(model, inputs);
    ASSERT_TRUE(predicted.time_us) << name << ": " << predicted.reason;
    const read::Table table = as_table(inputs);
    const RowPrediction expected = model.predict(RowReader(table, model.inputs).read(0));
    EXPECT_EQ(predicted.time_us, expected.time_us) << name;
    EXPECT_EQ(predicted.bound, expected.bound) << name;
    EXPECT_EQ(predicted.parts, expected.parts) << name;
    if (inputs.part.empty()) continue;
    EXPECT_EQ(std::ranges::count(model.parts, inputs.part), 1) << name << ": " << inputs.part;
  }
}

double time_of(const RowPrediction& prediction, const Model& model, std::string_view part) {
  if (part.empty()) return *prediction.time_us;
  const auto place = std::ranges::find(model.parts, part) - model.parts.begin();
  const double value = std::get<double>(prediction.parts.at(static_cast<std::size_t>(place)));
  return part.ends_with("_s") ? value * 1e6 : value;
}

// The user's choices that make a model answer a sample.
ModelChoices choices_for(std::string_view name, const Sample& sample) {
  ModelChoices choices;
  if (!sample.params.empty())
    choices.params.emplace(name, test::golden_path(std::string(sample.params)));
  for (const auto& [column, value] : sample.others) {
    const auto* number = std::get_if<double>(&value);
    choices.settings.emplace(fmt::format("{}.{}", name, column),
                             number ? fmt::format("{}", *number) : std::get<std::string>(value));
  }
  return choices;
}

// Returns the time that prof-model gives for the same inputs as a table.
double time_in_a_table(const ModelEntry& entry, const Sample& sample) {
  const auto model = make(entry, sample);
  const OperationInputs inputs = inputs_of(entry, sample);
  const read::Table table = as_table(inputs);
  return time_of(model.predict(RowReader(table, model.inputs).read(0)), model, inputs.part);
}

TEST(Registry, EachRowOfAReportEqualsThatOfATable) {
  for (const auto& [name, sample] : samples()) {
    join::JoinOptions options;
    options.machine = machine_for(name);
    options.models = Models::kAll;
    options.each_model = std::make_shared<EachModel>(choices_for(name, sample));
    const auto analysis = join::join_profiles(
        {profile_of({EventBuilder("event", 0, 1).op(sample.op).samples_us({90})}, 100)}, {},
        options);
    std::size_t found = 0;
    for (const join::ModelTime& time : analysis.rows.front().by_model) {
      const std::string& asked = time.model.str();
      if (asked != name && asked != fmt::format("{} published", name)) continue;
      ++found;
      ASSERT_TRUE(time.predicted_us) << name << ": " << time.reason.str();
      EXPECT_EQ(*time.predicted_us, time_in_a_table(find_model(name), sample)) << name;
    }
    EXPECT_EQ(found, 1) << name;
    const auto known = std::ranges::count_if(analysis.rows.front().by_model, [](const auto& time) {
      return time.predicted_us.has_value();
    });
    const auto scores = join::model_scores(analysis);
    EXPECT_EQ(std::ranges::count_if(scores, [](const auto& score) { return score.predicted > 0; }),
              known + (analysis.rows.front().predicted_us ? 1 : 0))
        << name;
  }
}

TEST(Registry, PublishedTakesTheFirstModelThatKnowsTheOperation) {
  for (const auto& [name, sample] : samples()) {
    if (name == "roofline_linear" || name == "seer_pick") continue;  // behind another of the kind
    const bool is_second = name == "embedding_v2";
    EachModel models(choices_for(name, sample));
    const read::Machine machine = machine_for(name);
    const ModelAnswer answer = models.published({sample.op, machine, {}});
    ASSERT_TRUE(answer.prediction.time_us) << name << ": " << answer.prediction.reason;
    if (is_second) continue;
    EXPECT_TRUE(answer.model.starts_with(name)) << answer.model;
    EXPECT_EQ(*answer.prediction.time_us, time_in_a_table(find_model(name), sample)) << name;
  }
}

TEST(EachModel, SaysOnceWhatIsWrongWithAUsersChoice) {
  const read::Op product = op_of(kProduct);
  const read::Op convolution = op_of(kConvolution);
  const read::Machine a100 = builtin_machine("a100-sxm4-40gb");
  EachModel models({.params = {{"seer", test::golden_path("seer/seer_coeffs.csv")},
                               {"fc", "no_such_file.csv"}}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(models.published({product, a100, {}}).is_fallback);
    EXPECT_TRUE(models.published({convolution, a100, {}}).is_fallback);
  }
  const auto complaints = models.complaints();
  ASSERT_EQ(complaints.size(), 2U);
  EXPECT_TRUE(complaints[0].starts_with("fc: no_such_file.csv")) << complaints[0];
  EXPECT_TRUE(
      complaints[1].starts_with("seer published, seer_pick published: the published program"))
      << complaints[1];
}

TEST(EachModel, RefusesParametersOfAnotherMachine) {
  const auto folder = std::filesystem::path(TempDir());
  const std::string file = folder / "curves.json";
  std::ofstream(file) << R"({"schema": "inline_prof_params/1", "model": "collective",)"
                      << R"( "version": 1, "machine": "v100-sxm2-16gb", "key": {},)"
                      << R"( "trained_rows": 0, "parameters": {"curves": []}, "covariance": [],)"
                      << R"( "residual": {}, "conformal": {}})";
  const read::Op& op = samples().find("collective")->second.op;
  EachModel models({.params = {{"collective", file}}});
  const read::Machine h100 = builtin_machine("h100-sxm5-80gb");
  EXPECT_FALSE(models.published({op, h100, {}}).prediction.time_us);
  ASSERT_FALSE(models.complaints().empty());
  bool is_said = false;
  for (const std::string& complaint : models.complaints())
    is_said = is_said || complaint == "collective published: " + file +
                                          " was fitted on v100-sxm2-16gb, not h100-sxm5-80gb";
  EXPECT_TRUE(is_said) << fmt::format("{}", fmt::join(models.complaints(), "\n"));
}

TEST(EachModel, RefusesChoicesThatNoModelHas) {
  EXPECT_THROW(EachModel({.params = {{"nothing", "x.csv"}}}), std::invalid_argument);
  EXPECT_THROW(EachModel({.params = {{"embedding_v2", "x.csv"}}}), std::invalid_argument);
  EXPECT_THROW(EachModel({.settings = {{"no_such_column", "1"}}}), std::invalid_argument);
  EXPECT_THROW(EachModel({.settings = {{"fc.shmem", "1"}}}), std::invalid_argument);
  EXPECT_THROW(EachModel({.settings = {{"shmem", "many"}}}), std::invalid_argument);
  EXPECT_THROW(EachModel({.settings = {{"constants", "newest"}}}), std::invalid_argument);
  EXPECT_NO_THROW(EachModel({.settings = {{"shmem", "1"}, {"constants", "main"}}}));
}

TEST(EachModel, ReadsFbgemmsBlocksFromTheLaunch) {
  const read::Op op =
      op_of("embedding batch=2048 tables=8 rows=100000 bag=10 dim=64 pass=backward_sgd");
  const read::Machine v100 = builtin_machine("v100-sxm2-16gb");
  EachModel models({});
  const ModelAnswer unknown = models.published({op, v100, {}});
  EXPECT_EQ(unknown.model, "embedding_v2");  // whose kernels choose their rows
  read::LaunchShape launch;
  launch.block = {32, 32, 1};
  launch.dynamic_shared_bytes = 4096;
  const ModelAnswer known =
      models.published({op, v100, {.name = "", .blocks = 0, .launch = &launch}});
  EXPECT_EQ(known.model, "embedding_backward_sgd");
}

TEST(Registry, SaysWhatAnOperationLacks) {
  for (const auto& [name, sample] : samples()) {
    const ModelEntry& entry = find_model(name);
    const auto model = make(entry, sample);
    const auto inputs = model.inputs;
    const auto required =
        std::ranges::find_if(inputs, [](const Column& column) { return column.is_required; });
    if (required == inputs.end()) continue;
    const RowPrediction nothing = predict_inputs(model, {});
    EXPECT_FALSE(nothing.time_us) << name;
    EXPECT_TRUE(nothing.reason.starts_with(fmt::format("without {}", required->name)))
        << nothing.reason;
  }
}

TEST(Registry, RefusesWhatAColumnDoes) {
  const auto model = find_model("embedding_backward_sgd").make({});
  OperationInputs inputs;
  inputs.add("batch_size", 0.5);
  EXPECT_EQ(predict_inputs(model, inputs).reason,
            "batch_size: expected an integer from 1 to 100000000, found 0.5");
}

TEST(Registry, AModelOfOnePassRefusesTheOther) {
  const read::Op op = op_of(embedding_of("forward"));
  const auto inputs = find_model("embedding_backward_sgd").inputs_of({op, machine_for("fc"), {}});
  EXPECT_EQ(inputs.reason, "the model is of the pass backward_sgd");
}

}  // namespace
}  // namespace inline_prof::model
