// The fits of the improved models, on tables made from a model with known parameters.
#include "fit/calibration_fit.hpp"
#include "fit/fits.hpp"
#include "model/calibrated/collective/collective.hpp"
#include "model/calibrated/gemm/gemm.hpp"
#include "model/calibrated/memory/memory.hpp"
#include "profile_builder.hpp"
#include "read/parameters.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::fit {
namespace {

FitRequest request(const std::string& text) {
  FitRequest request;
  request.machine = builtin_machine("h200-sxm-141gb");
  request.settings = {{"a_type", "bf16"}};
  request.tables.emplace_back(text, "table.csv");
  request.say = [](std::string_view) {};
  return request;
}

double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

double side(std::mt19937_64& random) {
  return std::round(std::exp2(5 + 8 * uniform(random)));
}

model::GemmAnalytic start_model() {
  const auto types = *model::gemm_types("bf16");
  std::vector<double> values;
  for (const auto& spec : model::GemmAnalytic::parameters(false))
    values.push_back(spec.start);
  return {model::gemm_machine(builtin_machine("h200-sxm-141gb"), types), types, false, values};
}

// Times of the analytic model with its starting parameters, `slower` times as long, with 2 % noise.
std::string gemm_table(int rows, double slower, std::uint64_t seed) {
  const model::GemmAnalytic analytic = start_model();
  std::mt19937_64 random(seed);
  std::string text = "m,n,k,time_us\n";
  for (int i = 0; i < rows; ++i) {
    const model::GemmShape shape{side(random), side(random), side(random), 1};
    const double noise = std::exp(0.04 * (uniform(random) - 0.5));
    text += fmt::format("{},{},{},{:.4f}\n", shape.m, shape.n, shape.k,
                        analytic.predict(shape).time_us * slower * noise);
  }
  return text;
}

read::Parameters fitted_parameters(const FitRequest& asked, const std::string& model = "gemm") {
  return read::parse_parameters(find_fit(model).fit(asked).file_text, "p", model);
}

model::CalibratedGemm fitted_gemm(const std::string& table) {
  return {fitted_parameters(request(table)), builtin_machine("h200-sxm-141gb")};
}

std::string complaint(const std::string& model, const FitRequest& asked) {
  return test::complaint([&] { return find_fit(model).fit(asked); });
}

TEST(Induce, FewPointsGiveTheMeanOfMany) {
  const Eigen::Index rows = 400;
  const model::MaternScales scales{Eigen::Vector2d(2, 2), 0.1, 0.02};
  std::mt19937_64 random(1);
  Eigen::MatrixXd features(rows, 2);
  Eigen::VectorXd targets(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    features.row(i) << 4 * uniform(random), 4 * uniform(random);
    targets[i] =
        0.1 * std::sin(features(i, 0)) * std::cos(features(i, 1)) + 0.02 * (uniform(random) - 0.5);
  }
  const Eigen::VectorXd factors = Eigen::VectorXd::Ones(rows);
  const model::MaternProcess all(scales, features, targets, factors);
  const auto induced = induce(scales, features, targets, factors, 60);
  ASSERT_EQ(induced.points.size(), 60U);
  const model::MaternProcess few(scales, features(induced.points, Eigen::all), induced.targets,
                                 induced.noise_factors);
  for (const Eigen::Vector2d& place :
       {Eigen::Vector2d(1, 1), Eigen::Vector2d(2.5, 0.5), Eigen::Vector2d(3.9, 3.9)})
    EXPECT_NEAR(few.mean(place), all.mean(place), 0.004);
  EXPECT_EQ(induce(scales, features, targets, factors, rows).targets, targets);
}

TEST(FitGemm, PredictsShapesThatItHasNotSeen) {
  const model::CalibratedGemm fitted = fitted_gemm(gemm_table(60, 1.3, 1));
  const read::Table unseen(gemm_table(60, 1.3, 2), "unseen");
  double error = 0, inside = 0, too_slow = 0, called_slow = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const auto p = fitted.predict({unseen.number(i, 0), unseen.number(i, 1), unseen.number(i, 2)});
    const double measured = unseen.number(i, 3);
    error += std::abs(p.estimate.time_us / measured - 1) / 60;
    if (measured > p.estimate.lower_us && measured < p.estimate.upper_us) inside += 1.0 / 60;
    if (measured > p.estimate.upper_us) too_slow += 1.0 / 60;
    if (1.2 * measured > p.estimate.upper_us) called_slow += 1.0 / 60;
  }
  EXPECT_LT(error, 0.06);
  EXPECT_GT(inside, 0.75);
  EXPECT_LT(too_slow, 0.15);
  EXPECT_GT(called_slow, 0.75);
  EXPECT_FALSE(fitted.is_transfer());
}

