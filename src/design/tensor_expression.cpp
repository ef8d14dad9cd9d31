// SPDX-License-Identifier: BSD-3-Clause
// Expressions as objectives: a recursive-descent parser writes a tape, operands before operators, and an evaluation
// runs along it with the derivatives by the entries that the expression reads (forward mode, exact).
#include <algorithm>
#include <cctype>
#include <cmath>
#include <locale>
#include <memory>
#include <sstream>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/design/detail/packed_tensor.hpp"

namespace brickwork {

namespace {

enum class Operation {
  constant,
  entry,
  iteration,
  negate,
  add,
  subtract,
  multiply,
  divide,
  power,
  log,
  exp,
  sqrt,
  tanh,
  abs,
  min,
  max
};

struct FunctionName {
  char const* name;
  Operation operation;
  int arguments;
};
constexpr FunctionName function_names[] = {
    {"log", Operation::log, 1}, {"exp", Operation::exp, 1}, {"sqrt", Operation::sqrt, 1}, {"tanh", Operation::tanh, 1},
    {"abs", Operation::abs, 1}, {"min", Operation::min, 2}, {"max", Operation::max, 2}};
constexpr char const* known_names = "C11 .. C66, iteration, pi, log, exp, sqrt, tanh, abs, min, max";

struct Node {
  Operation operation{};
  double constant = 0;             // of Operation::constant
  int entry = 0;                   // of Operation::entry: its position in the packed tensor
  int left = -1, right = -1;       // operands
  std::size_t begin = 0, end = 0;  // characters of the expression, for messages
  bool varies = false;             // with the tensor
};

struct Tape {
  std::string text;
  std::vector<Node> nodes;
  std::vector<int> entries;  // that are read, each once

  std::string part(Node const& node) const {
    constexpr std::size_t longest = 60;
    std::string part = text.substr(node.begin, node.end - node.begin);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back())) != 0) part.pop_back();
    return part.size() <= longest ? part : part.substr(0, longest) + "...";
  }
};

class Parser {
 public:
  explicit Parser(std::string const& text) { tape_.text = text; }

