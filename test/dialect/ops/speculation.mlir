// RUN: tierup-opt %s | tierup-opt | FileCheck %s
// Every op of dialect/language/definitions/speculation.py, printed and read again.

// CHECK-LABEL: func.func @profile
func.func @profile(%x: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.int) {
  // CHECK: "tierup.profile"(%{{.*}}) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  // CHECK: "tierup.profile"(%{{.*}}) {profiled = #tierup.profiled<int=-3>, slot = 1 : i64} : (!torch.int) -> !torch.int
  %1 = "tierup.profile"(%n) {profiled = #tierup.profiled<int=-3>, slot = 1 : i64} : (!torch.int) -> !torch.int
  // CHECK: "tierup.count_run"() {runs = 1 : i64} : () -> ()
  "tierup.count_run"() {runs = 1 : i64} : () -> ()
  return %0, %1 : !torch.vtensor, !torch.int
}

// CHECK-LABEL: func.func @guard
func.func @guard(%x: !torch.vtensor) -> !torch.vtensor<[2,?],f32> {
  // CHECK: "tierup.guard"(%{{.*}}) {expected = #tierup.profiled<f32[2,s0] strides=[?,1] device=cpu requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor<[2,?],f32>
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,s0] strides=[?,1] device=cpu requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor<[2,?],f32>
  return %0 : !torch.vtensor<[2,?],f32>
}

// CHECK-LABEL: func.func @guard_may_forget_and_keep
func.func @guard_may_forget_and_keep(%x: !torch.vtensor<[2,3],unk>) -> !torch.vtensor<[2,?],f32> {
  // CHECK: "tierup.guard"
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[*]>} : (!torch.vtensor<[2,3],unk>) -> !torch.vtensor<[2,?],f32>
  return %0 : !torch.vtensor<[2,?],f32>
}

// CHECK-LABEL: func.func @bailout
func.func @bailout(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  // CHECK: "tierup.bailout"(%{{.*}}, %{{.*}}) {continuation = @rest, expected = #tierup.profiled<f32[4]>, index = 0 : i64}
  %0 = "tierup.bailout"(%x, %n) {continuation = @rest, expected = #tierup.profiled<f32[4]>, index = 0 : i64} : (!torch.vtensor, !torch.int) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
func.func private @rest(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// CHECK-LABEL: func.func @checks
func.func @checks(%x: !torch.vtensor, %n: !torch.int) -> (!torch.bool, !torch.bool, !torch.bool) {
  // CHECK: %{{.*}}:3 = "tierup.check"(%{{.*}}, %{{.*}}) {expected = [#tierup.profiled<f32[4]>, #tierup.profiled<int=2>]} : (!torch.vtensor, !torch.int) -> (!torch.vtensor<[4],f32>, !torch.int, !torch.bool)
  %0:3 = "tierup.check"(%x, %n) {expected = [#tierup.profiled<f32[4]>, #tierup.profiled<int=2>]} : (!torch.vtensor, !torch.int) -> (!torch.vtensor<[4],f32>, !torch.int, !torch.bool)
  // CHECK: "tierup.check_requires_grad"(%{{.*}}) {requires_grad = [false]}
  %1:2 = "tierup.check_requires_grad"(%x) {requires_grad = [false]} : (!torch.vtensor) -> (!torch.vtensor, !torch.bool)
  // CHECK: "tierup.check_shapes"(%{{.*}}, %{{.*}}) {expected = [#tierup.profiled<?[s0,4]>, #tierup.profiled<?[s0]>], layouts = ["contiguous", "strided"]}
  %2 = "tierup.check_shapes"(%x, %x) {expected = [#tierup.profiled<?[s0,4]>, #tierup.profiled<?[s0]>], layouts = ["contiguous", "strided"]} : (!torch.vtensor, !torch.vtensor) -> !torch.bool
  return %0#2, %1#1, %2 : !torch.bool, !torch.bool, !torch.bool
}

// CHECK-LABEL: func.func @check_of_nothing
func.func @check_of_nothing() -> i1 {
  // CHECK: "tierup.check"() {expected = []} : () -> i1
  %0 = "tierup.check"() {expected = []} : () -> i1
  return %0 : i1
}
