// Reports for people, in a terminal or a page of text.
#pragma once

#include "join/analysis.hpp"
#include "join/compare/compare.hpp"
#include "join/ranks/ranks.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

struct TableOptions {
  std::size_t top = 0;     // only this many rows of each list, the largest; 0: all
  std::size_t width = 80;  // columns; longer names lose their middle
  bool colour = false;     // for a terminal
  bool details = true;     // the whole head, and all rows
  std::string layers{};    // glob: only the rows of these layers; empty: all
};

// Returns layer, event and occurrence as the table names a row.
[[nodiscard]] std::string name_of_row(const join::MergedRow& row);

// Returns a summary: what, why and next, what could be saved, and where the time goes by layers and
// operators.  With details, the rows of some layers or the `top` ones, two lines follow for each
// row (one, if there is room): the largest share first, the rows that a region encloses below it.
[[nodiscard]] std::string table_report(const join::Analysis& analysis, const TableOptions& options);

// Returns the head as Markdown, then a table of the merged rows.
[[nodiscard]] std::string markdown_report(const join::Analysis& analysis,
                                          const TableOptions& options);

// Returns what changed, the layers that did it, then the kernels; each list begins with the largest
// change and holds at most `top` (0: all).
[[nodiscard]] std::string compare_table(const join::Comparison& comparison,
                                        const TableOptions& options);
[[nodiscard]] std::string compare_markdown(const join::Comparison& comparison, std::size_t top);
[[nodiscard]] std::string compare_html(const join::Comparison& comparison, std::size_t top);

// Returns slow devices, stragglers and collectives.
[[nodiscard]] std::string ranks_table(const join::RankComparison& comparison,
                                      const TableOptions& options);

}  // namespace inline_prof::report
