#include "tangent.hpp"

#include <algorithm>
#include <cmath>

#include "progress.hpp"
#include "split.hpp"
#include "verdict.hpp"

namespace check {
namespace {

constexpr slong kTangentBits = 160;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

double length_up(const Balls& x) { return length(x).upper(); }

// Stores a row as doubles and returns how far off they are together.
double store(const Balls& row, const Ball& factor, double* out) {
  Ball squares;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Ball x = row[j] * factor;
    out[j] = x.middle();
    squares += square(x - Ball(out[j]));
  }
  return sqrt(squares).upper();
}

Balls transposed(const Node& node) {
  Balls t(node.weights.size());
  for (std::size_t i = 0; i < node.out; ++i) {
    for (std::size_t j = 0; j < node.in; ++j) {
      t[j * node.out + i] = node.weights[i * node.in + j];
    }
  }
  return t;
}

Balls times(const Balls& matrix, std::size_t rows, const Balls& x) {
  Balls y(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    y[i] = dot(matrix.data() + i * x.size(), x.data(), x.size());
  }
  return y;
}

double norm_of(const Node& node) {
  std::vector<double> numbers;
  for (const Ball& w : node.weights) {
    numbers.push_back(w.middle());
  }
  return spectral_norm(node.out, node.in, numbers, 0);
}

double most_of(const Balls& x) {
  double most = 0;
  for (const Ball& value : x) {
    most = std::max(most, value.size());
  }
  return most;
}

}  // namespace

// The layers of a list of nodes, behind the preparation of a point.
void Tangent::read(const Network& network) {
  const std::vector<Node>& nodes = network.nodes();
  const auto is = [&](std::size_t k, const char* op) { return k < nodes.size() && nodes[k].op == op; };
  const auto unknown = [&](std::size_t k) {
    throw Open(network.where() + ": node " + std::to_string(k) + " is not part of plain or residual layers");
  };
  std::size_t k = 0;
  while (is(k, "subtract") || is(k, "multiply") || is(k, "append") || is(k, "normalize") || is(k, "scale")) {
    ++k;
  }
  prepared_ = k;
  while (k < nodes.size()) {
    if (!is(k, "affine")) {
      unknown(k);
    }
    if (k + 1 == nodes.size()) {
      last_ = &nodes[k];
      break;
    }
    if (!is(k + 1, "activation")) {
      unknown(k + 1);
    }
    Layer layer{&nodes[k], &*nodes[k + 1].activation};
    // The end of a residual layer: [affine] [scale] add, with what the layer began with.
    const auto added = [&](std::size_t at) {
      at += is(at, "scale") ? 1 : 0;
      return is(at, "add") && nodes[at].from == k ? at : 0;
    };
    std::size_t next = k + 2;
    if (is(next, "affine") && added(next + 1) != 0) {
      layer.u = &nodes[next];
      ++next;
    }
    if (is(next, "scale")) {
      layer.s = nodes[next].number;
    }
    if (const std::size_t end = added(next); end != 0) {
      layer.residual = true;
      next = end + 1;
    } else {
      next += is(next, "scale") ? 1 : 0;
    }
    layers_.push_back(layer);
    k = next;
  }
  if (last_ == nullptr) {
    throw Open(network.where() + ": the last node is not affine");
  }
  outputs_ = last_->out;
}

