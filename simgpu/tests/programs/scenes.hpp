// For test programs: checked calls, and scenes, of which the program's first argument names one.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

// Ends the program if a library's call has failed; 0 is success in all of them.
inline void check(int code, const char* call) {
  if (code == 0) return;
  std::printf("%s: %d\n", call, code);
  std::exit(3);
}
#define CHECK(call) check(static_cast<int>(call), #call)

struct Scene {
  const char* name;
  void (*play)();
};

// Plays the scene that `name` names.  Returns the program's exit status.
inline int play(const char* name, std::initializer_list<Scene> scenes) {
  for (const Scene& scene : scenes) {
    if (name == nullptr || std::strcmp(scene.name, name) != 0) continue;
    scene.play();
    return 0;
  }
  return 2;
}
