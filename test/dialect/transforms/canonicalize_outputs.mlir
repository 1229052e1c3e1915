// RUN: tierup-opt %s --tierup-canonicalize-outputs | FileCheck %s
// RUN: tierup-opt %s --tierup-canonicalize-outputs --tierup-canonicalize-outputs | FileCheck %s
// CHECK-NOT: tierup.place

!t = !torch.vtensor

// Used as #2, #0; #1 by nobody.
// CHECK-LABEL: func.func @branch
// CHECK: %[[R:.*]]:3 = torch.prim.If %arg0 -> (!torch.vtensor, !torch.int, !torch.vtensor) {
// CHECK-NEXT: torch.prim.If.yield %arg2, %arg3, %arg1 : !torch.vtensor, !torch.int, !torch.vtensor
// CHECK: torch.prim.If.yield %arg1, %arg4, %arg2 : !torch.vtensor, !torch.int, !torch.vtensor
// CHECK: torch.aten.add.Scalar %[[R]]#0, %[[R]]#1
func.func @branch(%c: !torch.bool, %x: !t, %y: !t, %n: !torch.int, %m: !torch.int) -> !t {
  %one = torch.constant.int 1
  %0:3 = torch.prim.If %c -> (!torch.int, !t, !t) {
    torch.prim.If.yield %n, %x, %y : !torch.int, !t, !t
  } else {
    torch.prim.If.yield %m, %y, %x : !torch.int, !t, !t
  }
  %1 = torch.aten.add.Scalar %0#2, %0#0, %one : !t, !torch.int, !torch.int -> !t
  return %1 : !t
}

// What is carried, handed on and given, together; attributes stay.
// CHECK-LABEL: func.func @loop
// CHECK: %[[L:.*]]:3 = torch.prim.Loop %arg1, %true, init(%arg0, %int1, %arg2) {
// CHECK-NEXT: ^bb0(%[[I:.*]]: !torch.int, %[[A:.*]]: !torch.vtensor, %[[K:.*]]: !torch.int, %[[F:.*]]: !torch.float):
// CHECK-NEXT: %[[K1:.*]] = torch.aten.add.int %[[K]], %[[I]]
// CHECK-NEXT: %[[A1:.*]] = torch.aten.mul.Scalar %[[A]], %[[K]]
// CHECK-NEXT: torch.prim.Loop.condition %true, iter(%[[A1]], %[[K1]], %[[F]] : !torch.vtensor, !torch.int, !torch.float)
// CHECK-NEXT: } {tierup.unrolled = 1 : i64} :
// CHECK-NEXT: return %[[L]]#0, %[[L]]#1
func.func @loop(%x: !t, %n: !torch.int, %f: !torch.float) -> (!t, !torch.int) {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %0:3 = torch.prim.Loop %n, %true, init(%f, %one, %x) {
  ^bb0(%i: !torch.int, %g: !torch.float, %k: !torch.int, %a: !t):
    %1 = torch.aten.add.int %k, %i : !torch.int, !torch.int -> !torch.int
    %2 = torch.aten.mul.Scalar %a, %k : !t, !torch.int -> !t
    torch.prim.Loop.condition %true, iter(%g, %1, %2 : !torch.float, !torch.int, !t)
  } {tierup.unrolled = 1 : i64} : (!torch.int, !torch.bool, !torch.float, !torch.int, !t) -> (!torch.float, !torch.int, !t)
  return %0#2, %0#1 : !t, !torch.int
}

// The outer one first, then what its order says of the inner one; the later one before the earlier.
// CHECK-LABEL: func.func @nested
// CHECK: %[[E:.*]]:2 = torch.prim.If
// CHECK-NEXT: torch.prim.If.yield %arg1, %arg2
// CHECK: %[[O:.*]]:2 = torch.prim.If
// CHECK: %[[N:.*]]:2 = torch.prim.If
// CHECK-NEXT: torch.prim.If.yield %arg1, %arg2
// CHECK: torch.prim.If.yield %[[N]]#0, %[[N]]#1
// CHECK: } else {
// CHECK-NEXT: torch.prim.If.yield %[[E]]#0, %[[E]]#1
// CHECK: return %[[O]]#0, %[[O]]#1
func.func @nested(%c: !torch.bool, %x: !t, %y: !t) -> (!t, !t) {
  %2:2 = torch.prim.If %c -> (!t, !t) {
    torch.prim.If.yield %x, %y : !t, !t
  } else {
    torch.prim.If.yield %y, %x : !t, !t
  }
  %0:2 = torch.prim.If %c -> (!t, !t) {
    %1:2 = torch.prim.If %c -> (!t, !t) {
      torch.prim.If.yield %y, %x : !t, !t
    } else {
      torch.prim.If.yield %x, %y : !t, !t
    }
    torch.prim.If.yield %1#0, %1#1 : !t, !t
  } else {
    torch.prim.If.yield %2#1, %2#0 : !t, !t
  }
  return %0#1, %0#0 : !t, !t
}

// In order already, one result, none used: as they were.
// CHECK-LABEL: func.func @as_it_was
// CHECK: %[[R:.*]]:2 = torch.prim.If %arg0 -> (!torch.int, !torch.vtensor) {
// CHECK-NEXT: torch.prim.If.yield %arg2, %arg1
// CHECK: torch.prim.If %arg0 -> (!torch.vtensor) {
func.func @as_it_was(%c: !torch.bool, %x: !t, %n: !torch.int) -> !t {
  %0:2 = torch.prim.If %c -> (!torch.int, !t) {
    torch.prim.If.yield %n, %x : !torch.int, !t
  } else {
    torch.prim.If.yield %n, %x : !torch.int, !t
  }
  %1 = torch.prim.If %c -> (!t) {
    torch.prim.If.yield %x : !t
  } else {
    torch.prim.If.yield %x : !t
  }
  return %1 : !t
}
