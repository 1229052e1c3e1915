// RUN: tierup-opt %s --split-input-file --tierup-batch-matmul="min-side=3" --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --pass-pipeline="builtin.module(tierup-batch-matmul{min-side=3},tierup-batch-matmul{min-side=3})" | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-batch-matmul="min-side=3" --tierup-verify-graph | FileCheck %s

!t = !torch.vtensor

// A sum from left to right, one product first in its addition.
// CHECK-LABEL: func.func @tree
// CHECK-NEXT: torch.constant.int 1
// CHECK-NEXT: [[SUM:%.+]] = "tierup.batched_mm_tree"(%arg0, %arg1, %arg0, %arg1, %arg1, %arg0, %arg0, %arg1) {max_elements = 65536 : i64} : {{.+}} -> !torch.vtensor<[2,2],f32>
// CHECK-NEXT: return [[SUM]]
func.func @tree(%a: !t, %b: !t) -> !torch.vtensor<[2,2],f32> {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %a, %b : !t, !t -> !t
  %1 = torch.aten.mm %b, %a : !t, !t -> !t
  %2 = torch.aten.mm %a, %a : !t, !t -> !t
  %3 = torch.aten.mm %b, %b : !t, !t -> !t
  %4 = torch.aten.add.Tensor %0, %1, %one : !t, !t, !torch.int -> !t
  %5 = torch.aten.add.Tensor %4, %2, %one : !t, !t, !torch.int -> !t
  %6 = torch.aten.add.Tensor %3, %5, %one : !t, !t, !torch.int -> !torch.vtensor<[2,2],f32>
  return %6 : !torch.vtensor<[2,2],f32>
}

// -----
!t = !torch.vtensor
// Adding the sums of two pairs is another order: it stays.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: tierup
// CHECK: return
func.func @pairs(%a: !t, %b: !t) -> !t {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %a, %b : !t, !t -> !t
  %1 = torch.aten.mm %b, %b : !t, !t -> !t
  %2 = torch.aten.mm %b, %a : !t, !t -> !t
  %3 = torch.aten.mm %a, %a : !t, !t -> !t
  %4 = torch.aten.add.Tensor %0, %1, %one : !t, !t, !torch.int -> !t
  %5 = torch.aten.add.Tensor %2, %3, %one : !t, !t, !torch.int -> !t
  %6 = torch.aten.add.Tensor %4, %5, %one : !t, !t, !torch.int -> !t
  return %6 : !t
}

// -----
!t = !torch.vtensor
// An alpha that is not 1 ends the tree below it; a product that is used twice, is no leaf.
// CHECK-LABEL: func.func @scaled
// CHECK-NOT: tierup.batched_mm_tree
// CHECK: return
func.func @scaled(%a: !t, %b: !t, %n: !torch.int) -> (!t, !t, !t, !t) {
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %real = torch.constant.float 1.0
  %0 = torch.aten.mm %a, %b : !t, !t -> !t
  %1 = torch.aten.mm %b, %a : !t, !t -> !t
  %2 = torch.aten.mm %a, %a : !t, !t -> !t
  %3 = torch.aten.mm %b, %b : !t, !t -> !t
  %4 = torch.aten.add.Tensor %0, %1, %one : !t, !t, !torch.int -> !t
  %5 = torch.aten.add.Tensor %4, %2, %one : !t, !t, !torch.int -> !t
  %6 = torch.aten.add.Tensor %5, %3, %two : !t, !t, !torch.int -> !t
  %10 = torch.aten.mm %a, %b : !t, !t -> !t
  %11 = torch.aten.mm %b, %a : !t, !t -> !t
  %12 = torch.aten.mm %a, %a : !t, !t -> !t
  %13 = torch.aten.mm %b, %b : !t, !t -> !t
  %14 = torch.aten.add.Tensor %10, %11, %n : !t, !t, !torch.int -> !t
  %15 = torch.aten.add.Tensor %14, %12, %one : !t, !t, !torch.int -> !t
  %16 = torch.aten.add.Tensor %15, %13, %one : !t, !t, !torch.int -> !t
  %20 = torch.aten.mm %a, %b : !t, !t -> !t
  %21 = torch.aten.mm %b, %a : !t, !t -> !t
  %22 = torch.aten.mm %a, %a : !t, !t -> !t
  %23 = torch.aten.mm %b, %b : !t, !t -> !t
  %24 = torch.aten.add.Tensor %20, %21, %one : !t, !t, !torch.int -> !t
  %25 = torch.aten.add.Tensor %24, %22, %one : !t, !t, !torch.int -> !t
  %26 = torch.aten.add.Tensor %25, %23, %real : !t, !t, !torch.float -> !t
  %30 = torch.aten.add.Tensor %26, %22, %one : !t, !t, !torch.int -> !t
  return %6, %16, %26, %30 : !t, !t, !t, !t
}

