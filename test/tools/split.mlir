// RUN: not tierup-opt %s --split-input-file 2>&1 | FileCheck %s
// Chunks are processed each by itself: one that fails leaves the others, and line numbers are the file's.

// CHECK: split.mlir:14:3: error: 'tierup.count_run' op has no attribute 'run'; did you mean 'runs'?
// CHECK: func.func @first
// CHECK: // -----
// CHECK: func.func @third
func.func @first() {
  return
}
// -----
func.func @second() {
  // the line below is line 14
  "tierup.count_run"() {run = 1 : i64} : () -> ()
  return
}
// -----
func.func @third() {
  return
}
