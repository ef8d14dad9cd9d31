// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_level.hpp"

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"

namespace brickwork {

namespace {

template <class Memory, int Dim>
struct Classify {
  enum Kind { interior, rim, leaf_interior, leaf_rim };
  static constexpr int all = (1 << (1 << Dim)) - 1;
  GridLevel<Memory, Dim> level;
  HermiteBoundary<Dim> boundary;

  KOKKOS_INLINE_FUNCTION int colour(index_t vertex) const {
    auto const p = level.vertex_position(vertex);
    int bits = 0;
    for (int d = 0; d < Dim; ++d) bits |= static_cast<int>(p[d] & 1) << d;
    return bits;
  }
  KOKKOS_INLINE_FUNCTION bool is(Kind kind, index_t vertex) const {
    int const cells = level.vertex_cells(vertex), leaves = level.vertex_leaves(vertex);
    switch (kind) {
      case interior:
        return cells == all;
      case rim:
        return cells != all && boundary.fixed(level, vertex) != all;
      case leaf_interior:
        return leaves == all;
      default:
        return leaves != all && leaves != 0 && boundary.fixed(level, vertex) != all;
    }
  }
};

/// Collects the vertices of a kind (and of a colour, unless that is -1).
template <class Memory, int Dim>
struct Collect {
  Classify<Memory, Dim> classify;
  typename Classify<Memory, Dim>::Kind kind;
  int colour;
  int* vertices;  // null: counts only
  KOKKOS_FUNCTION void operator()(index_t vertex, index_t& count, bool is_final) const {
    if (!classify.is(kind, vertex) || (colour >= 0 && classify.colour(vertex) != colour)) return;
    if (is_final && vertices) vertices[count] = static_cast<int>(vertex);
    ++count;
  }
};

template <class Memory, int Dim>
struct FindNeighbours {
  GridLevel<Memory, Dim> level;
  int const* vertices;
  int* neighbours;
  index_t count;
  KOKKOS_FUNCTION void operator()(index_t site) const {
    auto const p = level.vertex_position(vertices[site]);
    for (int row = 0; row < (Dim == 3 ? 9 : 3); ++row) {
      auto q = p;
      q[1] += row % 3 - 1;
      if (Dim == 3) q[Dim - 1] += row / 3 - 1;
      neighbours[row * count + site] = static_cast<int>(level.find_vertex(q));
    }
  }
};

template <class Memory, int Dim>
struct FillRim {
  Classify<Memory, Dim> classify;
  bool leaves;
  int const* vertices;
  std::uint8_t *cells, *free, *colours;
  KOKKOS_FUNCTION void operator()(index_t site) const {
    index_t const vertex = vertices[site];
    cells[site] = leaves ? classify.level.vertex_leaves(vertex) : classify.level.vertex_cells(vertex);
    free[site] = static_cast<std::uint8_t>(classify.boundary.free(classify.level, vertex));
    colours[site] = static_cast<std::uint8_t>(classify.colour(vertex));
  }
};

struct CountBits {
  std::uint8_t const* bits;
  KOKKOS_FUNCTION void operator()(index_t i, index_t& count) const {
    for (int m = 0; m < 8; ++m) count += (bits[i] >> m) & 1;
  }
};

/// x = weight D^-1 b at interior vertices, elsewhere zero.
template <class Memory, class Scalar, int Dim>
struct StartJacobi {
  static constexpr int unknowns = 1 << Dim;
  std::uint8_t const* cells;
  Scalar const* b;
  Scalar *x, *other;
  index_t stride;
  Scalar scale[unknowns];
  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    bool const interior = cells[vertex] == (1 << unknowns) - 1;
    for (int m = 0; m < unknowns; ++m) {
      index_t const at = vertex + m * stride;
      x[at] = interior ? scale[m] * b[at] : Scalar(0);
      if (!interior) other[at] = 0;
    }
  }
};

template <class ExecutionSpace, int Dim>
struct TableBuilder {
  using Memory = typename ExecutionSpace::memory_space;
  using Sites = HermiteSites<ExecutionSpace, Dim>;
  using Kind = typename Classify<Memory, Dim>::Kind;
  ExecutionSpace space;
  Classify<Memory, Dim> classify;

