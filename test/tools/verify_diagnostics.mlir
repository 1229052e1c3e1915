// RUN: tierup-opt %s --split-input-file --verify-diagnostics --tierup-verify-profiled
// Expectations on their line, above, below, at an offset, as a regular expression, notes included.

func.func @this_line() {
  "tierup.count_run"() {run = 1} : () -> () // expected-error {{has no attribute 'run'}}
  return
}

// -----
func.func @offsets() {
  // expected-error@+2 {{attribute 'runs' is at least 0, got -1}}

  "tierup.count_run"() {runs = -1 : i64} : () -> ()
  return
}

// -----
func.func @above() {
  "tierup.count_run"() {runs = "one"} : () -> ()
  // expected-error@above {{attribute 'runs' is an integer, got "one"}}
  return
}

// -----
func.func @regular_expression() {
  // expected-error-re@below {{attribute 'runs' is at least {{[0-9]+}}, got {{-[1-9]}}}}
  "tierup.count_run"() {runs = -7 : i64} : () -> ()
  return
}

// -----
func.func @notes(%x: !torch.vtensor) {
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  // expected-note@-1 {{and here first}}
  %1 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  // expected-error@-1 {{slot 0 is recorded twice}}
  "tierup.count_run"() : () -> ()
  return
}

// -----
func.func @nothing_wrong() {
  return
}
