// RUN: tierup-opt %s --split-input-file --tierup-build-bailout-continuations --tierup-verify-guarded | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-build-bailout-continuations --tierup-build-bailout-continuations | FileCheck %s
// RUN: not tierup-opt %s --split-input-file --tierup-build-bailout-continuations="function=arm index=1" 2> %t | FileCheck %s --check-prefix=ONE
// RUN: FileCheck %s --check-prefix=OTHERS --input-file=%t
// OTHERS: option function: no function is named 'arm'

// ONE-NOT: tierup.continuation
// ONE-LABEL: func.func @arm
// ONE: {continuation = @arm_continuation_1
// ONE: func.func private @arm_continuation_1_1{{.*}}tierup.continuation
// ONE-NOT: tierup.continuation

// The rest of the function; later guards hand through; a parameter per operand, of its type; types that guards proved are forgotten.
// CHECK-LABEL: func.func @straight
// CHECK: "tierup.bailout"(%{{.*}}, %arg1) {continuation = @straight_continuation_0,
// CHECK: "tierup.bailout"(%{{.*}}, %arg1) {continuation = @straight_continuation_1,
// CHECK-LABEL: func.func private @straight_continuation_0(%arg0: !torch.vtensor, %arg1: !torch.vtensor<[4],f32>) -> !torch.vtensor attributes {tierup.continuation, tierup.source = "jit"} {
// CHECK-NEXT: %[[Y:.*]] = torch.tensor_static_info_cast %arg1 : !torch.vtensor<[4],f32> to !torch.vtensor
// CHECK-NEXT: %int2 = torch.constant.int 2
// CHECK-NEXT: %[[S:.*]] = torch.aten.sub.Tensor %arg0, %[[Y]], %int2 : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
// CHECK-NEXT: %[[M:.*]] = torch.aten.mul.Tensor %[[S]], %[[Y]]
// CHECK-NEXT: return %[[M]] : !torch.vtensor
// CHECK-LABEL: func.func private @straight_continuation_1
// CHECK-NEXT: %[[Y:.*]] = torch.tensor_static_info_cast %arg1
// CHECK-NEXT: %[[X:.*]] = torch.tensor_static_info_cast %arg0
// CHECK-NEXT: %[[M:.*]] = torch.aten.mul.Tensor %[[X]], %[[Y]]
// CHECK-NEXT: return %[[M]]
func.func @straight(%x: !torch.vtensor, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor attributes {tierup.source = "jit"} {
  %two = torch.constant.int 2
  %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  %1 = "tierup.bailout"(%0, %y) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  %2 = torch.aten.sub.Tensor %1, %y, %two : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %3 = "tierup.bailout"(%2, %y) {index = 1 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  %4 = torch.aten.mul.Tensor %3, %y : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %5 = torch.tensor_static_info_cast %4 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %5 : !torch.vtensor
}

// -----
// In an arm: the rest of the arm, then what follows the branch. A name that is taken gets a number.
// CHECK-LABEL: func.func @arm
// CHECK: continuation = @arm_continuation_1_1
// CHECK-LABEL: func.func private @arm_continuation_1_1
// CHECK-NEXT: %[[T:.*]] = torch.aten.tanh %arg0
// CHECK-NEXT: %[[M:.*]] = torch.aten.mul.Tensor %[[T]], %arg1
// CHECK-NEXT: return %[[M]]
func.func @arm(%x: !torch.vtensor, %y: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = "tierup.bailout"(%x, %y) {index = 1 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor<[4],f32>
    %3 = torch.aten.tanh %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.If.yield %3 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  %4 = torch.aten.mul.Tensor %0, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %4 : !torch.vtensor
}

func.func private @arm_continuation_1(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
// In a loop: the rest of the iteration; then those that are left, which start from its result, with counters that go on from its;
// whether to go on is the iteration's own answer.
// CHECK-LABEL: func.func private @loop_continuation_0(%arg0: !torch.vtensor, %arg1: !torch.int, %arg2: !torch.float, %arg3: !torch.int)
// CHECK: %[[M:.*]] = torch.aten.mul.Scalar %arg0, %arg3
// CHECK: %[[GO:.*]] = torch.aten.lt.float_int %arg2, %arg3
// CHECK-NEXT: %[[C1:.*]] = torch.constant.int 1
// CHECK-NEXT: %[[DONE:.*]] = torch.aten.add.int %arg3, %[[C1]]
// CHECK-NEXT: %[[LEFT:.*]] = torch.aten.sub.int %arg1, %[[DONE]]
// CHECK-NEXT: %[[R:.*]] = torch.prim.Loop %[[LEFT]], %[[GO]], init(%[[M]]) {
// CHECK-NEXT: ^bb0(%[[J:.*]]: !torch.int, %[[B:.*]]: !torch.vtensor):
// CHECK-NEXT: %[[K:.*]] = torch.aten.add.int %[[J]], %[[DONE]]
// CHECK-NEXT: %[[N:.*]] = torch.aten.mul.Scalar %[[B]], %[[K]]
// CHECK-NEXT: %[[GO2:.*]] = torch.aten.lt.float_int %arg2, %[[K]]
// CHECK-NEXT: torch.prim.Loop.condition %[[GO2]], iter(%[[N]]
// CHECK: return %[[R]]
func.func @loop(%x: !torch.vtensor, %n: !torch.int, %f: !torch.float) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.bailout"(%a, %n, %f, %i) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor, !torch.int, !torch.float, !torch.int) -> !torch.vtensor<[4],f32>
    %2 = torch.aten.mul.Scalar %1, %i : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor
    %go = torch.aten.lt.float_int %f, %i : !torch.float, !torch.int -> !torch.bool
    torch.prim.Loop.condition %go, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @nothing_to_build
// CHECK-NOT: func.func
func.func @nothing_to_build(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
// The first number that is free. Bailouts of one index, which no pass makes, have a function each.
// CHECK-LABEL: func.func @taken
// CHECK: continuation = @taken_continuation_0_2
// CHECK: continuation = @taken_continuation_0_3
// CHECK: func.func private @taken_continuation_0_2
// CHECK: func.func private @taken_continuation_0_3
func.func @taken(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[4],f32> -> !torch.vtensor
  %2 = "tierup.bailout"(%1) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %3 = torch.aten.exp %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
  return %3 : !torch.vtensor
}
func.func private @taken_continuation_0(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
func.func private @taken_continuation_0_1(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
