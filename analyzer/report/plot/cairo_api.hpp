// The few functions of Cairo that a png needs, found when one is asked for: so nothing but the png
// depends on the library, neither to build these programs nor to start them.
#pragma once

namespace inline_prof::report {

// As in cairo.h 1.16, whose binary interface (libcairo.so.2) has not changed since 2005.
struct CairoSurface;
struct CairoContext;
struct CairoTextExtents {
  double x_bearing, y_bearing, width, height, x_advance, y_advance;
};
inline constexpr int kCairoSuccess = 0;      // CAIRO_STATUS_SUCCESS
inline constexpr int kCairoFormatRgb24 = 1;  // CAIRO_FORMAT_RGB24
inline constexpr int kCairoNormal = 0;       // slant and weight
inline constexpr int kCairoBold = 1;         // CAIRO_FONT_WEIGHT_BOLD
using CairoWrite = int (*)(void* nested_regions, const unsigned char* data, unsigned length);

// Each member is the function cairo_NAME.
struct CairoApi {
  CairoSurface* (*image_surface_create)(int format, int width, int height);
  int (*surface_status)(CairoSurface*);
  int (*surface_write_to_png_stream)(CairoSurface*, CairoWrite, void* nested_regions);
  void (*surface_destroy)(CairoSurface*);
  const char* (*status_to_string)(int status);
  CairoContext* (*create)(CairoSurface*);
  int (*status)(CairoContext*);
  void (*destroy)(CairoContext*);
  void (*save)(CairoContext*);
  void (*restore)(CairoContext*);
  void (*scale)(CairoContext*, double x, double y);
  void (*translate)(CairoContext*, double x, double y);
  void (*rotate)(CairoContext*, double angle);
  void (*set_source_rgba)(CairoContext*, double red, double green, double blue, double alpha);
  void (*set_line_width)(CairoContext*, double width);
  void (*set_dash)(CairoContext*, const double* dashes, int count, double offset);
  void (*new_path)(CairoContext*);
  void (*move_to)(CairoContext*, double x, double y);
  void (*line_to)(CairoContext*, double x, double y);
  void (*arc)(CairoContext*, double x, double y, double radius, double from, double to);
  void (*rectangle)(CairoContext*, double x, double y, double width, double height);
  void (*stroke)(CairoContext*);
  void (*fill)(CairoContext*);
  void (*paint)(CairoContext*);
  void (*select_font_face)(CairoContext*, const char* family, int slant, int weight);
  void (*set_font_size)(CairoContext*, double size);
  void (*text_extents)(CairoContext*, const char* text, CairoTextExtents* extents);
  void (*show_text)(CairoContext*, const char* text);
};

// Null if this machine has no libcairo.so.2, or one that lacks a function.
[[nodiscard]] const CairoApi* cairo_api();

}  // namespace inline_prof::report
