// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// CHECK-LABEL: func.func @bias
// CHECK: [[Z:%.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<?x16xf32>) {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: linalg.yield %cst
// CHECK: [[P:%.+]] = linalg.matmul ins(%0, %1 : tensor<?x8xf32>, tensor<8x16xf32>) outs([[Z]]
// CHECK: linalg.generic {{.*}} ins([[P]],
// CHECK-NEXT: ^bb0(%in: f32, %in_{{.}}: f32, %out: f32):
// CHECK-NEXT: arith.addf %in, %in_
// CHECK-NOT: torch.aten
func.func @bias(%c: !torch.vtensor<[16],f32>, %x: !torch.vtensor<[?,8],f32>, %w: !torch.vtensor<[8,16],f32>) -> !torch.vtensor<[?,16],f32> {
  %int1 = torch.constant.int 1
  %0 = torch.aten.addmm %c, %x, %w, %int1, %int1 : !torch.vtensor<[16],f32>, !torch.vtensor<[?,8],f32>, !torch.vtensor<[8,16],f32>, !torch.int, !torch.int -> !torch.vtensor<[?,16],f32>
  return %0 : !torch.vtensor<[?,16],f32>
}

// -----
// Integers, which BLAS does not have, wrap in a loop whose inner axis lies in lines.
// CHECK-LABEL: func.func @integers
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: [[P:%.+]] = arith.muli
// CHECK-NEXT: arith.addi %out, [[P]] : i32
func.func @integers(%x: !torch.vtensor<[2,3],si32>, %y: !torch.vtensor<[3,4],si32>) -> !torch.vtensor<[2,4],si32> {
  %0 = torch.aten.mm %x, %y : !torch.vtensor<[2,3],si32>, !torch.vtensor<[3,4],si32> -> !torch.vtensor<[2,4],si32>
  return %0 : !torch.vtensor<[2,4],si32>
}

// -----
// beta that the run computes, types that are not known: nothing is left of the attempt.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: torch.constant.int 1
// CHECK-NEXT: torch.aten.addmm
// CHECK-NEXT: torch.aten.mm
// CHECK-NEXT: return
func.func @kept(%c: !torch.vtensor<[16],f32>, %x: !torch.vtensor<[4,8],f32>, %w: !torch.vtensor<[8,16],f32>, %beta: !torch.float, %u: !torch.vtensor) -> (!torch.vtensor<[4,16],f32>, !torch.vtensor) {
  %int1 = torch.constant.int 1
  %0 = torch.aten.addmm %c, %x, %w, %beta, %int1 : !torch.vtensor<[16],f32>, !torch.vtensor<[4,8],f32>, !torch.vtensor<[8,16],f32>, !torch.float, !torch.int -> !torch.vtensor<[4,16],f32>
  %1 = torch.aten.mm %u, %u : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %0, %1 : !torch.vtensor<[4,16],f32>, !torch.vtensor
}
