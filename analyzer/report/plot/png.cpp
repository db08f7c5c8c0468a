#include "report/plot/cairo_api.hpp"
#include "report/plot/picture.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>

namespace inline_prof::report {
namespace {

constexpr double kPixelsPerUnit = 2.0;  // sharp on screens with narrow pixels, and in print
constexpr double kPi = 3.14159265358979323846;

void set_color(const CairoApi& cairo, CairoContext* context, const Color& color) {
  constexpr double full = 255.0;
  cairo.set_source_rgba(context, color.red / full, color.green / full, color.blue / full,
                        color.opacity);
}

class Painter {
 public:
  Painter(const CairoApi& cairo, CairoContext* context) : cairo_(cairo), context_(context) {}

  void operator()(const Polyline& line) const {
    set_color(cairo_, context_, line.color);
    cairo_.set_line_width(context_, line.width);
    cairo_.set_dash(context_, line.dash.data(), static_cast<int>(line.dash.size()), 0.0);
    cairo_.new_path(context_);
    for (const Point& point : line.points)
      cairo_.line_to(context_, point.x, point.y);
    cairo_.stroke(context_);
  }

  void operator()(const Dot& dot) const {
    set_color(cairo_, context_, dot.color);
    cairo_.new_path(context_);
    cairo_.arc(context_, dot.centre.x, dot.centre.y, dot.radius, 0.0, 2 * kPi);
    cairo_.fill(context_);
  }

  void operator()(const Box& box) const {
    set_color(cairo_, context_, box.fill);
    cairo_.rectangle(context_, box.corner.x, box.corner.y, box.width, box.height);
    cairo_.fill(context_);
  }

  void operator()(const Label& label) const {
    set_color(cairo_, context_, label.color);
    cairo_.select_font_face(context_, "DejaVu Sans", kCairoNormal,
                            label.is_bold ? kCairoBold : kCairoNormal);
    cairo_.set_font_size(context_, label.size);
    CairoTextExtents extents{};
    cairo_.text_extents(context_, label.text.c_str(), &extents);
    const double part = label.anchor == Anchor::kStart    ? 0.0
                        : label.anchor == Anchor::kMiddle ? 0.5
                                                          : 1.0;
    cairo_.save(context_);
    cairo_.translate(context_, label.at.x, label.at.y);
    if (label.is_upward) cairo_.rotate(context_, -kPi / 2);
    cairo_.move_to(context_, -part * extents.x_advance, 0.0);
    cairo_.show_text(context_, label.text.c_str());
    cairo_.restore(context_);
  }

 private:
  const CairoApi& cairo_;
  CairoContext* context_;
};

int append(void* target, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(data), length);
  return kCairoSuccess;
}

void check(const CairoApi& cairo, int status) {
  if (status != kCairoSuccess) {
    throw std::runtime_error(fmt::format("Cairo: {}", cairo.status_to_string(status)));
  }
}

}  // namespace

bool png_is_available() {
  return cairo_api() != nullptr;
}

std::string png_bytes(const Picture& picture) {
  const CairoApi* cairo = cairo_api();
  if (cairo == nullptr) throw std::runtime_error("no libcairo.so.2 on this machine");
  const auto pixels = [](double length) {
    return static_cast<int>(std::lround(length * kPixelsPerUnit));
  };
  const std::unique_ptr<CairoSurface, decltype(cairo->surface_destroy)> surface(
      cairo->image_surface_create(kCairoFormatRgb24, pixels(picture.width), pixels(picture.height)),
      cairo->surface_destroy);
  check(*cairo, cairo->surface_status(surface.get()));
  const std::unique_ptr<CairoContext, decltype(cairo->destroy)> context(
      cairo->create(surface.get()), cairo->destroy);
  cairo->scale(context.get(), kPixelsPerUnit, kPixelsPerUnit);
  cairo->set_source_rgba(context.get(), 1.0, 1.0, 1.0, 1.0);
  cairo->paint(context.get());
  for (const Shape& shape : picture.shapes)
    std::visit(Painter(*cairo, context.get()), shape);
  check(*cairo, cairo->status(context.get()));
  std::string bytes;
  check(*cairo, cairo->surface_write_to_png_stream(surface.get(), append, &bytes));
  return bytes;
}

}  // namespace inline_prof::report
