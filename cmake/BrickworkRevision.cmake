# Writes a header with the revision of the sources, at every build: cmake -DSOURCE=DIR -DOUTPUT=FILE -DGIT=PROGRAM -P ...
# A header that would not change is left alone, so that nothing is compiled for it.
set(revision "unknown")
if(GIT AND EXISTS "${SOURCE}/.git")
  # --exclude: no tag in place of the hash.
  execute_process(
    COMMAND "${GIT}" describe --always --dirty --abbrev=12 "--exclude=*"
    WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE result)
  if(result EQUAL 0)
    set(revision "${text}")
  endif()
endif()
set(content "#define BRICKWORK_REVISION \"${revision}\"\n")
set(present "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" present)
endif()
if(NOT present STREQUAL content)
  file(WRITE "${OUTPUT}" "${content}")
endif()
