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
// holds, and p(D^-1 A_S) D^-1 is symmetric, so that a cycle that begins and ends with this smoother is so too.
//
// The list is made by a scan in the order of the nodes, the vectors on it are numbered like it, and every sum belongs
// to one node: bitwise repeatable. Kept: the list, 4 bytes for at most an eighth of the nodes and no more than
// `longest`. The rest lies in the level's temporary, 3 floats per node, while it is idle:
//
//   slots       per node 1 + its place in the list, 0 off it
//   b, x, next  four floats per slot: right-hand side and inverse diagonal, the last two iterates. Slot 0 holds zero,
//               the value off the list.
//
// Per step and listed node: 8 moduli, 27 slots and 27 displacements gathered (neighbours share them), 16 values more,
// and 504 multiply-adds with the rows of one corner of the cell, of which reflections give the other corners'.
#pragma once

#include "brickwork/core/for_each.hpp"
#include "brickwork/solvers/detail/multigrid_kernels.hpp"

#if defined(__CUDA_ARCH__)
#define BRICKWORK_DEVICE_UNROLL _Pragma("unroll")
#else
#define BRICKWORK_DEVICE_UNROLL
#endif

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

/// The displacement of a listed node, or a column of a 3 x 3 block: loaded whole.
struct alignas(16) Quad {
  float v[4];
};

/// The listed nodes of a level, and where their vectors lie.
struct LocalNodes {
  NodeBox box;
  int cells[3];
  float const* moduli;
  std::uint8_t const* mask;  ///< null: no constraints
  Quad const* stiffness;     ///< [8][3]: columns of the blocks of the cell's corner 0 with each corner
  std::uint32_t const* nodes;
  std::uint32_t const* count;
  std::uint32_t* slots;

  KOKKOS_FORCEINLINE_FUNCTION int fixed(index_t node) const { return mask ? mask[node] : 0; }
};

/// Neighbours' values of a nodal vector.
struct GatherNodes {
  VectorRef v;
  KOKKOS_FORCEINLINE_FUNCTION Quad operator()(index_t node) const {
    return {{v.data[node], v.data[node + v.stride], v.data[node + 2 * v.stride], 0}};
  }
};
/// Neighbours' values of a listed vector, zero off the list.
struct GatherListed {
  std::uint32_t const* slots;
  Quad const* x;
  KOKKOS_FORCEINLINE_FUNCTION Quad operator()(index_t node) const { return x[slots[node]]; }
};

/// What a step needs of `Lanes` listed nodes side by side: one on a GPU, as many as fill the vectors on a processor.
template <int Lanes>
struct LocalBlock {
  index_t node[Lanes];
  int position[Lanes][3];
  float modulus[8][Lanes];
  float product[3][Lanes];  ///< A v
};

/// Fills a block from the list's entry `first` on (beyond its end with the last one), with the moduli around its nodes.
template <int Lanes>
KOKKOS_FORCEINLINE_FUNCTION void load_block(LocalNodes const& local, index_t first, index_t count,
                                            LocalBlock<Lanes>& block) {
  NodeBox const& box = local.box;
  for (int l = 0; l < Lanes; ++l) {
    block.node[l] = local.nodes[first + l < count ? first + l : count - 1];
    int(&p)[3] = block.position[l];
    box.position(static_cast<std::uint32_t>(block.node[l]), p);
    // The cells behind and ahead along each axis; those outside get modulus zero and a valid index.
    int cell[3][2];
    bool exists[3][2];
    for (int axis = 0; axis < 3; ++axis) {
      int const last = local.cells[axis] - 1;
      exists[axis][0] = p[axis] > 0 || box.periodic[axis];
      exists[axis][1] = p[axis] <= last;
      cell[axis][0] = p[axis] > 0 ? p[axis] - 1 : last;
      cell[axis][1] = p[axis] <= last ? p[axis] : last;
    }
    BRICKWORK_DEVICE_UNROLL
    for (int n = 0; n < 8; ++n) {
      // Corner n of a cell has its set bits' cells behind.
      int const i = 1 - (n & 1), j = 1 - ((n >> 1) & 1), k = 1 - (n >> 2);
      float const modulus =
          local.moduli[cell[0][i] + index_t(local.cells[0]) * (cell[1][j] + index_t(local.cells[1]) * cell[2][k])];
      block.modulus[n][l] = exists[0][i] && exists[1][j] && exists[2][k] ? modulus : 0.0f;
    }
  }
}