Tangent::Tangent(const Network& network, const Points& points)
    : distinct_(points), points_(distinct_.size()) {
  read(network);
  const Bits bits(std::max(precision, kTangentBits));
  const auto block = [&](std::size_t left, std::size_t right, bool weight, bool bias) {
    blocks_.emplace_back();
    Block& b = blocks_.back();
    b.left.columns = left, b.left.numbers.resize(rows() * left);
    b.right.columns = right, b.right.numbers.resize(weight ? points_ * right : 0);
    b.weight = weight, b.bias = bias;
  };
  bool moves = false;
  for (const Layer& layer : layers_) {
    transposed_w_.push_back(transposed(*layer.w));
    transposed_u_.push_back(layer.u == nullptr ? Balls() : transposed(*layer.u));
    norm_w_.push_back(norm_of(*layer.w));
    norm_u_.push_back(layer.u == nullptr ? 1 : norm_of(*layer.u));
    rows_w_.emplace_back();
    for (std::size_t j = 0; j < layer.w->out; ++j) {
      const Ball* w = layer.w->weights.data() + j * layer.w->in;
      rows_w_.back().push_back(sqrt(dot(w, w, layer.w->in)).upper());
    }
    block(layer.w->out, layer.w->in, layer.w->moves, layer.w->bias_moves);
    block(layer.u == nullptr ? 0 : layer.u->out, layer.w->out, layer.u != nullptr && layer.u->moves,
          layer.u != nullptr && layer.u->bias_moves);
    z_.push_back({layer.w->out, std::vector<double>(points_ * layer.w->out)});
  }
  block(outputs_, last_->in, last_->moves, last_->bias_moves);
  for (const Block& b : blocks_) {
    moves = moves || b.weight || b.bias;
  }
  if (!moves) {
    throw Unreadable(network.where() + ": nothing of it is trained");
  }
  if (!layers_.empty()) {
    slope_ = {layers_[0].w->out, std::vector<double>(points_ * layers_[0].w->out)};
  }
  at_.assign(layers_.size(), std::vector<AtPoint>(points_));
  backward_.assign(layers_.size(), std::vector<AtOutput>(rows()));
  last_h_.resize(points_);
  Progress progress("differentiating the network", points_);
  for (std::size_t i = 0; i < points_; ++i) {
    progress.at(i);
    at_point(network, points, i);
  }
  off_ = root_up(squares_);
}

void Tangent::at_point(const Network& network, const Points& points, std::size_t i) {
  std::vector<Balls> values = network.run(points.row(distinct_.first[i]));
  f_.push_back(values.back());
  const std::size_t depth = layers_.size();
  std::vector<Balls> h{values[prepared_]}, slope, a;
  input_.push_back(h[0]);
  std::size_t at = prepared_;
  for (std::size_t l = 0; l < depth; ++l) {
    const Layer& layer = layers_[l];
    const Balls& z = values[at + 1];
    a.push_back(values[at + 2]);
    Balls d(z.size());
    for (std::size_t j = 0; j < z.size(); ++j) {
      d[j] = layer.phi->derivative(z[j]);
      z_[l].numbers[i * z.size() + j] = std::max(0.0, abs(z[j]).lower());
      if (l == 0) {
        slope_.numbers[i * z.size() + j] = d[j].middle();
      }
    }
    at_[l][i] = {length_up(h[l]), length_up(a[l]), most_of(d)};
    slope.push_back(std::move(d));
    // To the node in whose output this layer ends: the input of the next layer's W, or of the last node.
    const Node* next = l + 1 < depth ? layers_[l + 1].w : last_;
    at = static_cast<std::size_t>(next - network.nodes().data());
    h.push_back(values[at]);
  }
  last_h_[i] = length_up(h[depth]);
  const Ball root = sqrt(Ball(distinct_.count[i]));
  // A row of a part of J is off by |left| off(right) + off(left) |right|, where both are those stored or a
  // little more.
  std::vector<double> right_off(blocks_.size()), right_length(blocks_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const std::size_t l = b / 2;
    const Balls& right = b + 1 == blocks_.size() ? h[depth] : b % 2 == 0 ? h[l] : a[l];
    if (blocks_[b].weight) {
      right_off[b] = store(right, 1, blocks_[b].right.numbers.data() + i * right.size());
    }
    right_length[b] = length_up(right);
  }
  const auto keep = [&](std::size_t b, std::size_t row, const Balls& left, const Ball& factor) {
    Block& block = blocks_[b];
    if (!block.weight && !block.bias) {
      return;
    }
    const double off = store(left, factor, block.left.numbers.data() + row * block.left.columns);
    const double all = (length(left) * abs(factor)).upper() + off;
    const double weight = block.weight ? off * (right_length[b] + right_off[b]) + all * right_off[b] : 0;
    squares_ += (weight * weight + (block.bias ? off * off : 0)) * 1.001;
  };
  for (std::size_t k = 0; k < outputs_; ++k) {
    const std::size_t row = i * outputs_ + k;
    Balls unit(outputs_);
    unit[k] = 1;
    keep(blocks_.size() - 1, row, unit, root);
    Balls u(last_->weights.begin() + static_cast<std::ptrdiff_t>(k * last_->in),
            last_->weights.begin() + static_cast<std::ptrdiff_t>((k + 1) * last_->in));
    for (Ball& x : u) {
      x *= root;
    }
    for (std::size_t l = depth; l-- > 0;) {
      const Layer& layer = layers_[l];
      const Ball s(layer.s);
      if (layer.u != nullptr) {
        keep(2 * l + 1, row, u, s);
      }
      Balls q = layer.u == nullptr ? u : times(transposed_u_[l], layer.u->in, u);
      Balls g(q.size());
      for (std::size_t j = 0; j < q.size(); ++j) {
        g[j] = s * slope[l][j] * q[j];
      }
      keep(2 * l, row, g, 1);
      backward_[l][row] = {length_up(u), length_up(q), length_up(g), most_of(q)};
      if (l > 0) {
        Balls before = times(transposed_w_[l], layer.w->in, g);
        if (layer.residual) {
          for (std::size_t j = 0; j < before.size(); ++j) {
            before[j] += u[j];
          }
        }
        u = std::move(before);
      }
    }
  }
}

