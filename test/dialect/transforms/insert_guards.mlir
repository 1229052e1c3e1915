// RUN: tierup-opt %s --split-input-file --tierup-verify-profiled --tierup-insert-guards --tierup-verify-guarded | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: tierup-opt %s --split-input-file --tierup-insert-guards --tierup-insert-guards | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: tierup-opt %s --split-input-file --tierup-insert-guards=scalars --tierup-verify-guarded | FileCheck %s --check-prefixes=CHECK,SCALARS
// RUN: tierup-opt %s --split-input-file --tierup-insert-guards=all-facts --tierup-verify-guarded | FileCheck %s --check-prefixes=ALL

// CHECK-LABEL: func.func @tensors_and_numbers
// CHECK-NEXT: %[[X:.*]] = "tierup.guard"(%arg0) {expected = #tierup.profiled<f32[s0,4]>} : (!torch.vtensor) -> !torch.vtensor<[?,4],f32>
// SCALARS-NEXT: %[[N:.*]] = "tierup.guard"(%arg1) {expected = #tierup.profiled<int=3>} : (!torch.int) -> !torch.int
// SCALARS-NEXT: torch.aten.mul.Scalar %[[X]], %[[N]]
// PLAIN-NEXT: torch.aten.mul.Scalar %[[X]], %arg1
// CHECK-NEXT: torch.tensor_static_info_cast %[[X]] : !torch.vtensor<[?,4],f32> to !torch.vtensor
// CHECK-NEXT: return
// ALL: "tierup.guard"(%arg0) {expected = #tierup.profiled<f32[s0,4] strides=[4,1] device=cpu requires_grad=false defined>}
func.func @tensors_and_numbers(%x: !torch.vtensor, %n: !torch.int, %m: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[s0,4] strides=[4,1] device=cpu requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%n) {slot = 1 : i64, profiled = #tierup.profiled<int=3>} : (!torch.int) -> !torch.int
  %2 = "tierup.profile"(%m) {slot = 2 : i64, profiled = #tierup.profiled<int>} : (!torch.int) -> !torch.int
  %3 = torch.aten.mul.Scalar %0, %1 : !torch.vtensor, !torch.int -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %3, %0 : !torch.vtensor, !torch.vtensor
}

// -----
// No assumption: a use that never ran, one that saw no two equal facts, one that saw an undefined tensor.
// CHECK-LABEL: func.func @nothing_to_assume
// CHECK-NOT: tierup.
// CHECK: return
// ALL-LABEL: func.func @nothing_to_assume
// ALL-NOT: tierup.
// ALL: return
func.func @nothing_to_assume(%x: !torch.vtensor, %y: !torch.vtensor, %z: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%y) {slot = 1 : i64, profiled = #tierup.profiled<?[*]>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.profile"(%z) {slot = 2 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.mul.Tensor %3, %2 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %4 : !torch.vtensor
}

// -----
// Known before: what the guard adds joins what the type said. Rank 0, an empty tensor, an unknown size.
// CHECK-LABEL: func.func @edges
// CHECK: (!torch.vtensor<[?,4],f32>) -> !torch.vtensor<[0,4],f32>
// CHECK: {expected = #tierup.profiled<f64[]>} : (!torch.vtensor) -> !torch.vtensor<[],f64>
// CHECK: {expected = #tierup.profiled<?[?,1]>} : (!torch.vtensor) -> !torch.vtensor<[?,1],unk>
func.func @edges(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor, %z: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[0,4] defined>} : (!torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32>
  %1 = "tierup.profile"(%y) {slot = 1 : i64, profiled = #tierup.profiled<f64[] defined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.profile"(%z) {slot = 2 : i64, profiled = #tierup.profiled<?[?,1] defined>} : (!torch.vtensor) -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?,4],f32>, !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.tanh %2 : !torch.vtensor -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %3, %4 : !torch.vtensor, !torch.vtensor
}

// -----
// A chain of profiles becomes a chain of guards; what control flow hands over keeps its type.
// CHECK-LABEL: func.func @chain_in_a_loop
// CHECK: %[[A:.*]] = "tierup.guard"(%{{.*}}) {expected = #tierup.profiled<f32[4]>}
// CHECK: %[[B:.*]] = "tierup.guard"(%[[A]]) {expected = #tierup.profiled<f32[?]>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
// CHECK: %[[C:.*]] = torch.tensor_static_info_cast %[[B]]
// CHECK: torch.prim.Loop.condition %{{.*}}, iter(%[[C]] : !torch.vtensor)
func.func @chain_in_a_loop(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.profile"(%a) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    %2 = "tierup.profile"(%1) {slot = 1 : i64, profiled = #tierup.profiled<f32[?]>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %0 : !torch.vtensor
}
