// RUN: tierup-opt %s --split-input-file --tierup-verify-guarded --tierup-eliminate-guards --tierup-verify-guarded | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-eliminate-guards --tierup-eliminate-guards | FileCheck %s

// TorchScript's own example: of twelve guards, two are left, on the arguments; all types follow from them.
// CHECK-LABEL: func.func @twelve_guards
// CHECK: %[[X:.*]] = "tierup.guard"(%arg0)
// CHECK-NEXT: %[[Y:.*]] = "tierup.guard"(%arg1)
// CHECK-NEXT: %[[A:.*]] = torch.aten.add.Tensor %[[X]], %[[Y]], {{.*}} -> !torch.vtensor<[2,3],f32>
// CHECK-NEXT: %[[B:.*]] = torch.aten.mul.Tensor %[[X]], %[[Y]] {{.*}} -> !torch.vtensor<[2,3],f32>
// CHECK-NOT: tierup.
// CHECK: %[[R:.*]] = torch.tensor_static_info_cast %{{.*}} : !torch.vtensor<[2,3],f32> to !torch.vtensor
// CHECK-NEXT: return %[[R]]
func.func @twelve_guards(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %one = torch.constant.int 1
  %x0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %y0 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %a = torch.aten.add.Tensor %x0, %y0, %one : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor
  %x1 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %y1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %b = torch.aten.mul.Tensor %x1, %y1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor
  %x2 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %c = torch.aten.add.Scalar %x2, %one, %one : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int -> !torch.vtensor
  %a0 = "tierup.guard"(%a) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %c0 = "tierup.guard"(%c) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %d = torch.aten.sub.Tensor %a0, %c0, %one : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor
  %b0 = "tierup.guard"(%b) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %c1 = "tierup.guard"(%c) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %e = torch.aten.sub.Tensor %b0, %c1, %one : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor
  %d0 = "tierup.guard"(%d) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %e0 = "tierup.guard"(%e) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %r = torch.aten.add.Tensor %d0, %e0, %one : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor
  %r0 = "tierup.guard"(%r) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %s = torch.tensor_static_info_cast %r0 : !torch.vtensor<[2,3],f32> to !torch.vtensor
  return %s : !torch.vtensor
}

// -----
// Up to the value, over an op that may raise; in a loop no further than its body's start.
// CHECK-LABEL: func.func @moves
// CHECK: %[[N:.*]] = torch.aten.nonzero %arg0
// CHECK-NEXT: %[[G:.*]] = "tierup.guard"(%[[N]])
// CHECK-NEXT: torch.aten.item %arg0
// CHECK: torch.prim.Loop
// CHECK-NEXT: ^bb0
// CHECK-NEXT: "tierup.guard"(%arg2)
// CHECK-NEXT: torch.aten.nonzero
func.func @moves(%x: !torch.vtensor, %n: !torch.int, %y: !torch.vtensor) -> (!torch.vtensor, !torch.int) {
  %true = torch.constant.bool true
  %0 = torch.aten.nonzero %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.item %x : !torch.vtensor -> !torch.int
  %2 = "tierup.guard"(%0) {expected = #tierup.profiled<i64[4,1]>} : (!torch.vtensor) -> !torch.vtensor<[4,1],si64>
  %3 = torch.aten.neg %2 : !torch.vtensor<[4,1],si64> -> !torch.vtensor
  %4 = torch.prim.Loop %n, %true, init(%3) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %5 = torch.aten.nonzero %a : !torch.vtensor -> !torch.vtensor
    %6 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %7 = torch.aten.exp %6 : !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%5 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %4, %1 : !torch.vtensor, !torch.int
}

// -----
// Neighbours ask for one another's facts at once; those that contradict one another stay two.
// CHECK-LABEL: func.func @neighbours
// CHECK-NEXT: %[[X:.*]] = "tierup.guard"(%arg0) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
// CHECK-NEXT: "tierup.guard"(%arg1) {expected = #tierup.profiled<f32[2]>}
// CHECK-NEXT: "tierup.guard"(%arg1) {expected = #tierup.profiled<f32[3]>}
// CHECK-NEXT: torch.aten.exp %[[X]]
// CHECK-NEXT: torch.aten.neg %[[X]]
func.func @neighbours(%x: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,?]>} : (!torch.vtensor) -> !torch.vtensor<[2,?],f32>
  %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
  %2 = "tierup.guard"(%x) {expected = #tierup.profiled<?[?,3]>} : (!torch.vtensor) -> !torch.vtensor<[?,3],unk>
  %3 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[3]>} : (!torch.vtensor) -> !torch.vtensor<[3],f32>
  %4 = torch.aten.exp %0 : !torch.vtensor<[2,?],f32> -> !torch.vtensor
  %7 = torch.aten.neg %2 : !torch.vtensor<[?,3],unk> -> !torch.vtensor
  %5 = torch.aten.exp %1 : !torch.vtensor<[2],f32> -> !torch.vtensor
  %6 = torch.aten.exp %3 : !torch.vtensor<[3],f32> -> !torch.vtensor
  return %4, %5, %6, %7 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// A guard in an arm that asks for less than the one before the branch goes; one that asks for more stays, and so does the one after the
