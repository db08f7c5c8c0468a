/* Looks as a program with device code does that brings its own CUDA runtime. */
__attribute__((section(".nv_fatbin"), used)) static const char device_code[16] = "made up";

int main(void) {
  return 0;
}
