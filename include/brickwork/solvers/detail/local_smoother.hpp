// SPDX-License-Identifier: BSD-3-Clause
// Smoothing of the grey nodes of a matrix-free level alone, many steps of it.
//
// A design that moves leaves sheets of fading material, one or two cells thick, loose in void. Their energy is 1e-2 to
// 1e-4 of what the diagonal makes of it, so that few steps of a smoother do not see them, and the next level, on which
// they join the solid beside them, is blind to them as well. But they are few, and local: with S the list of the nodes
// that touch a cell with lower < E / E_max < upper, R_S the restriction to their components that no constraint holds,
// and A_S = R_S A R_S^T (zero displacement off the list), this smoother is
//
//   c <- c + R_S^T p(D^-1 A_S) D^-1 R_S (r - A c),
//
// p the polynomial of `degree` steps of the Chebyshev iteration of the fourth kind (Lottes, 2022), D the diagonal with
// the local bound of the spectrum (BoundedInverse) times `margin`. Eigenvalues of A_S lie within those of A: the bound
// holds. p(D^-1 A_S) D^-1 is symmetric, so that a cycle that begins and ends with this smoother is so too.
//
// The list is made by a scan in the order of the nodes, the vectors on it are numbered like it, and every sum belongs
// to one node: bitwise repeatable. Kept: the list, 4 bytes for at most an eighth of the nodes and no more than
// `longest`. The rest lies in the level's temporary, 3 floats per node, while it is idle:
//
//   slots    per node 1 + its place in the list, 0 off it
//   inverse  per slot;  b, x, old  three each per slot. Slot 0 stays zero: the value off the list.
//
// Per step and listed node: 8 moduli, 27 slots and 81 values gathered (neighbours share them), 10 values more, and 504
// multiply-adds with the 24 x 3 rows of the cell stiffness, of which reflections give the other corners'.
#pragma once

#include "brickwork/core/for_each.hpp"
#include "brickwork/solvers/detail/multigrid_kernels.hpp"

namespace brickwork::detail {

/// Nodes that touch a cell with a modulus in (lower, upper).
struct GreyNodes {
  NodeBox box;
  int cells[3];
  float const* moduli;
  float lower, upper;

