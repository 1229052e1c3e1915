// RUN: tierup-opt %s --tierup-reuse-products --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-reuse-products --tierup-reuse-products --split-input-file | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#swap = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @bias
// CHECK: [[P:%.+]] = linalg.matmul {tierup.overwrites}
// CHECK: linalg.generic {indexing_maps = [{{.*}}, {{.*}}], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<16xf32>) outs([[P]] : tensor<4x16xf32>)
// CHECK-NEXT: ^bb0([[B:%.+]]: f32, [[O:%.+]]: f32):
// CHECK-NEXT: arith.subf [[O]], [[B]]
func.func @bias(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %p = linalg.matmul {tierup.overwrites} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<4x16xf32>, tensor<16xf32>) outs(%e : tensor<4x16xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %0 = arith.subf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----
#id = affine_map<(i, j) -> (i, j)>
// Two products: the first gives its memory. The other operand of an update stays an input.
// CHECK-LABEL: func.func @two
// CHECK: [[P:%.+]] = linalg.matmul {tierup.overwrites} ins(%arg0
// CHECK: [[Q:%.+]] = linalg.matmul {tierup.overwrites} ins(%arg1
// CHECK: linalg.generic {{.*}} ins(%arg1, [[Q]] : {{.*}}) outs([[P]] :
func.func @two(%x: tensor<?x?xf64>, %w: tensor<?x?xf64>, %m: index, %n: index) -> tensor<?x?xf64> {
  %e = tensor.empty(%m, %n) : tensor<?x?xf64>
  %p = linalg.matmul {tierup.overwrites} ins(%x, %w : tensor<?x?xf64>, tensor<?x?xf64>) outs(%e : tensor<?x?xf64>) -> tensor<?x?xf64>
  %q = linalg.matmul {tierup.overwrites} ins(%w, %x : tensor<?x?xf64>, tensor<?x?xf64>) outs(%e : tensor<?x?xf64>) -> tensor<?x?xf64>
  %r = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %p, %q : tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>) outs(%e : tensor<?x?xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64, %out: f64):
    %0 = arith.mulf %b, %c : f64
    %1 = arith.subf %a, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<?x?xf64>
  return %r : tensor<?x?xf64>
}

// -----
#id = affine_map<(i, j) -> (i, j)>
// Somebody else reads the product.
// CHECK-LABEL: func.func @read_twice
// CHECK: [[E:%.+]] = tensor.empty
// CHECK: linalg.generic {{.*}} outs([[E]] :
func.func @read_twice(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %p = linalg.matmul {tierup.overwrites} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %p, %r : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
#id = affine_map<(i, j) -> (i, j)>
#swap = affine_map<(i, j) -> (j, i)>
// Another element of the product is read than is written.
// CHECK-LABEL: func.func @transposed
// CHECK: [[E:%.+]] = tensor.empty
// CHECK: linalg.generic {{.*}} outs([[E]] :
func.func @transposed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %p = linalg.matmul {tierup.overwrites} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// A reduction, another dtype, and a product that BLAS does not compute.
// CHECK-LABEL: func.func @others
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf64>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf32>)
func.func @others(%x: tensor<4x4xf32>, %sum: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x4xf64>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %wide = tensor.empty() : tensor<4x4xf64>
  %p = linalg.matmul {tierup.overwrites} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<4x4xf32>) outs(%sum : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %q = linalg.matmul {tierup.overwrites} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<4x4xf32>) outs(%wide : tensor<4x4xf64>) {
  ^bb0(%in: f32, %out: f64):
    %0 = arith.extf %in : f32 to f64
    linalg.yield %0 : f64
  } -> tensor<4x4xf64>
  %t = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %r, %s, %u : tensor<4xf32>, tensor<4x4xf64>, tensor<4x4xf32>
}

// -----
#id = affine_map<(i, j) -> (i, j)>
// A product from outside a loop is there in each round.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: [[E:%.+]] = tensor.empty
// CHECK: linalg.generic {{.*}} outs([[E]] :
func.func @loop(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %d = tensor.empty() : tensor<4x4xf32>
  %p = linalg.matmul {tierup.overwrites} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%d : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %p : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %0 = arith.addf %in, %in2 : f32
      linalg.yield %0 : f32
    } -> tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
