// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// Unsigned extended as unsigned, broadcast, computed in f32 and rounded once to the result's f16.
// CHECK-DAG: [[ALL:#.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[LAST:#.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @unsigned_by_half
// CHECK: [[D:%.+]] = tensor.dim %0, %c0
// CHECK: [[E:%.+]] = tensor.empty([[D]]) : tensor<?x4xf16>
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ALL]], [[LAST]], [[ALL]]], iterator_types = ["parallel", "parallel"]} {{.*}} outs([[E]]
// CHECK: arith.uitofp %in : i8 to f32
// CHECK: [[P:%.+]] = arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK-NEXT: [[R:%.+]] = arith.truncf [[P]] : f32 to f16
// CHECK-NEXT: linalg.yield [[R]]
// CHECK-NOT: torch.aten
func.func @unsigned_by_half(%x: !torch.vtensor<[?,4],ui8>, %y: !torch.vtensor<[4],f16>) -> !torch.vtensor<[?,4],f16> {
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?,4],ui8>, !torch.vtensor<[4],f16> -> !torch.vtensor<[?,4],f16>
  return %0 : !torch.vtensor<[?,4],f16>
}

// -----
// A number that the run computes is read before the loop; alpha is part of the formula; a size of 1 is read at 0.
// CHECK: affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func.func @number
// CHECK: [[N:%.+]] = torch_c.to_f64 %arg1
// CHECK: linalg.generic
// CHECK: [[F:%.+]] = arith.truncf [[N]] : f64 to f32
// CHECK: [[A:%.+]] = arith.mulf [[F]], %cst : f32
// CHECK: arith.addf %in, [[A]] : f32
func.func @number(%x: !torch.vtensor<[4,1],f32>, %n: !torch.float) -> !torch.vtensor<[4,1],f32> {
  %int2 = torch.constant.int 2
  %0 = torch.aten.add.Scalar %x, %n, %int2 : !torch.vtensor<[4,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[4,1],f32>
  return %0 : !torch.vtensor<[4,1],f32>
}

// -----
// Left as they are: types not known, NumPy's rules.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: torch.aten.tanh %arg0 : !torch.vtensor -> !torch.vtensor
// CHECK-NEXT: torch.aten.tanh %arg1 {tierup.promotion = "numpy"}
// CHECK-NEXT: return
func.func @kept(%x: !torch.vtensor, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor, !torch.vtensor<[4],f32>) {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %y {tierup.promotion = "numpy"} : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0, %1 : !torch.vtensor, !torch.vtensor<[4],f32>
}

// -----
// A result whose type no broadcast gives.
// CHECK-LABEL: func.func @of_a_wrong_rank
// CHECK-NEXT: torch.aten.tanh %arg0
// CHECK-NEXT: return
func.func @of_a_wrong_rank(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[3],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3],f32>
  return %0 : !torch.vtensor<[3],f32>
}
