// RUN: tierup-opt %s | tierup-opt | FileCheck %s
// Every op of dialect/language/definitions/values.py, printed and read again.

// CHECK-LABEL: func.func @gradients
func.func @gradients(%x: !torch.vtensor) -> (!torch.vtensor, !torch.bool, !torch.bool, !torch.bool) {
  // CHECK: %[[Z:.*]] = "tierup.autograd_zero"() : () -> !torch.vtensor
  %0 = "tierup.autograd_zero"() : () -> !torch.vtensor
  // CHECK: "tierup.autograd_add"(%{{.*}}, %[[Z]]) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %1 = "tierup.autograd_add"(%x, %0) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  // CHECK: "tierup.any_nonzero"
  %2 = "tierup.any_nonzero"(%x, %0) : (!torch.vtensor, !torch.vtensor) -> !torch.bool
  // CHECK: "tierup.all_nonzero"
  %3 = "tierup.all_nonzero"(%x, %0) : (!torch.vtensor, !torch.vtensor) -> !torch.bool
  // CHECK: "tierup.all_zero"
  %4 = "tierup.all_zero"(%x) : (!torch.vtensor) -> !torch.bool
  return %1, %2, %3, %4 : !torch.vtensor, !torch.bool, !torch.bool, !torch.bool
}

// CHECK-LABEL: func.func @batched_products
func.func @batched_products(%a: !torch.vtensor<[2,3],f32>, %b: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[2,4],f32> {
  // CHECK: "tierup.batched_mm_tree"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
  %0 = "tierup.batched_mm_tree"(%a, %a, %b, %b) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[2,4],f32>
  // CHECK: "tierup.batched_mm_side"(%{{.*}}, %{{.*}}, %{{.*}}) {side = "left"}
  %1:2 = "tierup.batched_mm_side"(%a, %b, %b) {side = "left"} : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32>) -> (!torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>)
  return %0 : !torch.vtensor<[2,4],f32>
}

// CHECK-LABEL: func.func @select_and_chunk
func.func @select_and_chunk(%c: !torch.bool, %n: !torch.int, %x: !torch.vtensor<[5,2],f32>) -> !torch.int {
  // CHECK: "tierup.if_then_else"
  %0 = "tierup.if_then_else"(%c, %n, %n) : (!torch.bool, !torch.int, !torch.int) -> !torch.int
  // CHECK: "tierup.constant_chunk"(%{{.*}}) {chunks = 2 : i64, dim = -2 : i64} : (!torch.vtensor<[5,2],f32>) -> (!torch.vtensor<[3,2],f32>, !torch.vtensor<[2,2],f32>)
  %1:2 = "tierup.constant_chunk"(%x) {chunks = 2 : i64, dim = -2 : i64} : (!torch.vtensor<[5,2],f32>) -> (!torch.vtensor<[3,2],f32>, !torch.vtensor<[2,2],f32>)
  return %0 : !torch.int
}

// CHECK-LABEL: func.func @product_kept_out_of_fusion
func.func @product_kept_out_of_fusion(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %zeros: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK: "tierup.held_product"(%{{.*}}, %{{.*}}, %{{.*}}) {indexing_maps = [], kind = "linalg.matmul"}
  %0 = "tierup.held_product"(%x, %w, %zeros) {indexing_maps = [], kind = "linalg.matmul"} : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
