// RUN: tierup-opt %s --tierup-build-bailout-continuations="function=one index=1" | FileCheck %s --check-prefix=BOTH
// RUN: tierup-opt %s --tierup-build-bailout-continuations="index=1" | FileCheck %s --check-prefix=INDEX
// RUN: tierup-opt %s --tierup-build-bailout-continuations="function=two" | FileCheck %s --check-prefix=FUNCTION
// RUN: not tierup-opt %s --tierup-build-bailout-continuations="function=three" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not tierup-opt %s --tierup-build-bailout-continuations="index=7" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tierup-opt %s --tierup-build-bailout-continuations="function=two index=0" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not tierup-opt %s --tierup-build-bailout-continuations="function=empty index=0" 2>&1 | FileCheck %s --check-prefix=EMPTY

// Only the bailouts that are asked for get continuations.
// BOTH-LABEL: func.func @one
// BOTH-NEXT: "tierup.bailout"(%arg0) {expected
// BOTH: {continuation = @one_continuation_1,
// BOTH-LABEL: func.func @two
// BOTH-NEXT: "tierup.bailout"(%arg0) {expected
// BOTH: func.func private @one_continuation_1
// BOTH-NOT: func.func private
// INDEX-LABEL: func.func @one
// INDEX-NEXT: "tierup.bailout"(%arg0) {expected
// INDEX: {continuation = @one_continuation_1,
// INDEX-LABEL: func.func @two
// INDEX-NEXT: "tierup.bailout"(%arg0) {continuation = @two_continuation_1,
// FUNCTION-LABEL: func.func @one
// FUNCTION-NEXT: "tierup.bailout"(%arg0) {expected
// FUNCTION: "tierup.bailout"(%{{.+}}) {expected
// FUNCTION-LABEL: func.func @two
// FUNCTION-NEXT: "tierup.bailout"(%arg0) {continuation = @two_continuation_1,
// NAME: option function: no function is named 'three'
// NONE: option index: no bailout has index 7; there are 0, 1
// TWO: option index: no bailout has index 0; there are 1
// EMPTY: option index: no bailout has index 0; there is none
func.func @one(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[4],f32> -> !torch.vtensor
  %2 = "tierup.bailout"(%1) {index = 1 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %3 = torch.aten.exp %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
  return %3 : !torch.vtensor
}
func.func @two(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.bailout"(%x) {index = 1 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[4],f32> -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func @empty(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