/// The product of a block, from differences to the node's own value: translations leave nothing behind.
template <int Lanes, class Gather>
KOKKOS_FORCEINLINE_FUNCTION void multiply_block(LocalNodes const& local, Gather const& gather,
                                                LocalBlock<Lanes>& block) {
  NodeBox const& box = local.box;
  float v[27][3][Lanes];
  for (int l = 0; l < Lanes; ++l) {
    // Beyond the box no cell has a modulus: any finite value will do there, such as a neighbour's.
    std::uint32_t at[3][3];
    for (int axis = 0; axis < 3; ++axis) {
      int const i = block.position[l][axis], last = box.extent(axis) - 1;
      at[axis][0] = static_cast<std::uint32_t>(i > 0 ? i - 1 : (box.periodic[axis] ? last : 0));
      at[axis][1] = static_cast<std::uint32_t>(i);
      at[axis][2] = static_cast<std::uint32_t>(i < last ? i + 1 : (box.periodic[axis] ? 0 : last));
    }
    Quad const own = gather(block.node[l]);
    BRICKWORK_DEVICE_UNROLL
    for (int k = 0; k < 3; ++k) {
      BRICKWORK_DEVICE_UNROLL
      for (int j = 0; j < 3; ++j) {
        std::uint32_t const row = box.mx * (at[1][j] + box.my * at[2][k]);
        BRICKWORK_DEVICE_UNROLL
        for (int i = 0; i < 3; ++i) {
          Quad const value = gather(row + at[0][i]);
          for (int e = 0; e < 3; ++e) v[i + 3 * (j + 3 * k)][e][l] = value.v[e] - own.v[e];
        }
      }
    }
  }
  for (int d = 0; d < 3; ++d)
    for (int l = 0; l < Lanes; ++l) block.product[d][l] = 0;
  BRICKWORK_DEVICE_UNROLL
  for (int n = 0; n < 8; ++n) {
    float sum[3][Lanes] = {};
    // Reflected onto corner 0.
    float const yz = ((n >> 1) ^ (n >> 2)) & 1 ? -1.0f : 1.0f, xz = (n ^ (n >> 2)) & 1 ? -1.0f : 1.0f,
                xy = (n ^ (n >> 1)) & 1 ? -1.0f : 1.0f;
    BRICKWORK_DEVICE_UNROLL
    for (int other = 1; other < 8; ++other) {
      int const m = n ^ other;
      int const position =
          center_position + (m & 1) - (n & 1) + 3 * (((m >> 1) & 1) - ((n >> 1) & 1)) + 9 * ((m >> 2) - (n >> 2));
      Quad const* const k = local.stiffness + 3 * other;
      Quad const x = k[0], y = k[1], z = k[2];
      float const k01 = xy * y.v[0], k02 = xz * z.v[0], k10 = xy * x.v[1], k12 = yz * z.v[1], k20 = xz * x.v[2],
                  k21 = yz * y.v[2];
      for (int l = 0; l < Lanes; ++l) {
        float const vx = v[position][0][l], vy = v[position][1][l], vz = v[position][2][l];
        sum[0][l] += x.v[0] * vx + k01 * vy + k02 * vz;
        sum[1][l] += k10 * vx + y.v[1] * vy + k12 * vz;
        sum[2][l] += k20 * vx + k21 * vy + z.v[2] * vz;
      }
    }
    for (int d = 0; d < 3; ++d)
      for (int l = 0; l < Lanes; ++l) block.product[d][l] += block.modulus[n][l] * sum[d][l];
  }
}

/// Places the list: slots, b = r - A c (without c: r) with the inverse beside it, and the first step from zero,
/// x = weight D^-1 b.
template <int Lanes>
struct StartLocal {
  LocalNodes local;
  VectorRef r, c;  ///< c may be null
  Quad *b, *x;
  float factor[3];
  float weight, uniform, single;

  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const first = Lanes * index, count = *local.count;
    if (index == 0) x[0] = {};
    if (first >= count) return;
    LocalBlock<Lanes> block{};
    load_block(local, first, count, block);
    if (c.data) multiply_block(local, GatherNodes{c}, block);
    for (int l = 0; l < Lanes && first + l < count; ++l) {
      index_t const node = block.node[l], slot = first + l + 1;
      float around[8];
      for (int n = 0; n < 8; ++n) around[n] = block.modulus[n][l];
      float const inverse = bounded_inverse(around, uniform, single);
      int const fixed = local.fixed(node);
      Quad right{}, start{};
      for (int d = 0; d < 3; ++d) {
        bool const out = ((fixed >> d) & 1) != 0;
        right.v[d] = out ? 0.0f : r.data[node + d * r.stride] - block.product[d][l];
        start.v[d] = weight * inverse * factor[d] * right.v[d];
      }
      right.v[3] = inverse;
      local.slots[node] = static_cast<std::uint32_t>(slot);
      b[slot] = right;
      x[slot] = start;
    }
  }
};

/// A further step: next = s x + a next + weight D^-1 (b - A_S x), where next holds the iterate before x.
template <int Lanes>
struct StepLocal {
  LocalNodes local;
  Quad const *b, *x;
  Quad* next;
  float factor[3];
  float s, a, weight;

  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const first = Lanes * index, count = *local.count;
    if (index == 0) next[0] = {};
    if (first >= count) return;
    LocalBlock<Lanes> block;
    load_block(local, first, count, block);
    multiply_block(local, GatherListed{local.slots, x}, block);
    for (int l = 0; l < Lanes && first + l < count; ++l) {
      index_t const slot = first + l + 1;
      Quad const right = b[slot], present = x[slot];
      Quad result{};
      if (a != 0) result = next[slot];  // before the second step it holds anything
      int const fixed = local.fixed(block.node[l]);
      for (int d = 0; d < 3; ++d) {
        float const step = weight * right.v[3] * factor[d] * (right.v[d] - block.product[d][l]);
        result.v[d] = ((fixed >> d) & 1) ? 0.0f : s * present.v[d] + a * result.v[d] + step;
      }
      next[slot] = result;
    }
  }
};