  KOKKOS_FORCEINLINE_FUNCTION bool contains(index_t node) const {
    int p[3];
    box.position(static_cast<std::uint32_t>(node), p);
    for (int corner = 0; corner < 8; ++corner) {
      float const modulus = modulus_at_corner(box, cells, moduli, p, corner);
      if (modulus > lower && modulus < upper) return true;
    }
    return false;
  }
};

/// Lists them in their own order: a scan that counts all, and stores the first `most`.
struct ListGreyNodes {
  using value_type = index_t;
  GreyNodes grey;
  std::uint32_t* nodes;
  index_t most;
  KOKKOS_FUNCTION void operator()(index_t node, index_t& place, bool final) const {
    if (!grey.contains(node)) return;
    if (final && place < most) nodes[place] = static_cast<std::uint32_t>(node);
    ++place;
  }
};

struct LargestModulus {
  float const* moduli;
  KOKKOS_FUNCTION void operator()(index_t cell, float& largest) const {
    largest = moduli[cell] > largest ? moduli[cell] : largest;
  }
};

struct StoreCount {
  std::uint32_t* count;
  std::uint32_t value;
  KOKKOS_FUNCTION void operator()(index_t) const { *count = value; }
};

struct ClearSlots {
  std::uint32_t* slots;
  KOKKOS_FUNCTION void operator()(index_t node) const { slots[node] = 0; }
};

/// The listed nodes of a level, and where their vectors lie.
struct LocalNodes {
  NodeBox box;
  int cells[3];
  float const* moduli;
  std::uint8_t const* mask;  ///< null: no constraints
  float const* stiffness;    ///< [8][3][3]: of the cell's corner 0 with each corner
  std::uint32_t const* nodes;
  std::uint32_t const* count;
  std::uint32_t* slots;
  float* inverse;
  index_t stride;  ///< of the listed vectors' components
};

/// Neighbours' values of a nodal vector.
struct GatherNodes {
  VectorRef v;
  KOKKOS_FORCEINLINE_FUNCTION float const* at(LocalNodes const&, index_t node) const { return v.data + node; }
  KOKKOS_FORCEINLINE_FUNCTION index_t stride(LocalNodes const&) const { return v.stride; }
};
/// Neighbours' values of a listed vector, zero off the list.
struct GatherListed {
  float const* x;
  KOKKOS_FORCEINLINE_FUNCTION float const* at(LocalNodes const& local, index_t node) const {
    return x + local.slots[node];
  }
  KOKKOS_FORCEINLINE_FUNCTION index_t stride(LocalNodes const& local) const { return local.stride; }
};

/// y = A v on `Lanes` listed nodes side by side (one on a GPU), from differences to the node's own value: translations
/// leave nothing behind.
template <int Lanes, class Gather>
KOKKOS_FORCEINLINE_FUNCTION void local_product(LocalNodes const& local, Gather const& gather,
                                               std::uint32_t const (&node)[Lanes], float (&y)[3][Lanes]) {
  float modulus[8][Lanes], v[27][3][Lanes];
  index_t const stride = gather.stride(local);
  for (int l = 0; l < Lanes; ++l) {
    int p[3];
    local.box.position(node[l], p);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int n = 0; n < 8; ++n) modulus[n][l] = modulus_at_corner(local.box, local.cells, local.moduli, p, n);
    float own[3];
    float const* const center = gather.at(local, node[l]);
    for (int e = 0; e < 3; ++e) own[e] = center[e * stride];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int position = 0; position < 27; ++position) {
      if (position == center_position) continue;
      int q[3] = {p[0] + position % 3 - 1, p[1] + position / 3 % 3 - 1, p[2] + position / 9 - 1};
      // Beyond the box no cell has a modulus: any finite value will do.
      for (int axis = 0; axis < 3; ++axis)
        if (!local.box.wrap(axis, q[axis])) q[axis] = p[axis];
      float const* const other = gather.at(local, local.box.index(q[0], q[1], q[2]));
      for (int e = 0; e < 3; ++e) v[position][e][l] = other[e * stride] - own[e];
    }
  }
  for (int d = 0; d < 3; ++d)
    for (int l = 0; l < Lanes; ++l) y[d][l] = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int n = 0; n < 8; ++n) {
    float sum[3][Lanes] = {};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int other = 1; other < 8; ++other) {
      int const m = n ^ other;
      int const position = center_position + (m & 1) - (n & 1) + 3 * (((m >> 1) & 1) - ((n >> 1) & 1)) +
                           9 * ((m >> 2) - (n >> 2));
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int d = 0; d < 3; ++d)
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int e = 0; e < 3; ++e) {
          // Reflected onto corner 0.
          bool const negative = (((n >> d) ^ (n >> e)) & 1) != 0;
          float const k = local.stiffness[9 * other + 3 * d + e];
          float const entry = negative ? -k : k;
          for (int l = 0; l < Lanes; ++l) sum[d][l] += entry * v[position][e][l];
        }
    }
    for (int d = 0; d < 3; ++d)
      for (int l = 0; l < Lanes; ++l) y[d][l] += modulus[n][l] * sum[d][l];
  }
}

/// Places the list: slots, inverses, b = r - A c (without c: r) and the first step from zero, x = weight D^-1 b.
template <int Lanes>
struct StartLocal {
  LocalNodes local;
  VectorRef r, c;  ///< c may be null
  float *b, *x;
  float factor[3];
  float weight, uniform, single;