TEST(FitGemm, SaysWhatItsRowsDoNotTellAndWhichWould) {
  const auto result = find_fit("gemm").fit(request(gemm_table(60, 1, 1)));
  EXPECT_THAT(result.summary, HasSubstr("these rows say little about"));
  // Only kernels of the generation before have a kernel for vectors.
  EXPECT_THAT(result.summary, ContainsRegex("vector_us +left where it started; would tell: "
                                            "m or n of 1"));
}

// Times of thin products scatter by a factor of two, those of others by 2 %.
std::string table_with_riddles(int rows, std::uint64_t seed) {
  const read::Table even(gemm_table(rows, 1, seed), "even");
  std::mt19937_64 random(seed);
  std::string text = "m,n,k,time_us\n";
  for (std::size_t i = 0; i < even.row_count(); ++i) {
    const double m = even.number(i, 0);
    const double noise = m < 256 ? std::exp2(uniform(random) - 0.5) : 1;
    text += fmt::format("{},{},{},{:.4f}\n", m, even.number(i, 1), even.number(i, 2),
                        even.number(i, 3) * noise);
  }
  return text;
}

TEST(FitGemm, IsLessSureWhereItWasWrongMoreOften) {
  auto parameters = fitted_parameters(request(table_with_riddles(80, 8)));
  const auto width = [&](double m) {
    const model::CalibratedGemm fitted(parameters, builtin_machine("h200-sxm-141gb"));
    const auto p = fitted.predict({m, 1024, 1024, 1});
    return p.estimate.upper_us / p.estimate.lower_us;
  };
  EXPECT_GT(width(64), 1.15 * width(2048));
  // Files from before errors were kept by point still have an interval.
  parameters.residual.erase("usual_errors");
  EXPECT_GT(width(64), 1.01);
  parameters.residual["usual_errors"] = {0.1, 0.2};
  EXPECT_THROW(width(64), read::InputError);
}

// Kernels that the library should not have chosen: always 64 x 32, whatever the shape.
std::string table_of_one_kernel(int rows, std::uint64_t seed) {
  const model::GemmAnalytic analytic = start_model();
  std::mt19937_64 random(seed);
  std::string text = "m,n,k,kernel_name,blocks,time_us\n";
  for (int i = 0; i < rows; ++i) {
    const model::GemmShape shape{side(random), side(random), side(random), 1};
    text += fmt::format("{},{},{},gemm_32x64_tn,{},{:.4f}\n", shape.m, shape.n, shape.k,
                        std::ceil(shape.m / 64) * std::ceil(shape.n / 32),
                        analytic.predict(shape, {64, 32, 1}).time_us);
  }
  return text + "64,64,64,gemm_32x64_tn,1000001,1\n";  // blocks of another kernel: left out
}

TEST(FitGemm, LearnsFromKernelsThatAreKnown) {
  auto asked = request(table_of_one_kernel(60, 1));
  asked.settings.insert_or_assign("kernel", "known");
  const model::CalibratedGemm fitted(fitted_parameters(asked), builtin_machine("h200-sxm-141gb"));
  EXPECT_TRUE(fitted.knows_kernels());
  const read::Table unseen(table_of_one_kernel(60, 2), "unseen");
  double error = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const auto p = fitted.predict({unseen.number(i, 0), unseen.number(i, 1), unseen.number(i, 2)},
                                  model::GemmKernel{64, 32, 1});
    error += std::abs(p.estimate.time_us / unseen.number(i, 5) - 1) / 60;
  }
  EXPECT_LT(error, 0.03);
}

// Stack "b" takes 30 % longer than stack "a".
std::string table_of_stacks(int rows, std::uint64_t seed) {
  const read::Table quick(gemm_table(rows, 1, seed), "quick");
  const read::Table slow(gemm_table(rows, 1.3, seed + 100), "slow");
  std::string text = "m,n,k,time_us,stack\n";
  for (const auto& [table, stack] : {std::pair(&quick, "a"), std::pair(&slow, "b")}) {
    for (std::size_t i = 0; i < table->row_count(); ++i) {
      text += fmt::format("{},{},{},{},{}\n", table->number(i, 0), table->number(i, 1),
                          table->number(i, 2), table->number(i, 3), stack);
    }
  }
  return text;
}

