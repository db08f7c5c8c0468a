int cufftNotSimulated(void);

int main(void) {
  return cufftNotSimulated();
}
