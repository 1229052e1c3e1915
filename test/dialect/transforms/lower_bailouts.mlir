// RUN: tierup-opt %s --split-input-file --tierup-lower-bailouts | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-bailouts --tierup-lower-bailouts | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-bailouts --tierup-infer-types | FileCheck %s --check-prefix=TYPED
// RUN: tierup-opt %s --split-input-file --tierup-lower-bailouts=force | FileCheck %s --check-prefix=FORCE

// The rest runs where the sizes fit; only what it makes is yielded, and the function promises its type again.
// CHECK-LABEL: func.func @straight
// CHECK-SAME: -> (!torch.vtensor<[4],f32>, !torch.vtensor<[?],f32>)
// CHECK: %[[E:.*]] = torch.aten.exp %arg0
// CHECK: %[[N:.*]] = torch.aten.size.int %[[E]], %int0
// CHECK: %[[OK:.*]] = torch.aten.eq.int %[[N]], %int4
// CHECK: %[[R:.*]] = torch.prim.If %[[OK]] -> (!torch.vtensor<[4],f32>) {
// CHECK-NEXT: %[[C:.*]] = torch.tensor_static_info_cast %[[E]] : !torch.vtensor<[?],f32> to !torch.vtensor<[4],f32>
// CHECK-NEXT: %[[S:.*]] = torch.aten.mul.Tensor %[[C]], %[[C]]
// CHECK-NEXT: torch.prim.If.yield %[[S]] : !torch.vtensor<[4],f32>
// CHECK-NEXT: } else {
// CHECK-NEXT: "tierup.exit"(%[[E]], %arg0, %arg1) {index = 3 : i64}
// CHECK-NEXT: %[[U:.*]] = torch.prim.Uninitialized : !torch.vtensor<[4],f32>
// CHECK-NEXT: torch.prim.If.yield %[[U]]
// CHECK: return %[[R]], %[[E]]
// FORCE-LABEL: func.func @straight
// FORCE: %[[F:.*]] = "tierup.forced"() {index = 3 : i64}
// FORCE-NEXT: %[[NOT:.*]] = torch.aten.__not__ %[[F]]
// FORCE-NEXT: %[[BOTH:.*]] = torch.aten.__and__.bool %[[NOT]], %{{.*}}
// FORCE-NEXT: torch.prim.If %[[BOTH]]
func.func @straight(%x: !torch.vtensor<[?],f32>, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor<[?],f32>) {
  %0 = torch.aten.exp %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %1 = "tierup.bailout"(%0, %x, %n) {index = 3 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>, !torch.int) -> !torch.vtensor<[4],f32>
  %2 = torch.aten.mul.Tensor %1, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %3 = torch.tensor_static_info_cast %2 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %3, %0 : !torch.vtensor, !torch.vtensor<[?],f32>
}

// -----
// What types prove needs no check; a bailout that tests may force is left all the same.
// CHECK-LABEL: func.func @proven
// CHECK-NEXT: %[[T:.*]] = torch.aten.tanh %arg0
// CHECK-NEXT: return %[[T]]
// FORCE-LABEL: func.func @proven
// FORCE: torch.prim.If
// FORCE: "tierup.exit"(%arg0)
func.func @proven(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4] strides=[1] device=cpu requires_grad=false defined>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----
// Nothing to do.
// CHECK-LABEL: func.func @none
// CHECK-NEXT: %[[T:.*]] = torch.aten.tanh %arg0
// CHECK-NEXT: %[[C:.*]] = torch.tensor_static_info_cast
// CHECK-NEXT: return %[[C]] : !torch.vtensor
func.func @none(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %1 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %2 : !torch.vtensor
}

