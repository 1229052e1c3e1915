// RUN: tierup-opt %s --split-input-file --tierup-specialize-autograd-zero --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-specialize-autograd-zero --tierup-specialize-autograd-zero --verify-diagnostics | FileCheck %s

// %g was always there, %h never, a size neither; of %k nothing is known.
// CHECK-LABEL: func.func @backward
// CHECK-NEXT: [[A:%.+]] = "tierup.all_nonzero"(%arg0) : (!torch.vtensor) -> !torch.bool
// CHECK-NEXT: [[Z:%.+]] = "tierup.all_zero"(%arg1) : (!torch.vtensor) -> !torch.bool
// CHECK-NEXT: [[NONE:%.+]] = torch.constant.none
// CHECK-NEXT: [[I:%.+]] = torch.aten.__is__ %arg3, [[NONE]] : !torch.optional<list<int>>, !torch.none -> !torch.bool
// CHECK-NEXT: [[B:%.+]] = torch.aten.__and__.bool [[A]], [[Z]]
// CHECK-NEXT: [[OK:%.+]] = torch.aten.__and__.bool [[B]], [[I]]
// CHECK-NEXT: [[R:%.+]]:2 = torch.prim.If [[OK]] -> (!torch.vtensor, !torch.vtensor) {
// CHECK-NEXT: [[G:%.+]] = "tierup.profile"(%arg0)
// CHECK-NEXT: "tierup.profile"(%arg1)
// CHECK-NEXT: "tierup.profile"(%arg3)
// CHECK-NEXT: [[M:%.+]] = torch.aten.mul.Tensor [[G]], %arg2
// CHECK-NEXT: [[ONE:%.+]] = torch.constant.int 1
// CHECK-NEXT: [[S:%.+]] = torch.aten.add.Tensor [[M]], [[G]], [[ONE]] {tierup.promotion = "numpy"}
// CHECK-NEXT: [[U:%.+]] = "tierup.autograd_add"([[S]], %arg2)
// CHECK-NEXT: torch.prim.If.yield [[S]], [[U]]
// CHECK-NEXT: } else {
// CHECK-NEXT: [[F:%.+]]:2 = "tierup.fallback"(%arg0, %arg1, %arg2, %arg3) ({
// CHECK-NOT: tierup.profile
// CHECK: "tierup.autograd_add"
// CHECK: torch.operator "aten._grad_sum_to_size"
// CHECK: "tierup.any_nonzero"
// CHECK: "tierup.yield"
// CHECK: torch.prim.If.yield [[F]]#0, [[F]]#1
// CHECK: "tierup.count_run"() : () -> ()
// CHECK-NEXT: return [[R]]#0, [[R]]#1
func.func @backward(%g: !torch.vtensor, %h: !torch.vtensor, %k: !torch.vtensor, %size: !torch.optional<list<int>>) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%h) {slot = 1 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %p = "tierup.profile"(%size) {slot = 2 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.optional<list<int>>) -> !torch.optional<list<int>>
  %2 = "tierup.autograd_add"(%0, %1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %3 = torch.operator "aten._grad_sum_to_size"(%2, %p) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
  %4 = "tierup.any_nonzero"(%3) : (!torch.vtensor) -> !torch.bool
  %5 = torch.prim.If %4 -> (!torch.vtensor) {
    %6 = torch.aten.mul.Tensor %3, %k : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %6 : !torch.vtensor
  } else {
    %6 = "tierup.autograd_zero"() : () -> !torch.vtensor
    torch.prim.If.yield %6 : !torch.vtensor
  }
  %7 = "tierup.autograd_add"(%5, %0) {tierup.promotion = "numpy"} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %8 = "tierup.autograd_add"(%7, %k) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %7, %8 : !torch.vtensor, !torch.vtensor
}

// -----
// Gradients whose regions are still there; a size that is there; all of a gradient's inputs undefined; branches that stay are followed.
// CHECK-LABEL: func.func @regions
// CHECK: torch.prim.If
// CHECK-NOT: grad_of
// CHECK: torch.operator "aten._grad_sum_to_size"(%{{.+}}, %arg3)
// CHECK: torch.prim.If %arg2
// CHECK-NEXT: [[N:%.+]] = torch.aten.neg
// CHECK-NEXT: torch.prim.If.yield [[N]]
// CHECK: "tierup.autograd_add"(%{{.+}}, %arg4)
// CHECK: [[Z:%.+]] = "tierup.autograd_zero"()
// CHECK: torch.prim.If.yield {{.*}}[[Z]]
// CHECK: "tierup.fallback"
// CHECK: "tierup.grad_of"
// CHECK: "tierup.grad_of"
func.func @regions(%g: !torch.vtensor, %h: !torch.vtensor, %c: !torch.bool, %size: !torch.list<int>, %k: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%h) {slot = 1 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.grad_of"(%0, %k) ({
    %3 = torch.operator "aten._grad_sum_to_size"(%0, %size) : (!torch.vtensor, !torch.list<int>) -> !torch.vtensor
    "tierup.yield"(%3) : (!torch.vtensor) -> ()
  }, {}) {op = "aten.mul"} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %4 = torch.prim.If %c -> (!torch.vtensor) {
    %5 = torch.aten.neg %2 : !torch.vtensor -> !torch.vtensor
    %6 = "tierup.autograd_add"(%5, %1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %6 : !torch.vtensor
  } else {
    torch.prim.If.yield %2 : !torch.vtensor
  }
  %7 = "tierup.autograd_add"(%4, %k) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %8 = "tierup.grad_of"(%1) ({
    %9 = torch.aten.neg %1 : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%9) : (!torch.vtensor) -> ()
  }, {}) {op = "aten.neg"} : (!torch.vtensor) -> !torch.vtensor
  return %7, %8 : !torch.vtensor, !torch.vtensor
}

