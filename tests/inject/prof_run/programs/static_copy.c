/* A program with cuBLAS inside. */
int cublasSgemm_v2(int count) {
  return count - 1;
}

int main(int count, char** arguments) {
  (void)arguments;
  return cublasSgemm_v2(count);
}
