// RUN: tierup-opt %s --tierup-unroll-exchanges --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(func.func(tierup-unroll-exchanges,tierup-unroll-exchanges))" --split-input-file | FileCheck %s

// Two rounds at a time, and a branch for one that is left.
// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[X:[a-z0-9]+]]: !torch.tensor, %[[Y:[a-z0-9]+]]: !torch.tensor
func.func @two(%n: !torch.int, %x: !torch.tensor, %y: !torch.tensor) -> (!torch.tensor, !torch.tensor) {
  %true = torch.constant.bool true
  // CHECK: %[[LEAST:.*]] = torch.prim.max.int %[[N]], %int0
  // CHECK: %[[PAIRS:.*]] = torch.aten.floordiv.int %[[LEAST]], %int2
  // CHECK: %[[DONE:.*]] = torch.aten.mul.int %[[PAIRS]], %int2
  // CHECK: %[[REST:.*]] = torch.aten.sub.int %[[LEAST]], %[[DONE]]
  // CHECK: %[[MAIN:.*]]:2 = torch.prim.Loop %[[PAIRS]], %true, init(%[[X]], %[[Y]]) {
  // CHECK-NEXT: ^bb0(%[[J:.*]]: !torch.int, %[[A:.*]]: !torch.tensor, %[[B:.*]]: !torch.tensor):
  // CHECK: %[[I0:.*]] = torch.aten.mul.int %[[J]], %int2
  // CHECK: %[[I1:.*]] = torch.aten.add.int %[[I0]], %int1
  // CHECK: torch.aten.add_.Tensor %[[B]], %[[A]], %[[I0]]
  // CHECK: torch.aten.add_.Tensor %[[A]], %[[B]], %[[I1]]
  // CHECK: torch.prim.Loop.condition %true, iter(%[[A]], %[[B]] : !torch.tensor, !torch.tensor)
  // CHECK: %[[LEFT:.*]] = torch.aten.gt.int %[[REST]], %int0
  // CHECK: %[[ENDS:.*]]:2 = torch.prim.If %[[LEFT]]
  // CHECK: %[[LAST:.*]] = torch.aten.add.int %[[DONE]], %int0
  // CHECK: torch.aten.add_.Tensor %[[MAIN]]#1, %[[MAIN]]#0, %[[LAST]]
  // CHECK: torch.prim.If.yield %[[MAIN]]#1, %[[MAIN]]#0
  // CHECK: torch.prim.If.yield %[[MAIN]]#0, %[[MAIN]]#1
  // CHECK: return %[[ENDS]]#0, %[[ENDS]]#1
  %0:2 = torch.prim.Loop %n, %true, init(%x, %y) {
  ^bb0(%i: !torch.int, %a: !torch.tensor, %b: !torch.tensor):
    %1 = torch.aten.add_.Tensor %b, %a, %i : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%b, %a : !torch.tensor, !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor) -> (!torch.tensor, !torch.tensor)
  return %0#0, %0#1 : !torch.tensor, !torch.tensor
}

// -----

// Three arrays in turn: of two rounds that are left the second is in a branch of the first.
// CHECK-LABEL: func.func @three
// CHECK: %[[MAIN:.*]]:3 = torch.prim.Loop
// CHECK-COUNT-3: torch.aten.add_.Tensor
// CHECK: torch.prim.If
// CHECK: torch.aten.add_.Tensor %[[MAIN]]#2
// CHECK: torch.prim.If
// CHECK: torch.aten.add_.Tensor %[[MAIN]]#0
// CHECK: torch.prim.If.yield %[[MAIN]]#2, %[[MAIN]]#0, %[[MAIN]]#1
// CHECK: torch.prim.If.yield %[[MAIN]]#1, %[[MAIN]]#2, %[[MAIN]]#0
// CHECK: torch.prim.If.yield %[[MAIN]]#0, %[[MAIN]]#1, %[[MAIN]]#2
func.func @three(%n: !torch.int, %x: !torch.tensor, %y: !torch.tensor, %z: !torch.tensor) -> !torch.tensor {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %0:3 = torch.prim.Loop %n, %true, init(%x, %y, %z) {
  ^bb0(%i: !torch.int, %a: !torch.tensor, %b: !torch.tensor, %c: !torch.tensor):
    %1 = torch.aten.add_.Tensor %c, %a, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%b, %c, %a : !torch.tensor, !torch.tensor, !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor, !torch.tensor) -> (!torch.tensor, !torch.tensor, !torch.tensor)
  return %0#0 : !torch.tensor
}

// -----

