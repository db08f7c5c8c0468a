// Prints the prof.json of a made-up run, for a validator that is not ours.
#include "record/prof_writer.hpp"
#include "record/run_to_write.hpp"

#include <cstdio>

int main() {
  inline_prof::record::RunRecord run;
  inline_prof::record::fill(run);
  inline_prof::record::fill_watch(run);
  inline_prof::record::add_event(run, "region").add_flag(inline_prof::record::Flag::kAnyOccurrence);
  inline_prof::record::WriteFacts facts;
  facts.simulated = true;
  facts.libraries = {{"cublas", "13.1.0"}};
  facts.cross_check = inline_prof::record::CrossCheck{
      .version = 130001, .launches = 8, .dropped_records = 0, .times_us = {}};
  std::fputs(inline_prof::record::prof_json(run, facts).c_str(), stdout);
  return 0;
}