  index_t collect(Kind kind, int colour, int* vertices) const {
    index_t count = 0;
    Kokkos::parallel_scan("brickwork::HermiteSites::collect", range(space, classify.level.vertex_count),
                          Collect<Memory, Dim>{classify, kind, colour, vertices}, count);
    return count;
  }
  template <class Table>
  void fill(Kind kind, int colour, Table& to) const {
    to.count = collect(kind, colour, nullptr);
    to.vertices = allocate<decltype(to.vertices)>(space, "brickwork::HermiteSites::vertices", to.count);
    to.neighbours =
        allocate<decltype(to.neighbours)>(space, "brickwork::HermiteSites::neighbours", to.count * (Dim == 3 ? 9 : 3));
    if (to.count == 0) return;
    collect(kind, colour, to.vertices.data());
    for_each("brickwork::HermiteSites::neighbours", space, to.count,
             FindNeighbours<Memory, Dim>{classify.level, to.vertices.data(), to.neighbours.data(), to.count});
  }
  void fill_rim(Kind kind, typename Sites::Rim& rim) const {
    fill(kind, -1, rim);
    for (auto* bits : {&rim.cells, &rim.free, &rim.colours})
      *bits = allocate<typename Sites::template table<std::uint8_t>>(space, "brickwork::HermiteSites::rim", rim.count);
    for_each("brickwork::HermiteSites::rim", space, rim.count,
             FillRim<Memory, Dim>{classify, kind == Kind::leaf_rim, rim.vertices.data(), rim.cells.data(),
                                  rim.free.data(), rim.colours.data()});
  }
};

/// Interior vertices of a level whose cells fill a box, every second one of a colour or (-1) all.
template <class Memory, int Dim>
detail::BoxSites<Dim> interior_box(GridLevel<Memory, Dim> const& level, int colour) {
  detail::BoxSites<Dim> sites{};
  sites.step = colour < 0 ? 1 : 2;
  sites.count = 1;
  index_t stride = 1;
  for (int d = 0; d < Dim; ++d) {
    sites.stride[d] = stride;
    stride *= level.box_cells[d] + 1;
    auto const last = static_cast<int>(level.box_cells[d] - 1);
    sites.first[d] = 1;
    if (colour >= 0 && ((level.box_begin[d] + 1) & 1) != ((colour >> d) & 1)) sites.first[d] = 2;
    sites.extent[d] = sites.first[d] > last ? 0 : (last - sites.first[d]) / sites.step + 1;
    sites.count *= sites.extent[d];
  }
  return sites;
}

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteSites<ExecutionSpace, Dim>::HermiteSites(ExecutionSpace const& space, level_type const& level_,
                                                HermiteBoundary<Dim> const& boundary_, bool by_colour)
    : level(level_), boundary(boundary_) {
  using Builder = TableBuilder<ExecutionSpace, Dim>;
  using Kind = typename Builder::Kind;
  Builder const builder{space, {level, boundary}};
  auto const fill_interior = [&](int colour, Interior& to) {
    to.is_box = level.is_box;
    if (level.is_box) {
      to.box = interior_box(level, colour);
      to.count = to.box.count;
    } else {
      builder.fill(Kind::interior, colour, to);
    }
  };
  fill_interior(-1, interior);
  if (by_colour)
    for (int colour = 0; colour < (1 << Dim); ++colour)
      fill_interior(colour, coloured[static_cast<std::size_t>(colour)]);
  builder.fill_rim(Kind::rim, rim);
  index_t free_rim = 0;
  if (rim.count > 0)
    Kokkos::parallel_reduce("brickwork::HermiteSites::free", range(space, rim.count), CountBits{rim.free.data()},
                            free_rim);
  rim_has_free = free_rim > 0;
  free_unknowns = free_rim + (interior.count << Dim);
  if (level.leaf_count == level.cell_count) {
    leaf_interior = interior;
    leaf_rim = rim;
  } else if (level.leaf_count > 0) {
    builder.fill(Kind::leaf_interior, -1, leaf_interior);
    builder.fill_rim(Kind::leaf_rim, leaf_rim);
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
HermiteLevel<ExecutionSpace, Scalar, Dim>::HermiteLevel(ExecutionSpace const& space, sites_type const& sites,
                                                        HermiteForm const& form)
    : sites_(sites) {
  std::array<double, Dim> spacing;
  for (int d = 0; d < Dim; ++d) spacing[static_cast<std::size_t>(d)] = sites.level.spacing[d];
  star_ = detail::star_coefficients<Scalar, Dim>(form, spacing);
  diagonal_ = detail::star_diagonal<Dim>(form, spacing);
  auto const element = hermite_element<Dim>(form, spacing);
  element_ = upload<Kokkos::View<Scalar*, memory_space>>(std::vector<Scalar>(element.begin(), element.end()),
                                                         "brickwork::HermiteLevel::element");
  (void)space;
}

template <class ExecutionSpace, class Scalar, int Dim>
template <class Finish>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::at_interior(char const* label, ExecutionSpace const& space,
                                                            typename sites_type::Interior const& interior,
                                                            vector_type const& x, Finish const& finish) const {
  auto const stride = static_cast<index_t>(x.extent(0));
  if (interior.is_box) {
    detail::star_on_box(label, space, star_, x.data(), stride, interior.box, finish);
  } else {
    detail::for_each_by_value(label, space, interior.count,
                              detail::StarAtSites<Scalar, Dim, detail::TableSites, Finish>{star_, x.data(), stride,
                                                                                           interior.sites(), finish});
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
detail::RimProduct<Scalar, Dim> HermiteLevel<ExecutionSpace, Scalar, Dim>::rim_product(
    typename sites_type::Rim const& rim, vector_type const& x) const {
  return {element_.data(), x.data(), static_cast<index_t>(x.extent(0)), rim.sites()};
}

template <class ExecutionSpace, class Scalar, int Dim>
template <class Finish>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::at_rim(char const* label, ExecutionSpace const& space,
                                                       typename sites_type::Rim const& rim, vector_type const& x,
                                                       Finish const& finish) const {
  if (rim.count == 0) return;
  detail::for_each_by_value(label, space, rim.count * unknowns,
                            detail::RimRows<Scalar, Dim, Finish>{rim_product(rim, x), finish});
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::apply_leaves(ExecutionSpace const& space, vector_type const& x,
                                                             vector_type const& y) const {
  detail::StoreRow<Scalar> const finish{y.data(), static_cast<index_t>(y.extent(0))};
  at_interior("brickwork::HermiteLevel::apply_leaves::interior", space, sites_.leaf_interior, x, finish);
  at_rim("brickwork::HermiteLevel::apply_leaves::rim", space, sites_.leaf_rim, x, finish);
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::apply(ExecutionSpace const& space, vector_type const& x,
                                                      vector_type const& y) const {
  detail::StoreRow<Scalar> const finish{y.data(), static_cast<index_t>(y.extent(0))};
  at_interior("brickwork::HermiteLevel::apply::interior", space, sites_.interior, x, finish);
  at_rim("brickwork::HermiteLevel::apply::rim", space, sites_.rim, x, finish);
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::residual(ExecutionSpace const& space, vector_type const& b,
                                                         vector_type const& x, vector_type const& r) const {
  detail::StoreRowResidual<Scalar> const finish{b.data(), r.data(), static_cast<index_t>(r.extent(0))};
  at_interior("brickwork::HermiteLevel::residual::interior", space, sites_.interior, x, finish);
  at_rim("brickwork::HermiteLevel::residual::rim", space, sites_.rim, x, finish);
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::start(ExecutionSpace const& space, double weight, vector_type const& b,
                                                      vector_type const& x, vector_type const& other) const {
  auto const stride = static_cast<index_t>(x.extent(0));
  StartJacobi<memory_space, Scalar, Dim> kernel{
      sites_.level.vertex_cells.data(), b.data(), x.data(), other.data(), stride, {}};
  for (std::size_t m = 0; m < unknowns; ++m) kernel.scale[m] = static_cast<Scalar>(weight / diagonal_[m]);
  for_each("brickwork::HermiteLevel::start::interior", space, stride, kernel);
  if (!sites_.rim_has_free) return;
  at_rim("brickwork::HermiteLevel::start::rim", space, sites_.rim, b,
         detail::JacobiAtRim<Scalar>{b.data(), x.data(), stride, static_cast<Scalar>(weight)});
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::chebyshev_step(ExecutionSpace const& space, double momentum,
                                                               double weight, vector_type const& b,
                                                               vector_type const& x, vector_type const& old,
                                                               vector_type const& to) const {
  detail::ChebyshevStep<Scalar, unknowns> finish{b.data(),
                                                 x.data(),
                                                 old.data(),
                                                 to.data(),
                                                 static_cast<index_t>(x.extent(0)),
                                                 static_cast<Scalar>(momentum),
                                                 static_cast<Scalar>(weight),
                                                 {}};
  for (std::size_t m = 0; m < unknowns; ++m) finish.scale[m] = static_cast<Scalar>(weight / diagonal_[m]);
  at_interior("brickwork::HermiteLevel::chebyshev_step::interior", space, sites_.interior, x, finish);
  if (sites_.rim_has_free) at_rim("brickwork::HermiteLevel::chebyshev_step::rim", space, sites_.rim, x, finish);
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteLevel<ExecutionSpace, Scalar, Dim>::sweep(ExecutionSpace const& space, bool reversed, vector_type const& b,
                                                      vector_type const& x) const {
  detail::CorrectInPlace<Scalar, unknowns> finish{b.data(), x.data(), static_cast<index_t>(x.extent(0)), {}};
  for (std::size_t m = 0; m < unknowns; ++m) finish.inverse[m] = static_cast<Scalar>(1 / diagonal_[m]);
  for (int i = 0; i < unknowns; ++i) {
    int const colour = reversed ? unknowns - 1 - i : i;
    at_interior("brickwork::HermiteLevel::sweep::interior", space, sites_.coloured[static_cast<std::size_t>(colour)], x,
                finish);
    if (sites_.rim_has_free)
      detail::for_each_by_value("brickwork::HermiteLevel::sweep::rim", space, sites_.rim.count,
                                detail::RimVertices<Scalar, Dim, detail::CorrectInPlace<Scalar, unknowns>>{
                                    rim_product(sites_.rim, x), colour, finish});
  }
}

#define BRICKWORK_INSTANTIATE(Space)             \
  template class HermiteSites<Space, 2>;         \
  template class HermiteSites<Space, 3>;         \
  template class HermiteLevel<Space, float, 2>;  \
  template class HermiteLevel<Space, float, 3>;  \
  template class HermiteLevel<Space, double, 2>; \
  template class HermiteLevel<Space, double, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