struct AddLocal {
  std::uint32_t const *nodes, *count;
  Quad const* x;
  VectorRef c;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    if (i >= index_t(*count)) return;
    Quad const value = x[i + 1];
    for (int d = 0; d < 3; ++d) c.data[nodes[i] + d * c.stride] += value.v[d];
  }
};

/// Of a level that lives longer, with its moduli and its temporary.
template <class ExecutionSpace>
class LocalSmoother {
 public:
  using memory_space = typename ExecutionSpace::memory_space;

  static constexpr float lower = 1e-5f, upper = 0.5f;  ///< of E / E_max
  static constexpr int degree = 16;
  static constexpr float margin = 1.2f;
  /// 4 MiB. Of longer lists (the bridge at k = 320, 65.5M cells) the steps cost more than they gained: 26.0 s,
  /// not 24.1.
  static constexpr index_t longest = index_t(1) << 20;

  /// The longest list. Zero on a grid whose temporary would not hold its vectors.
  static index_t most_nodes(BoxGrid const& grid) {
    index_t const nodes = grid.node_count(), most = math::min(nodes / 8, longest);
    return quads(grid) + 3 * (most + 1) <= 3 * nodes / 4 ? most : 0;
  }
  static index_t bytes(BoxGrid const& grid) { return 4 * most_nodes(grid); }

  /// \param mask             of constraints, or null
  /// \param uniform, single  bounds of the spectrum of D^-1 A with the point diagonal: see BoundedInverse
  /// \param temporary        of the level, 3 floats per node, 16-byte aligned
  LocalSmoother(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness, float const* moduli,
                std::uint8_t const* mask, double uniform, double single, float* temporary)
      : grid_(grid), most_(most_nodes(grid)) {
    uniform_ = margin * static_cast<float>(uniform);
    single_ = margin * static_cast<float>(single);
    std::vector<Quad> columns;
    for (std::size_t column = 0; column < 24; ++column) {
      columns.push_back({});
      for (std::size_t d = 0; d < 3; ++d) columns.back().v[d] = static_cast<float>(stiffness[d][column]);
    }
    stiffness_ = upload<decltype(stiffness_)>(columns, "brickwork::LocalSmoother::stiffness");
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
    vectors_ = reinterpret_cast<Quad*>(temporary) + quads(grid);
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

  /// The list, in the order of the nodes.
  Kokkos::View<std::uint32_t const*, memory_space> nodes() const {
    auto const count = static_cast<std::size_t>(math::max(math::min(listed_, most_), index_t(0)));
    return Kokkos::subview(nodes_, std::make_pair(std::size_t(0), count));
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
  // Processors turn a block's loops into vector instructions; with twice as many nodes it would leave their cache.
  static constexpr int lanes =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible ? 16 : 1;

  // Of four floats: what the slots take of the temporary.
  static index_t quads(BoxGrid const& grid) { return (grid.node_count() + 3) / 4; }

  void smooth(ExecutionSpace const& space, VectorRef r, VectorRef start, VectorRef c) const {
    index_t const blocks = (most_ + lanes - 1) / lanes;
    Quad* const b = vectors_;
    Quad* x = b + most_ + 1;
    Quad* next = x + most_ + 1;
    for_each("brickwork::LocalSmoother::slots", space, grid_.node_count(), ClearSlots{local_.slots});
    for_each(
        "brickwork::LocalSmoother::start", space, blocks,
        StartLocal<lanes>{
            local_, r, start, b, x, {factor_[0], factor_[1], factor_[2]}, FourthKind::weight(0), uniform_, single_});
    for (int k = 1; k < degree; ++k) {
      float const momentum = FourthKind::momentum(k);
      for_each("brickwork::LocalSmoother::step", space, blocks,
               StepLocal<lanes>{local_,
                                b,
                                x,
                                next,
                                {factor_[0], factor_[1], factor_[2]},
                                1 + momentum,
                                k == 1 ? 0.0f : -momentum,
                                FourthKind::weight(k)});
      std::swap(x, next);
    }
    for_each("brickwork::LocalSmoother::add", space, most_, AddLocal{nodes_.data(), count_.data(), x, c});
  }

  BoxGrid grid_;
  index_t most_;
  index_t listed_ = -1;
  float uniform_, single_;
  float factor_[3];
  LocalNodes local_;
  Quad* vectors_;
  Kokkos::View<Quad*, memory_space> stiffness_;
  Kokkos::View<std::uint32_t*, memory_space> nodes_, count_;
};

}  // namespace brickwork::detail

#undef BRICKWORK_DEVICE_UNROLL