Symmetric Tangent::gram() const {
  const std::size_t n = rows();
  Symmetric k(n);
  struct Part {
    const Block* block;
    Grid left, right;
    double left_error, right_error;
  };
  const auto longest = [](const Rows2& rows) {
    double most = 0;
    for (std::size_t i = 0; rows.columns > 0 && i < rows.numbers.size() / rows.columns; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < rows.columns; ++j) {
        sum += rows.at(i, j) * rows.at(i, j);
      }
      most = std::max(most, sum);
    }
    return root_up(most);
  };
  std::vector<Part> parts;
  for (const Block& block : blocks_) {
    if (block.weight || block.bias) {
      const Grid left(longest(block.left), block.left.columns);
      const Grid right(longest(block.right), block.right.columns);
      parts.push_back({&block, left, right, left.error(static_cast<double>(block.left.columns)),
                       right.error(static_cast<double>(block.right.columns))});
    }
  }
  constexpr double kRounding = 8.0 * std::numeric_limits<long double>::epsilon();
  Multiplier multiplier;
  Products left, right;
  std::vector<long double> sum(kTile * kTile);
  std::vector<double> error(kTile * kTile);
  Progress progress("forming J J^T", n * n);
  for (std::size_t i0 = 0; i0 < n; i0 += kTile) {
    for (std::size_t j0 = 0; j0 <= i0; j0 += kTile) {
      progress.at(i0 * i0 + 2 * j0 * kTile);
      const std::size_t i1 = std::min(n, i0 + kTile), j1 = std::min(n, j0 + kTile);
      const std::size_t si = i0 / outputs_, sj = j0 / outputs_;  // the first points of the tile
      std::fill(sum.begin(), sum.end(), 0.0L);
      std::fill(error.begin(), error.end(), 0.0);
      for (const Part& part : parts) {
        const auto from = [](const Grid& grid, const Rows2& rows, std::size_t first) {
          return Rows{grid, [&rows, first](std::size_t i, std::size_t c) { return rows.at(first + i, c); }};
        };
        multiplier.products(i1 - i0, from(part.left, part.block->left, i0), j1 - j0,
                            from(part.left, part.block->left, j0), part.block->left.columns, left);
        if (part.block->weight) {
          multiplier.products((i1 - 1) / outputs_ + 1 - si, from(part.right, part.block->right, si),
                              (j1 - 1) / outputs_ + 1 - sj, from(part.right, part.block->right, sj),
                              part.block->right.columns, right);
        }
        for (std::size_t i = i0; i < i1; ++i) {
          for (std::size_t j = j0; j < std::min(j1, i + 1); ++j) {
            const long double g =
                static_cast<long double>(left.high.at(i - i0, j - j0)) + left.low.at(i - i0, j - j0);
            long double h = part.block->bias ? 1 : 0;
            double h_error = 0;
            if (part.block->weight) {
              const std::size_t a = i / outputs_ - si, b = j / outputs_ - sj;
              h += static_cast<long double>(right.high.at(a, b)) + right.low.at(a, b);
              h_error = part.right_error + kRounding * std::fabs(right.high.at(a, b));
            }
            const std::size_t at = (i - i0) * kTile + (j - j0);
            sum[at] += g * h;
            const double g_size = static_cast<double>(std::fabs(g)),
                         h_size = static_cast<double>(std::fabs(h));
            error[at] += part.left_error * (h_size + h_error) + g_size * h_error +
                         kRounding * (g_size * h_size + static_cast<double>(std::fabs(sum[at]))) +
                         kRounding * std::fabs(left.high.at(i - i0, j - j0)) * h_size;
          }
        }
      }
      for (std::size_t i = i0; i < i1; ++i) {
        for (std::size_t j = j0; j < std::min(j1, i + 1); ++j) {
          const std::size_t at = (i - i0) * kTile + (j - j0);
          const auto value = static_cast<double>(sum[at]);
          k.set(i, j, value, 1.001 * (error[at] + kUnit * std::fabs(value)));
        }
      }
    }
  }
  return k;
}

