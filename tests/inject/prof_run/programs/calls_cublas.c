/* A call of cuBLAS that is never made. */
int cublasSgemm_v2(void);

int main(int count, char** arguments) {
  (void)arguments;
  return count > 100 ? cublasSgemm_v2() : 0;
}
