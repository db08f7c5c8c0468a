int cuNotSimulatedAtAll(void);
int cuNotSimulatedEither(void);

int main(void) {
  return cuNotSimulatedAtAll() + cuNotSimulatedEither();
}