double Tangent::lipschitz(double radius) const {
  const Bits bits(64);
  const Ball r(radius);
  const auto hypot = [](const Ball& a, const Ball& b, double c) {
    return sqrt(square(a) + square(b) + Ball(c));
  };
  Ball squares;
  for (std::size_t i = 0; i < points_; ++i) {
    struct Forward {
      Ball dh, dz, da, h, slope, a;  // dh and h of the layer's input
    };
    std::vector<Forward> forward(layers_.size() + 1);
    Ball dh(0);
    bool moved = false;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      const AtPoint& at = at_[l][i];
      Forward& f = forward[l];
      f.dh = dh;
      f.h = Ball(at.h) + r * dh;
      const double w_moves = layer.w->moves ? 1 : 0, b_moves = layer.w->bias_moves ? 1 : 0;
      f.dz = hypot((Ball(norm_w_[l]) + Ball(w_moves) * r) * dh, Ball(w_moves) * f.h, b_moves);
      moved = moved || layer.w->moves || layer.w->bias_moves;
      if (layer.phi->kinked() && moved) {
        for (std::size_t j = 0; j < layer.w->out; ++j) {
          const Ball dz = hypot((Ball(rows_w_[l][j]) + Ball(w_moves) * r) * dh, Ball(w_moves) * f.h, b_moves);
          if (!(r * dz < Ball(z_[l].at(i, j)))) {
            return kUnbounded;
          }
        }
      }
      const Ball most = layer.phi->most_slope(),
                 near = Ball(at.slope) + layer.phi->most_curvature() * r * f.dz;
      f.slope = most.finite() ? min(most.upper_end(), near.upper_end()) : near;
      f.da = f.slope * f.dz;
      f.a = Ball(at.a) + r * f.da;
      const Ball s = std::fabs(layer.s);
      if (layer.residual) {
        const bool u_moves = layer.u != nullptr && layer.u->moves;
        const double c_moves = layer.u != nullptr && layer.u->bias_moves ? 1 : 0;
        const Ball norm = Ball(norm_u_[l]) + (u_moves ? r : Ball(0));
        dh = sqrt(square(dh + s * norm * f.da) +
                  square(s) * ((u_moves ? square(f.a) : Ball(0)) + Ball(c_moves)));
        moved = moved || u_moves || c_moves > 0;
      } else {
        dh = s * f.da;
      }
    }
    for (std::size_t k = 0; k < outputs_; ++k) {
      const std::size_t row = i * outputs_ + k;
      Ball du = last_->moves ? sqrt(Ball(distinct_.count[i])) : Ball(0);
      Ball sum = last_->moves ? Ball(distinct_.count[i]) * square(dh) : Ball(0);
      for (std::size_t l = layers_.size(); l-- > 0;) {
        const Layer& layer = layers_[l];
        const AtOutput& at = backward_[l][row];
        const Forward& f = forward[l];
        const Ball s = std::fabs(layer.s);
        const bool u_moves = layer.u != nullptr && layer.u->moves;
        const bool c_moves = layer.u != nullptr && layer.u->bias_moves;
        const Ball u = Ball(at.u) + r * du;
        const Ball dq = (Ball(norm_u_[l]) + (u_moves ? r : Ball(0))) * du + (u_moves ? u : Ball(0));
        const Ball dg = s * (f.slope * dq + layer.phi->most_curvature() * (Ball(at.q_most) + r * dq) * f.dz);
        const Ball g =
            min((Ball(at.g) + r * dg).upper_end(), (s * f.slope * (Ball(at.q) + r * dq)).upper_end());
        if (layer.w->moves) {
          sum += square(dg * f.h + g * f.dh);
        }
        if (layer.w->bias_moves) {
          sum += square(dg);
        }
        if (u_moves) {
          sum += square(s) * square(du * f.a + u * f.da);
        }
        if (c_moves) {
          sum += square(s) * square(du);
        }
        Ball before =
            (Ball(norm_w_[l]) + (layer.w->moves ? r : Ball(0))) * dg + (layer.w->moves ? g : Ball(0));
        if (layer.residual) {
          before += du;
        }
        du = before;
      }
      squares += sum;
    }
  }
  return sqrt(squares).upper();
}

