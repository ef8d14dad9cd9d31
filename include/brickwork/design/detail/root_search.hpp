// SPDX-License-Identifier: BSD-3-Clause
// Root of a decreasing function of which several values at once cost little more than one. Host only.
//
// Every round asks for four arguments: an interpolated root, a point close to it on either side, and the middle of the
// wider rest of the bracket. So the bracket at least halves, and on a smooth function shrinks faster than
// quadratically. While one side of the root is unknown, steps grow up to the limit.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace brickwork::detail {

class RootSearch {
 public:
  static constexpr int points_per_round = 4;
  using Points = std::array<double, points_per_round>;

  /// \param guess       first argument
  /// \param limit       arguments stay within [-limit, limit]; where the function keeps its sign up to there, that end
  ///                    is the answer
  /// \param tolerance   of the function's value
  /// \param resolution  of the argument: a bracket no wider ends the search
  RootSearch(double guess, double limit, double tolerance, double resolution)
      : limit_(limit), tolerance_(tolerance), resolution_(resolution), root_(std::clamp(guess, -limit, limit)) {
    for (int i = 0; i < points_per_round; ++i) points_[i] = clamped(root_ + spread[i]);
  }

  bool done() const { return done_; }
  int rounds() const { return rounds_; }
  /// Arguments at which the next values are wanted.
  Points const& points() const { return points_; }
  /// The argument whose value was nearest to zero, and that value.
  double root() const { return root_; }
  double value() const { return value_; }

  /// Values at points().
  void set(Points const& values) {
    ++rounds_;
    if (std::any_of(values.begin(), values.end(), [](double f) { return std::isnan(f); })) {
      value_ = NAN;  // nothing can be concluded
      done_ = true;
      return;
    }
    for (int i = 0; i < points_per_round; ++i) {
      samples_.push_back({points_[i], values[i]});
      if (std::abs(values[i]) < std::abs(value_)) root_ = points_[i], value_ = values[i];
    }
    std::sort(samples_.begin(), samples_.end(), [](Sample const& a, Sample const& b) { return a.t < b.t; });
    auto const above = std::partition_point(samples_.begin(), samples_.end(), [](Sample const& s) { return s.f > 0; });
    bool const low_known = above != samples_.begin(), high_known = above != samples_.end();
    double const low = low_known ? (above - 1)->t : -limit_, high = high_known ? above->t : limit_;
    done_ = std::abs(value_) <= tolerance_ || high - low <= resolution_ || rounds_ >= most_rounds;
    if (done_) return;
    if (low_known && high_known) {
      narrow(static_cast<std::size_t>(above - samples_.begin()));
    } else {
      double const from = low_known ? low : high, direction = low_known ? 1 : -1;
      for (int i = 0; i < points_per_round; ++i) points_[i] = clamped(from + direction * reach[i]);
    }
  }

 private:
  struct Sample {
    double t, f;
  };
  static constexpr int most_rounds = 80;
  static constexpr double spread[points_per_round] = {-0.3, -0.02, 0.02, 0.3};
  static constexpr double reach[points_per_round] = {0.8, 4, 20, INFINITY};  // the last one meets the limit

  double clamped(double t) const { return std::clamp(t, -limit_, limit_); }

  /// \param above  samples_[above - 1] and samples_[above] enclose the root
  void narrow(std::size_t above) {
    auto const [low, f_low] = samples_[above - 1];
    auto const [high, f_high] = samples_[above];
    double const width = high - low;
    double root = interpolated(above);
    if (!(root > low && root < high)) root = low + width * f_low / (f_low - f_high);
    double const margin = width * std::clamp(width, 1e-5, 0.0625);
    double const left = std::max(root - margin, 0.5 * (low + root)),
                 right = std::min(root + margin, 0.5 * (root + high));
    points_ = {left, root, right, left - low > high - right ? 0.5 * (low + left) : 0.5 * (right + high)};
  }

  /// Inverse interpolation at the value 0 through up to two samples on either side (Neville's scheme).
  double interpolated(std::size_t above) const {
    std::size_t const first = above >= 2 ? above - 2 : 0, count = std::min(above + 2, samples_.size()) - first;
    double t[4], f[4];
    for (std::size_t i = 0; i < count; ++i) t[i] = samples_[first + i].t, f[i] = samples_[first + i].f;
    for (std::size_t order = 1; order < count; ++order)
      for (std::size_t i = 0; i + order < count; ++i)
        t[i] = (f[i] * t[i + 1] - f[i + order] * t[i]) / (f[i] - f[i + order]);
    return t[0];
  }

  double limit_, tolerance_, resolution_;
  double root_, value_ = INFINITY;
  int rounds_ = 0;
  bool done_ = false;
  Points points_{};
  std::vector<Sample> samples_;
};

}  // namespace brickwork::detail
