// RUN: tierup-opt %s --split-input-file --tierup-verify-profiled --tierup-remove-redundant-profiles --tierup-verify-profiled | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-remove-redundant-profiles --tierup-remove-redundant-profiles | FileCheck %s

// CHECK-LABEL: func.func @a_chain_and_two_uses
// CHECK-NEXT: %[[P:.*]] = "tierup.profile"(%arg0) {profiled = #tierup.profiled<f32[4]>, slot = 0 : i64}
// CHECK-NEXT: torch.aten.mul.Tensor %[[P]], %[[P]]
func.func @a_chain_and_two_uses(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%x) {slot = 1 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.profile"(%1) {slot = 2 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %0, %2 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %3 : !torch.vtensor
}

// -----
// What an arm saw equals what the block around it saw; the arm that never ran keeps its empty slot.
// CHECK-LABEL: func.func @arms
// CHECK-NEXT: %[[P:.*]] = "tierup.profile"(%arg0) {{.*}}slot = 0
// CHECK-NEXT: torch.prim.If
// CHECK-NEXT: torch.prim.If.yield %[[P]]
// CHECK-NEXT: } else {
// CHECK-NEXT: "tierup.profile"(%[[P]]) {slot = 2 : i64}
func.func @arms(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = "tierup.profile"(%0) {slot = 1 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %2 = "tierup.profile"(%0) {slot = 2 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  "tierup.count_run"() : () -> ()
  return %1 : !torch.vtensor
}

// -----
// Sibling arms dominate nothing of one another, and records that differ are two records.
// CHECK-LABEL: func.func @siblings_and_differences
// CHECK: slot = 0
// CHECK: slot = 1
// CHECK: slot = 2
// CHECK: slot = 3
func.func @siblings_and_differences(%x: !torch.vtensor, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor) {
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %1 = "tierup.profile"(%x) {slot = 1 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  %2 = "tierup.profile"(%x) {slot = 2 : i64, profiled = #tierup.profiled<f32[?]>} : (!torch.vtensor) -> !torch.vtensor
  %3 = "tierup.profile"(%2) {slot = 3 : i64, profiled = #tierup.profiled<f32[8]>} : (!torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %0, %3 : !torch.vtensor, !torch.vtensor
}

// -----
// Before any run: one of those that run together; the one in the loop may never run.
// CHECK-LABEL: func.func @nothing_recorded
// CHECK: %[[P:.*]] = "tierup.profile"(%arg0) {slot = 0 : i64}
// CHECK-NEXT: torch.aten.mul.Tensor %[[P]], %[[P]]
// CHECK: torch.prim.Loop
// CHECK: "tierup.profile"(%{{.*}}) {slot = 2 : i64}
func.func @nothing_recorded(%x: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%x) {slot = 1 : i64} : (!torch.vtensor) -> !torch.vtensor
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %3 = torch.prim.Loop %n, %true, init(%2) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %4 = "tierup.profile"(%x) {slot = 2 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%4 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %2, %3 : !torch.vtensor, !torch.vtensor
}