TEST(FitGemm, KnowsStacksApartAndIsLessSureOfAnUnknownOne) {
  const auto result = find_fit("gemm").fit(request(table_of_stacks(80, 7)));
  EXPECT_THAT(result.summary, HasSubstr("stacks held out"));
  const model::CalibratedGemm fitted(read::parse_parameters(result.file_text, "p", "gemm"),
                                     builtin_machine("h200-sxm-141gb"));
  EXPECT_THAT(fitted.stacks(), ElementsAre("a", "b"));
  const read::Table unseen(table_of_stacks(40, 8), "unseen");
  double error = 0, inside = 0, width = 0, width_of_unknown = 0;
  const auto rows = static_cast<double>(unseen.row_count());
  for (std::size_t i = 0; i < unseen.row_count(); ++i) {
    const model::GemmShape shape{unseen.number(i, 0), unseen.number(i, 1), unseen.number(i, 2)};
    const double measured = unseen.number(i, 3);
    const auto known = fitted.predict(shape, {}, unseen.cell(i, 4)).estimate;
    const auto unknown = fitted.predict(shape).estimate;
    error += std::abs(known.time_us / measured - 1) / rows;
    if (measured > unknown.lower_us && measured < unknown.upper_us) inside += 1 / rows;
    width += std::log(known.upper_us / known.lower_us) / rows;
    width_of_unknown += std::log(unknown.upper_us / unknown.lower_us) / rows;
  }
  EXPECT_LT(error, 0.07);
  EXPECT_GT(inside, 0.85);
  EXPECT_GT(width_of_unknown, 1.5 * width);
}

TEST(FitGemm, IsLessSureOfAnotherStackThanOfTheOnlyOne) {
  std::string rows = table_of_stacks(40, 9);
  rows.resize(rows.rfind('\n', rows.find(",b\n")) + 1);  // those of "a" come first
  const model::CalibratedGemm fitted = fitted_gemm(rows);
  const auto own = fitted.predict({4096, 4096, 4096}, {}, "a").estimate;
  const auto other = fitted.predict({4096, 4096, 4096}).estimate;
  EXPECT_EQ(other.time_us, own.time_us);
  EXPECT_LT(other.lower_us, 0.95 * own.lower_us);
  EXPECT_GT(other.upper_us, 1.05 * own.upper_us);
}

TEST(FitGemm, GivesTheSameBytesTwice) {
  const auto asked = request(gemm_table(40, 1, 3));
  EXPECT_EQ(find_fit("gemm").fit(asked).file_text, find_fit("gemm").fit(asked).file_text);
}

TEST(FitGemm, IsLessSureOnAnotherMachine) {
  const auto parameters = fitted_parameters(request(gemm_table(40, 1, 4)));
  const model::CalibratedGemm own(parameters, builtin_machine("h200-sxm-141gb"));
  const model::CalibratedGemm other(parameters, builtin_machine("a100-sxm4-80gb"));
  const model::GemmShape shape{4096, 4096, 4096, 1};
  const auto width = [&](const model::CalibratedGemm& gemm) {
    const auto p = gemm.predict(shape);
    return p.estimate.upper_us / p.estimate.lower_us;
  };
  EXPECT_TRUE(other.is_transfer());
  EXPECT_GT(width(other), 1.1 * width(own));
}

TEST(FitGemm, SaysThatAShapeIsFarFromAllItHasSeen) {
  const model::CalibratedGemm fitted = fitted_gemm(gemm_table(40, 1, 5));
  EXPECT_GT(fitted.predict({1 << 23, 1, 1 << 23, 1}).estimate.distance, model::kFarAway);
}

TEST(FitGemm, RefusesTablesThatCannotDetermineAnything) {
  EXPECT_EQ(
      complaint("gemm", request(gemm_table(10, 1, 6))),
      "table.csv: 10 rows, but a fit of 22 parameters to bf16 under burst load needs 22 at least");
  std::string constant = "m,n,k,time_us\n";
  for (int i = 1; i <= 22; ++i)
    constant += fmt::format("64,{},{},{}\n", 32 * i, 64 * i, i);
  EXPECT_EQ(complaint("gemm", request(constant)),
            "table.csv: column m: 64 in every row, so nothing can be learnt about it");
  EXPECT_EQ(complaint("gemm", request("m,n,k,time_us\n1,2,3,nan\n")),
            "table.csv: line 2, column time_us: expected a number, found \"nan\"");
}

TEST(FitGemm, RefusesTimesThatNoGpuReaches) {
  std::string milliseconds = "m,n,k,time_us\n";
  for (int i = 1; i <= 24; ++i)
    milliseconds += fmt::format("{0},{0},{1},{2}\n", 512 * i, 4096 + 64 * i, 1e-3 * i * i);
  EXPECT_THAT(complaint("gemm", request(milliseconds)),
              MatchesRegex("table.csv: line [0-9]+, column time_us: .* us is .* times "
                           "faster than the machine's peak: another unit, type or GPU."));
}