  KOKKOS_FUNCTION void operator()(index_t block) const {
    index_t const first = Lanes * block, count = *local.count;
    if (block == 0)
      for (int d = 0; d < 3; ++d) x[d * local.stride] = 0;
    if (first >= count) return;
    std::uint32_t node[Lanes];
    float y[3][Lanes] = {};
    for (int l = 0; l < Lanes; ++l) node[l] = local.nodes[math::min(first + l, count - 1)];
    if (c.data) local_product<Lanes>(local, GatherNodes{c}, node, y);
    for (int l = 0; l < Lanes && first + l < count; ++l) {
      int p[3];
      local.box.position(node[l], p);
      float around[8];
      for (int n = 0; n < 8; ++n) around[n] = modulus_at_corner(local.box, local.cells, local.moduli, p, n);
      float const inverse = bounded_inverse(around, uniform, single);
      int const fixed = local.mask ? local.mask[node[l]] : 0;
      index_t const slot = first + l + 1;
      local.slots[node[l]] = static_cast<std::uint32_t>(slot);
      local.inverse[slot] = inverse;
      for (int d = 0; d < 3; ++d) {
        bool const out = ((fixed >> d) & 1) != 0;
        float const residual = out ? 0.0f : r.data[node[l] + d * r.stride] - y[d][l];
        b[slot + d * local.stride] = residual;
        x[slot + d * local.stride] = weight * inverse * factor[d] * residual;
      }
    }
  }
};

/// A further step: next = s x + a next + weight D^-1 (b - A_S x), where next holds the iterate before x.
template <int Lanes>
struct StepLocal {
  LocalNodes local;
  float const *b, *x;
  float* next;
  float factor[3];
  float s, a, weight;

  KOKKOS_FUNCTION void operator()(index_t block) const {
    index_t const first = Lanes * block, count = *local.count;
    if (block == 0)
      for (int d = 0; d < 3; ++d) next[d * local.stride] = 0;
    if (first >= count) return;
    std::uint32_t node[Lanes];
    float y[3][Lanes];
    for (int l = 0; l < Lanes; ++l) node[l] = local.nodes[math::min(first + l, count - 1)];
    local_product<Lanes>(local, GatherListed{x}, node, y);
    for (int l = 0; l < Lanes && first + l < count; ++l) {
      int const fixed = local.mask ? local.mask[node[l]] : 0;
      index_t const slot = first + l + 1;
      float const scale = weight * local.inverse[slot];
      for (int d = 0; d < 3; ++d) {
        index_t const i = slot + d * local.stride;
        float value = s * x[i] + scale * factor[d] * (b[i] - y[d][l]);
        if (a != 0) value += a * next[i];  // before the second step it holds anything
        next[i] = ((fixed >> d) & 1) ? 0.0f : value;
      }
    }
  }
};

struct AddLocal {
  std::uint32_t const *nodes, *count;
  float const* x;
  index_t stride;
  VectorRef c;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    if (i >= index_t(*count)) return;
    for (int d = 0; d < 3; ++d) c.data[nodes[i] + d * c.stride] += x[i + 1 + d * stride];
  }
};

template <class ExecutionSpace>
class LocalSmoother {
 public:
  using memory_space = typename ExecutionSpace::memory_space;

  static constexpr float lower = 1e-5f, upper = 0.5f;  ///< of E / E_max
  static constexpr int degree = 16;
  static constexpr float margin = 1.2f;
  static constexpr index_t longest = index_t(1) << 24;

  /// The longest list. Zero on a grid whose temporary would not hold its vectors.
  static index_t most_nodes(BoxGrid const& grid) {
    index_t const nodes = grid.node_count(), most = math::min(nodes / 8, longest);
    return nodes + 10 * (most + 1) <= 3 * nodes ? most : 0;
  }
  static index_t bytes(BoxGrid const& grid) { return 4 * most_nodes(grid); }