// branch, which the arm does not dominate.
// CHECK-LABEL: func.func @dominated
// CHECK: %[[G:.*]] = "tierup.guard"(%arg0) {expected = #tierup.profiled<f32[?,4]>}
// CHECK: torch.prim.If
// CHECK-NEXT: %[[S:.*]] = "tierup.guard"(%arg0) {expected = #tierup.profiled<f32[2,4]>}
// CHECK-NEXT: "tierup.guard"(%arg2) {expected = #tierup.profiled<f32[2]>}
// CHECK-NEXT: torch.aten.neg %[[S]]
// CHECK-NEXT: torch.aten.exp %[[S]]
// CHECK: } else {
// CHECK-NEXT: "tierup.guard"(%arg2) {expected = #tierup.profiled<f32[2]>}
// CHECK-NEXT: torch.aten.neg %[[G]]
func.func @dominated(%x: !torch.vtensor, %c: !torch.bool, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[?,4]>} : (!torch.vtensor) -> !torch.vtensor<[?,4],f32>
  %1 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[?,?]>} : (!torch.vtensor) -> !torch.vtensor<[?,?],f32>
    %3 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[2,4]>} : (!torch.vtensor<[?,4],f32>) -> !torch.vtensor<[2,4],f32>
    %6 = torch.aten.neg %2 : !torch.vtensor<[?,?],f32> -> !torch.vtensor
    %4 = torch.aten.exp %3 : !torch.vtensor<[2,4],f32> -> !torch.vtensor
    %8 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
    %9 = torch.aten.mul.Tensor %8, %8 : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32> -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  } else {
    %8 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
    %2 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[?,?]>} : (!torch.vtensor) -> !torch.vtensor<[?,?],f32>
    %6 = torch.aten.neg %2 : !torch.vtensor<[?,?],f32> -> !torch.vtensor
    %9 = torch.aten.mul.Tensor %8, %8 : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32> -> !torch.vtensor
    torch.prim.If.yield %9 : !torch.vtensor
  }
  %5 = torch.aten.exp %0 : !torch.vtensor<[?,4],f32> -> !torch.vtensor
  return %1, %5 : !torch.vtensor, !torch.vtensor
}

