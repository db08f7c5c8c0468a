/* Stands in for a vendor's library with functions that nobody simulates. */
int cuNotSimulatedAtAll(void) {
  return 0;
}
int cuNotSimulatedEither(void) {
  return 0;
}
int cufftNotSimulated(void) {
  return 0;
}