// -----
// An assumption that no value can keep: the branch says so, and the rest is still there for who reads it.
// CHECK-LABEL: func.func @always_lost
// CHECK: %[[NO:.*]] = torch.constant.bool false
// CHECK: torch.prim.If %[[NO]]
func.func @always_lost(%x: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32> {
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[?,?,?]>} : (!torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[?,3],f32> -> !torch.vtensor<[?,3],f32>
  return %1 : !torch.vtensor<[?,3],f32>
}

// -----
// Numbers: what is assumed is a constant in the rest. Floats are told apart by their bits.
// CHECK-LABEL: func.func @numbers
// CHECK: torch.aten.eq.int %arg0, %int3
// CHECK: torch.prim.If
// CHECK-NEXT: torch.prim.If %arg1
// CHECK: %[[G:.*]] = torch.aten.ge.float %arg2, %{{.*}}
// CHECK: %[[NAN:.*]] = torch.aten.__not__ %[[G]]
// CHECK: torch.prim.If %[[NAN]]
// CHECK: torch.aten.eq.float %arg3, %float-0.0
// CHECK: torch.aten.signbit
// CHECK: %[[BOTH:.*]] = torch.aten.__and__.bool
// CHECK: torch.prim.If %[[BOTH]]
// CHECK: torch.aten.eq.float %arg4, %float2.5
// CHECK: torch.aten.add.int %int3{{.*}}, %int3
// CHECK: "tierup.exit"(%arg4, %arg0, %arg1, %arg2, %arg3) {index = 4 : i64}
// CHECK: "tierup.exit"(%arg0, %arg1, %arg2, %arg3, %arg4) {index = 0 : i64}
func.func @numbers(%i: !torch.int, %b: !torch.bool, %f: !torch.float, %z: !torch.float, %g: !torch.float) -> (!torch.int, !torch.float, !torch.bool) {
  %0 = "tierup.bailout"(%i, %b, %f, %z, %g) {index = 0 : i64, expected = #tierup.profiled<int=3>} : (!torch.int, !torch.bool, !torch.float, !torch.float, !torch.float) -> !torch.int
  %1 = "tierup.bailout"(%b, %i, %f, %z, %g) {index = 1 : i64, expected = #tierup.profiled<bool=true>} : (!torch.bool, !torch.int, !torch.float, !torch.float, !torch.float) -> !torch.bool
  %2 = "tierup.bailout"(%f, %i, %b, %z, %g) {index = 2 : i64, expected = #tierup.profiled<float=nan>} : (!torch.float, !torch.int, !torch.bool, !torch.float, !torch.float) -> !torch.float
  %3 = "tierup.bailout"(%z, %i, %b, %f, %g) {index = 3 : i64, expected = #tierup.profiled<float=-0.0>} : (!torch.float, !torch.int, !torch.bool, !torch.float, !torch.float) -> !torch.float
  %4 = "tierup.bailout"(%g, %i, %b, %f, %z) {index = 4 : i64, expected = #tierup.profiled<float=2.5>} : (!torch.float, !torch.int, !torch.bool, !torch.float, !torch.float) -> !torch.float
  %5 = torch.aten.add.int %0, %0 : !torch.int, !torch.int -> !torch.int
  return %5, %4, %1 : !torch.int, !torch.float, !torch.bool
}

// -----
// A symbol of the arguments is their size; another is the size that the first bailout with it meets, of 2 at least.
// Inference reads them in the guard that is left.
// CHECK-LABEL: func.func @symbols
// CHECK: %[[Y0:.*]] = torch.aten.size.int %arg1, %int0
// CHECK: %[[X0:.*]] = torch.aten.size.int %arg0, %int0
// CHECK: torch.aten.eq.int %[[Y0]], %[[X0]]
// CHECK: %[[Y1:.*]] = torch.aten.size.int %arg1, %int1
// CHECK: torch.aten.ge.int %[[Y1]], %int2
// CHECK: "tierup.guard"(%arg1) {expected = #tierup.profiled<f32[s0,s1]>}
// CHECK: %[[Z0:.*]] = torch.aten.size.int %arg2, %int0
// CHECK: %[[AGAIN:.*]] = torch.aten.size.int %arg1, %int1
// CHECK: torch.aten.eq.int %[[Z0]], %[[AGAIN]]
// CHECK: "tierup.guard"(%arg2) {expected = #tierup.profiled<f32[s1]>}
func.func @symbols(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?,?],f32>, %z: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?,?],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %0 = "tierup.bailout"(%y, %z) {index = 0 : i64, expected = #tierup.profiled<f32[s0,s1]>} : (!torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?,?],f32>
  %1 = "tierup.bailout"(%z, %0) {index = 1 : i64, expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor<[?],f32>, !torch.vtensor<[?,?],f32>) -> !torch.vtensor<[?],f32>
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?],f32>
  return %2 : !torch.vtensor<[?,?],f32>
}

// -----
// From an arm: the branch says whether control left, and what follows it asks.
// CHECK-LABEL: func.func @arm
// CHECK: %[[R:.*]]:2 = torch.prim.If %arg2 -> (!torch.vtensor<[?],f32>, !torch.bool) {
// CHECK: %[[OK:.*]] = torch.aten.eq.int
// CHECK: %[[LEFT:.*]] = torch.aten.__not__ %[[OK]]
// CHECK: %[[IN:.*]] = torch.prim.If %[[OK]] -> (!torch.vtensor<[?],f32>) {
// CHECK: "tierup.exit"(%arg0, %arg1) {index = 0 : i64}
// CHECK: torch.prim.If.yield %[[IN]], %[[LEFT]]
// CHECK: } else {
// CHECK: torch.prim.If.yield %arg0, %false
// CHECK: %[[OUT:.*]] = torch.prim.If %[[R]]#1 -> (!torch.vtensor<[?],f32>) {
// CHECK-NEXT: torch.prim.Uninitialized
// CHECK-NEXT: torch.prim.If.yield
// CHECK-NEXT: } else {
// CHECK-NEXT: torch.aten.mul.Tensor %[[R]]#0, %arg1
// CHECK: return %[[OUT]]
func.func @arm(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>, %c: !torch.bool) -> !torch.vtensor<[?],f32> {
  %0 = torch.prim.If %c -> (!torch.vtensor<[?],f32>) {
    %2 = "tierup.bailout"(%x, %y) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32>
    %3 = torch.aten.tanh %2 : !torch.vtensor<[4],f32> -> !torch.vtensor<[?],f32>
    torch.prim.If.yield %3 : !torch.vtensor<[?],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[?],f32>
  }
  %4 = torch.aten.mul.Tensor %0, %y : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %4 : !torch.vtensor<[?],f32>
}

// -----
// A counted loop goes on where its assumptions are kept: its condition is the check. The inner loop tells the outer one.
// Two exits, and nothing is carried for them but the answer.
// CHECK-LABEL: func.func @nested
// CHECK: %[[OUTER:.*]]:2 = torch.prim.Loop %arg1, %true, init(%arg0, %{{.*}}) {
// CHECK-NEXT: ^bb0(%[[I:.*]]: !torch.int, %[[A:.*]]: !torch.vtensor<[?],f32>, %{{.*}}: !torch.bool):
// CHECK: %[[INNER:.*]]:2 = torch.prim.Loop %[[I]], %true, init(%[[A]], %{{.*}}) {
// CHECK: %[[OK:.*]] = torch.aten.eq.int
// CHECK-DAG: %[[LEFT:.*]] = torch.aten.__not__ %[[OK]]
// CHECK: %[[B:.*]] = torch.prim.If %[[OK]]
// CHECK: "tierup.exit"({{.*}}) {index = 0 : i64}
// CHECK: torch.prim.Loop.condition %[[OK]], iter(%[[B]], %[[LEFT]]
// CHECK: %[[AFTER:.*]]:3 = torch.prim.If %[[INNER]]#1 -> (!torch.vtensor<[?],f32>, !torch.bool, !torch.bool) {
// CHECK: "tierup.exit"({{.*}}) {index = 1 : i64}
// CHECK: torch.prim.Loop.condition %[[AFTER]]#1, iter(%[[AFTER]]#0, %[[AFTER]]#2
// CHECK: return %[[OUTER]]#0
// TYPED-LABEL: func.func @nested
// TYPED: torch.prim.Loop
func.func @nested(%x: !torch.vtensor<[?],f32>, %n: !torch.int) -> !torch.vtensor<[?],f32> {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[?],f32>):
    %1 = torch.prim.Loop %i, %true, init(%a) {
    ^bb0(%j: !torch.int, %b: !torch.vtensor<[?],f32>):
      %2 = "tierup.bailout"(%b, %n, %i, %j) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>, !torch.int, !torch.int, !torch.int) -> !torch.vtensor<[4],f32>
      %3 = torch.aten.add.Scalar %2, %j, %one : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
      torch.prim.Loop.condition %true, iter(%3 : !torch.vtensor<[?],f32>)
    } : (!torch.int, !torch.bool, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
    %4 = torch.aten.tanh %1 : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
    %5 = "tierup.bailout"(%4, %n, %i) {index = 1 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>, !torch.int, !torch.int) -> !torch.vtensor<[4],f32>
    %6 = torch.aten.exp %5 : !torch.vtensor<[4],f32> -> !torch.vtensor<[?],f32>
    torch.prim.Loop.condition %true, iter(%6 : !torch.vtensor<[?],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// -----
// A loop with a condition of its own: false where control left.
// CHECK-LABEL: func.func @while
// CHECK: torch.prim.Loop %arg1, %arg2
// CHECK: %[[OK:.*]] = torch.aten.eq.int
// CHECK: %[[LEFT:.*]] = torch.aten.__not__ %[[OK]]
// CHECK: %[[R:.*]]:2 = torch.prim.If %[[OK]] -> (!torch.vtensor<[?],f32>, !torch.bool) {
// CHECK: %[[GO:.*]] = torch.aten.Bool.Tensor
// CHECK: torch.prim.If.yield %{{.*}}, %[[GO]]
// CHECK: "tierup.exit"
// CHECK: %[[U:.*]] = torch.prim.Uninitialized
// CHECK: %[[NO:.*]] = torch.constant.bool false
// CHECK: torch.prim.If.yield %[[U]], %[[NO]]
// CHECK: torch.prim.Loop.condition %[[R]]#1, iter(%[[R]]#0, %[[LEFT]]
func.func @while(%x: !torch.vtensor<[?],f32>, %n: !torch.int, %c: !torch.bool) -> !torch.vtensor<[?],f32> {
  %none = torch.constant.none
  %0 = torch.prim.Loop %n, %c, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[?],f32>):
    %2 = "tierup.bailout"(%a, %n, %i) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>, !torch.int, !torch.int) -> !torch.vtensor<[4],f32>
    %3 = torch.aten.exp %2 : !torch.vtensor<[4],f32> -> !torch.vtensor<[?],f32>
    %4 = torch.aten.all %3 : !torch.vtensor<[?],f32> -> !torch.vtensor<[],i1>
    %5 = torch.aten.Bool.Tensor %4 : !torch.vtensor<[],i1> -> !torch.bool
    torch.prim.Loop.condition %5, iter(%3 : !torch.vtensor<[?],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// -----
// A value that is returned twice loses its cast once.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
// CHECK: return %{{.*}}, %{{.*}} : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
func.func @twice(%x: !torch.vtensor<[?],f32>) -> (!torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.tanh %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %1 = "tierup.bailout"(%0) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32>
  %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %2, %2 : !torch.vtensor, !torch.vtensor
}