// -----
// Nothing depends on definedness; nothing was recorded of a tensor; it was there now and then; the records are of no argument.
// CHECK-LABEL: func.func @independent
// CHECK-NOT: torch.prim.If
// CHECK-LABEL: func.func @no_record
// CHECK-NOT: torch.prim.If
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: torch.prim.If
// CHECK-LABEL: func.func @no_argument
// CHECK-NOT: torch.prim.If
func.func @independent(%g: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.neg %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func @no_record(%g: !torch.vtensor, %s: !torch.optional<list<int>>) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%s) {slot = 1 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.optional<list<int>>) -> !torch.optional<list<int>>
  %2 = torch.operator "aten._grad_sum_to_size"(%0, %1) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
  return %2 : !torch.vtensor
}
func.func @mixed(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<?[*]>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.autograd_add"(%0, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func @no_argument(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.autograd_add"(%g, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%0) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// expected-error@below {{ends with cf.br: only a graph that returns at its end has versions}}
func.func @blocks(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.autograd_add"(%0, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  cf.br ^bb1
^bb1:
  return %1 : !torch.vtensor
}

// -----
// One undefined gradient and one of which nothing is known answer no question.
// CHECK-LABEL: func.func @unknown_answers
// CHECK: torch.prim.If
// CHECK: [[A:%.+]] = "tierup.any_nonzero"
// CHECK: [[F:%.+]] = torch.constant.bool false
// CHECK: [[B:%.+]] = "tierup.all_zero"
// CHECK: torch.prim.If.yield [[A]], [[F]], [[B]]
func.func @unknown_answers(%g: !torch.vtensor, %k: !torch.vtensor) -> (!torch.bool, !torch.bool, !torch.bool) {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.any_nonzero"(%0, %k) : (!torch.vtensor, !torch.vtensor) -> !torch.bool
  %2 = "tierup.all_nonzero"(%0, %k) : (!torch.vtensor, !torch.vtensor) -> !torch.bool
  %3 = "tierup.all_zero"(%0, %k) : (!torch.vtensor, !torch.vtensor) -> !torch.bool
  return %1, %2, %3 : !torch.bool, !torch.bool, !torch.bool
}

// -----
// A list that was there is no assumption: it may be absent another time.
// CHECK-LABEL: func.func @list_that_was_there
// CHECK-NOT: __is__
// CHECK: torch.prim.If
// CHECK: torch.operator "aten._grad_sum_to_size"
// CHECK: else
func.func @list_that_was_there(%g: !torch.vtensor, %s: !torch.optional<list<int>>) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%s) {slot = 1 : i64, profiled = #tierup.profiled<?[*] defined>} : (!torch.optional<list<int>>) -> !torch.optional<list<int>>
  %2 = torch.operator "aten._grad_sum_to_size"(%0, %1) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
  return %2 : !torch.vtensor
}

// -----
// The sizes that the arguments are bound to are declared before anything is asked of them.
// CHECK-LABEL: func.func @declared_sizes
// CHECK-NEXT: torch.symbolic_int "s0"
// CHECK-NEXT: torch.bind_symbolic_shape %arg0
// CHECK-NEXT: "tierup.all_nonzero"(%arg0)
// CHECK: torch.prim.If
func.func @declared_sizes(%g: !torch.vtensor<[?],f32>, %h: !torch.vtensor) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %g, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  %1 = "tierup.autograd_add"(%0, %h) : (!torch.vtensor<[?],f32>, !torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}
