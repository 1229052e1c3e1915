// RUN: tierup-opt %s --tierup-if-then-else --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-if-then-else,tierup-if-then-else)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @chosen
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[X:[a-z0-9]+]]: !torch.vtensor, %[[Y:[a-z0-9]+]]: !torch.vtensor, %[[N:[a-z0-9]+]]: !torch.int
func.func @chosen(%c: !torch.bool, %x: !torch.vtensor, %y: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.int) {
  // CHECK: %[[T:.*]] = "tierup.if_then_else"(%[[C]], %[[X]], %[[Y]]) : (!torch.bool, !torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    torch.prim.If.yield %x : !torch.vtensor
  } else {
    torch.prim.If.yield %y : !torch.vtensor
  }
  // CHECK: %[[ONE:.*]] = torch.constant.int 1
  // CHECK: %[[K:.*]] = "tierup.if_then_else"(%[[C]], %[[N]], %[[ONE]])
  %1 = torch.prim.If %c -> (!torch.int) {
    torch.prim.If.yield %n : !torch.int
  } else {
    %int1 = torch.constant.int 1
    torch.prim.If.yield %int1 : !torch.int
  }
  // CHECK: return %[[T]], %[[K]]
  return %0, %1 : !torch.vtensor, !torch.int
}

// -----
// The inner choice first; it is then an op of the outer arm, which stays.
// CHECK-LABEL: func.func @nested
func.func @nested(%c: !torch.bool, %d: !torch.bool, %x: !torch.int, %y: !torch.int) -> !torch.int {
  // CHECK: torch.prim.If
  // CHECK-NEXT: "tierup.if_then_else"
  // CHECK-NOT: torch.prim.If %
  %0 = torch.prim.If %c -> (!torch.int) {
    %1 = torch.prim.If %d -> (!torch.int) {
      torch.prim.If.yield %x : !torch.int
    } else {
      torch.prim.If.yield %y : !torch.int
    }
    torch.prim.If.yield %1 : !torch.int
  } else {
    torch.prim.If.yield %y : !torch.int
  }
  return %0 : !torch.int
}

// -----
// Two results, none, and arms that do something.
// CHECK-LABEL: func.func @stay
func.func @stay(%c: !torch.bool, %x: !torch.int, %y: !torch.int) -> (!torch.int, !torch.int, !torch.int) {
  // CHECK-COUNT-3: torch.prim.If %
  // CHECK-NOT: "tierup.if_then_else"
  %0:2 = torch.prim.If %c -> (!torch.int, !torch.int) {
    torch.prim.If.yield %x, %y : !torch.int, !torch.int
  } else {
    torch.prim.If.yield %y, %x : !torch.int, !torch.int
  }
  %1 = torch.prim.If %c -> (!torch.int) {
    %2 = torch.aten.floordiv.int %x, %y : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %2 : !torch.int
  } else {
    torch.prim.If.yield %y : !torch.int
  }
  torch.prim.If %c -> () {
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return %0#0, %0#1, %1 : !torch.int, !torch.int, !torch.int
}