// -----
!t = !torch.vtensor
// Transposed products: the sum is transposed, at the place of the sum.
// CHECK-LABEL: func.func @transposed
// CHECK: [[SUM:%.+]] = "tierup.batched_mm_tree"(%arg0, %arg1, %arg0, %arg1, %arg1, %arg0, %arg0, %arg1) {{.+}} -> !torch.vtensor<[3,?],f32>
// CHECK-NEXT: [[T:%.+]] = torch.aten.t [[SUM]] : !torch.vtensor<[3,?],f32> -> !torch.vtensor<[?,3],f32>
// CHECK-NEXT: return [[T]]
func.func @transposed(%a: !t, %b: !t) -> !torch.vtensor<[?,3],f32> {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %a, %b : !t, !t -> !t
  %t0 = torch.aten.t %0 : !t -> !t
  %1 = torch.aten.mm %b, %a : !t, !t -> !t
  %t1 = torch.aten.t %1 : !t -> !t
  %2 = torch.aten.mm %a, %a : !t, !t -> !t
  %t2 = torch.aten.t %2 : !t -> !t
  %3 = torch.aten.mm %b, %b : !t, !t -> !t
  %t3 = torch.aten.t %3 : !t -> !t
  %4 = torch.aten.add.Tensor %t0, %t1, %one : !t, !t, !torch.int -> !t
  %5 = torch.aten.add.Tensor %4, %t2, %one : !t, !t, !torch.int -> !t
  %6 = torch.aten.add.Tensor %5, %t3, %one : !t, !t, !torch.int -> !torch.vtensor<[?,3],f32>
  return %6 : !torch.vtensor<[?,3],f32>
}

// A product that is used besides its transpose is no leaf.
// CHECK-LABEL: func.func @transposed_and_used
// CHECK-NOT: tierup.batched_mm_tree
// CHECK: return
func.func @transposed_and_used(%a: !t, %b: !t, %c: !t, %d: !t) -> (!t, !t) {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %a, %b : !t, !t -> !t
  %t0 = torch.aten.t %0 : !t -> !t
  %1 = torch.aten.mm %b, %a : !t, !t -> !t
  %t1 = torch.aten.t %1 : !t -> !t
  %2 = torch.aten.mm %c, %d : !t, !t -> !t
  %t2 = torch.aten.t %2 : !t -> !t
  %3 = torch.aten.mm %d, %c : !t, !t -> !t
  %t3 = torch.aten.t %3 : !t -> !t
  %4 = torch.aten.add.Tensor %t0, %t1, %one : !t, !t, !torch.int -> !t
  %5 = torch.aten.add.Tensor %4, %t2, %one : !t, !t, !torch.int -> !t
  %6 = torch.aten.add.Tensor %5, %t3, %one : !t, !t, !torch.int -> !t
  return %6, %2 : !t, !t
}

