#include "report/plot/cairo_api.hpp"

#include <dlfcn.h>
#include <optional>

namespace inline_prof::report {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The library stays loaded: its fonts live as long as the process.
std::optional<CairoApi> load() {
  void* library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  CairoApi api{};
  const bool all =
      find(library, "cairo_image_surface_create", api.image_surface_create) &&
      find(library, "cairo_surface_status", api.surface_status) &&
      find(library, "cairo_surface_write_to_png_stream", api.surface_write_to_png_stream) &&
      find(library, "cairo_surface_destroy", api.surface_destroy) &&
      find(library, "cairo_status_to_string", api.status_to_string) &&
      find(library, "cairo_create", api.create) && find(library, "cairo_status", api.status) &&
      find(library, "cairo_destroy", api.destroy) && find(library, "cairo_save", api.save) &&
      find(library, "cairo_restore", api.restore) && find(library, "cairo_scale", api.scale) &&
      find(library, "cairo_translate", api.translate) &&
      find(library, "cairo_rotate", api.rotate) &&
      find(library, "cairo_set_source_rgba", api.set_source_rgba) &&
      find(library, "cairo_set_line_width", api.set_line_width) &&
      find(library, "cairo_set_dash", api.set_dash) &&
      find(library, "cairo_new_path", api.new_path) &&
      find(library, "cairo_move_to", api.move_to) && find(library, "cairo_line_to", api.line_to) &&
      find(library, "cairo_arc", api.arc) && find(library, "cairo_rectangle", api.rectangle) &&
      find(library, "cairo_stroke", api.stroke) && find(library, "cairo_fill", api.fill) &&
      find(library, "cairo_paint", api.paint) &&
      find(library, "cairo_select_font_face", api.select_font_face) &&
      find(library, "cairo_set_font_size", api.set_font_size) &&
      find(library, "cairo_text_extents", api.text_extents) &&
      find(library, "cairo_show_text", api.show_text);
  return all ? std::optional(api) : std::nullopt;
}

}  // namespace

const CairoApi* cairo_api() {
  static const std::optional<CairoApi> api = load();
  return api ? &*api : nullptr;
}

}  // namespace inline_prof::report