bool Tangent::two_layers() const {
  return layers_.size() == 1 && !layers_[0].residual && layers_[0].s == 1 && outputs_ == 1 &&
         layers_[0].w->moves && !layers_[0].w->bias_moves && layers_[0].w->biases.empty() && !last_->moves &&
         !last_->bias_moves;
}

// Of the points as rows, with the root of how often each occurs: not below ||X||.
double Tangent::norm_of_points() const {
  if (norm_x_ == 0) {
    std::vector<double> numbers;
    double off = 0;
    for (std::size_t i = 0; i < points_; ++i) {
      const std::size_t at = numbers.size();
      numbers.resize(at + input_[i].size());
      off += std::pow(store(input_[i], sqrt(Ball(distinct_.count[i])), numbers.data() + at), 2);
    }
    norm_x_ = spectral_norm(points_, input_[0].size(), numbers, root_up(off));
  }
  return norm_x_;
}

// Section 7: of relu and leaks by counting the signs that can change within R.
double Tangent::signs(double radius) const {
  const std::size_t m = layers_[0].w->out;
  const double norm = norm_of_points();
  // q entries of row i change only if their z^2 sum to ||x_i||^2 R^2; of all rows, with the root of their
  // count, to
  // ||X||^2 R^2.
  const auto changes = [](std::vector<double>& squares, double limit) {
    std::sort(squares.begin(), squares.end());
    limit = std::max(limit, 1e-290);  // below, squares lose digits
    double sum = 0;
    std::size_t count = 0;
    while (count < squares.size() && (sum += squares[count]) * (1 - 1e-9) <= limit * (1 + 1e-9)) {
      ++count;
    }
    return static_cast<double>(count);
  };
  double row_most = 0, most = 0;
  std::vector<double> all;
  for (std::size_t i = 0; i < points_; ++i) {
    most = std::max(most, at_[0][i].h * std::sqrt(distinct_.count[i]) * (1 + 1e-15));
    std::vector<double> squares(m);
    for (std::size_t j = 0; j < m; ++j) {
      squares[j] = last_->weights[j].size() == 0 ? kUnbounded : z_[0].at(i, j) * z_[0].at(i, j);
      all.push_back(squares[j] * distinct_.count[i]);
    }
    row_most = std::max(row_most, changes(squares, at_[0][i].h * at_[0][i].h * radius * radius));
  }
  const double total = changes(all, norm * norm * radius * radius);
  const double jump = std::fabs(1 - layers_[0].phi->slope());
  return jump * most_of(last_->weights) * std::min(norm * std::sqrt(row_most), most * std::sqrt(total)) *
         (1 + 1e-9);
}

double Tangent::change(double radius) const {
  if (!two_layers()) {
    return lipschitz(radius) * radius * (1 + 1e-15);
  }
  if (layers_[0].phi->kinked()) {
    return signs(radius);
  }
  // ||X|| and the longest row, beside the sum over rows: section 7.
  double longest = 0;
  for (std::size_t i = 0; i < points_; ++i) {
    longest = std::max(longest, at_[0][i].h);
  }
  const double by_norm = (layers_[0].phi->most_curvature() * Ball(most_of(last_->weights)) *
                          Ball(norm_of_points()) * Ball(longest) * Ball(radius))
                             .upper();
  return std::min(by_norm, lipschitz(radius) * radius * (1 + 1e-15));
}

}  // namespace check