// -----
!t = !torch.vtensor
// Products with one right side; what needs one of them comes after all of them, also when it is in a branch.
// CHECK-LABEL: func.func @right
// CHECK: [[X:%.+]] = torch.aten.tanh %arg0
// CHECK: [[B:%.+]]:3 = "tierup.batched_mm_side"(%arg2, %arg0, %arg1, [[X]]) {max_elements = 65536 : i64, side = "right"}
// CHECK: torch.aten.tanh [[B]]#0
// CHECK: torch.prim.If
// CHECK: torch.aten.tanh [[B]]#1
// CHECK: return {{.+}}, [[B]]#1, [[B]]#2
func.func @right(%x: !t, %y: !t, %w: !t, %c: !torch.bool) -> (!t, !t, !t, !t) {
  %0 = torch.aten.mm %x, %w : !t, !t -> !t
  %1 = torch.aten.tanh %0 : !t -> !t
  %2 = torch.aten.mm %y, %w : !t, !t -> !t
  %3 = torch.prim.If %c -> (!t) {
    %9 = torch.aten.tanh %2 : !t -> !t
    torch.prim.If.yield %9 : !t
  } else {
    torch.prim.If.yield %y : !t
  }
  %4 = torch.aten.tanh %x : !t -> !t
  %5 = torch.aten.mm %4, %w : !t, !t -> !t
  return %1, %3, %2, %5 : !t, !t, !t, !t
}

// -----
!t = !torch.vtensor
// Each product needs the one before: none is independent. One needs none of the others, which make a batch of their own.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: tierup
// CHECK: return
func.func @chain(%h: !t, %w: !t) -> !t {
  %0 = torch.aten.mm %h, %w : !t, !t -> !t
  %1 = torch.aten.mm %0, %w : !t, !t -> !t
  %2 = torch.aten.tanh %1 : !t -> !t
  %3 = torch.aten.mm %2, %w : !t, !t -> !t
  %4 = torch.aten.mm %3, %w : !t, !t -> !t
  return %4 : !t
}

// CHECK-LABEL: func.func @levels
// CHECK: torch.aten.mm
// CHECK: torch.aten.tanh
// CHECK: torch.aten.exp
// CHECK: "tierup.batched_mm_side"(%arg1, {{.+}}, {{.+}}, {{.+}}) {{{.+}}side = "left"}
// CHECK-NOT: torch.aten.mm
// CHECK: return
func.func @levels(%h: !t, %w: !t) -> (!t, !t, !t) {
  %0 = torch.aten.mm %w, %h : !t, !t -> !t
  %1 = torch.aten.mm %w, %0 : !t, !t -> !t
  %2 = torch.aten.tanh %0 : !t -> !t
  %3 = torch.aten.mm %w, %2 : !t, !t -> !t
  %4 = torch.aten.exp %0 : !t -> !t
  %5 = torch.aten.mm %w, %4 : !t, !t -> !t
  return %1, %3, %5 : !t, !t, !t
}

// -----
!t = !torch.vtensor
!m = !torch.tensor
// A matrix that is written keeps its own products where they are, and no others.
// CHECK-LABEL: func.func @one_is_written
// CHECK: [[M:%.+]] = torch.aten.mm %arg2, %arg3
// CHECK: torch.aten.relu_ %arg2
// CHECK: "tierup.batched_mm_side"(%arg3, %arg0, %arg1, %arg0)
// CHECK-NOT: torch.aten.mm
// CHECK: return {{.+}}, {{.+}}, {{.+}}, [[M]]
func.func @one_is_written(%x: !t, %y: !t, %m: !m, %w: !t) -> (!t, !t, !t, !m) {
  %3 = torch.aten.mm %m, %w : !m, !t -> !m
  %4 = torch.aten.relu_ %m : !m -> !m
  %0 = torch.aten.mm %x, %w : !t, !t -> !t
  %1 = torch.aten.mm %y, %w : !t, !t -> !t
  %2 = torch.aten.mm %x, %w : !t, !t -> !t
  return %0, %1, %2, %3 : !t, !t, !t, !m
}

