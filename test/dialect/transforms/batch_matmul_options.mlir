// RUN: tierup-opt %s --tierup-batch-matmul="reassociate min-tree=2 max-elements=100" | FileCheck %s
// RUN: tierup-opt %s --tierup-batch-matmul="reassociate min-tree=2 max-elements=100" --tierup-batch-matmul="reassociate min-tree=2 max-elements=100" | FileCheck %s
// RUN: tierup-opt %s --tierup-batch-matmul="min-tree=2" | FileCheck %s --check-prefix=PAIRS
// RUN: tierup-opt %s --tierup-batch-matmul | FileCheck %s --check-prefix=NONE
// RUN: not tierup-opt %s --tierup-batch-matmul="min-side=1" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not tierup-opt %s --tierup-batch-matmul="max-elements=-1" 2>&1 | FileCheck %s --check-prefix=ELEMENTS
// SIZE: option 'min-side' of pass 'tierup-batch-matmul' is at least 2, not 1
// ELEMENTS: option 'max-elements' of pass 'tierup-batch-matmul' is at least 0, not -1

!t = !torch.vtensor
!b = !torch.vtensor<[3,4],f32>

// Any shape; the transpose of a product is the product of the transposes, the other way round.
// CHECK-LABEL: func.func @pairs
// CHECK: [[B:%.+]] = torch.aten.t %arg1 : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[4,3],f32>
// CHECK: [[A:%.+]] = torch.aten.t %arg0 : !torch.vtensor -> !torch.vtensor
// CHECK: "tierup.batched_mm_tree"(%arg0, %arg1, %arg1, [[B]], %arg1, %arg1, %arg0, [[A]]) {max_elements = 100 : i64}
// PAIRS-LABEL: func.func @pairs
// PAIRS: torch.aten.mm %arg1, %arg0
// PAIRS: "tierup.batched_mm_tree"(%arg0, %arg1, %arg1, %arg1)
// PAIRS: torch.aten.add.Tensor
// NONE-LABEL: func.func @pairs
// NONE-NOT: tierup
func.func @pairs(%a: !t, %b: !b) -> !t {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %a, %b : !t, !b -> !t
  %1 = torch.aten.mm %b, %b : !b, !b -> !t
  %2 = torch.aten.mm %b, %a : !b, !t -> !t
  %3 = torch.aten.mm %a, %b : !t, !b -> !t
  %4 = torch.aten.t %3 : !t -> !t
  %5 = torch.aten.add.Tensor %0, %1, %one : !t, !t, !torch.int -> !t
  %6 = torch.aten.add.Tensor %2, %4, %one : !t, !t, !torch.int -> !t
  %7 = torch.aten.add.Tensor %5, %6, %one : !t, !t, !torch.int -> !t
  return %7 : !t
}
