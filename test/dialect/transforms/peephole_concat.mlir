// RUN: tierup-opt %s --tierup-peephole-concat --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peephole-concat,tierup-peephole-concat)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @merged
// CHECK-SAME: %[[A:[a-z0-9]+]]: !torch.vtensor<[2],f32>, %[[B:[a-z0-9]+]]: !torch.vtensor<[?],f32>, %[[C:[a-z0-9]+]]: !torch.vtensor<[1],f64>
func.func @merged(%a: !torch.vtensor<[2],f32>, %b: !torch.vtensor<[?],f32>, %c: !torch.vtensor<[1],f64>) -> !torch.vtensor {
  %int0 = torch.constant.int 0
  %last = torch.constant.int -1
  // CHECK: %[[L:.*]] = torch.prim.ListConstruct %[[A]], %[[B]], %[[A]], %[[C]] :
  // CHECK: %[[R:.*]] = torch.aten.cat %[[L]]
  // CHECK-NEXT: return %[[R]]
  %l = torch.prim.ListConstruct %a, %b, %a : (!torch.vtensor<[2],f32>, !torch.vtensor<[?],f32>, !torch.vtensor<[2],f32>) -> !torch.list<vtensor>
  %0 = torch.aten.cat %l, %last : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?],f32>
  %m = torch.prim.ListConstruct %0, %c : (!torch.vtensor<[?],f32>, !torch.vtensor<[1],f64>) -> !torch.list<vtensor>
  %1 = torch.aten.cat %m, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// Used elsewhere; along another dim; ranks unknown; dtypes that would be converted once instead of twice; other rules.
// CHECK-LABEL: func.func @stay
func.func @stay(%a: !torch.vtensor<[2,2],f32>, %n: !torch.vtensor<[2,2],si64>, %u: !torch.vtensor, %d: !torch.vtensor<[?,?],f64>)
    -> (!torch.vtensor<[4,2],f32>, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  // CHECK-COUNT-10: torch.aten.cat
  %l = torch.prim.ListConstruct %a, %a : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %0 = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,2],f32>
  %m = torch.prim.ListConstruct %0, %a : (!torch.vtensor<[4,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %1 = torch.aten.cat %m, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %2 = torch.aten.cat %l, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,4],f32>
  %p = torch.prim.ListConstruct %2, %2 : (!torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>) -> !torch.list<vtensor>
  %3 = torch.aten.cat %p, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %q = torch.prim.ListConstruct %u, %u : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %4 = torch.aten.cat %q, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %r = torch.prim.ListConstruct %4, %u : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %5 = torch.aten.cat %r, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %s = torch.prim.ListConstruct %a, %n : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],si64>) -> !torch.list<vtensor>
  %6 = torch.aten.cat %s, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,2],f32>
  %t = torch.prim.ListConstruct %6, %d : (!torch.vtensor<[4,2],f32>, !torch.vtensor<[?,?],f64>) -> !torch.list<vtensor>
  %7 = torch.aten.cat %t, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %v = torch.prim.ListConstruct %a, %a : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %8 = torch.aten.cat %v, %int0 {tierup.promotion = "numpy"} : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,2],f32>
  %w = torch.prim.ListConstruct %8, %a : (!torch.vtensor<[4,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %9 = torch.aten.cat %w, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %0, %1, %3, %5, %7, %9 : !torch.vtensor<[4,2],f32>, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// What the inner op read is written before the outer one reads.
// CHECK-LABEL: func.func @written
// CHECK-COUNT-2: torch.aten.cat
func.func @written(%a: !torch.tensor<[2],f32>) -> !torch.tensor {
  %int0 = torch.constant.int 0
  %l = torch.prim.ListConstruct %a, %a : (!torch.tensor<[2],f32>, !torch.tensor<[2],f32>) -> !torch.list<tensor>
  %0 = torch.aten.cat %l, %int0 : !torch.list<tensor>, !torch.int -> !torch.tensor<[4],f32>
  %w = torch.aten.zero_ %a : !torch.tensor<[2],f32> -> !torch.tensor<[2],f32>
  %m = torch.prim.ListConstruct %0, %a : (!torch.tensor<[4],f32>, !torch.tensor<[2],f32>) -> !torch.list<tensor>
  %1 = torch.aten.cat %m, %int0 : !torch.list<tensor>, !torch.int -> !torch.tensor
  return %1 : !torch.tensor
}

// -----
// CHECK-LABEL: func.func @a_list_that_grows
// CHECK-COUNT-2: torch.aten.cat
func.func @a_list_that_grows(%a: !torch.vtensor<[2],f32>) -> !torch.vtensor {
  %int0 = torch.constant.int 0
  %l = torch.prim.ListConstruct %a, %a : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) -> !torch.list<vtensor>
  %w = torch.aten.append.t %l, %a : !torch.list<vtensor>, !torch.vtensor<[2],f32> -> !torch.list<vtensor>
  %0 = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?],f32>
  %m = torch.prim.ListConstruct %0, %a : (!torch.vtensor<[?],f32>, !torch.vtensor<[2],f32>) -> !torch.list<vtensor>
  %1 = torch.aten.cat %m, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// An inner concatenation of one tensor is that tensor.
// CHECK-LABEL: func.func @of_one
// CHECK-SAME: %[[A:[a-z0-9]+]]: !torch.vtensor<[2],f32>, %[[B:[a-z0-9]+]]: !torch.vtensor<[1],f32>
func.func @of_one(%a: !torch.vtensor<[2],f32>, %b: !torch.vtensor<[1],f32>) -> !torch.vtensor<[3],f32> {
  %int0 = torch.constant.int 0
  // CHECK-NEXT: %[[ZERO:.*]] = torch.constant.int 0
  // CHECK-NEXT: %[[L:.*]] = torch.prim.ListConstruct %[[A]], %[[B]] :
  // CHECK-NEXT: %[[R:.*]] = torch.aten.cat %[[L]]
  // CHECK-NEXT: return %[[R]]
  %l = torch.prim.ListConstruct %a : (!torch.vtensor<[2],f32>) -> !torch.list<vtensor>
  %0 = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2],f32>
  %m = torch.prim.ListConstruct %0, %b : (!torch.vtensor<[2],f32>, !torch.vtensor<[1],f32>) -> !torch.list<vtensor>
  %1 = torch.aten.cat %m, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[3],f32>
  return %1 : !torch.vtensor<[3],f32>
}

