// RUN: tierup-opt %s --tierup-unroll-constant-loops="max-trips=2" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-unroll-constant-loops{max-trips=2},tierup-unroll-constant-loops{max-trips=2})" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @counter
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.int
func.func @counter(%x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %two = torch.constant.int 2
  // CHECK-NOT: torch.prim.Loop
  // CHECK: %[[S:.*]] = torch.aten.add.int %[[X]], %int0
  // CHECK: %[[T:.*]] = torch.aten.add.int %[[S]], %int1
  // CHECK: return %[[T]]
  %0 = torch.prim.Loop %two, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %i : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// What a round carries unchanged, or swaps.
// CHECK-LABEL: func.func @swapped
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.int, %[[Y:[a-z0-9]+]]: !torch.int
func.func @swapped(%x: !torch.int, %y: !torch.int) -> (!torch.int, !torch.int) {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  // CHECK: return %[[Y]], %[[X]]
  %0:2 = torch.prim.Loop %one, %true, init(%x, %y) {
  ^bb0(%i: !torch.int, %s: !torch.int, %t: !torch.int):
    torch.prim.Loop.condition %true, iter(%t, %s : !torch.int, !torch.int)
  } : (!torch.int, !torch.bool, !torch.int, !torch.int) -> (!torch.int, !torch.int)
  return %0#0, %0#1 : !torch.int, !torch.int
}

// -----
// Too many rounds, an unknown number of them, a condition of its own: nothing happens.
// CHECK-LABEL: func.func @stay
func.func @stay(%n: !torch.int, %c: !torch.bool, %x: !torch.int) -> (!torch.int, !torch.int, !torch.int) {
  %true = torch.constant.bool true
  %two = torch.constant.int 2
  %three = torch.constant.int 3
  // CHECK-COUNT-3: torch.prim.Loop %
  %0 = torch.prim.Loop %three, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    torch.prim.Loop.condition %true, iter(%i : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  %1 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    torch.prim.Loop.condition %true, iter(%i : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  %2 = torch.prim.Loop %two, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    torch.prim.Loop.condition %c, iter(%i : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0, %1, %2 : !torch.int, !torch.int, !torch.int
}
