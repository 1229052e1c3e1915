// RUN: not tierup-opt %s --split-input-file --verify-diagnostics 2>&1 | FileCheck %s
// What --verify-diagnostics itself reports. The directives below are wrong on purpose.

// CHECK: fails.mlir:12:3: error: unexpected error: 'tierup.count_run' op has no attribute 'run'
// CHECK: fails.mlir:19:6: error: expected error "never said" was not produced
// CHECK: fails.mlir:26:3: error: unexpected error: 'tierup.count_run' op has no attribute 'run'
// CHECK: fails.mlir:25:6: error: expected warning "has no attribute" was not produced
// CHECK: fails.mlir:32:6: error: malformed directive; it reads

// Nothing expected it.
func.func @unexpected() {
  "tierup.count_run"() {run = 1} : () -> ()
  return
}

// -----

func.func @missed() {
  // expected-error@below {{never said}}
  return
}

// -----
func.func @severity_counts() {
  // expected-warning@below {{has no attribute}}
  "tierup.count_run"() {run = 1} : () -> ()
  return
}

// -----
func.func @malformed() {
  // expected-error@below has no attribute
  return
}
