/* The calls of an application, in C (host_calls.c) and in a shared library whose own symbols are
 * hidden (plugin.cpp). */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void c_record(void* stream);
/* The two calls have one call site each, wherever they are inlined. */
void c_record_names_in_turn(void* stream);
void c_record_label(const char* label, void* stream);
void c_every_macro(void* stream);
void c_op(void* stream);
/* Each argument of the macros counts itself.  Gives how many were evaluated. */
int c_count_evaluations(void* stream);
/* 1 where data are wanted. */
int c_data_are_wanted(void* stream);

/* Exported by the plug-in. */
void plugin_record(void* stream);

#ifdef __cplusplus
}
#endif
