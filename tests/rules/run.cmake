# run(COMMAND ARGUMENT...): ends the script where it fails; `output` is what it said.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nexit status ${status}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