// -----
// Used once, but along another dim, along one that only the run knows, along none; of the caller's list; of ranks that are not known.
// CHECK-LABEL: func.func @stay_one_by_one
// CHECK-COUNT-11: torch.aten.cat
// CHECK-NEXT: return
func.func @stay_one_by_one(%a: !torch.vtensor<[2,2],f32>, %u: !torch.vtensor, %caller: !torch.list<vtensor>, %n: !torch.int) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int5 = torch.constant.int 5
  %l = torch.prim.ListConstruct %a, %a : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %0 = torch.aten.cat %l, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,4],f32>
  %m = torch.prim.ListConstruct %0, %a : (!torch.vtensor<[2,4],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %1 = torch.aten.cat %m, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %k = torch.prim.ListConstruct %a, %a : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %2 = torch.aten.cat %k, %n : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?],f32>
  %o = torch.prim.ListConstruct %2, %a : (!torch.vtensor<[?,?],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %3 = torch.aten.cat %o, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %p = torch.prim.ListConstruct %a, %a : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %4 = torch.aten.cat %p, %int5 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?],f32>
  %q = torch.prim.ListConstruct %4, %a : (!torch.vtensor<[?,?],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %5 = torch.aten.cat %q, %n : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %6 = torch.aten.cat %caller, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?],f32>
  %r = torch.prim.ListConstruct %6, %a : (!torch.vtensor<[?,?],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %7 = torch.aten.cat %r, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %s = torch.prim.ListConstruct %u, %u : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %8 = torch.aten.cat %s, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?],f32>
  %t = torch.prim.ListConstruct %8, %a : (!torch.vtensor<[?,?],f32>, !torch.vtensor<[2,2],f32>) -> !torch.list<vtensor>
  %9 = torch.aten.cat %t, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %10 = torch.aten.cat %t, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return
}
