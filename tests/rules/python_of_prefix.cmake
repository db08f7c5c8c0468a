# Python under an installed prof-run finds the installed package, and the package the library.
# `prefix` is where they were installed, `python` an interpreter; needs run().
function(check_python prefix python)
  run(${prefix}/bin/prof-run --torch -- ${python} -c
    "import inline_prof.abi as abi\nprint(abi.__file__, abi.library_path(), abi.find().wants())")
  if(NOT output MATCHES "^${prefix}/[^ ]*/inline_prof/python/inline_prof/abi.py ${prefix}/[^ ]*/libinline_prof.so 7\n$")
    message(FATAL_ERROR "Python said: ${output}")
  endif()
endfunction()
