// RUN: tierup-opt %s --tierup-unroll-loops="factor=2 max-body-size=4 max-trips=3" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-unroll-loops{factor=2 max-body-size=4 max-trips=3},tierup-unroll-loops{factor=2 max-body-size=4 max-trips=3})" --split-input-file | FileCheck %s

// The counter is not read, so none is made.
// CHECK-LABEL: func.func @by_a_factor
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[X:[a-z0-9]+]]: !torch.vtensor
func.func @by_a_factor(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  // CHECK: %[[AT_LEAST:.*]] = torch.prim.max.int %[[N]], %int0
  // CHECK: %[[PAIRS:.*]] = torch.aten.floordiv.int %[[AT_LEAST]], %int2
  // CHECK: %[[DONE:.*]] = torch.aten.mul.int %[[PAIRS]], %int2
  // CHECK: %[[LEFT:.*]] = torch.aten.sub.int %[[AT_LEAST]], %[[DONE]]
  // CHECK: %[[MAIN:.*]] = torch.prim.Loop %[[PAIRS]], %true, init(%[[X]]) {
  // CHECK-NEXT: ^bb0(%{{.*}}: !torch.int, %[[A:.*]]: !torch.vtensor):
  // CHECK-NEXT: %[[T1:.*]] = torch.aten.tanh %[[A]]
  // CHECK-NEXT: %[[T2:.*]] = torch.aten.tanh %[[T1]]
  // CHECK-NEXT: torch.prim.Loop.condition %true, iter(%[[T2]] : !torch.vtensor)
  // CHECK-NEXT: } {tierup.unrolled = 2 : i64}
  // CHECK: %[[REST:.*]] = torch.prim.Loop %[[LEFT]], %true, init(%[[MAIN]]) {
  // CHECK: } {tierup.unrolled = 1 : i64}
  // CHECK: return %[[REST]]
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @counted_by_a_factor
func.func @counted_by_a_factor(%n: !torch.int, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  // CHECK: %[[DONE:.*]] = torch.aten.mul.int
  // CHECK: torch.prim.Loop
  // CHECK-NEXT: ^bb0(%[[J:.*]]: !torch.int, %[[S:.*]]: !torch.int):
  // CHECK: %[[I0:.*]] = torch.aten.mul.int %[[J]], %int2
  // CHECK: %[[I1:.*]] = torch.aten.add.int %[[I0]], %int1
  // CHECK: %[[S1:.*]] = torch.aten.add.int %[[S]], %[[I0]]
  // CHECK: torch.aten.add.int %[[S1]], %[[I1]]
  // CHECK: tierup.unrolled = 2
  // CHECK: ^bb0(%[[K:.*]]: !torch.int,
  // CHECK: torch.aten.add.int %[[DONE]], %[[K]]
  // CHECK: tierup.unrolled = 1
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %i : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// CHECK-LABEL: func.func @whole
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor
func.func @whole(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %n = torch.constant.int 3
  // CHECK-NOT: torch.prim.Loop
  // CHECK: %[[T1:.*]] = torch.aten.tanh %[[X]]
  // CHECK-NEXT: %[[T2:.*]] = torch.aten.tanh %[[T1]]
  // CHECK-NEXT: %[[T3:.*]] = torch.aten.tanh %[[T2]]
  // CHECK-NEXT: return %[[T3]]
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @a_negative_count_is_no_round
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor
func.func @a_negative_count_is_no_round(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %n = torch.constant.int -4
  // CHECK-NEXT: return %[[X]]
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// Seven rounds are three pairs and one more.
// CHECK-LABEL: func.func @a_larger_known_count
func.func @a_larger_known_count(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %n = torch.constant.int 7
  // CHECK: %[[MAIN:.*]] = torch.prim.Loop %int3, %true
  // CHECK-COUNT-2: torch.aten.tanh
  // CHECK: tierup.unrolled = 2
  // CHECK-NOT: torch.prim.Loop
  // CHECK: %[[LAST:.*]] = torch.aten.tanh %[[MAIN]]
  // CHECK-NEXT: return %[[LAST]]
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// The inner loop first: once it is gone, the outer one is small.
// CHECK-LABEL: func.func @inner_first
func.func @inner_first(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %two = torch.constant.int 2
  // CHECK-NOT: torch.prim.Loop
  // CHECK-COUNT-4: torch.aten.tanh
  %0 = torch.prim.Loop %two, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.prim.Loop %two, %true, init(%a) {
    ^bb0(%j: !torch.int, %b: !torch.vtensor):
      %2 = torch.aten.tanh %b : !torch.vtensor -> !torch.vtensor
      torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
    } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A condition ends it: how many rounds there are, only the run knows.
// CHECK-LABEL: func.func @not_counted
func.func @not_counted(%n: !torch.int, %c: !torch.bool, %x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  // CHECK-COUNT-1: torch.aten.tanh
  // CHECK-NOT: torch.aten.tanh
  %0 = torch.prim.Loop %n, %c, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  // CHECK-COUNT-1: torch.aten.exp
  // CHECK-NOT: torch.aten.exp
  %2 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.exp %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %c, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0, %2 : !torch.vtensor, !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @too_large
func.func @too_large(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  // CHECK-NOT: tierup.unrolled
  // CHECK-COUNT-5: torch.aten.tanh
  // CHECK-NOT: torch.aten.tanh
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
    %3 = torch.aten.tanh %2 : !torch.vtensor -> !torch.vtensor
    %4 = torch.aten.tanh %3 : !torch.vtensor -> !torch.vtensor
    %5 = torch.aten.tanh %4 : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%5 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A slot is one place in the program.
// CHECK-LABEL: func.func @profiled
func.func @profiled(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  // CHECK-COUNT-1: "tierup.profile"
  // CHECK-NOT: "tierup.profile"
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.profile"(%a) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A condition that is made in the body goes with the old body.
// CHECK-LABEL: func.func @condition_in_the_body
func.func @condition_in_the_body(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  // CHECK: %[[BEFORE:.*]] = torch.constant.bool true
  // CHECK: torch.prim.Loop %{{.*}}, %[[BEFORE]], init(
  // CHECK-COUNT-2: torch.aten.tanh
  // CHECK: torch.prim.Loop.condition %[[BEFORE]], iter(
  // CHECK: } {tierup.unrolled = 2 : i64}
  %before = torch.constant.bool true
  %0 = torch.prim.Loop %n, %before, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    %inside = torch.constant.bool true
    torch.prim.Loop.condition %inside, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