// -----
// What data decides is known by its guard alone: the number of rows of nonzero, a size read from a tensor.
// CHECK-LABEL: func.func @not_by_shape_rules
// CHECK: torch.aten.nonzero
// CHECK-NEXT: "tierup.guard"
// CHECK: torch.aten.zeros
// CHECK-NEXT: "tierup.guard"
func.func @not_by_shape_rules(%x: !torch.vtensor<[4],f32>, %k: !torch.vtensor<[],si64>) -> (!torch.vtensor, !torch.vtensor) {
  %none = torch.constant.none
  %0 = torch.aten.nonzero %x : !torch.vtensor<[4],f32> -> !torch.vtensor
  %1 = "tierup.guard"(%0) {expected = #tierup.profiled<i64[4,1]>} : (!torch.vtensor) -> !torch.vtensor<[4,1],si64>
  %2 = torch.aten.neg %1 : !torch.vtensor<[4,1],si64> -> !torch.vtensor
  %n = torch.aten.item %k : !torch.vtensor<[],si64> -> !torch.int
  %s = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %3 = torch.aten.zeros %s, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  %4 = "tierup.guard"(%3) {expected = #tierup.profiled<f32[3]>} : (!torch.vtensor) -> !torch.vtensor<[3],f32>
  %5 = torch.aten.neg %4 : !torch.vtensor<[3],f32> -> !torch.vtensor
  return %2, %5 : !torch.vtensor, !torch.vtensor
}

// -----
// A carried value keeps its type by induction: the guards in the loop go. One whose type changes keeps its guard.
// CHECK-LABEL: func.func @induction
// CHECK: torch.prim.Loop
// CHECK-NOT: tierup.
// CHECK: torch.prim.Loop.condition
// CHECK: torch.prim.Loop
// CHECK-NEXT: ^bb0
// CHECK-NEXT: "tierup.guard"
func.func @induction(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %init = torch.tensor_static_info_cast %x : !torch.vtensor<[4],f32> to !torch.vtensor
  %0 = torch.prim.Loop %n, %true, init(%init) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.guard"(%a) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %2 = torch.aten.mul.Tensor %1, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %3 = torch.prim.Loop %n, %true, init(%init) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %4 = "tierup.guard"(%a) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %l = torch.prim.ListConstruct %4, %x : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.list<vtensor>
    %5 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%5 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0, %3 : !torch.vtensor, !torch.vtensor
}

// -----
// Numbers that follow from sizes.
// CHECK-LABEL: func.func @numbers
// CHECK-NOT: tierup.guard
// CHECK: return
func.func @numbers(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %n = torch.aten.size.int %x, %zero : !torch.vtensor<[4],f32>, !torch.int -> !torch.int
  %0 = "tierup.guard"(%n) {expected = #tierup.profiled<int=4>} : (!torch.int) -> !torch.int
  %1 = torch.aten.mul.Scalar %x, %0 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// Strides do not follow from shape rules; a guard that asked for them before suffices, one that did not does not.
// CHECK-LABEL: func.func @strides
// CHECK: "tierup.guard"(%arg0) {expected = #tierup.profiled<f32[2,3] strides=[3,1]>}
// CHECK-NOT: tierup.guard
// CHECK: torch.aten.exp
// CHECK-NEXT: "tierup.guard"(%{{.*}}) {expected = #tierup.profiled<f32[2,3] strides=[3,1]>}
func.func @strides(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,3] strides=[3,1]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %1 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[2,3] strides=[3,1]>} : (!torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32>
  %2 = torch.aten.exp %1 : !torch.vtensor<[2,3],f32> -> !torch.vtensor
  %3 = "tierup.guard"(%2) {expected = #tierup.profiled<f32[2,3] strides=[3,1]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %4 = torch.aten.exp %3 : !torch.vtensor<[2,3],f32> -> !torch.vtensor
  return %4 : !torch.vtensor
}

// -----
// A guard that can stand first in the arm of gradients that are defined leaves it; one in the other arm does not.
// CHECK-LABEL: func.func @gradients
// CHECK-NEXT: %[[G:.*]] = "tierup.guard"(%arg0)
// CHECK-NEXT: "tierup.any_nonzero"
// CHECK-NEXT: torch.prim.If
// CHECK-NEXT: %[[E:.*]] = torch.aten.exp %[[G]]
// CHECK: } else {
// CHECK-NEXT: "tierup.guard"(%arg1)
func.func @gradients(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %any = "tierup.any_nonzero"(%x) : (!torch.vtensor) -> !torch.bool
  %0 = torch.prim.If %any -> (!torch.vtensor) {
    %1 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
    %2 = torch.aten.exp %1 : !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
    %2 = torch.aten.exp %1 : !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: torch.aten.exp %arg0 : !torch.vtensor<[4],f32> -> !torch.vtensor
func.func @nothing(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %0 = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// An implied guard leaves a cast in its place, and a second run does not move the next guard past it.
// CHECK-LABEL: func.func @implied_in_a_loop
// CHECK: torch.prim.Loop
// CHECK: torch.tensor_static_info_cast %{{.*}} : !torch.vtensor to !torch.vtensor<[3],f64>
// CHECK-NEXT: "tierup.guard"(%arg1)
func.func @implied_in_a_loop(%x: !torch.vtensor<[3],f64>, %y: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.tensor_static_info_cast %x : !torch.vtensor<[3],f64> to !torch.vtensor
  %1 = torch.prim.Loop %n, %true, init(%0) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %2 = "tierup.guard"(%a) {expected = #tierup.profiled<f64[3]>} : (!torch.vtensor) -> !torch.vtensor<[3],f64>
    %3 = "tierup.guard"(%y) {expected = #tierup.profiled<f64[3]>} : (!torch.vtensor) -> !torch.vtensor<[3],f64>
    %4 = torch.aten.mul.Tensor %2, %3 : !torch.vtensor<[3],f64>, !torch.vtensor<[3],f64> -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%4 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// A guard that goes leaves a cast, which stands in front of the guards that stay: a second run moves nothing.
// CHECK-LABEL: func.func @casts_first
// CHECK: "tierup.guard"(%arg0)
// CHECK: torch.prim.If
// CHECK-NEXT: torch.tensor_static_info_cast
// CHECK-NEXT: "tierup.guard"(%arg1)
func.func @casts_first(%x: !torch.vtensor, %y: !torch.vtensor, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
  %1:2 = torch.prim.If %c -> (!torch.vtensor, !torch.vtensor) {
    %2 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
    %3 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
    %4 = torch.tensor_static_info_cast %3 : !torch.vtensor<[2],f32> to !torch.vtensor
    %5 = torch.tensor_static_info_cast %2 : !torch.vtensor<[2],f32> to !torch.vtensor
    torch.prim.If.yield %5, %4 : !torch.vtensor, !torch.vtensor
  } else {
    torch.prim.If.yield %x, %y : !torch.vtensor, !torch.vtensor
  }
  return %1#0, %1#1 : !torch.vtensor, !torch.vtensor
}
