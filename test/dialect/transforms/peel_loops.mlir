// RUN: tierup-opt %s --tierup-peel-loops="count=2" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peel-loops{count=2},tierup-peel-loops{count=2})" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @a_condition_ends_it
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[GO:[a-z0-9]+]]: !torch.bool, %[[X:[a-z0-9]+]]: !torch.int
func.func @a_condition_ends_it(%n: !torch.int, %go: !torch.bool, %x: !torch.int) -> !torch.int {
  // CHECK: %[[FIRST:.*]] = torch.prim.min.int %[[N]], %int2
  // CHECK: %[[LEFT:.*]] = torch.aten.sub.int %[[N]], %[[FIRST]]
  // CHECK: %[[HEAD:.*]]:2 = torch.prim.Loop %[[FIRST]], %[[GO]], init(%[[X]], %[[GO]]) {
  // CHECK-NEXT: ^bb0(%[[I:.*]]: !torch.int, %[[S:.*]]: !torch.int, %{{.*}}: !torch.bool):
  // CHECK-NEXT: %[[S1:.*]] = torch.aten.add.int %[[S]], %[[I]]
  // CHECK-NEXT: %[[C:.*]] = torch.aten.lt.int %[[S1]], %[[N]]
  // CHECK-NEXT: torch.prim.Loop.condition %[[C]], iter(%[[S1]], %[[C]] : !torch.int, !torch.bool)
  // CHECK-NEXT: } {tierup.peeled = 2 : i64}
  // CHECK: %[[REST:.*]] = torch.prim.Loop %[[LEFT]], %[[HEAD]]#1, init(%[[HEAD]]#0) {
  // CHECK-NEXT: ^bb0(%[[J:.*]]: !torch.int,
  // CHECK-NEXT: %[[K:.*]] = torch.aten.add.int %[[FIRST]], %[[J]]
  // CHECK-NEXT: torch.aten.add.int %{{.*}}, %[[K]]
  // CHECK: } {tierup.peeled = 2 : i64}
  // CHECK: return %[[REST]]
  %0 = torch.prim.Loop %n, %go, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %i : !torch.int, !torch.int -> !torch.int
    %2 = torch.aten.lt.int %1, %n : !torch.int, !torch.int -> !torch.bool
    torch.prim.Loop.condition %2, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// A counted loop hands on nothing more.
// CHECK-LABEL: func.func @counted
func.func @counted(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %five = torch.constant.int 5
  // CHECK: %[[HEAD:.*]] = torch.prim.Loop %int2, %true, init(%{{.*}})
  // CHECK: torch.prim.Loop %int3, %true, init(%[[HEAD]])
  %0 = torch.prim.Loop %five, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A loop that only its condition ends: what is left has no end either.
// CHECK-LABEL: func.func @endless
func.func @endless(%go: !torch.bool, %x: !torch.int) -> !torch.int {
  %forever = torch.constant.int 9223372036854775807
  // CHECK: torch.prim.Loop %int2, %{{.*}}, init
  // CHECK: torch.prim.Loop %int9223372036854775807, %{{.*}}#1, init
  %0 = torch.prim.Loop %forever, %go, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.lt.int %i, %s : !torch.int, !torch.int -> !torch.bool
    torch.prim.Loop.condition %1, iter(%i : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// Both loops of a nest: the inner one twice, in either half of the outer one.
// CHECK-LABEL: func.func @nested
// CHECK-COUNT-6: torch.prim.Loop %
// CHECK-NOT: torch.prim.Loop %
func.func @nested(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.prim.Loop %n, %true, init(%a) {
    ^bb0(%j: !torch.int, %b: !torch.vtensor):
      %2 = torch.aten.tanh %b : !torch.vtensor -> !torch.vtensor
      torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
    } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A slot is one place in the program.
// CHECK-LABEL: func.func @profiled
// CHECK-COUNT-1: torch.prim.Loop %
// CHECK-NOT: tierup.peeled
func.func @profiled(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.profile"(%a) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
