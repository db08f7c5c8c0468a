# Fails where the schedule library uses a clock, a lock, a thread, a stream object, libfmt or CUDA.
execute_process(COMMAND ${NM} -C -u ${LIBRARY} OUTPUT_VARIABLE symbols RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NM} failed on ${LIBRARY}")
endif()
# Proves that the list was read at all.
if(NOT symbols MATCHES "__cxa_throw")
  message(FATAL_ERROR "no symbols seen in ${LIBRARY}")
endif()
string(REGEX MATCHALL
  "[^\n]*(clock_|gettimeofday|pthread_|mutex|chrono|ios_base|basic_[a-z]*stream|fmt::| cu[A-Z]| cuda[A-Z])[^\n]*"
  found "${symbols}")
if(found)
  list(REMOVE_DUPLICATES found)
  string(REPLACE ";" "\n" found "${found}")
  message(FATAL_ERROR "the schedule library uses:\n${found}")
endif()
