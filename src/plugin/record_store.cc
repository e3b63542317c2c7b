#include "plugin/record_store.h"

#include <cerrno>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file.h"

namespace stowage::plugin {
namespace {

constexpr const char* kFile = "records";
constexpr std::size_t kFileBytesMax = std::size_t{256} << 20U;
constexpr std::size_t kRewriteAt = std::size_t{1} << 20U;  // and twice what is live

std::string lines_of(const Record& record) {
  Record plain = record;
  plain.given.reset();
  std::string lines = to_line(Allocated{std::move(plain)});
  if (record.given) lines += to_line(Given{record.name, *record.given});
  return lines;
}

}  // namespace

Result<RecordStore> RecordStore::open(const std::string& folder) {
  STOWAGE_TRY_VOID(make_folder(folder));
  RecordStore store(folder);
  STOWAGE_TRY_VOID(store.load());
  STOWAGE_TRY_ASSIGN(store.file_, AppendFile::open(store.path()));
  return store;
}

std::string RecordStore::path() const { return folder_ + "/" + kFile; }

Status RecordStore::load() {
  const auto text = base::try_read_file(path(), kFileBytesMax);
  if (!text) {
    // No file yet: a node that is new to the agent.
    if (text.error().kind == base::FileError::Kind::open && text.error().code == ENOENT) return {};
    return fail(
        fmt::format("cannot read {}: move it away, and delete the pods with cards of this "
                    "node, to start anew",
                    path()));
  }
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    auto change = parse_record_line(rest.substr(0, end));
    if (change) {
      apply(*std::move(change));
    } else {
      ++unreadable_;
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return {};
}

void RecordStore::apply(RecordChange change) {
  if (auto* allocated = std::get_if<Allocated>(&change)) {
    std::string name = allocated->record.name;
    records_.insert_or_assign(std::move(name), std::move(allocated->record));
  } else if (auto* given = std::get_if<Given>(&change)) {
    const auto found = records_.find(given->name);
    // The first word counts.
    if (found != records_.end() && !found->second.given) {
      found->second.given = std::move(given->cards);
    }
  } else {
    records_.erase(std::get<Dropped>(change).name);
  }
}

Status RecordStore::write(const RecordChange& change) {
  Status done = file_.append(to_line(change));
  trouble_ = done ? std::string() : done.error().message;
  if (!done) return done;
  apply(change);
  if (file_.size() < kRewriteAt || file_.size() < 2 * live_bytes_) return {};
  // The change is on the disk already: a failure leaves a file that is longer than needed.
  if (const Status smaller = rewrite(); !smaller) trouble_ = smaller.error().message;
  return {};
}

Status RecordStore::rewrite() {
  std::string text;
  for (const auto& [name, record] : records_) text += lines_of(record);
  // Opened again also after a failure, which may have replaced the file.
  file_ = AppendFile();
  const Status written = write_durably({.folder = folder_, .name = kFile}, text);
  STOWAGE_TRY_ASSIGN(file_, AppendFile::open(path()));
  if (written) live_bytes_ = text.size();
  return written;
}

void RecordStore::recover() {
  if (trouble_.empty()) return;
  const Status written = rewrite();
  trouble_ = written ? std::string() : written.error().message;
}

Status RecordStore::allocate(Record record) {
  if (records_.size() >= kRecordsMax) {
    return fail(fmt::format("there are {} records of containers that have not ended", kRecordsMax));
  }
  STOWAGE_CHECK(records_.count(record.name) == 0 && !record.given);
  return write(Allocated{std::move(record)});
}

Status RecordStore::give(const std::string& name, GivenCards cards) {
  const Record* record = find(name);
  STOWAGE_CHECK(record != nullptr && !record->given);
  return write(Given{name, std::move(cards)});
}

Status RecordStore::drop(const std::string& name) { return write(Dropped{name}); }

const Record* RecordStore::find(const std::string& name) const {
  const auto found = records_.find(name);
  return found == records_.end() ? nullptr : &found->second;
}

}  // namespace stowage::plugin
