// RUN: tierup-opt %s --split-input-file --tierup-merge-stores | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-merge-stores --tierup-merge-stores | FileCheck %s

// What was stored into a part of zeros is stored into the zeros, which are filled.
// CHECK-LABEL: func.func @part_of_zeros
// CHECK-NOT: dense
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8x8xf64>
// CHECK: %[[Z:.*]] = linalg.generic {{.*}} outs(%[[E]] : tensor<8x8xf64>)
// CHECK: %[[R:.*]] = tensor.insert_slice %arg0 into %[[Z]][1, 1] [6, 6] [1, 1]
// CHECK-NEXT: return %[[R]]
func.func @part_of_zeros(%v: tensor<6x6xf64>) -> tensor<8x8xf64> {
  %part = arith.constant dense<0.0> : tensor<6x8xf64>
  %zeros = arith.constant dense<0.0> : tensor<8x8xf64>
  %1 = tensor.insert_slice %v into %part[0, 1] [6, 6] [1, 1] : tensor<6x6xf64> into tensor<6x8xf64>
  %2 = tensor.insert_slice %1 into %zeros[1, 0] [6, 8] [1, 1] : tensor<6x8xf64> into tensor<8x8xf64>
  return %2 : tensor<8x8xf64>
}

// -----

// Offsets that the run knows are added.
// CHECK-LABEL: func.func @part_of_itself
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %arg2
// CHECK: tensor.insert_slice %arg0 into %arg1[%[[SUM]], %arg3] [2, 3] [1, 1]
func.func @part_of_itself(%v: tensor<2x3xf64>, %t: tensor<8x8xf64>, %i: index, %j: index) -> tensor<8x8xf64> {
  %part = tensor.extract_slice %t[%i, 0] [4, 8] [1, 1] : tensor<8x8xf64> to tensor<4x8xf64>
  %1 = tensor.insert_slice %v into %part[1, %j] [2, 3] [1, 1] : tensor<2x3xf64> into tensor<4x8xf64>
  %2 = tensor.insert_slice %1 into %t[%i, 0] [4, 8] [1, 1] : tensor<4x8xf64> into tensor<8x8xf64>
  return %2 : tensor<8x8xf64>
}

// -----

// Parts may have fewer axes: an element of a row of a layer, and a piece of a column of the layer.
// CHECK-LABEL: func.func @axes_less
// CHECK: %[[A:.*]] = tensor.insert_slice %arg0 into %arg2[%arg3, %arg4, %arg5] [1, 1, 1] [1, 1, 1] : tensor<f64> into tensor<8x7x9xf64>
// CHECK: %[[SUM:.*]] = arith.addi %arg5, %arg3
// CHECK: %[[B:.*]] = tensor.insert_slice %arg1 into %arg2[3, %[[SUM]], %arg4] [1, 4, 1] [1, 1, 1] : tensor<4xf64> into tensor<8x7x9xf64>
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @axes_less(%v: tensor<f64>, %w: tensor<4xf64>, %t: tensor<8x7x9xf64>, %i: index, %j: index, %k: index) -> (tensor<8x7x9xf64>, tensor<8x7x9xf64>) {
  %layer = tensor.extract_slice %t[%i, 0, 0] [1, 7, 9] [1, 1, 1] : tensor<8x7x9xf64> to tensor<7x9xf64>
  %row = tensor.extract_slice %layer[%j, 0] [1, 9] [1, 1] : tensor<7x9xf64> to tensor<9xf64>
  %1 = tensor.insert_slice %v into %row[%k] [1] [1] : tensor<f64> into tensor<9xf64>
  %2 = tensor.insert_slice %1 into %layer[%j, 0] [1, 9] [1, 1] : tensor<9xf64> into tensor<7x9xf64>
  %3 = tensor.insert_slice %2 into %t[%i, 0, 0] [1, 7, 9] [1, 1, 1] : tensor<7x9xf64> into tensor<8x7x9xf64>
  %part = tensor.extract_slice %t[3, %i, 0] [1, 5, 9] [1, 1, 1] : tensor<8x7x9xf64> to tensor<5x9xf64>
  %4 = tensor.insert_slice %w into %part[%k, %j] [4, 1] [1, 1] : tensor<4xf64> into tensor<5x9xf64>
  %5 = tensor.insert_slice %4 into %t[3, %i, 0] [1, 5, 9] [1, 1, 1] : tensor<5x9xf64> into tensor<8x7x9xf64>
  return %3, %5 : tensor<8x7x9xf64>, tensor<8x7x9xf64>
}

