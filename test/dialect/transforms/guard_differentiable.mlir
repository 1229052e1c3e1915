// RUN: tierup-opt %s --split-input-file --tierup-guard-differentiable --tierup-verify-guarded | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-guard-differentiable --tierup-guard-differentiable | FileCheck %s

// A profile outside, one inside; temporaries and profiles are not in the fallback; numbers are passed on.
// CHECK-LABEL: func.func @two_arms
// CHECK: [[P:%.+]] = "tierup.profile"(%arg0)
// CHECK-NEXT: [[C:%.+]]:3 = "tierup.check_requires_grad"([[P]], %arg1) {requires_grad = [false, true]} : (!torch.vtensor, !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.bool)
// CHECK-NEXT: [[R:%.+]] = torch.prim.If [[C]]#2 -> (!torch.vtensor) {
// CHECK-NEXT: [[G:%.+]] = "tierup.differentiable"([[C]]#0, %arg2, [[C]]#1) ({
// CHECK: "tierup.profile"
// CHECK: "tierup.yield"({{%.+}}, {{%.+}}) : (!torch.vtensor, !torch.vtensor) -> ()
// CHECK: torch.prim.If.yield [[G]]
// CHECK: } else {
// CHECK-NEXT: [[F:%.+]] = "tierup.fallback"([[P]], %arg2, %arg1) ({
// CHECK-NEXT: ^bb0([[A:%.+]]: !torch.vtensor, [[N:%.+]]: !torch.int, [[B:%.+]]: !torch.vtensor):
// CHECK-NEXT: [[M:%.+]] = torch.aten.mul.Tensor [[A]], [[B]]
// CHECK-NEXT: [[T:%.+]] = torch.aten.tanh [[M]]
// CHECK-NEXT: "tierup.yield"([[T]]) : (!torch.vtensor) -> ()
// CHECK: torch.prim.If.yield [[F]]
// CHECK: return [[R]]
func.func @two_arms(%x: !torch.vtensor, %w: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.differentiable"(%0, %n, %w) ({
  ^bb0(%a: !torch.vtensor, %m: !torch.int, %b: !torch.vtensor):
    %2 = "tierup.profile"(%b) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
    %3 = torch.aten.mul.Tensor %a, %2 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %4 = torch.aten.tanh %3 : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%4, %3) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor, !torch.int, !torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// Now this, now that: expected to require one. What follows from what was seen of others: tanh of one that did requires one too.
// CHECK-LABEL: func.func @mixed_and_derived
// CHECK: "tierup.check_requires_grad"({{%.+}}, {{%.+}}) {requires_grad = [true, true]}
func.func @mixed_and_derived(%x: !torch.vtensor, %w: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%w) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  %2 = torch.aten.tanh %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %3 = "tierup.differentiable"(%0, %2) ({
  ^bb0(%a: !torch.vtensor, %b: !torch.vtensor<[4],f32>):
    %4 = torch.aten.mul.Tensor %a, %b : !torch.vtensor, !torch.vtensor<[4],f32> -> !torch.vtensor
    "tierup.yield"(%4) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor, !torch.vtensor<[4],f32>) -> !torch.vtensor
  return %3 : !torch.vtensor
}

// -----
// Certain: an argument's attribute, integers, what is not used. Nothing is left to check.
// CHECK-LABEL: func.func @certain
// CHECK-NOT: check_requires_grad
// CHECK: "tierup.differentiable"(%arg0, %arg1, %arg2)
// CHECK-NOT: check_requires_grad
func.func @certain(%x: !torch.vtensor {tierup.requires_grad = true}, %i: !torch.vtensor<[4],si64>, %unused: !torch.vtensor) -> !torch.vtensor {
  %1 = "tierup.differentiable"(%x, %i, %unused) ({
  ^bb0(%a: !torch.vtensor, %b: !torch.vtensor<[4],si64>, %c: !torch.vtensor):
    %2 = torch.aten.mul.Tensor %a, %b : !torch.vtensor, !torch.vtensor<[4],si64> -> !torch.vtensor
    "tierup.yield"(%2) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor, !torch.vtensor<[4],si64>, !torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// Nothing was recorded of %w: the group is undone, and what was seen inside is forgotten; outside nothing changes.
// CHECK-LABEL: func.func @nothing_recorded
// CHECK-NEXT: [[P:%.+]] = "tierup.profile"(%arg0) {profiled = #tierup.profiled<f32[4] requires_grad=true>, slot = 0 : i64}
// CHECK-NEXT: [[Q:%.+]] = "tierup.profile"([[P]]) {profiled = #tierup.profiled<f32[4]>, slot = 1 : i64}
// CHECK-NEXT: [[W:%.+]] = "tierup.profile"(%arg1) {slot = 2 : i64}
// CHECK-NEXT: [[M:%.+]] = torch.aten.mul.Tensor [[Q]], [[W]]
// CHECK-NEXT: return [[M]]
func.func @nothing_recorded(%x: !torch.vtensor, %w: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.differentiable"(%0, %w) ({
  ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
    %2 = "tierup.profile"(%a) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
    %3 = "tierup.profile"(%b) {slot = 2 : i64} : (!torch.vtensor) -> !torch.vtensor
    %4 = torch.aten.mul.Tensor %2, %3 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%4) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @no_group
// CHECK-NEXT: torch.aten.tanh
// CHECK-NEXT: return
func.func @no_group(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A run in which the tensor was not there says nothing of it; one in which it is known to have been there says what it saw.
// CHECK-LABEL: func.func @undefined_once
// CHECK: "tierup.check_requires_grad"(%{{.+}}) {requires_grad = [false]}
// CHECK-LABEL: func.func @undefined_always
// CHECK-NOT: tierup.check_requires_grad
// CHECK-NOT: tierup.differentiable
// CHECK: return
func.func @undefined_once(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%0) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.differentiable"(%1) ({
  ^bb0(%a: !torch.vtensor):
    %3 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%3) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  return %2 : !torch.vtensor
}
func.func @undefined_always(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.differentiable"(%0) ({
  ^bb0(%a: !torch.vtensor):
    %3 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%3) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor) -> !torch.vtensor
  return %2 : !torch.vtensor
}
