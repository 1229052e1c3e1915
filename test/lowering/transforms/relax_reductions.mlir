// RUN: tierup-opt %s --tierup-relax-reductions | FileCheck %s
// RUN: tierup-opt %s --tierup-relax-reductions --tierup-relax-reductions | FileCheck %s

#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The combiner alone: what is computed of each element before it stays as written.
// CHECK-LABEL: func.func @sum_of_squares
// CHECK: [[S:%.+]] = arith.mulf %in, %in : f32
// CHECK-NEXT: [[A:%.+]] = arith.addf %out, [[S]] fastmath<reassoc> : f32
// CHECK-NEXT: linalg.yield [[A]]
func.func @sum_of_squares(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// On tensors too, several results: each by itself. A product stays in its order; of zeros a maximum is either.
// CHECK-LABEL: func.func @several_results
// CHECK: arith.addf %in, %out fastmath<reassoc> : f64
// CHECK-NEXT: arith.mulf %{{.+}}, %in : f64
// CHECK-NEXT: arith.maximumf %{{.+}}, %in fastmath<nsz> : f64
// CHECK-NEXT: linalg.yield
func.func @several_results(%x: tensor<8xf64>, %a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %0:3 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<8xf64>) outs(%a, %b, %c : tensor<f64>, tensor<f64>, tensor<f64>) {
  ^bb0(%in: f64, %o0: f64, %o1: f64, %o2: f64):
    %1 = arith.addf %in, %o0 : f64
    %2 = arith.mulf %o1, %in : f64
    %3 = arith.maximumf %o2, %in : f64
    linalg.yield %1, %2, %3 : f64, f64, f64
  } -> (tensor<f64>, tensor<f64>, tensor<f64>)
  return %0#0, %0#1, %0#2 : tensor<f64>, tensor<f64>, tensor<f64>
}

// In a loop of the program as well; what the combiner was allowed before it stays allowed.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: scf.for
// CHECK: arith.addf %out, %{{.+}} fastmath<reassoc,contract> : f32
func.func @in_a_loop(%x: memref<8xf32>, %y: memref<8xf32>, %s: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%x, %y : memref<8xf32>, memref<8xf32>) outs(%s : memref<f32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %0 = arith.mulf %a, %b fastmath<contract> : f32
      %1 = arith.addf %out, %0 fastmath<contract> : f32
      linalg.yield %1 : f32
    }
  }
  return
}

// Nothing else is touched: elementwise sums, combiners of integers, a result that is not the running one, sums outside of linalg.
// CHECK-LABEL: func.func @nothing_to_do
// CHECK-NOT: fastmath
// CHECK: return
func.func @nothing_to_do(%x: memref<4x8xf32>, %n: memref<4x8xi32>, %y: memref<4x8xf32>, %s: memref<4xi32>, %t: memref<4xf32>, %f: f32) -> f32 {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%n : memref<4x8xi32>) outs(%s : memref<4xi32>) {
  ^bb0(%in: i32, %out: i32):
    %0 = arith.addi %in, %out : i32
    linalg.yield %0 : i32
  }
  // the last one that is negative, plus one
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%t : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.addf %in, %f : f32
    %1 = arith.cmpf olt, %in, %zero : f32
    %2 = arith.select %1, %0, %out : f32
    linalg.yield %2 : f32
  }
  // a sum, but not of what was accumulated
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%t : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %f : f32
    linalg.yield %0 : f32
  }
  // the accumulator as it is, and a value from outside
  linalg.generic {indexing_maps = [#rows, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%t, %t : memref<4xf32>, memref<4xf32>) {
  ^bb0(%in: f32, %o0: f32, %o1: f32):
    linalg.yield %o0, %f : f32, f32
  }
  %0 = arith.addf %f, %f : f32
  return %0 : f32
}