// -----

// Zeros of the other sign, another place, a stride and a second reader keep the stores apart.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-8: tensor.insert_slice
func.func @apart(%v: tensor<6x6xf64>, %t: tensor<8x8xf64>) -> (tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>, tensor<6x8xf64>) {
  %negative = arith.constant dense<-0.0> : tensor<6x8xf64>
  %zeros = arith.constant dense<0.0> : tensor<8x8xf64>
  %1 = tensor.insert_slice %v into %negative[0, 1] [6, 6] [1, 1] : tensor<6x6xf64> into tensor<6x8xf64>
  %2 = tensor.insert_slice %1 into %zeros[1, 0] [6, 8] [1, 1] : tensor<6x8xf64> into tensor<8x8xf64>
  %other = tensor.extract_slice %t[2, 0] [6, 8] [1, 1] : tensor<8x8xf64> to tensor<6x8xf64>
  %3 = tensor.insert_slice %v into %other[0, 1] [6, 6] [1, 1] : tensor<6x6xf64> into tensor<6x8xf64>
  %4 = tensor.insert_slice %3 into %t[1, 0] [6, 8] [1, 1] : tensor<6x8xf64> into tensor<8x8xf64>
  %rows = tensor.extract_slice %t[0, 0] [4, 8] [2, 1] : tensor<8x8xf64> to tensor<4x8xf64>
  %part = tensor.extract_slice %v[0, 0] [4, 6] [1, 1] : tensor<6x6xf64> to tensor<4x6xf64>
  %5 = tensor.insert_slice %part into %rows[0, 1] [4, 6] [1, 1] : tensor<4x6xf64> into tensor<4x8xf64>
  %6 = tensor.insert_slice %5 into %t[0, 0] [4, 8] [2, 1] : tensor<4x8xf64> into tensor<8x8xf64>
  %same = tensor.extract_slice %t[1, 0] [6, 8] [1, 1] : tensor<8x8xf64> to tensor<6x8xf64>
  %9 = tensor.insert_slice %v into %same[0, 1] [6, 6] [1, 1] : tensor<6x6xf64> into tensor<6x8xf64>
  %10 = tensor.insert_slice %9 into %t[1, 0] [6, 8] [1, 1] : tensor<6x8xf64> into tensor<8x8xf64>
  return %2, %4, %6, %10, %9 : tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>, tensor<6x8xf64>
}

// -----

// A loop starts from memory that is filled; a constant that is only read stays.
// CHECK-LABEL: func.func @started
// CHECK: %[[READ:.*]] = arith.constant dense<1.000000e+00> : tensor<8xf64>
// CHECK: %[[Z:.*]] = linalg.generic
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[Z]])
// CHECK: tensor.extract %[[READ]]
func.func @started() -> tensor<8xf64> {
  %zeros = arith.constant dense<0.0> : tensor<8xf64>
  %ones = arith.constant dense<1.0> : tensor<8xf64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %zeros) -> tensor<8xf64> {
    %x = tensor.extract %ones[%i] : tensor<8xf64>
    %u = tensor.insert %x into %t[%i] : tensor<8xf64>
    scf.yield %u : tensor<8xf64>
  }
  return %0 : tensor<8xf64>
}