  Tape parse() {
    next_ = 0;
    sum();
    if (!at_end()) fail(next_, "'", rest_word(), "' is unexpected; an operator or the end is");
    BRICKWORK_REQUIRE(!tape_.entries.empty(), "expression '", tape_.text,
                      "': reads no entry C11 .. C66 of the tensor; one at least is needed");
    return std::move(tape_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(std::size_t at, Parts const&... parts) const {
    throw InputError(detail::concatenate("expression '", tape_.text, "', column ", at + 1, ": ", parts...));
  }

  static bool is(char c, int (*kind)(int)) { return kind(static_cast<unsigned char>(c)) != 0; }
  static bool in_name(char c) { return is(c, std::isalnum) || c == '_'; }
  char peek(std::size_t ahead = 0) const {
    return next_ + ahead < tape_.text.size() ? tape_.text[next_ + ahead] : '\0';
  }
  void skip_space() {
    while (next_ < tape_.text.size() && is(tape_.text[next_], std::isspace)) ++next_;
  }
  bool at_end() {
    skip_space();
    return next_ == tape_.text.size();
  }
  bool take(char wanted) {
    skip_space();
    if (next_ == tape_.text.size() || peek() != wanted) return false;
    ++next_;
    return true;
  }
  std::string rest_word() const {
    std::size_t end = next_;
    while (end < tape_.text.size() && in_name(tape_.text[end])) ++end;
    return tape_.text.substr(next_, std::max<std::size_t>(end - next_, 1));
  }

  int push(Node node, std::size_t begin) {
    node.begin = begin;
    node.end = next_;
    for (int operand : {node.left, node.right}) node.varies |= operand >= 0 && tape_.nodes[operand].varies;
    tape_.nodes.push_back(node);
    return static_cast<int>(tape_.nodes.size()) - 1;
  }
  int push(Operation operation, int left, int right, std::size_t begin) {
    Node node;
    node.operation = operation;
    node.left = left;
    node.right = right;
    return push(node, begin);
  }

  int sum() {
    skip_space();
    std::size_t const begin = next_;
    int left = product();
    for (;;) {
      if (take('+'))
        left = binary(Operation::add, left, &Parser::product, begin);
      else if (take('-'))
        left = binary(Operation::subtract, left, &Parser::product, begin);
      else
        return left;
    }
  }

  int product() {
    skip_space();
    std::size_t const begin = next_;
    int left = factor();
    for (;;) {
      if (take('*'))
        left = binary(Operation::multiply, left, &Parser::factor, begin);
      else if (take('/'))
        left = binary(Operation::divide, left, &Parser::factor, begin);
      else
        return left;
    }
  }

  int binary(Operation operation, int left, int (Parser::*operand)(), std::size_t begin) {
    int const right = (this->*operand)();
    return push(operation, left, right, begin);
  }

  // A sign binds less tightly than a power, but an exponent may have one. All recursion passes through here.
  int factor() {
    skip_space();
    std::size_t const begin = next_;
    if (++depth_ > most_depth) fail(begin, "more than ", most_depth, " levels of parentheses, signs and powers");
    int result = -1;
    if (take('-')) {
      result = factor();
      result = push(Operation::negate, result, -1, begin);
    } else if (take('+')) {
      result = factor();
    } else {
      result = primary();
      if (take('^')) result = binary(Operation::power, result, &Parser::factor, begin);
    }
    --depth_;
    return result;
  }

  int primary() {
    if (at_end()) fail(next_, "the expression ends; a number, a name or '(' is expected");
    std::size_t const begin = next_;
    if (take('(')) {
      int const inside = sum();
      close(begin);
      return inside;
    }
    if (is(peek(), std::isdigit) || (peek() == '.' && is(peek(1), std::isdigit))) return number();
    if (is(peek(), std::isalpha)) return name();
    fail(begin, "'", rest_word(), "' is unexpected; a number, a name or '(' is");
  }

  void close(std::size_t opened) {
    if (take(')')) return;
    if (next_ == tape_.text.size()) fail(opened, "'(' is not closed");
    fail(next_, "'", rest_word(), "' is unexpected; an operator or ')' is");
  }

  int number() {
    std::size_t const begin = next_;
    auto const digits = [this] {
      while (is(peek(), std::isdigit)) ++next_;
    };
    digits();
    if (peek() == '.') {
      ++next_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      std::size_t const sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is(peek(1 + sign), std::isdigit)) {
        next_ += 1 + sign;
        digits();
      }
    }
    std::istringstream stream(tape_.text.substr(begin, next_ - begin));
    stream.imbue(std::locale::classic());
    Node node;
    stream >> node.constant;
    if (stream.fail() || !std::isfinite(node.constant)) fail(begin, "'", stream.str(), "' is out of range");
    return push(node, begin);
  }

  int name() {
    std::size_t const begin = next_;
    std::string const name = rest_word();
    next_ += name.size();
    Node node;
    if (name == "pi") {
      node.constant = 3.141592653589793238;
      return push(node, begin);
    }
    if (name == "iteration") {
      node.operation = Operation::iteration;
      return push(node, begin);
    }
    if (name.size() == 3 && name[0] == 'C' && name[1] >= '1' && name[1] <= '6' && name[2] >= '1' && name[2] <= '6') {
      node.operation = Operation::entry;
      node.entry = detail::packed_entry(name[1] - '1', name[2] - '1');
      node.varies = true;
      if (std::find(tape_.entries.begin(), tape_.entries.end(), node.entry) == tape_.entries.end())
        tape_.entries.push_back(node.entry);
      return push(node, begin);
    }
    for (auto const& function : function_names)
      if (name == function.name) return call(function, begin);
    fail(begin, "unknown name '", name, "'; known are ", known_names);
  }

  int call(FunctionName const& function, std::size_t begin) {
    skip_space();
    std::size_t const opened = next_;
    if (!take('(')) fail(next_, "'(' is expected after ", function.name);
    int arguments[2] = {-1, -1};
    int count = 0;
    if (!take(')')) {
      do {
        int const argument = sum();
        if (count < 2) arguments[count] = argument;
        ++count;
      } while (take(','));
      close(opened);
    }
    if (count != function.arguments)
      fail(begin, function.name, " takes ", function.arguments, function.arguments == 1 ? " argument" : " arguments",
           ", not ", count);
    return push(function.operation, arguments[0], arguments[1], begin);
  }

  static constexpr int most_depth = 200;
  Tape tape_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

/// One run along the tape.
class Evaluation {
 public:
  Evaluation(Tape const& tape, detail::PackedTensor const& c, int iteration, bool with_slopes)
      : tape_(tape), c_(c), iteration_(iteration), with_slopes_(with_slopes), values_(tape.nodes.size()) {
    if (with_slopes_) slopes_.resize(tape.nodes.size() * tape.entries.size());
    for (std::size_t i = 0; i < tape.nodes.size(); ++i) node(i);
  }

  double value() const { return values_.back(); }
  double slope(std::size_t variable) const { return slopes_[(values_.size() - 1) * tape_.entries.size() + variable]; }

 private:
  template <class... Parts>
  [[noreturn]] void fail(Node const& node, Parts const&... parts) const {
    throw InputError(detail::concatenate("expression '", tape_.text, "', column ", node.begin + 1, ": '",
                                         tape_.part(node), "' at iteration ", iteration_, ": ", parts...));
  }

  bool varies(int operand) const { return operand >= 0 && tape_.nodes[operand].varies; }

  /// \param by_left, by_right  partial derivatives by the operands
  void set(std::size_t at, double value, double by_left = 0, double by_right = 0) {
    Node const& node = tape_.nodes[at];
    values_[at] = value;
    if (!std::isfinite(value)) fail(node, "the value is ", value);
    if (!with_slopes_ || !node.varies) return;
    std::size_t const count = tape_.entries.size();
    for (std::size_t k = 0; k < count; ++k) {
      double slope = 0;
      if (varies(node.left)) slope += by_left * slopes_[static_cast<std::size_t>(node.left) * count + k];
      if (varies(node.right)) slope += by_right * slopes_[static_cast<std::size_t>(node.right) * count + k];
      if (!std::isfinite(slope))
        fail(node, "the derivative by ", detail::packed_entry_name(tape_.entries[k]), " is ", slope);
      slopes_[at * count + k] = slope;
    }
  }

  void node(std::size_t at) {
    Node const& node = tape_.nodes[at];
    double const a = node.left >= 0 ? values_[static_cast<std::size_t>(node.left)] : 0;
    double const b = node.right >= 0 ? values_[static_cast<std::size_t>(node.right)] : 0;
    switch (node.operation) {
      case Operation::constant:
        return set(at, node.constant);
      case Operation::iteration:
        return set(at, iteration_);
      case Operation::entry: {
        set(at, c_[static_cast<std::size_t>(node.entry)]);
        if (!with_slopes_) return;
        auto const variable = std::find(tape_.entries.begin(), tape_.entries.end(), node.entry);
        slopes_[at * tape_.entries.size() + static_cast<std::size_t>(variable - tape_.entries.begin())] = 1;
        return;
      }
      case Operation::negate:
        return set(at, -a, -1);
      case Operation::add:
        return set(at, a + b, 1, 1);
      case Operation::subtract:
        return set(at, a - b, 1, -1);
      case Operation::multiply:
        return set(at, a * b, b, a);
      case Operation::divide:
        if (b == 0) fail(node, "division by zero");
        return set(at, a / b, 1 / b, -a / b / b);
      case Operation::power:
        return power(at, node, a, b);
      case Operation::log:
        if (!(a > 0)) fail(node, "the logarithm of ", a, "; a positive number is needed");
        return set(at, std::log(a), 1 / a);
      case Operation::exp: {
        double const value = std::exp(a);
        return set(at, value, value);
      }
      case Operation::sqrt: {
        if (a < 0) fail(node, "the square root of ", a, "; a number of at least 0 is needed");
        if (a == 0 && with_slopes_ && node.varies) fail(node, "the square root has no derivative at 0");
        double const value = std::sqrt(a);
        return set(at, value, 0.5 / value);
      }
      case Operation::tanh: {
        double const value = std::tanh(a), cosh = std::cosh(a);
        return set(at, value, 1 / cosh / cosh);
      }
      case Operation::abs:
        return set(at, std::abs(a), a > 0 ? 1 : a < 0 ? -1 : 0);
      case Operation::min:
        return a <= b ? set(at, a, 1, 0) : set(at, b, 0, 1);
      case Operation::max:
        return a >= b ? set(at, a, 1, 0) : set(at, b, 0, 1);
    }
  }

  void power(std::size_t at, Node const& node, double a, double b) {
    if (a == 0 && b < 0) fail(node, "division by zero");
    if (a < 0 && b != std::floor(b)) fail(node, "the power ", b, " of ", a, "; a base of at least 0 is needed");
    double by_base = 0, by_exponent = 0;
    if (with_slopes_ && varies(node.left) && b != 0) {
      if (a == 0 && b < 1) fail(node, "the power ", b, " has no derivative at 0");
      by_base = b * std::pow(a, b - 1);
    }
    if (with_slopes_ && varies(node.right)) {
      if (!(a > 0)) fail(node, "the base ", a, " of a power whose exponent varies; it must be positive");
      by_exponent = std::pow(a, b) * std::log(a);
    }
    set(at, std::pow(a, b), by_base, by_exponent);
  }

  Tape const& tape_;
  detail::PackedTensor const& c_;
  int iteration_;
  bool with_slopes_;
  std::vector<double> values_;
  std::vector<double> slopes_;  // [node][variable]
};

}  // namespace

TensorObjective parse_tensor_objective(std::string const& expression) {
  auto const tape = std::make_shared<Tape const>(Parser(expression).parse());
  TensorEntries entries{};
  for (int i = 0; i < 6; ++i)
    for (int j = i; j < 6; ++j)
      entries[i][j] =
          std::find(tape->entries.begin(), tape->entries.end(), detail::packed_entry(i, j)) != tape->entries.end();
  return detail::packed_objective(
      expression, entries, [tape](detail::PackedTensor const& c, int iteration, detail::PackedTensor* derivative) {
        Evaluation const evaluation(*tape, c, iteration, derivative != nullptr);
        if (derivative != nullptr)
          for (std::size_t k = 0; k < tape->entries.size(); ++k)
            (*derivative)[static_cast<std::size_t>(tape->entries[k])] = evaluation.slope(k);
        return evaluation.value();
      });
}

}  // namespace brickwork
