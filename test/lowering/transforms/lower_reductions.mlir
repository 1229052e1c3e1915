// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// CHECK-LABEL: func.func @sum_of_halves
// CHECK: [[S:%.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.+}} : tensor<?x4xf16>) outs(%{{.+}} : tensor<?xf32>)
// CHECK-NEXT: ^bb0(%in: f16, %out: f32)
// CHECK-NEXT: [[X:%.+]] = arith.extf %in : f16 to f32
// CHECK-NEXT: arith.addf %out, [[X]]
// CHECK: linalg.generic {{.*}} ins([[S]] : tensor<?xf32>) outs(%{{.+}} : tensor<?xf16>)
// CHECK: arith.truncf %in : f32 to f16
// CHECK-NOT: torch.aten
func.func @sum_of_halves(%x: !torch.vtensor<[?,4],f16>) -> !torch.vtensor<[?],f16> {
  %int1 = torch.constant.int 1
  %dims = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.sum.dim_IntList %x, %dims, %false, %none : !torch.vtensor<[?,4],f16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?],f16>
  return %0 : !torch.vtensor<[?],f16>
}

// -----
// Integers start from their least value; the axis that was reduced comes back as a 1.
// CHECK-LABEL: func.func @amax_first_axis_kept
// CHECK: arith.constant -2147483648 : i32
// CHECK: [[M:%.+]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]}
// CHECK: arith.maxsi %in, %out : i32
// CHECK: tensor.expand_shape [[M]] {{\[}}[0, 1]] output_shape [1, 4]
func.func @amax_first_axis_kept(%x: !torch.vtensor<[3,4],si32>) -> !torch.vtensor<[1,4],si32> {
  %int0 = torch.constant.int 0
  %dims = torch.prim.ListConstruct %int0 : (!torch.int) -> !torch.list<int>
  %true = torch.constant.bool true
  %0 = torch.aten.amax %x, %dims, %true : !torch.vtensor<[3,4],si32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,4],si32>
  return %0 : !torch.vtensor<[1,4],si32>
}

// -----
// CHECK-LABEL: func.func @kept
// CHECK: torch.aten.sum %arg0, %none
func.func @kept(%x: !torch.vtensor<*,f32>, %d: !torch.int) -> !torch.vtensor<[],f32> {
  %none = torch.constant.none
  %0 = torch.aten.sum %x, %none : !torch.vtensor<*,f32>, !torch.none -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}
