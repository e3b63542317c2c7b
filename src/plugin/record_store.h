// The records of all Allocates that may still matter, in memory and on disk. A change is on the
// disk before it counts.
//
//   <folder>/records    lines of record.h, appended; rewritten when most of it is out of date
//
// A line that cannot be read is skipped and counted: after a crash the last one may be cut off, and
// its change was never answered to anybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugin/durable_file.h"
#include "plugin/record.h"

namespace stowage::plugin {

class RecordStore {
 public:
  static constexpr std::size_t kRecordsMax = 16'384;

  // Creates the folder, and reads what is there.
  [[nodiscard]] static Result<RecordStore> open(const std::string& folder);

  // An error: nothing has changed.
  [[nodiscard]] Status allocate(Record record);
  // Requires: find(name) has no cards yet.
  [[nodiscard]] Status give(const std::string& name, GivenCards cards);
  [[nodiscard]] Status drop(const std::string& name);
  // After a failure: writes everything again, so that the trouble ends when its cause has.
  void recover();

  [[nodiscard]] const Record* find(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, Record>& all() const { return records_; }
  [[nodiscard]] std::size_t unreadable_lines() const { return unreadable_; }
  // Why the last change failed; empty if it did not.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  explicit RecordStore(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::string path() const;
  [[nodiscard]] Status load();
  [[nodiscard]] Status write(const RecordChange& change);
  [[nodiscard]] Status rewrite();
  void apply(RecordChange change);

  std::string folder_;
  AppendFile file_;
  std::map<std::string, Record> records_;  // by name
  std::size_t live_bytes_ = 0;             // of the file after its last rewrite, about
  std::size_t unreadable_ = 0;
  std::string trouble_;
};

}  // namespace stowage::plugin
