// RUN: tierup-opt %s --split-input-file --tierup-verify-guarded --tierup-insert-bailouts --tierup-verify-guarded | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-bailouts --tierup-insert-bailouts | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-bailouts --tierup-build-bailout-continuations 2> /dev/null | FileCheck %s --check-prefix=BUILD
// RUN: tierup-opt %s --split-input-file --tierup-insert-bailouts --tierup-infer-types | FileCheck %s --check-prefix=TYPED

// Live are those that are read later, in the order of their definitions; constants are made again; the guarded value comes first, once.
// CHECK-LABEL: func.func @straight
// CHECK: %[[M:.*]] = torch.aten.mul.Tensor %arg0, %arg1
// CHECK-NEXT: %[[G:.*]] = "tierup.bailout"(%[[M]], %arg1, %arg3) {expected = #tierup.profiled<f32[4]>, index = 0 : i64} : (!torch.vtensor, !torch.vtensor, !torch.int) -> !torch.vtensor<[4],f32>
// CHECK-NEXT: torch.aten.sub.Tensor %[[G]], %arg1, %int2
func.func @straight(%x: !torch.vtensor, %y: !torch.vtensor, %unused: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.int) {
  %two = torch.constant.int 2
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %2 = torch.aten.sub.Tensor %1, %y, %two : !torch.vtensor<[4],f32>, !torch.vtensor, !torch.int -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %2, %0 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %3, %n : !torch.vtensor, !torch.int
}

// -----
// A guarded value counts as the value below it, also below a cast; a derefined number as the number.
// CHECK-LABEL: func.func @roots
// CHECK: "tierup.bailout"(%arg0, %arg1, %arg2)
// CHECK: "tierup.bailout"(%arg1, %arg0, %arg2)
func.func @roots(%x: !torch.vtensor, %y: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %number = torch.derefine %n : !torch.int to !torch.number
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %2 = torch.tensor_static_info_cast %0 : !torch.vtensor<[4],f32> to !torch.vtensor
  %3 = torch.aten.mul.Scalar %2, %number : !torch.vtensor, !torch.number -> !torch.vtensor
  %4 = torch.aten.mul.Tensor %3, %0 : !torch.vtensor, !torch.vtensor<[4],f32> -> !torch.vtensor
  return %4 : !torch.vtensor
}

// -----
// The number under a guarded one of another type is captured when it is read itself.
// CHECK-LABEL: func.func @under_the_guarded
// CHECK: %[[N:.*]] = torch.derefine %arg1
// CHECK-NEXT: "tierup.bailout"(%[[N]], %arg0, %arg1)
// BUILD-LABEL: func.func private @under_the_guarded_continuation_0(%arg0: !torch.number, %arg1: !torch.vtensor, %arg2: !torch.int)
// BUILD-NEXT: torch.aten.add.Scalar %arg1, %arg0, %arg2
func.func @under_the_guarded(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %number = torch.derefine %n : !torch.int to !torch.number
  %0 = "tierup.guard"(%number) {expected = #tierup.profiled<int=3>} : (!torch.number) -> !torch.number
  %1 = torch.aten.add.Scalar %x, %0, %n : !torch.vtensor, !torch.number, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// In an arm: what follows the branch as well. Values of the other arm are nothing to it.
// CHECK-LABEL: func.func @arm
// CHECK: torch.prim.If
// CHECK: %[[E:.*]] = torch.aten.exp %arg0
// CHECK-NEXT: "tierup.bailout"(%[[E]], %arg1)
// CHECK: } else {
// CHECK-NOT: tierup.
func.func @arm(%x: !torch.vtensor, %y: !torch.vtensor, %c: !torch.bool, %z: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
    %2 = "tierup.guard"(%1) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %3 = torch.aten.tanh %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.If.yield %3 : !torch.vtensor
  } else {
    %1 = torch.aten.exp %z : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  %4 = torch.aten.mul.Tensor %0, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %4 : !torch.vtensor
}

// -----
// In a loop: the trip count that is no constant, the counter, though nothing reads it, and what iterations to come will read
// (%w, before the guard). What this iteration made and no one reads later is not live, nor is a carried value.
// CHECK-LABEL: func.func @loop
// CHECK: ^bb0(%[[I:.*]]: !torch.int, %[[A:.*]]: !torch.vtensor):
// CHECK: "tierup.bailout"(%{{.*}}, %arg1, %arg2, %[[I]])
// CHECK: ^bb0(%[[J:.*]]: !torch.int, %[[B:.*]]: !torch.vtensor):
// CHECK: "tierup.bailout"(%[[B]], %[[J]])
func.func @loop(%x: !torch.vtensor, %n: !torch.int, %w: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %three = torch.constant.int 3
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = torch.aten.mul.Tensor %a, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %2 = "tierup.guard"(%1) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %3 = torch.aten.tanh %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%3 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %4 = torch.prim.Loop %three, %true, init(%0) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %5 = "tierup.guard"(%a) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %6 = torch.aten.tanh %5 : !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%6 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %4 : !torch.vtensor
}

// -----
// Indices go on after those that are there. What a function returns is no longer what its guards proved.
// TYPED-LABEL: func.func @indices_go_on
// TYPED-SAME: -> !torch.vtensor {
// TYPED-LABEL: func.func @no_guard
// TYPED-SAME: -> !torch.vtensor<[4],f32>
// CHECK-LABEL: func.func @indices_go_on
// CHECK-SAME: -> !torch.vtensor {
// CHECK: index = 7
// CHECK: %[[B:.*]] = "tierup.bailout"{{.*}}index = 8
// CHECK: %[[P:.*]] = torch.tensor_static_info_cast %[[B]] : !torch.vtensor<[4],f32> to !torch.vtensor
// CHECK: return %[[P]]
func.func @indices_go_on(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor<[4],f32> {
  %0 = "tierup.bailout"(%x, %y) {index = 7 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----
// CHECK-LABEL: func.func @no_guard
// CHECK-SAME: -> !torch.vtensor<[4],f32>
// CHECK-NEXT: return %arg0 : !torch.vtensor<[4],f32>
func.func @no_guard(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  return %x : !torch.vtensor<[4],f32>
}

// -----
// A list that a bailout captures is still the list that it was, though some other list grows.
// CHECK-LABEL: func.func @captured_list
// CHECK: %[[D:.*]] = torch.prim.ListConstruct %int0
// CHECK: "tierup.bailout"(%arg0, %[[D]])
// CHECK: torch.aten.amax {{.*}} -> !torch.vtensor<[3],f32>
func.func @captured_list(%x: !torch.vtensor) -> !torch.vtensor<[3],f32> {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %l = torch.prim.ListConstruct %x : (!torch.vtensor) -> !torch.list<vtensor>
  %m = torch.aten.append.t %l, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
  %d = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten.amax %0, %d, %false : !torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[3],f32>
  return %1 : !torch.vtensor<[3],f32>
}