  /// \param mask             of constraints, or null
  /// \param uniform, single  bounds of the spectrum of D^-1 A with the point diagonal: see BoundedInverse
  /// \param temporary        of the level, 3 floats per node
  LocalSmoother(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness, float const* moduli,
                std::uint8_t const* mask, double uniform, double single, float* temporary)
      : grid_(grid), most_(most_nodes(grid)) {
    uniform_ = margin * static_cast<float>(uniform);
    single_ = margin * static_cast<float>(single);
    std::vector<float> corner;
    for (std::size_t n = 0; n < 8; ++n)
      for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t e = 0; e < 3; ++e) corner.push_back(static_cast<float>(stiffness[d][3 * n + e]));
    stiffness_ = upload<decltype(stiffness_)>(corner, "brickwork::LocalSmoother::stiffness");
    nodes_ = allocate<decltype(nodes_)>(space, "brickwork::LocalSmoother::nodes", most_);
    count_ = allocate<decltype(count_)>(space, "brickwork::LocalSmoother::count", 1);
    local_.box = NodeBox(grid);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      local_.cells[axis] = static_cast<int>(grid.cells()[axis]);
      factor_[axis] = static_cast<float>(1 / stiffness[axis][axis]);
    }
    local_.moduli = moduli;
    local_.mask = mask;
    local_.stiffness = stiffness_.data();
    local_.nodes = nodes_.data();
    local_.count = count_.data();
    local_.slots = reinterpret_cast<std::uint32_t*>(temporary);
    local_.stride = most_ + 1;
    local_.inverse = temporary + grid.node_count();
  }

  /// The moduli have changed: the list is out of date.
  void reset() { listed_ = -1; }

  /// Lists the grey nodes, if that has not been done since reset(): waits for `space` then.
  /// \return how many there are, of which no more than most_nodes() are listed
  index_t list(ExecutionSpace const& space) {
    if (listed_ >= 0) return listed_;
    float largest = 0;
    Kokkos::parallel_reduce("brickwork::LocalSmoother::list::largest", range(space, grid_.cell_count()),
                            LargestModulus{local_.moduli}, Kokkos::Max<float>(largest));
    GreyNodes grey{local_.box, {}, local_.moduli, lower * largest, upper * largest};
    for (int axis = 0; axis < 3; ++axis) grey.cells[axis] = local_.cells[axis];
    listed_ = 0;
    Kokkos::parallel_scan("brickwork::LocalSmoother::list", range(space, grid_.node_count()),
                          ListGreyNodes{grey, nodes_.data(), most_}, listed_);
    for_each("brickwork::LocalSmoother::list::count", space, 1,
             StoreCount{count_.data(), static_cast<std::uint32_t>(math::min(listed_, most_))});
    return listed_;
  }

  /// c = S r. Asynchronous, as is correct(); both use the temporary, and the list as list() left it. Launches do not
  /// depend on its length.
  void smooth_from_zero(ExecutionSpace const& space, VectorRef r, VectorRef c) const {
    for_each("brickwork::LocalSmoother::clear", space, grid_.node_count(), ClearVector{c});
    smooth(space, r, {}, c);
  }
  /// c += S (r - A c)
  void correct(ExecutionSpace const& space, VectorRef r, VectorRef c) const { smooth(space, r, c, c); }

 private:
  // Nodes side by side: as many as a processor's vectors hold.
  static constexpr int lanes =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible ? 8 : 1;

  void smooth(ExecutionSpace const& space, VectorRef r, VectorRef start, VectorRef c) const {
    index_t const stride = local_.stride, blocks = (most_ + lanes - 1) / lanes;
    float* const b = local_.inverse + stride;
    float* x = b + 3 * stride;
    float* next = x + 3 * stride;
    for_each("brickwork::LocalSmoother::slots", space, grid_.node_count(), ClearSlots{local_.slots});
    for_each("brickwork::LocalSmoother::start", space, blocks,
             StartLocal<lanes>{local_, r, start, b, x, {factor_[0], factor_[1], factor_[2]},
                               FourthKind::weight(0), uniform_, single_});
    for (int k = 1; k < degree; ++k) {
      float const momentum = FourthKind::momentum(k);
      for_each("brickwork::LocalSmoother::step", space, blocks,
               StepLocal<lanes>{local_, b, x, next, {factor_[0], factor_[1], factor_[2]}, 1 + momentum,
                                k == 1 ? 0.0f : -momentum, FourthKind::weight(k)});
      std::swap(x, next);
    }
    for_each("brickwork::LocalSmoother::add", space, most_, AddLocal{nodes_.data(), count_.data(), x, stride, c});
  }

  BoxGrid grid_;
  index_t most_;
  index_t listed_ = -1;
  float uniform_, single_;
  float factor_[3];
  LocalNodes local_;
  Kokkos::View<float*, memory_space> stiffness_;
  Kokkos::View<std::uint32_t*, memory_space> nodes_, count_;
};

}  // namespace brickwork::detail
