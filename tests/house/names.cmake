# cmake -D ROOT=<checkout> -P names.cmake: fails on test names that do not state what holds: a single word, a phrase that
# would fit any test, one that begins with a preposition, or one in snake_case.
cmake_minimum_required(VERSION 3.22)

set(empty Errors NamesErrors RefusesErrors SizesAndErrors ErrorPaths RefusesWhatDoesNotFit RefuseWhatDoesNotFit
  NamesWhatDoesNotFit NameWhatDoesNotFit RefusesWhatMakesNoSense RefusesOptionsThatMakeNoSense RefusesWhatItDoesNotKnow
  NamesWhatIsWrong NameWhatIsWrong RefusesWhatIsWrong RefusesBadInput RefusesBadInputs TakesOptions EveryDtype ZeroSizes
  EdgeCases CornerCases BasicTest SimpleTest WorksAsExpected ItWorks DoesNotCrash SettingsOutOfRange OptionsOutOfRange)

file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/tests/*.cpp)
set(count 0)
foreach(source IN LISTS sources)
  file(READ ${ROOT}/${source} text)
  string(REGEX MATCHALL "\n(TYPED_)?TEST(_[FP])?\\([A-Za-z0-9_]+,[ \n]*[A-Za-z0-9_]+\\)" tests "\n${text}")
  foreach(test IN LISTS tests)
    math(EXPR count "${count} + 1")
    string(REGEX REPLACE ".*\\(([A-Za-z0-9_]+),[ \n]*([A-Za-z0-9_]+)\\)" "\\1;\\2" pair "${test}")
    list(GET pair 0 suite)
    list(GET pair 1 name)
    if(name IN_LIST empty OR name MATCHES "^[A-Z]?[a-z0-9]+$" OR name MATCHES "^[a-z]" OR name MATCHES
       "^(Of|At|In|On|By|With|From|To|For|As|Over|Along|After|Before|Under|Through|Within|Into|Between|Without)[A-Z]")
      message(SEND_ERROR "${source}: ${suite}.${name}: a test's name must be a sentence that states what holds")
    endif()
  endforeach()
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "no tests in ${ROOT}/tests")
endif()
