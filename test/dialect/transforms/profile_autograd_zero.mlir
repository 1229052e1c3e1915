// RUN: tierup-opt %s --split-input-file --tierup-profile-autograd-zero --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-profile-autograd-zero --tierup-profile-autograd-zero --verify-diagnostics | FileCheck %s

// Gradients and sizes that decide something, in branches too; neither what only torch's ops take, nor numbers.
// CHECK-LABEL: func.func @backward
// CHECK-NEXT: [[G:%.+]] = "tierup.profile"(%arg0) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
// CHECK-NEXT: [[H:%.+]] = "tierup.profile"(%arg1) {slot = 1 : i64} : (!torch.vtensor) -> !torch.vtensor
// CHECK-NEXT: [[S:%.+]] = "tierup.profile"(%arg3) {slot = 2 : i64} : (!torch.optional<list<int>>) -> !torch.optional<list<int>>
// CHECK-NEXT: torch.aten.mul.Tensor [[G]], %arg2
// CHECK: "tierup.autograd_add"({{%.+}}, [[H]])
// CHECK: torch.operator "aten._grad_sum_to_size"({{%.+}}, [[S]])
// CHECK: "tierup.any_nonzero"([[G]])
// CHECK: "tierup.count_run"() : () -> ()
// CHECK-NEXT: return
func.func @backward(%g: !torch.vtensor, %h: !torch.vtensor, %x: !torch.vtensor, %size: !torch.optional<list<int>>, %c: !torch.bool) -> (!torch.vtensor, !torch.bool) {
  %0 = torch.aten.mul.Tensor %g, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = "tierup.autograd_add"(%0, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    torch.prim.If.yield %0 : !torch.vtensor
  }
  %3 = torch.operator "aten._grad_sum_to_size"(%1, %size) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
  %4 = "tierup.any_nonzero"(%g) : (!torch.vtensor) -> !torch.bool
  return %3, %4 : !torch.vtensor, !torch.bool
}

// -----
// Slots go on from those there are; what is watched already is left; runs are counted once.
// CHECK-LABEL: func.func @profiled_before
// CHECK-NEXT: [[H:%.+]] = "tierup.profile"(%arg1) {slot = 8 : i64}
// CHECK-NEXT: [[G:%.+]] = "tierup.profile"(%arg0) {slot = 7 : i64}
// CHECK-NEXT: "tierup.autograd_add"([[G]], [[H]])
// CHECK-NEXT: "tierup.count_run"
// CHECK-NEXT: return
func.func @profiled_before(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 7 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.autograd_add"(%0, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %1 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @nothing_depends_on_it
// CHECK-NOT: tierup
func.func @nothing_depends_on_it(%g: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.neg %g : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// expected-error@below {{ends with cf.br: only a function that returns at its end counts its runs}}
func.func @blocks(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.autograd_add"(%g, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  cf.br ^bb1
^bb1:
  return %0 : !torch.vtensor
}

// -----
// A size that is always there is not recorded, nor an argument that is watched while another op reads it itself.
// CHECK-LABEL: func.func @nothing_to_record
// CHECK-NEXT: "tierup.profile"(%arg0) {slot = 3 : i64}
// CHECK-NEXT: torch.operator "aten._grad_sum_to_size"(%arg0, %arg1)
// CHECK-NEXT: return
func.func @nothing_to_record(%g: !torch.vtensor, %size: !torch.list<int>) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.profile"(%g) {slot = 3 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.operator "aten._grad_sum_to_size"(%g, %size) : (!torch.vtensor, !torch.list<int>) -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}