std::string memory_table(double factor) {
  std::string text = "read_bytes,write_bytes,time_us\n";
  for (int i = 0; i < 24; ++i) {
    const double bytes = std::exp2(14 + 0.75 * i);  // up to 2 GB; 4 TB/s and 5 us
    text += fmt::format("{:.0f},{:.0f},{:.5f}\n", bytes, bytes, factor * (5 + 2 * bytes / 4e6));
  }
  return text;
}

std::string conv_table(double factor) {
  std::string text = "n,c,h,w,k,r,s,stride,pad,time_us\n";
  for (int i = 1; i <= 30; ++i) {
    text += fmt::format("{},{},28,28,{},3,3,1,1,{:.4f}\n", 8 * i, 32 * i, 64 * (1 + i % 7),
                        factor * (30 + 10 * i * i));
  }
  return text;
}

TEST(Fits, RefuseATableInAnotherUnit) {
  // 2.7 us and the like: whatever the shapes, only the launches tell nanoseconds from microseconds.
  for (const double factor : {1e3, 1e-3}) {
    for (const auto& [model, text] :
         {std::pair("gemm", gemm_table(60, factor, 7)), std::pair("memory", memory_table(factor)),
          std::pair("conv", conv_table(factor))}) {
      EXPECT_THAT(complaint(model, request(text)),
                  MatchesRegex("table.csv: line [0-9]+, column time_us: .* us .*: another "
                               "unit, type or GPU."))
          << model << factor;
    }
  }
  EXPECT_THAT(complaint("memory", request(memory_table(1e3))),
              HasSubstr("us were expected, and half of all rows are as far off"));
  EXPECT_EQ(complaint("gemm", request(gemm_table(30, 20, 7))), "");  // slow, but possible
  EXPECT_EQ(complaint("memory", request(memory_table(10))), "");
}

TEST(FitCollective, RefusesNanoseconds) {
  std::string text = "op,num_gpus,bytes,type,time_us\n";
  for (int i = 10; i < 30; ++i)
    text += fmt::format("all_reduce,8,{},f16,{}\n", 1 << i, 16e3 + (1 << i) / 300.0);
  EXPECT_THAT(complaint("collective", request(text)),
              HasSubstr("us where about 10 us were expected"));
}

TEST(FitCollective, RefusesWhatIsNoCollective) {
  EXPECT_EQ(complaint("collective", request("op,num_gpus,bytes,time_us\nall_reduce,2,8,9\n"
                                            "all_sort,2,8,9\n")),
            "table.csv: line 3, column op: unknown collective all_sort");
  EXPECT_EQ(complaint("collective", request("op,num_gpus,bytes,time_us\nall_reduce,2,8,0.009\n")),
            "table.csv: line 2, column time_us: expected 0.5 us at least for a collective, found "
            "0.009: another unit?");
}

TEST(FitMemory, FindsTheBandwidth) {
  const model::CalibratedMemory fitted(fitted_parameters(request(memory_table(1)), "memory"),
                                       builtin_machine("h200-sxm-141gb"));
  EXPECT_NEAR(fitted.predict(3e8, 3e8).estimate.time_us / (5 + 6e8 / 4e6), 1, 0.03);
}

TEST(FitCollective, PredictsARankCountBetweenTheMeasuredOnes) {
  // T = 10 us + 2 us a step + bytes * 2 (n - 1) / n / 200 GB/s
  const auto time = [](double bytes, double ranks) {
    return 10 + 4 * (ranks - 1) + bytes * 2 * (ranks - 1) / ranks / 200e3;
  };
  std::string text = "op,num_gpus,bytes,type,time_us\n";
  for (const int ranks : {2, 8}) {
    for (int i = 10; i < 30; ++i)
      text += fmt::format("all_reduce,{},{},f16,{:.5f}\n", ranks, 1 << i, time(1 << i, ranks));
  }
  const model::CalibratedCollectives fitted(fitted_parameters(request(text), "collective"),
                                            nullptr);
  for (const double bytes : {1024.0, 1e6, 3e8}) {
    const auto p = fitted.predict(model::CollectiveKind::kAllReduce, "f16", bytes, 4);
    ASSERT_TRUE(p);
    EXPECT_NEAR(p->estimate.time_us / time(bytes, 4), 1, 0.06) << bytes;
    EXPECT_TRUE(p->is_other_rank_count);
  }
  EXPECT_FALSE(fitted.predict(model::CollectiveKind::kAllToAll, "f16", 1e6, 2));
}

}  // namespace
}  // namespace inline_prof::fit
