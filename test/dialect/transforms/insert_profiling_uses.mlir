// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling=uses --tierup-verify-profiled | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling=uses --tierup-insert-profiling=uses | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-profiling=uses --tierup-remove-profiling | FileCheck %s --check-prefix=REMOVED

// Each use of its own, in the order of the text, and what blocks hand over; numbers are not watched.
// CHECK-LABEL: func.func @each_use
// CHECK-SAME: (%[[X:.*]]: !torch.vtensor, %[[N:.*]]: !torch.int)
// CHECK: torch.prim.Loop %[[N]], %{{.*}}, init(%[[X]]) {
// CHECK-NEXT: ^bb0(%{{.*}}: !torch.int, %[[A:.*]]: !torch.vtensor):
// CHECK-NEXT: %[[P0:.*]] = "tierup.profile"(%[[A]]) {slot = 0 : i64}
// CHECK-NEXT: %[[P1:.*]] = "tierup.profile"(%[[X]]) {slot = 1 : i64}
// CHECK-NEXT: %[[S:.*]] = torch.aten.add.Tensor %[[P0]], %[[P1]]
// CHECK-NEXT: %[[P2:.*]] = "tierup.profile"(%[[S]]) {slot = 2 : i64}
// CHECK-NEXT: torch.prim.Loop.condition %{{.*}}, iter(%[[P2]]
// CHECK: %[[P3:.*]] = "tierup.profile"(%[[X]]) {slot = 3 : i64}
// CHECK-NEXT: %[[P4:.*]] = "tierup.profile"(%[[X]]) {slot = 4 : i64}
// CHECK-NEXT: torch.aten.mul.Tensor %[[P3]], %[[P4]]
// CHECK-COUNT-2: tierup.profile
// CHECK-NEXT: "tierup.count_run"() : () -> ()
// CHECK-NEXT: return
// REMOVED-LABEL: func.func @each_use
// REMOVED-NOT: tierup.
func.func @each_use(%x: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.add.Tensor %a, %x, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %2 = torch.aten.mul.Tensor %x, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %0, %2 : !torch.vtensor, !torch.vtensor
}

// -----
// The operand of an op without native code is not watched; both arms hand over a value.
// CHECK-LABEL: func.func @only_where_types_matter
// CHECK: torch.prim.If
// CHECK-NEXT: %[[N:.*]] = torch.aten.argsort %arg0
// CHECK-NEXT: %[[P:.*]] = "tierup.profile"(%[[N]]) {slot = 0 : i64}
// CHECK-NEXT: torch.prim.If.yield %[[P]]
// CHECK: } else {
// CHECK-NEXT: %[[Q:.*]] = "tierup.profile"(%arg0) {slot = 1 : i64}
// CHECK-NEXT: torch.prim.If.yield %[[Q]]
func.func @only_where_types_matter(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.aten.argsort %x, %zero, %false : !torch.vtensor, !torch.int, !torch.bool -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// No tensor: only the run is counted.
// CHECK-LABEL: func.func @numbers
// CHECK-NOT: tierup.profile
// CHECK: "tierup.count_run"
func.func @numbers(%n: !torch.int) -> !torch.int {
  %0 = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
  return %0 : !torch.int
}
