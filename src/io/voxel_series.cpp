// SPDX-License-Identifier: BSD-3-Clause
// ParaView's list of the files of a time series, JSON:
//   {"file-series-version": "1.0", "files": [{"name": "a_0001.vtkhdf", "time": 1}, ...]}
// Only names and times matter, so the text is read as a row of tokens: whatever else an entry holds is passed over.
#include <filesystem>
#include <utility>
#include <vector>

#include "brickwork/core/check.hpp"
#include "byte_source.hpp"
#include "format.hpp"
#include "voxel_formats.hpp"

namespace brickwork::detail {

namespace {

struct Frame {
  std::string file;
  double time = 0;
};

// One token after the other: a character of {}[],: or a word; a string without its quotes, its escapes resolved but for
// \u, which file names in such lists do without.
struct Token {
  enum class Kind { mark, string, word, end } kind = Kind::end;
  std::string text;
};

class Tokens {
 public:
  Tokens(InputFile const& file, std::string text) : file_(file), text_(std::move(text)) {}

  Token next() {
    at_ = text_.find_first_not_of(" \t\r\n", at_);
    if (at_ == std::string::npos) return {};
    if (std::string("{}[],:").find(text_[at_]) != std::string::npos) return {Token::Kind::mark, {text_[at_++]}};
    if (text_[at_] == '"') return {Token::Kind::string, string()};
    std::size_t const first = at_;
    at_ = text_.find_first_of(" \t\r\n{}[],:\"", at_);
    return {Token::Kind::word, text_.substr(first, at_ - first)};
  }

 private:
  std::string string() {
    std::string value;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ < text_.size()) {
        if (text_[at_] == 'u') file_.fail("a string holds the escape \\u; write the character itself");
        std::size_t const escape = std::string("nrtbf").find(text_[at_]);
        value += escape == std::string::npos ? text_[at_] : "\n\r\t\b\f"[escape];
      } else {
        value += text_[at_];
      }
    }
    if (at_++ >= text_.size()) file_.fail("it ends inside a string");
    return value;
  }

  InputFile const& file_;
  std::string text_;
  std::size_t at_ = 0;
};

std::vector<Frame> read_frames(InputFile& file) {
  constexpr index_t most_bytes = index_t(1) << 26;
  if (file.size() > most_bytes) file.fail("it is too long for a list of files");
  std::string text(static_cast<std::size_t>(file.size()), ' ');
  file.read(text.data(), text.size());
  Tokens tokens(file, std::move(text));
  std::vector<Frame> frames;
  Frame frame;
  bool has_time = false;
  Token before, token = tokens.next();
  if (token.text != "{") file.fail("it is no series of files (JSON with \"files\")");
  for (; token.kind != Token::Kind::end; before = token, token = tokens.next()) {
    if (token.text == ":" && token.kind == Token::Kind::mark && before.kind == Token::Kind::string) {
      Token const value = tokens.next();
      if (before.text == "name" && value.kind == Token::Kind::string) frame.file = value.text;
      if (before.text == "time") {
        std::optional<double> const time = parse_number(value.text);
        if (!time) file.fail("it has the time '" + value.text + "'; a number is needed");
        frame.time = *time;
        has_time = true;
      }
      token = value;
    } else if (token.text == "}" && token.kind == Token::Kind::mark && !frame.file.empty()) {
      // As ParaView: without times, files count from 0.
      if (!has_time) frame.time = static_cast<double>(frames.size());
      frames.push_back(std::exchange(frame, {}));
      has_time = false;
    }
  }
  if (frames.empty()) file.fail("it lists no files");
  return frames;
}

// "10, 20, 30", or the first and the last few of many.
std::string list_steps(std::vector<Frame> const& frames) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t n = 0; n < frames.size(); ++n) {
    bool const skipped = n >= shown && n + shown < frames.size();
    if (skipped && n > shown) continue;
    text += std::string(text.empty() ? "" : ", ") + (skipped ? "..." : format_double(frames[n].time));
  }
  return text;
}

}  // namespace

std::string frame_of_series(std::string const& path, std::optional<index_t> step) {
  InputFile file(path);
  std::vector<Frame> const frames = read_frames(file);
  Frame const* chosen = step ? nullptr : &frames.back();
  for (Frame const& frame : frames) {
    if (step && frame.time == static_cast<double>(*step)) chosen = &frame;
  }
  if (chosen == nullptr) file.fail("it has no step " + std::to_string(*step) + "; it has " + list_steps(frames));
  std::filesystem::path const frame(chosen->file);
  if (frame.extension() == ".series") file.fail("it lists '" + chosen->file + "', which is a series itself");
  return (std::filesystem::path(path).parent_path() / frame).string();
}

}  // namespace brickwork::detail
