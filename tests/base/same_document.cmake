# SPDX-License-Identifier: Apache-2.0
# Fails unless `TOOL config --markdown` prints the committed DOCUMENT.
execute_process(COMMAND ${TOOL} config --markdown OUTPUT_FILE ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${SCRATCH} ${DOCUMENT} RESULT_VARIABLE differ)
if(differ)
  message(FATAL_ERROR "${DOCUMENT} is out of date: run 'sluice config --markdown' into it")
endif()
