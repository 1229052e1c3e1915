// RUN: tierup-opt %s --tierup-narrow-products | FileCheck %s
#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#x = affine_map<(m, k, n) -> (m, k)>
#y = affine_map<(m, k, n) -> (k, n)>
#z = affine_map<(m, k, n) -> (m, n)>
module attributes {tierup.target = "sm_80"} {
  // CHECK-LABEL: @widened_before
  // CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>, %[[Y:.*]]: tensor<6x8xbf16>
  // CHECK-NOT: linalg.generic
  // CHECK: linalg.matmul indexing_maps = [{{.*}}, {{.*}}, {{.*}}] ins(%[[X]], %[[Y]] : tensor<4x8xbf16>, tensor<6x8xbf16>)
  func.func @widened_before(%x: tensor<4x8xbf16>, %y: tensor<6x8xbf16>, %z: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      linalg.yield %w : f32
    } -> tensor<4x8xf32>
    %f = tensor.empty() : tensor<8x6xf32>
    %b = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<6x8xbf16>) outs(%f : tensor<8x6xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      linalg.yield %w : f32
    } -> tensor<8x6xf32>
    %c = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %c : tensor<4x6xf32>
  }

  // CHECK-LABEL: @transposed_before
  // CHECK-SAME: %[[X:.*]]: tensor<4x8xf16>, %[[Y:.*]]: tensor<6x8xf16>
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[Y]] : tensor<4x8xf16>, tensor<6x8xf16>)
  func.func @transposed_before(%x: tensor<4x8xf16>, %y: tensor<6x8xf16>, %z: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %f = tensor.empty() : tensor<8x6xf16>
    %b = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<6x8xf16>) outs(%f : tensor<8x6xf16>) {
    ^bb0(%in: f16, %out: f16):
      linalg.yield %in : f16
    } -> tensor<8x6xf16>
    %c = linalg.generic {indexing_maps = [#x, #y, #z], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %b : tensor<4x8xf16>, tensor<8x6xf16>) outs(%z : tensor<4x6xf32>) {
    ^bb0(%l: f16, %r: f16, %t: f32):
      %lw = arith.extf %l : f16 to f32
      %rw = arith.extf %r : f16 to f32
      %p = arith.mulf %lw, %rw : f32
      %s = arith.addf %t, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x6xf32>
    return %c : tensor<4x6xf32>
  }

  // What was reshaped after it was widened is reshaped as halves.
  // CHECK-LABEL: @reshaped
  // CHECK-SAME: %[[X:.*]]: tensor<2x2x8xbf16>, %[[Y:.*]]: tensor<8x6xbf16>
  // CHECK: %[[R:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<2x2x8xbf16> into tensor<4x8xbf16>
  // CHECK-NOT: linalg.generic
  // CHECK: linalg.matmul {{.*}}ins(%[[R]], %[[Y]] : tensor<4x8xbf16>, tensor<8x6xbf16>)
  func.func @reshaped(%x: tensor<2x2x8xbf16>, %y: tensor<8x6xbf16>, %z: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<2x2x8xf32>
    %a = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x2x8xbf16>) outs(%e : tensor<2x2x8xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      linalg.yield %w : f32
    } -> tensor<2x2x8xf32>
    %r = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
    %f = tensor.empty() : tensor<8x6xf32>
    %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x6xbf16>) outs(%f : tensor<8x6xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      linalg.yield %w : f32
    } -> tensor<8x6xf32>
    %c = linalg.matmul ins(%r, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %c : tensor<4x6xf32>
  }

  // One operand alone stays wide: the tensor cores take two halves of one type.
  // CHECK-LABEL: @one_of_two
  // CHECK: linalg.matmul ins({{.*}} : tensor<4x8xf32>, tensor<8x6xf32>)
  func.func @one_of_two(%x: tensor<4x8xbf16>, %b: tensor<8x6xf32>, %z: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      linalg.yield %w : f32
    } -> tensor<4x8xf32>
    %c = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %c : tensor<4x6xf32>
  }

  // Singles too are read as they lie, through as many copies as there are.
  // CHECK-LABEL: @copied_transposed
  // CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>, %[[Y:.*]]: tensor<8x6xf32>
  // CHECK-NOT: linalg.generic
  // CHECK: linalg.matmul indexing_maps = [{{.*}}, {{.*}}, {{.*}}] ins(%[[X]], %[[Y]] : tensor<8x4xf32>, tensor<8x6xf32>)
  func.func @copied_transposed(%x: tensor<8x4xf32>, %y: tensor<8x6xf32>, %z: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %a = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x8xf32>
    %f = tensor.empty() : tensor<6x8xf32>
    %t = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x6xf32>) outs(%f : tensor<6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<6x8xf32>
    %g = tensor.empty() : tensor<8x6xf32>
    %b = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<6x8xf32>) outs(%g : tensor<8x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x6xf32>
    %c = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %c : tensor<4x6xf32>
  }
}