// CHECK-LABEL: func.func @the_common_one_is_written
// CHECK-NOT: tierup
// CHECK: return
func.func @the_common_one_is_written(%x: !t, %y: !t, %w: !m) -> (!t, !t, !t, !t) {
  %0 = torch.aten.mm %x, %w : !t, !m -> !t
  %1 = torch.aten.mm %y, %w : !t, !m -> !t
  %2 = torch.aten.mm %x, %w : !t, !m -> !t
  %3 = torch.aten.relu_ %w : !m -> !m
  %4 = torch.aten.mm %x, %w : !t, !m -> !t
  return %0, %1, %2, %4 : !t, !t, !t, !t
}

// One tree reads what is written, the other does not.
// CHECK-LABEL: func.func @one_tree_is_written
// CHECK-COUNT-4: torch.aten.mm
// CHECK: torch.aten.relu_ %arg2
// CHECK: "tierup.batched_mm_tree"(%arg0, %arg1, %arg0, %arg1, %arg1, %arg0, %arg0, %arg1)
// CHECK: return
func.func @one_tree_is_written(%a: !t, %b: !t, %m: !m) -> (!t, !t) {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %m, %b : !m, !t -> !t
  %1 = torch.aten.mm %b, %a : !t, !t -> !t
  %2 = torch.aten.mm %a, %a : !t, !t -> !t
  %3 = torch.aten.mm %b, %b : !t, !t -> !t
  %4 = torch.aten.add.Tensor %0, %1, %one : !t, !t, !torch.int -> !t
  %5 = torch.aten.add.Tensor %4, %2, %one : !t, !t, !torch.int -> !t
  %6 = torch.aten.add.Tensor %5, %3, %one : !t, !t, !torch.int -> !t
  %w = torch.aten.relu_ %m : !m -> !m
  %10 = torch.aten.mm %a, %b : !t, !t -> !t
  %11 = torch.aten.mm %b, %a : !t, !t -> !t
  %12 = torch.aten.mm %a, %a : !t, !t -> !t
  %13 = torch.aten.mm %b, %b : !t, !t -> !t
  %14 = torch.aten.add.Tensor %10, %11, %one : !t, !t, !torch.int -> !t
  %15 = torch.aten.add.Tensor %14, %12, %one : !t, !t, !torch.int -> !t
  %16 = torch.aten.add.Tensor %15, %13, %one : !t, !t, !torch.int -> !t
  return %6, %16 : !t, !t
}

// -----
!t = !torch.vtensor
!m = !torch.tensor
// A write to the caller's memory shows when a product raises behind it: no product passes it.
// CHECK-LABEL: func.func @side_effect
// CHECK-NOT: tierup
// CHECK: return
func.func @side_effect(%x: !t, %y: !t, %w: !t, %m: !m) -> (!t, !t, !t) {
  %0 = torch.aten.mm %x, %w : !t, !t -> !t
  %1 = torch.aten.mm %y, %w : !t, !t -> !t
  %3 = torch.aten.relu_ %m : !m -> !m
  %2 = torch.aten.mm %x, %w : !t, !t -> !t
  return %0, %1, %2 : !t, !t, !t
}

// -----
!t = !torch.vtensor
// Ops under NumPy's rules, and products of several blocks.
// CHECK-LABEL: func.func @others
// CHECK-NOT: tierup.batched
// CHECK: return
func.func @others(%x: !t, %y: !t, %w: !t, %c: !torch.bool) -> (!t, !t, !t) {
  %0 = torch.aten.mm %x, %w {tierup.promotion = "numpy"} : !t, !t -> !t
  %1 = torch.aten.mm %y, %w : !t, !t -> !t
  %2 = torch.aten.mm %x, %w : !t, !t -> !t
  %3 = torch.prim.If %c -> (!t) {
    %9 = torch.aten.mm %0, %w : !t, !t -> !t
    torch.prim.If.yield %9 : !t
  } else {
    torch.prim.If.yield %y : !t
  }
  return %1, %3, %2 : !t, !t, !t
}
