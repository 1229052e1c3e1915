// RUN: tierup-opt %s --tierup-asserts-to-status --verify-diagnostics

func.func @no_entry(%ok: i1) {
  // expected-error@below {{'cf.assert' op stands in a function that has no status to report to}}
  cf.assert %ok, "index out of range"
  return
}