// A loop that a condition ends asks it, and the count, between the two rounds, and says whether it ended there.
// CHECK-LABEL: func.func @ended
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[GO:[a-z0-9]+]]: !torch.bool, %[[X:[a-z0-9]+]]: !torch.tensor, %[[Y:[a-z0-9]+]]: !torch.tensor
// CHECK: %[[MORE:.*]] = torch.aten.add.int %[[N]], %int1
// CHECK: %[[PAIRS:.*]] = torch.aten.floordiv.int %[[MORE]], %int2
// CHECK: %[[L:.*]]:4 = torch.prim.Loop %[[PAIRS]], %[[GO]], init(%[[X]], %[[Y]], %{{.*}}, %false) {
// CHECK-NEXT: ^bb0(%[[J:.*]]: !torch.int, %[[A:.*]]: !torch.tensor, %[[B:.*]]: !torch.tensor, %[[S:.*]]: !torch.int, %{{.*}}: !torch.bool):
// CHECK: %[[I0:.*]] = torch.aten.mul.int %[[J]], %int2
// CHECK: torch.aten.add_.Tensor %[[B]], %[[A]], %[[I0]]
// CHECK: %[[S1:.*]] = torch.aten.add.int %[[S]], %[[I0]]
// CHECK: %[[OK:.*]] = torch.aten.lt.int %[[S1]], %[[N]]
// CHECK: %[[I1:.*]] = torch.aten.add.int %[[I0]], %int1
// CHECK: %[[LEFT:.*]] = torch.aten.lt.int %[[I1]], %[[N]]
// CHECK: %[[ON:.*]] = torch.aten.__and__.bool %[[OK]], %[[LEFT]]
// CHECK: %[[P:.*]]:3 = torch.prim.If %[[ON]]
// CHECK: torch.aten.add_.Tensor %[[A]], %[[B]], %[[I1]]
// CHECK: torch.prim.If.yield %{{.*}}, %{{.*}}, %false
// CHECK: torch.prim.If.yield %false, %[[S1]], %true
// CHECK: torch.prim.Loop.condition %[[P]]#0, iter(%[[A]], %[[B]], %[[P]]#1, %[[P]]#2
// CHECK: %[[ENDS:.*]]:2 = torch.prim.If %[[L]]#3
// CHECK: torch.prim.If.yield %[[L]]#1, %[[L]]#0
// CHECK: torch.prim.If.yield %[[L]]#0, %[[L]]#1
// CHECK: return %[[ENDS]]#0, %[[L]]#2
func.func @ended(%n: !torch.int, %go: !torch.bool, %x: !torch.tensor, %y: !torch.tensor) -> (!torch.tensor, !torch.int) {
  %zero = torch.constant.int 0
  %0:3 = torch.prim.Loop %n, %go, init(%x, %y, %zero) {
  ^bb0(%i: !torch.int, %a: !torch.tensor, %b: !torch.tensor, %s: !torch.int):
    %1 = torch.aten.add_.Tensor %b, %a, %i : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
    %2 = torch.aten.add.int %s, %i : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.lt.int %2, %n : !torch.int, !torch.int -> !torch.bool
    torch.prim.Loop.condition %3, iter(%b, %a, %2 : !torch.tensor, !torch.tensor, !torch.int)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor, !torch.int) -> (!torch.tensor, !torch.tensor, !torch.int)
  return %0#0, %0#2 : !torch.tensor, !torch.int
}

// -----

// Left alone: a loop that hands on what is new, values, and three arrays in a loop that a condition ends.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: torch.prim.Loop %arg0
// CHECK-NOT: torch.prim.Loop %
func.func @others(%n: !torch.int, %go: !torch.bool, %x: !torch.tensor, %y: !torch.tensor, %v: !torch.vtensor, %w: !torch.vtensor) -> (!torch.tensor, !torch.tensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %0:3 = torch.prim.Loop %n, %go, init(%x, %y, %x) {
  ^bb0(%i: !torch.int, %a: !torch.tensor, %b: !torch.tensor, %c: !torch.tensor):
    torch.prim.Loop.condition %go, iter(%b, %c, %a : !torch.tensor, !torch.tensor, !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor, !torch.tensor) -> (!torch.tensor, !torch.tensor, !torch.tensor)
  %1:2 = torch.prim.Loop %n, %true, init(%x, %y) {
  ^bb0(%i: !torch.int, %a: !torch.tensor, %b: !torch.tensor):
    %3 = torch.aten.add.Tensor %b, %a, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%b, %3 : !torch.tensor, !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor) -> (!torch.tensor, !torch.tensor)
  %2:2 = torch.prim.Loop %n, %true, init(%v, %w) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor, %b: !torch.vtensor):
    torch.prim.Loop.condition %true, iter(%b, %a : !torch.vtensor, !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  return %0#0, %1#1, %2#0 : !torch.tensor, !torch.tensor, !torch.vtensor
}
