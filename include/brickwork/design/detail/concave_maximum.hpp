// SPDX-License-Identifier: BSD-3-Clause
// Maximum of a concave function of a few nonnegative variables, by a safeguarded Newton method. Host only.
//
// Only first and second derivatives are asked for: near the maximum the function's own differences drown in rounding
// long before its gradient does. A step follows the Newton direction of the variables that are not held at 0 and is
// taken where the slope along it has not turned by more than a quarter of what it was; else the maximum along it is
// closed in upon, by Newton steps from either side and by halves. Second derivatives need not be continuous.
// Source: Bertsekas, Projected Newton methods for optimization problems with simple constraints, 1982.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace brickwork::detail {

template <int M>
class ConcaveMaximum {
 public:
  using Point = std::array<double, M>;
  struct Derivatives {
    Point gradient{};
    std::array<Point, M> curvature{};  ///< minus the second derivatives: positive semidefinite
  };

  Point point{};        ///< start on entry, the maximum after search(); none negative
  int evaluations = 0;  ///< calls of the function

  /// \param tolerance   of the gradient, in variables that are not held at 0
  /// \param resolution  of a variable, relative to 1 + its value: no shorter step is tried
  ConcaveMaximum(double tolerance, double resolution) : tolerance_(tolerance), resolution_(resolution) {}

  /// \param evaluate  callable as evaluate(Point const&), returns Derivatives
  /// \return whether the tolerance was met, within a factor of 100 where the resolution ended the search
  template <class Evaluate>
  bool search(Evaluate const& evaluate) {
    Derivatives here = at(evaluate, point);
    while (residual(here) > tolerance_) {
      if (!std::isfinite(dot(here.gradient, here.gradient))) return false;
      Point const step = direction(here);
      End low = end(here, step, 0), high{};  // of the maximum along the step; the higher one once it is known
      double const slope = low.slope;
      double length = 1, width = INFINITY, wider = INFINITY;
      for (;;) {
        if (evaluations >= most_evaluations) return false;
        if (!(slope > 0) || is_short(step, length)) return residual(here) <= 100 * tolerance_;
        Point trial{};
        for (int i = 0; i < M; ++i) trial[i] = std::max(0.0, point[i] + length * step[i]);
        Derivatives const next = at(evaluate, trial);
        End const met = end(next, step, length);
        bool const is_bracketed = high.length > 0;
        if (std::abs(met.slope) <= slope / 4 ||
            (met.slope > 0 && (!is_bracketed || is_short(step, high.length - length)))) {
          if (length < 1)
            radius_ = std::max(radius_ * std::max(length, 0.1), 1e-3);
          else if (met.slope > slope / 4)
            radius_ = std::min(radius_ * 4, 1e3);
          point = trial;
          here = next;
          break;
        }
        (met.slope > 0 ? low : high) = met;
        double const now = high.length - low.length;
        length = 0.5 * (low.length + high.length);
        // Newton's method from either end, the newer one first, while the bracket halves in two rounds.
        if (now <= 0.5 * wider) {
          auto const inside = [&](double root) {
            return root > low.length + 1e-3 * now && root < high.length - 1e-3 * now;
          };
          double const from_met = met.root(), from_other = (met.slope > 0 ? high : low).root();
          if (inside(from_met))
            length = from_met;
          else if (inside(from_other))
            length = from_other;
        }
        wider = width;
        width = now;
      }
    }
    return true;
  }

 private:
  static constexpr int most_evaluations = 200;

  /// A point along a step, with the slope of the function there and minus its second derivative.
  struct End {
    double length = 0, slope = 0, curvature = 0;
    double root() const { return length + slope / curvature; }
  };

  static End end(Derivatives const& at, Point const& step, double length) {
    End result{length, dot(at.gradient, step), 0};
    for (int i = 0; i < M; ++i) result.curvature += step[i] * dot(at.curvature[i], step);
    return result;
  }

  static double dot(Point const& a, Point const& b) {
    double sum = 0;
    for (int i = 0; i < M; ++i) sum += a[i] * b[i];
    return sum;
  }

  template <class Evaluate>
  Derivatives at(Evaluate const& evaluate, Point const& where) {
    ++evaluations;
    return evaluate(where);
  }

  bool is_held(Derivatives const& here, int i) const { return point[i] == 0 && here.gradient[i] <= 0; }

  double residual(Derivatives const& here) const {
    double largest = 0;
    for (int i = 0; i < M; ++i)
      if (!is_held(here, i))
        largest = std::max(largest, std::isfinite(here.gradient[i]) ? std::abs(here.gradient[i]) : INFINITY);
    return largest;
  }

  bool is_short(Point const& step, double length) const {
    for (int i = 0; i < M; ++i)
      if (std::abs(length * step[i]) > resolution_ * (1 + point[i])) return false;
    return true;
  }

  // The Newton step within a box of the trust radius: where the curvature tells too little, a shift of it (Levenberg
  // and Marquardt) bends the step towards the gradient.
  Point direction(Derivatives const& here) const {
    double largest = 0, steepest = 0;
    for (int i = 0; i < M; ++i) {
      if (is_held(here, i)) continue;
      largest = std::max(largest, here.curvature[i][i]);
      steepest = std::max(steepest, std::abs(here.gradient[i]));
    }
    // The last shift alone would keep any step within the radius.
    double const last = std::max(steepest / radius_, largest) * 4 * M;
    for (double shift = std::max(1e-12 * largest, 1e-18 * last);; shift *= 4) {
      Point step = shifted_newton(here, shift);
      bool fits = shift > last;
      if (!fits) {
        fits = true;
        for (int i = 0; i < M; ++i) fits = fits && std::abs(step[i]) <= radius_ * std::max(1.0, point[i]);
      }
      for (int i = 0; i < M; ++i) step[i] = std::max(-point[i], step[i]);
      if (fits && (shift > last || dot(here.gradient, step) > 0)) return step;
    }
  }

  Point shifted_newton(Derivatives const& here, double shift) const {
    std::array<Point, M> a = here.curvature;
    Point step = here.gradient;
    for (int i = 0; i < M; ++i) {
      a[i][i] += shift;
      if (!is_held(here, i)) continue;
      for (int k = 0; k < M; ++k) a[i][k] = a[k][i] = 0;
      a[i][i] = 1;
      step[i] = 0;
    }
    // Elimination without pivots: the matrix is positive definite.
    for (int i = 0; i < M; ++i)
      for (int r = i + 1; r < M; ++r) {
        double const factor = a[r][i] / a[i][i];
        for (int k = i; k < M; ++k) a[r][k] -= factor * a[i][k];
        step[r] -= factor * step[i];
      }
    for (int i = M - 1; i >= 0; --i) {
      for (int k = i + 1; k < M; ++k) step[i] -= a[i][k] * step[k];
      step[i] /= a[i][i];
    }
    return step;
  }

  double tolerance_, resolution_;
  double radius_ = 1;  // of the next step, times max(1, variable)
};

}  // namespace brickwork::detail
